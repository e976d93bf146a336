//! A turn, as its agent sees it: what may be done in its name while it runs (P9, S3, L2).
//!
//! Letting mail in, asking, marking mail and the like are in [`acts`].

mod acts;

use std::sync::Arc;
use std::time::Duration;

use reveille_core::{Address, Caller, InjectionId, OpError, Outcome, RunId, Style};
use reveille_store::step::Token;
use reveille_store::step::send::Accepted;
use reveille_store::step::wait::{StopWaiting, WaitAnswer, WaitFor};

use crate::agent::Busy;
use crate::hub::Hub;
use crate::letter::Message;
use crate::ops;
use crate::pulse::Pulse;
use crate::slots::Slots;
use crate::spec::{Spawn, Worker};

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
    pub(crate) busy: Busy,
    pub(crate) style: Style,
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
        self.pulse.report();
    }

    /// Says that a tool runs: silence is in order until it ends, or for `limit`.
    pub fn tool(&self, name: &str, limit: Duration) -> ToolGuard<'_> {
        tracing::debug!(actor = %self.address, tool = name, "a tool runs");
        self.pulse.report();
        ToolGuard { wait: self.pulse.declare(Some(limit)), pulse: &self.pulse }
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
    pub async fn send(&self, message: Message) -> Result<Accepted, OpError> {
        let caller = Caller::Actor(self.address.clone());
        ops::send(&self.hub, caller, message, Some(self.token)).await
    }

    /// Spawns a worker of this actor.
    ///
    /// # Errors
    ///
    /// What [`crate::Runtime::spawn`] refuses, and `stale_token`.
    pub async fn spawn(&self, spawn: Spawn) -> Result<Worker, OpError> {
        let caller = Caller::Actor(self.address.clone());
        ops::spawn(&self.hub, caller, self.address.clone(), spawn, Some(self.token)).await
    }

    /// Waits for the latest run of an actor, at most `limit`, and collects its notice: what this
    /// returned is not announced as well (S3). The turn's slot is given back meanwhile (S4).
    ///
    /// # Errors
    ///
    /// `timed_out`, `unknown_actor`, `would_deadlock`, `stale_token`; `asking` when whoever is waited
    /// for, or somebody in the way, waits for an answer of this actor.
    pub async fn wait(&self, target: &Address, limit: Duration) -> Result<Outcome, OpError> {
        let mut guard = WaitGuard::new(self);
        let waited = tokio::time::timeout(limit, self.outcome(guard.id, target)).await;
        guard.end();
        if !matches!(waited, Ok(Err(OpError::StaleToken))) {
            self.pulse.go_on(&self.slots).await;
        }
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let outcome = waited.unwrap_or(Err(OpError::TimedOut { limit_ms }));
        guard.returned = outcome.is_ok();
        outcome
    }

    async fn outcome(&self, id: u64, target: &Address) -> Result<Outcome, OpError> {
        let number = ops::number(&self.hub, target).await?;
        let mut run = None;
        loop {
            let end = self.hub.next_end(number);
            let wait = WaitFor { token: self.token, id, target: target.clone(), run };
            match self.hub.store.wait_for(wait).await? {
                WaitAnswer::Ended { ended, .. } => {
                    return ops::outcome(&self.hub, ended.outcome).await;
                }
                WaitAnswer::Asking { address, question } => {
                    return Err(OpError::Asking { address, question });
                }
                WaitAnswer::Open(open) => run = Some(open),
                WaitAnswer::NoRun => {}
            }
            self.pulse.give_back();
            // Nobody tells any more only when the runtime goes; the next look says so.
            let _ = end.await;
        }
    }
}

/// A tool that runs; dropping it says that it ended.
#[derive(Debug)]
#[must_use = "the tool is taken for ended when this is dropped"]
pub struct ToolGuard<'a> {
    pulse: &'a Pulse,
    wait: u64,
}

impl Drop for ToolGuard<'_> {
    fn drop(&mut self) {
        self.pulse.undeclare(self.wait);
    }
}

/// Ends a wait, however it ends: what it collected and did not return is given back, and the turn
/// has a slot again, or asks for one.
struct WaitGuard<'a> {
    turn: &'a Turn,
    id: u64,
    declared: u64,
    waits: bool,
    returned: bool,
}

impl<'a> WaitGuard<'a> {
    fn new(turn: &'a Turn) -> Self {
        turn.pulse.wait_begins();
        let (id, declared) = (turn.hub.next_wait(), turn.pulse.declare(None));
        Self { turn, id, declared, waits: true, returned: false }
    }

    /// There is nothing to wait for any more, but a slot.
    fn end(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.turn.pulse.wait_ends();
        }
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.end();
        let Turn { hub, pulse, slots, token, .. } = self.turn;
        pulse.undeclare(self.declared);
        // The step is handed in by the call; nobody needs its answer.
        let returned = self.returned;
        drop(hub.store.stop_waiting(StopWaiting { token: *token, id: self.id, returned }));
        if !returned && let Ok(tokio) = tokio::runtime::Handle::try_current() {
            let (pulse, slots) = (Arc::clone(pulse), slots.clone());
            tokio.spawn(async move { pulse.go_on(&slots).await });
        }
    }
}
