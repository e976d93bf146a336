//! A turn, as its agent sees it: what may be done in its name while it runs (P9, S3, L2).

use std::sync::Arc;
use std::time::Duration;

use reveille_core::{Address, Caller, InjectionId, MessageId, OpError, Outcome, RunId};
use reveille_store::step::wait::{GiveBack, WaitAnswer, WaitFor};
use reveille_store::step::Token;

use crate::hub::Hub;
use crate::ops;
use crate::pulse::Pulse;
use crate::slots::{Place, Slots};
use crate::spec::{Message, Spawn, Worker};

/// A turn under way.
///
/// Clones serve the turn's own tasks. After the turn's end, its cancel or a restart every call
/// answers `stale_token`.
#[derive(Debug, Clone)]
pub struct Turn {
    pub(crate) hub: Arc<Hub>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) slots: Slots,
    pub(crate) token: Token,
    pub(crate) address: Address,
    pub(crate) run: RunId,
    pub(crate) injection: InjectionId,
    pub(crate) attempt: u32,
}

impl Turn {
    /// The actor whose turn this is.
    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// The run that the turn belongs to.
    #[must_use]
    pub const fn run(&self) -> RunId {
        self.run
    }

    /// The injection that the turn began with.
    #[must_use]
    pub const fn injection(&self) -> InjectionId {
        self.injection
    }

    /// Which attempt at that injection this is, from 1.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Says that the turn gets on. Costs an atomic, so call it as often as there is something.
    pub fn progress(&self) {
        self.pulse.beat();
    }

    /// Says that a tool runs: silence is in order until it ends, or for `limit`.
    pub fn tool(&self, name: &str, limit: Duration) -> ToolGuard<'_> {
        tracing::debug!(actor = %self.address, tool = name, "a tool runs");
        self.pulse.beat();
        self.pulse.declare(Some(limit));
        ToolGuard { pulse: &self.pulse }
    }

    /// Ends when the turn is asked to end: it has the grace of the cancel to do so by itself.
    pub async fn cancelled(&self) {
        self.pulse.cancelled().await;
    }

    /// Whether the turn is asked to end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.pulse.is_cancelled()
    }

    /// Sends a message in this actor's name.
    ///
    /// # Errors
    ///
    /// What [`crate::Runtime::send`] refuses, and `stale_token`.
    pub async fn send(&self, message: Message) -> Result<MessageId, OpError> {
        self.check().await?;
        ops::send(&self.hub, Caller::Actor(self.address.clone()), message).await
    }

    /// Spawns a worker of this actor.
    ///
    /// # Errors
    ///
    /// What [`crate::Runtime::spawn`] refuses, and `stale_token`.
    pub async fn spawn(&self, spawn: Spawn) -> Result<Worker, OpError> {
        self.check().await?;
        let caller = Caller::Actor(self.address.clone());
        ops::spawn(&self.hub, caller, self.address.clone(), spawn).await
    }

    /// Waits for the latest run of an actor, at most `limit`, and collects its notice: what this
    /// returned is not announced as well (S3). The turn's slot is given back meanwhile (S4).
    ///
    /// # Errors
    ///
    /// `timed_out`, `unknown_actor`, `would_deadlock`, `stale_token`.
    pub async fn wait(&self, target: &Address, limit: Duration) -> Result<Outcome, OpError> {
        let waited = tokio::time::timeout(limit, self.outcome(target)).await;
        if !self.pulse.has_slot() {
            self.pulse.hold(self.slots.acquire(Place::Head).await);
        }
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        waited.unwrap_or(Err(OpError::TimedOut { limit_ms }))
    }

    async fn outcome(&self, target: &Address) -> Result<Outcome, OpError> {
        let mut guard = WaitGuard { turn: self, target, returned: false };
        loop {
            let wait = WaitFor { token: self.token, target: target.clone() };
            let number = ops::number(&self.hub, target).await?;
            let end = self.hub.next_end(number);
            if let WaitAnswer::Ended(ended) = self.hub.store.wait_for(wait).await? {
                let outcome = ops::outcome(&self.hub, ended.outcome).await?;
                guard.returned = true;
                return Ok(outcome);
            }
            self.pulse.declare(None);
            self.pulse.give_back();
            // Nobody tells any more only when the runtime goes; the next look says so.
            let _ = end.await;
        }
    }

    async fn check(&self) -> Result<(), OpError> {
        let token = self.token;
        let fresh = self.hub.store.look(move |state| {
            let row = state.row(token.actor);
            row.is_some_and(|row| row.turn == Some(token.turn))
                && state.incarnation() == token.incarnation
        });
        if fresh.await? { Ok(()) } else { Err(OpError::StaleToken) }
    }
}

/// A tool that runs; dropping it says that it ended.
#[derive(Debug)]
#[must_use = "the tool is taken for ended when this is dropped"]
pub struct ToolGuard<'a> {
    pulse: &'a Pulse,
}

impl Drop for ToolGuard<'_> {
    fn drop(&mut self) {
        self.pulse.undeclare();
    }
}

/// Ends a wait, however it ends: what it collected and did not return is given back.
struct WaitGuard<'a> {
    turn: &'a Turn,
    target: &'a Address,
    returned: bool,
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.turn.pulse.undeclare();
        if !self.returned {
            let wait = GiveBack { token: self.turn.token, target: self.target.clone() };
            // The step is handed in by the call; nobody needs its answer.
            drop(self.turn.hub.store.stop_waiting(wait));
        }
    }
}
