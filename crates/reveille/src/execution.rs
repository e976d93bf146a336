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
use reveille_core::{Address, AgentName, Cause, FailureClass, InjectionId, OpError, Seq, Status};
use reveille_store::record::Number;
use reveille_store::step::end::{Contained, EndTurn, FailTurn, Next, Report, TurnEnd};
use reveille_store::step::turn::{Claim, ClaimMail, OfferAgain};

use crate::agent::{AgentSpec, BoxAgent, NewAgent, Presence, TurnError, TurnReport};
use crate::hub::{Hub, Phase};
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
        let mine = |pulse: &Arc<Pulse>| Arc::ptr_eq(pulse, &self.pulse);
        let mut turns = self.hub.turns.lock();
        if turns.get(&self.actor).is_some_and(mine) {
            turns.remove(&self.actor);
        }
        drop(turns);
        self.pulse.over();
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
    let slots = hub.slots.of(&order.agent);
    let entry = async {
        let again = if order.start == Start::Again { hub.may_run_again().await } else { None };
        let slot = slots.acquire(order.place).await;
        (again, slot, hub.may_start(loan.actor).await)
    };
    let (_again, slot, starting) = tokio::select! {
        biased;
        () = hub.closing() => return,
        entry = entry => entry,
    };
    loan.pulse.hold(slot);
    let unmade = make(&mut loan, &order).await.err();
    if unmade.is_some() && order.start != Start::Task {
        // The mail waits; making the agent is tried again, at the latest when one is registered.
        hub.could_not_be_made(loan.actor);
        return;
    }
    drop(starting);
    let Some(claim) = claim(&mut loan, &order).await else {
        return;
    };
    if let Some(error) = unmade {
        // Whoever waits for the task is told, instead of waiting for an agent that is not there.
        let error = TurnError::permanent(error).class(FailureClass::DidNotStart);
        return told(&order, fail(&hub, &claim, error).await);
    }
    attempt(&mut loan, &order, claim).await;
}

/// Claims what the actor needs, unless the runtime closes.
async fn claim(loan: &mut Loan, order: &Order) -> Option<Claim> {
    let hub = Arc::clone(&loan.hub);
    let claiming = hub.claiming();
    if hub.phase() != Phase::Running {
        return None;
    }
    let claim = match order.start {
        Start::Again => hub.store.run(OfferAgain { actor: loan.actor }).await,
        Start::Task | Start::Window => {
            hub.store.run(ClaimMail { actor: loan.actor, windows: hub.config.window }).await
        }
    };
    if let Ok(Some(claim)) = &claim {
        *loan.pulse.token.lock() = Some(claim.token);
    }
    drop(claiming);
    match claim {
        Ok(claim) => claim,
        Err(error) => {
            tracing::warn!(actor = %order.address, %error, "a claim was refused");
            None
        }
    }
}

/// Hands the claimed injection to the agent and commits what comes of it.
async fn attempt(loan: &mut Loan, order: &Order, claim: Claim) {
    let hub = Arc::clone(&loan.hub);
    loan.pulse.beat();
    loan.pulse.set_told(claim.stalled);
    hub.turns.lock().insert(loan.actor, Arc::clone(&loan.pulse));
    crate::watchdog::look(&hub);
    let result = hand_over(loan, order, &claim).await;
    let ended = match result {
        Ok(report) => end(&hub, &claim, report).await,
        // Mail asked it to end: what it held goes into the next injection.
        Err(_) if loan.pulse.is_interrupted() => {
            let ended = interrupted(&hub, &claim).await;
            let given = claim.picks.iter().map(|pick| pick.seq).collect();
            settle_contained(loan, vec![(claim.injection, given)]).await;
            ended
        }
        // Who asked it to end decides what its end is.
        Err(_) if loan.pulse.is_cancelled() => return,
        Err(error) => fail(&hub, &claim, error).await,
    };
    told(order, ended);
}

fn told(order: &Order, ended: Result<TurnEnd, OpError>) {
    if let Err(error) = ended {
        let (actor, code) = (&order.address, error.code());
        tracing::info!(%actor, %code, "the end of a turn was refused");
    }
}

async fn hand_over(loan: &mut Loan, order: &Order, claim: &Claim) -> Result<TurnReport, TurnError> {
    let hub = Arc::clone(&loan.hub);
    let injection = ops::injection(&hub, &order.address, claim, order.spec.style).await?;
    if injection.entries.is_empty() || (claim.lost && has(loan, claim.injection).await) {
        return Ok(TurnReport { report: settled_already() });
    }
    make(loan, order).await.map_err(TurnError::unavailable)?;
    let turn = Turn {
        slots: hub.slots.of(&order.agent),
        hub,
        pulse: Arc::clone(&loan.pulse),
        token: claim.token,
        address: order.address.clone(),
        run: claim.run,
        injection: claim.injection,
        attempt: claim.attempt,
        busy: order.spec.busy,
        style: order.spec.style,
    };
    let Some(agent) = loan.agent.as_mut() else {
        return Err(TurnError::unavailable("the agent is away"));
    };
    // The agent's future is made inside, because making it may panic too. It only borrows the agent:
    // one whose turn is cut can still be asked what it has.
    let work = AssertUnwindSafe(async { agent.turn(&turn, injection).await }).catch_unwind();
    match work.await {
        Ok(result) => result,
        Err(payload) => {
            discard(loan.agent.take());
            Err(TurnError::panicked(&*payload))
        }
    }
}

/// Whether the agent has an injection. What panics over that question is not used again, and counts
/// as not knowing.
async fn has(loan: &mut Loan, injection: InjectionId) -> bool {
    let Some(agent) = loan.agent.as_mut() else {
        return false;
    };
    let asked = AssertUnwindSafe(async { agent.contains(injection).await }).catch_unwind();
    match asked.await {
        Ok(presence) => presence == Presence::Yes,
        Err(_) => {
            discard(loan.agent.take());
            false
        }
    }
}

/// Asks the agent of a turn that was cut what it has of the injections that the turn held, and
/// settles that (section 4). An agent that does not answer in time does not know.
pub(crate) async fn conclude(mut loan: Loan, held: Vec<(InjectionId, Vec<Seq>)>) {
    settle_contained(&mut loan, held).await;
}

async fn settle_contained(loan: &mut Loan, held: Vec<(InjectionId, Vec<Seq>)>) {
    let hub = Arc::clone(&loan.hub);
    let mut messages = Vec::new();
    for (injection, mail) in held {
        let asked = tokio::time::timeout(hub.config.ask_limit, has(loan, injection)).await;
        if asked == Ok(true) {
            messages.extend(mail);
        }
    }
    let contained = Contained { actor: loan.actor, messages };
    if let Err(error) = hub.store.run(contained).await {
        tracing::debug!(code = %error.code(), "what a cut turn has was not noted");
    }
}

/// Makes the agent of the actor if there is none, within the time that a turn may be starting.
async fn make(loan: &mut Loan, order: &Order) -> Result<(), String> {
    if loan.agent.is_some() {
        return Ok(());
    }
    let new = NewAgent { address: order.address.clone(), agent: order.agent.clone() };
    let opened = AssertUnwindSafe(async { order.spec.open(new).await.map_err(|e| e.to_string()) });
    let limit = loan.hub.config.start_limit;
    let error = match tokio::time::timeout(limit, opened.catch_unwind()).await {
        Ok(Ok(Ok(agent))) => {
            loan.hub.was_made(loan.actor);
            loan.agent = Some(agent);
            return Ok(());
        }
        Ok(Ok(Err(error))) => error,
        Ok(Err(payload)) => TurnError::panicked(&*payload).message,
        Err(_) => format!("not within {} s", limit.as_secs()),
    };
    Err(format!("the agent could not be made: {error}"))
}

/// Drops an agent that panicked; its drop may panic again.
fn discard(agent: Option<BoxAgent>) {
    let dropped = std::panic::catch_unwind(AssertUnwindSafe(move || drop(agent)));
    if dropped.is_err() {
        tracing::warn!("an agent panicked again when it was dropped");
    }
}

/// What is said of an injection that the agent has, but whose answer was lost.
fn settled_already() -> Report {
    Report {
        status: Status::Unreported,
        summary: Some("the agent had this injection already".into()),
        result: String::new(),
        changed: false,
        next: Next::Auto,
    }
}

async fn end(hub: &Hub, claim: &Claim, report: TurnReport) -> Result<TurnEnd, OpError> {
    match hub.store.run(EndTurn { token: claim.token, report: report.report }).await {
        // An answer that cannot be kept is a failure of the turn, not a turn without end.
        Err(error @ (OpError::TooLarge { .. } | OpError::Invalid { .. })) => {
            fail(hub, claim, error.into()).await
        }
        other => other,
    }
}

async fn interrupted(hub: &Hub, claim: &Claim) -> Result<TurnEnd, OpError> {
    let interrupted = FailTurn {
        token: claim.token,
        failure: TurnFailure::Interrupted,
        class: FailureClass::Transient,
        error: "mail interrupted the turn".into(),
        back_off: Duration::ZERO,
        cause: Cause::Crash,
    };
    hub.store.run(interrupted).await
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
    let fail =
        FailTurn { token: claim.token, failure, class, error, back_off, cause: Cause::Crash };
    hub.store.run(fail).await
}
