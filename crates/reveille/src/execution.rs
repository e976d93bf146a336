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
use reveille_core::{Address, AgentName, Cause, FailureClass, OpError, Status, Trigger};
use reveille_store::record::Number;
use reveille_store::step::turn::{
    Claim, ClaimMail, EndTurn, FailTurn, Next, OfferAgain, Report, TurnEnd,
};

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
    let slot = tokio::select! {
        biased;
        () = hub.closing() => return,
        slot = slots.acquire(order.place) => slot,
    };
    loan.pulse.hold(slot);
    let claiming = hub.claiming();
    if hub.phase() != Phase::Running {
        return;
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
        Ok(Some(claim)) => attempt(&mut loan, &order, claim).await,
        Ok(None) => hub.stale_wake(),
        Err(error) => tracing::warn!(actor = %order.address, %error, "a claim was refused"),
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
        // Who asked it to end decides what its end is.
        Err(_) if loan.pulse.is_cancelled() => return,
        Err(error) => fail(&hub, &claim, error).await,
    };
    if let Err(error) = ended {
        let (actor, code) = (&order.address, error.code());
        tracing::info!(%actor, %code, "the end of a turn was refused");
    }
}

async fn hand_over(loan: &mut Loan, order: &Order, claim: &Claim) -> Result<TurnReport, TurnError> {
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
    if claim.lost && has(loan, order, claim).await? {
        return Ok(TurnReport { report: settled_already() });
    }
    let mut agent = agent(loan, order, claim).await?;
    // The agent's future is made inside, because making it may panic too.
    let work = AssertUnwindSafe(async { agent.turn(&turn, injection).await }).catch_unwind();
    match work.await {
        Ok(result) => {
            loan.agent = Some(agent);
            result
        }
        Err(payload) => {
            discard(agent);
            Err(TurnError::panicked(&*payload))
        }
    }
}

/// Whether the agent has the injection of a turn that was lost. What panics over that question is
/// not used again, and counts as not knowing.
async fn has(loan: &mut Loan, order: &Order, claim: &Claim) -> Result<bool, TurnError> {
    let mut agent = agent(loan, order, claim).await?;
    let asked = AssertUnwindSafe(async { agent.contains(claim.injection).await }).catch_unwind();
    match asked.await {
        Ok(presence) => {
            loan.agent = Some(agent);
            Ok(presence == Presence::Yes)
        }
        Err(_) => {
            discard(agent);
            Ok(false)
        }
    }
}

/// The agent of the actor, made if there is none.
async fn agent(loan: &mut Loan, order: &Order, claim: &Claim) -> Result<BoxAgent, TurnError> {
    match loan.agent.take() {
        Some(agent) => Ok(agent),
        None => open(order, claim).await,
    }
}

/// Drops an agent that panicked; its drop may panic again.
fn discard(agent: BoxAgent) {
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
        next: Next::Auto,
    }
}

/// Makes the agent. One that cannot be made keeps mail waiting as one that is away does (W12); a
/// task that it was to begin did not start, and whoever asked for it is told.
async fn open(order: &Order, claim: &Claim) -> Result<BoxAgent, TurnError> {
    let new = NewAgent { address: order.address.clone(), agent: order.agent.clone() };
    let opened = AssertUnwindSafe(async { order.spec.open(new).await.map_err(|e| e.to_string()) });
    let error = match opened.catch_unwind().await {
        Ok(Ok(agent)) => return Ok(agent),
        Ok(Err(error)) => error,
        Err(payload) => TurnError::panicked(&*payload).message,
    };
    let error = format!("the agent could not be made: {error}");
    Err(match claim.trigger {
        Trigger::Task => TurnError::permanent(error).class(FailureClass::DidNotStart),
        Trigger::Window | Trigger::Wait => TurnError::unavailable(error),
    })
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
