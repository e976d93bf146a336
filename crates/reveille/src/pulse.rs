//! The pulse of a running turn: what it reports, and what it is told, without a write or a lock.
//!
//! A progress report is one atomic store. The watchdog reads it; what it decides is the core's rule.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reveille_core::liveness::Clocks;
use reveille_store::step::Token;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::slots::Slot;

/// No declared wait.
const NONE: u64 = 0;
/// A declared wait without a limit.
const FOREVER: u64 = u64::MAX;

/// What a turn, its actor and the watchdog share.
#[derive(Debug)]
pub(crate) struct Pulse {
    clock: Arc<Clock>,
    /// Milliseconds of the clock's monotonic count at the latest progress.
    progress: AtomicU64,
    waiting_until: AtomicU64,
    told: AtomicBool,
    cancel: watch::Sender<bool>,
    /// The slot that the turn computes in; given back while it waits.
    slot: Mutex<Option<Slot>>,
    pub(crate) token: Mutex<Option<Token>>,
    pub(crate) stall_after: Duration,
}

impl Pulse {
    pub(crate) fn new(clock: Arc<Clock>, stall_after: Duration) -> Self {
        let pulse = Self {
            clock,
            progress: AtomicU64::new(0),
            waiting_until: AtomicU64::new(NONE),
            told: AtomicBool::new(false),
            cancel: watch::Sender::new(false),
            slot: Mutex::new(None),
            token: Mutex::new(None),
            stall_after,
        };
        pulse.beat();
        pulse
    }

    /// Progress.
    pub(crate) fn beat(&self) {
        self.progress.store(self.millis(), Ordering::Relaxed);
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Declares a wait: silence is in order for `limit`, without end if there is none.
    pub(crate) fn declare(&self, limit: Option<Duration>) {
        let until = limit.map_or(FOREVER, |limit| {
            let millis = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            self.millis().saturating_add(millis)
        });
        self.waiting_until.store(until, Ordering::Relaxed);
    }

    /// Ends the declared wait.
    pub(crate) fn undeclare(&self) {
        self.beat();
        self.waiting_until.store(NONE, Ordering::Relaxed);
    }

    /// What the rule of liveness needs.
    pub(crate) fn clocks(&self) -> Clocks {
        let until = self.waiting_until.load(Ordering::Relaxed);
        Clocks {
            progress: Duration::from_millis(self.progress.load(Ordering::Relaxed)),
            waiting_until: (until != NONE).then(|| Duration::from_millis(until)),
            told: self.told.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn set_told(&self, told: bool) {
        self.told.store(told, Ordering::Relaxed);
    }

    /// Asks the turn to end by itself.
    pub(crate) fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        *self.cancel.borrow()
    }

    /// Ends when the turn is asked to end.
    pub(crate) async fn cancelled(&self) {
        // The sender lives as long as this value does.
        let _ = self.cancel.subscribe().wait_for(|cancelled| *cancelled).await;
    }

    pub(crate) fn hold(&self, slot: Slot) {
        *self.slot.lock() = Some(slot);
    }

    pub(crate) fn has_slot(&self) -> bool {
        self.slot.lock().is_some()
    }

    /// Gives the slot back.
    pub(crate) fn give_back(&self) {
        let slot = self.slot.lock().take();
        drop(slot);
    }
}
