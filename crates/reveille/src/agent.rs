//! Agents: the code that runs turns, and what a turn may answer (sections 1 and 4).

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reveille_core::Style;
use reveille_core::failure::TurnFailure;
use reveille_core::{Address, AgentName, FailureClass, Injection, InjectionId, OpError, Status};
use reveille_store::step::end::{Next, Report};

use crate::turn::Turn;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs turns. One value serves one actor, one turn at a time.
///
/// ```
/// use reveille::{Agent, Injection, Turn, TurnError, TurnReport};
///
/// struct Counter(usize);
///
/// impl Agent for Counter {
///     async fn turn(&mut self, _: &Turn, injection: Injection) -> Result<TurnReport, TurnError> {
///         self.0 += injection.entries.len();
///         Ok(TurnReport::success(format!("{} messages so far", self.0)))
///     }
/// }
/// ```
pub trait Agent: Send + 'static {
    /// Runs one turn on one injection. Dropping the future is the hard end of a cancelled turn.
    fn turn(
        &mut self,
        turn: &Turn,
        injection: Injection,
    ) -> impl Future<Output = Result<TurnReport, TurnError>> + Send;

    /// Did this injection reach the agent's own durable transcript? Asked before it is offered
    /// again, after a crash or an unknown hand-over.
    fn contains(&mut self, injection: InjectionId) -> impl Future<Output = Presence> + Send {
        let _ = injection;
        async { Presence::Unknown }
    }
}

/// Whether an agent has an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It has it: the injection is settled.
    Yes,
    /// It does not: the injection is offered again.
    No,
    /// It cannot say: the injection is offered again, under the same id.
    Unknown,
}

/// What a turn answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnReport {
    pub(crate) report: Report,
}

impl TurnReport {
    /// An answer that says nothing of its success.
    #[must_use]
    pub fn new(result: impl Into<String>) -> Self {
        let result = result.into();
        let report = Report {
            status: Status::Unreported,
            summary: None,
            result,
            changed: false,
            next: Next::Auto,
        };
        Self { report }
    }

    /// An answer that says that what was asked is done.
    #[must_use]
    pub fn success(result: impl Into<String>) -> Self {
        Self::new(result).status(Status::Success)
    }

    /// What the run says of its success.
    #[must_use]
    pub fn status(mut self, status: Status) -> Self {
        self.report.status = status;
        self
    }

    /// One line about it.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.report.summary = Some(summary.into());
        self
    }

    /// Says that the turn changed something: what goes on without changes is ended some time (W9).
    #[must_use]
    pub const fn changed(mut self) -> Self {
        self.report.changed = true;
        self
    }

    /// Whether the run goes on; by default it does while anything could continue it.
    #[must_use]
    pub const fn next(mut self, next: Next) -> Self {
        self.report.next = next;
        self
    }
}

/// Why a turn could not answer.
///
/// It is no `Error` itself, so that `?` works on every error in a turn: it means *permanent*, except
/// for this crate's own errors, of which those that may pass are *transient*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnError {
    pub(crate) failure: TurnFailure,
    pub(crate) class: FailureClass,
    pub(crate) message: String,
}

impl TurnError {
    const fn new(failure: TurnFailure, class: FailureClass, message: String) -> Self {
        Self { failure, class, message }
    }

    /// The agent cannot be reached: tried again without end, and not charged to the mail.
    #[must_use]
    pub fn unavailable(message: impl fmt::Display) -> Self {
        Self::new(TurnFailure::Unavailable, FailureClass::Transient, message.to_string())
    }

    /// It may work the next time.
    #[must_use]
    pub fn transient(message: impl fmt::Display) -> Self {
        Self::new(TurnFailure::Transient, FailureClass::Transient, message.to_string())
    }

    /// It will not work the next time: the run fails.
    #[must_use]
    pub fn permanent(message: impl fmt::Display) -> Self {
        Self::new(TurnFailure::Permanent, FailureClass::Permanent, message.to_string())
    }

    /// The injection is more than the agent can take.
    #[must_use]
    pub fn overflow(message: impl fmt::Display) -> Self {
        Self::new(TurnFailure::Overflow, FailureClass::Overflow, message.to_string())
    }

    /// What the outcome says of the failure, if the run fails by it: a program's exit, for example.
    #[must_use]
    pub const fn class(mut self, class: FailureClass) -> Self {
        self.class = class;
        self
    }

    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_owned());
        Self::new(TurnFailure::Panic, FailureClass::Panic, text)
    }
}

impl<E: Into<BoxError>> From<E> for TurnError {
    fn from(error: E) -> Self {
        let error: BoxError = error.into();
        let passes = error.downcast_ref::<OpError>().is_some_and(OpError::is_retryable);
        if passes { Self::transient(error) } else { Self::permanent(error) }
    }
}

/// What an agent is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgent {
    /// The actor whose turns it will run.
    pub address: Address,
    /// The name that it is registered under.
    pub agent: AgentName,
}

/// An agent whose type is forgotten.
pub(crate) trait ErasedAgent: Send {
    fn turn<'a>(
        &'a mut self,
        turn: &'a Turn,
        injection: Injection,
    ) -> BoxFuture<'a, Result<TurnReport, TurnError>>;

    fn contains(&mut self, injection: InjectionId) -> BoxFuture<'_, Presence>;
}

impl<A: Agent> ErasedAgent for A {
    fn turn<'a>(
        &'a mut self,
        turn: &'a Turn,
        injection: Injection,
    ) -> BoxFuture<'a, Result<TurnReport, TurnError>> {
        Box::pin(Agent::turn(self, turn, injection))
    }

    fn contains(&mut self, injection: InjectionId) -> BoxFuture<'_, Presence> {
        Box::pin(Agent::contains(self, injection))
    }
}

pub(crate) type BoxAgent = Box<dyn ErasedAgent>;
type Open = dyn Fn(NewAgent) -> BoxFuture<'static, Result<BoxAgent, BoxError>> + Send + Sync;

/// How agents of one name are made, and how they are treated.
#[derive(Clone)]
pub struct AgentSpec {
    open: Arc<Open>,
    pub(crate) stall_after: Option<Duration>,
    pub(crate) busy: Busy,
    pub(crate) style: Style,
}

/// What becomes of mail that leaves it to the receiver, while a turn of that runs (W3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Busy {
    /// It waits until the turn ends.
    #[default]
    Queue,
    /// It is let in at the turn's next safe point.
    Steer,
}

impl fmt::Debug for AgentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSpec").field("stall_after", &self.stall_after).finish_non_exhaustive()
    }
}

impl AgentSpec {
    /// Agents made by `open`: once for each actor, and anew after a panic.
    pub fn new<F, Fut, A, E>(open: F) -> Self
    where
        F: Fn(NewAgent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, E>> + Send + 'static,
        A: Agent,
        E: Into<BoxError>,
    {
        let open: Arc<Open> = Arc::new(move |new| {
            let agent = open(new);
            Box::pin(async move {
                agent.await.map(|agent| Box::new(agent) as BoxAgent).map_err(Into::into)
            })
        });
        Self { open, stall_after: None, busy: Busy::Queue, style: Style::Xml }
    }

    /// No progress for this long is a stall; at least a millisecond.
    #[must_use]
    pub const fn stall_after(mut self, span: Duration) -> Self {
        self.stall_after = Some(span);
        self
    }

    /// What becomes of mail that comes while a turn runs, unless the message says otherwise.
    #[must_use]
    pub const fn busy(mut self, busy: Busy) -> Self {
        self.busy = busy;
        self
    }

    /// How the text of its injections is written.
    #[must_use]
    pub const fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    pub(crate) async fn open(&self, new: NewAgent) -> Result<BoxAgent, BoxError> {
        (self.open)(new).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(error: OpError) -> Result<(), TurnError> {
        Err(error)?
    }

    #[test]
    fn a_question_mark_means_permanent_except_for_refusals_that_pass() {
        let passing = OpError::StorageFailed { reason: "disk".into() };
        assert_eq!(fails(passing).unwrap_err().failure, TurnFailure::Transient);
        assert_eq!(fails(OpError::StaleToken).unwrap_err().failure, TurnFailure::Permanent);
        let other: TurnError = "no such file".into();
        assert_eq!(other.failure, TurnFailure::Permanent);
    }
}
