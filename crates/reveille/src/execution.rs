//! One execution of a turn, in a task of its own (S8): slot, claim, agent, report.
//!
//! The task owns the agent and hands it back when it ends, however it ends: that is done by dropping
//! [`Loan`], so that an abort and a panic do it too. Everything it commits needs its token; when the
//! turn was cancelled meanwhile, the commit is refused and changes nothing (P9).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use ractor::ActorRef;
use reveille_core::failure::TurnFailure;
use reveille_core::need::Start;
use reveille_core::{Address, AgentName, Cause, FailureClass, OpError, Status};
use reveille_store::record::Number;
use reveille_store::step::turn::{
    Claim, ClaimMail, EndTurn, FailTurn, Next, OfferAgain, Report, TurnEnd,
};

use crate::agent::{AgentSpec, BoxAgent, NewAgent, Presence, TurnError, TurnReport};
use crate::hub::Hub;
use crate::ops;
use crate::pulse::Pulse;
use crate::resident::Message;
use crate::slots::Place;
use crate::turn::Turn;

/// What a turn's task borrows from its actor; dropping it gives it back.
pub(crate) struct Loan {
    pub(crate) agent: Option<BoxAgent>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) actor: Number,
    pub(crate) home: ActorRef<Message>,
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.hub.turns.lock().remove(&self.actor);
        self.pulse.give_back();
        let agent = self.agent.take();
        // The actor may be gone; then so is the need for an answer.
        let _ = self.home.cast(Message::Returned { pulse: Arc::clone(&self.pulse), agent });
    }
}

/// Whose turn, and how it is to run.
pub(crate) struct Order {
    pub(crate) address: Address,
    pub(crate) agent: AgentName,
    pub(crate) spec: AgentSpec,
    pub(crate) start: Start,
    /// Whether the turn goes on with a run that was under way.
    pub(crate) place: Place,
}

/// Runs a turn to its end.
pub(crate) async fn execute(mut loan: Loan, order: Order) {
    let hub = Arc::clone(&loan.hub);
    loan.pulse.hold(hub.slots.of(&order.agent).acquire(order.place).await);
    let claim = match order.start {
        Start::Again => hub.store.run(OfferAgain { actor: loan.actor }).await,
        Start::Task | Start::Window => hub.store.run(ClaimMail { actor: loan.actor }).await,
    };
    match claim {
        Ok(Some(claim)) => attempt(&mut loan, &order, claim).await,
        Ok(None) => hub.stale_wake(),
        Err(error) => tracing::warn!(actor = %order.address, %error, "a claim was refused"),
    }
}

/// Hands the claimed injection to the agent and commits what comes of it.
async fn attempt(loan: &mut Loan, order: &Order, claim: Claim) {
    let hub = Arc::clone(&loan.hub);
    *loan.pulse.token.lock() = Some(claim.token);
    loan.pulse.beat();
    hub.turns.lock().insert(loan.actor, Arc::clone(&loan.pulse));
    crate::watchdog::look(&hub);
    let result = hand_over(loan, order, &claim).await;
    let ended = match result {
        Ok(report) => end(&hub, &claim, report).await,
        // Who asked it to end decides what its end is.
        Err(_) if loan.pulse.is_cancelled() => return,
        Err(error) => fail(&hub, &claim, error).await,
    };
    match ended {
        Ok(TurnEnd::Continues) => {}
        Ok(TurnEnd::Ended(run)) => ops::close_children(&hub, run.open_children),
        Err(error) => {
            let (actor, code) = (&order.address, error.code());
            tracing::info!(%actor, %code, "the end of a turn was refused");
        }
    }
}

async fn hand_over(
    loan: &mut Loan,
    order: &Order,
    claim: &Claim,
) -> Result<TurnReport, TurnError> {
    let hub = Arc::clone(&loan.hub);
    let injection = ops::injection(&hub, &order.address, claim).await?;
    let turn = Turn {
        slots: hub.slots.of(&order.agent),
        hub,
        pulse: Arc::clone(&loan.pulse),
        token: claim.token,
        address: order.address.clone(),
        run: claim.run,
        injection: claim.injection,
        attempt: claim.attempt,
    };
    let agent = match loan.agent.take() {
        Some(agent) => agent,
        None => open(order).await?,
    };
    let agent = loan.agent.insert(agent);
    if claim.attempt > 1 {
        let asked = AssertUnwindSafe(agent.contains(claim.injection)).catch_unwind().await;
        if matches!(asked, Ok(Presence::Yes)) {
            return Ok(TurnReport { report: settled_already() });
        }
    }
    let result = AssertUnwindSafe(agent.turn(&turn, injection)).catch_unwind().await;
    result.unwrap_or_else(|payload| {
        // What panicked is not used again: the next turn makes a new one.
        loan.agent = None;
        Err(TurnError::panicked(&*payload))
    })
}

/// What is said of an injection that the agent has, but whose answer was lost.
fn settled_already() -> Report {
    Report {
        status: Status::Unreported,
        summary: Some("the agent had this injection already".into()),
        result: String::new(),
        next: Next::Auto,
    }
}

async fn open(order: &Order) -> Result<BoxAgent, TurnError> {
    let new = NewAgent { address: order.address.clone(), agent: order.agent.clone() };
    let opened = AssertUnwindSafe(order.spec.open(new)).catch_unwind().await;
    let error = match opened {
        Ok(Ok(agent)) => return Ok(agent),
        Ok(Err(error)) => error.to_string(),
        Err(payload) => TurnError::panicked(&*payload).message,
    };
    Err(TurnError::permanent(format!("the agent could not be made: {error}"))
        .class(FailureClass::DidNotStart))
}

async fn end(hub: &Hub, claim: &Claim, report: TurnReport) -> Result<TurnEnd, OpError> {
    match hub.store.run(EndTurn { token: claim.token, report: report.report }).await {
        // An answer that cannot be kept is a failure of the turn, not a turn without end.
        Err(error @ OpError::TooLarge { .. }) => fail(hub, claim, error.into()).await,
        other => other,
    }
}

async fn fail(hub: &Hub, claim: &Claim, error: TurnError) -> Result<TurnEnd, OpError> {
    let TurnError { failure, class, message } = error;
    let limit = reveille_core::limits::ERROR_BYTES;
    let back_off = match failure {
        TurnFailure::Unavailable | TurnFailure::Transient | TurnFailure::Panic => {
            hub.back_off(claim.attempt)
        }
        _ => Duration::ZERO,
    };
    let error = reveille_core::notice::head(&message, limit).to_owned();
    let fail = FailTurn { token: claim.token, failure, class, error, back_off, cause: Cause::Crash };
    hub.store.run(fail).await
}
