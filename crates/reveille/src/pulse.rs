//! The pulse of a running turn: what it reports, and what it is told, without a write or a lock.
//!
//! A progress report is one atomic store. The watchdog reads it; what it decides is the core's rule.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use reveille_core::liveness::Clocks;
use reveille_store::step::Token;
use tokio::sync::{Mutex as AsyncMutex, watch};

use crate::clock::Clock;
use crate::slots::{Place, Slot, Slots};

/// The slot of a turn.
#[derive(Debug, Default)]
struct Held {
    /// What it computes in; `None` while it waits, for something or for a slot.
    slot: Option<Slot>,
    /// Whether the turn is over: then it takes none any more.
    over: bool,
    /// Waits of the turn that are under way: while there are any, it needs no slot.
    waits: usize,
}

impl Held {
    const fn lacks(&self) -> bool {
        !self.over && self.slot.is_none() && self.waits == 0
    }
}

/// What a turn, its actor and the watchdog share.
#[derive(Debug)]
pub(crate) struct Pulse {
    clock: Arc<Clock>,
    /// Milliseconds of the clock's monotonic count at the latest progress.
    progress: AtomicU64,
    /// The declared waits that are under way, and until when each may last.
    waits: Mutex<HashMap<u64, Duration>>,
    next_wait: AtomicU64,
    told: AtomicBool,
    /// Whether the agent was heard of since its silence was told.
    heard: AtomicBool,
    cancel: watch::Sender<bool>,
    /// Whether mail interrupts the turn: then its end is decided by that if it does not answer.
    interrupted: AtomicBool,
    /// The slot that the turn computes in; given back while it waits.
    slot: Mutex<Held>,
    /// Held by whoever asks for a slot again, so that one turn never holds two.
    asking: AsyncMutex<()>,
    pub(crate) token: Mutex<Option<Token>>,
    pub(crate) stall_after: Duration,
}

impl Pulse {
    pub(crate) fn new(clock: Arc<Clock>, stall_after: Duration) -> Self {
        let pulse = Self {
            clock,
            progress: AtomicU64::new(0),
            waits: Mutex::default(),
            next_wait: AtomicU64::new(0),
            told: AtomicBool::new(false),
            heard: AtomicBool::new(false),
            cancel: watch::Sender::new(false),
            interrupted: AtomicBool::new(false),
            slot: Mutex::default(),
            asking: AsyncMutex::new(()),
            token: Mutex::new(None),
            stall_after,
        };
        pulse.beat();
        pulse
    }

    /// Progress, from the agent.
    pub(crate) fn report(&self) {
        self.beat();
        self.heard.store(true, Ordering::Relaxed);
    }

    /// Starts the clock of progress anew.
    pub(crate) fn beat(&self) {
        self.progress.store(self.millis(), Ordering::Relaxed);
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Declares a wait: silence is in order for `limit`, without end if there is none, until the
    /// wait is ended by its number.
    pub(crate) fn declare(&self, limit: Option<Duration>) -> u64 {
        let until = limit.map_or(Duration::MAX, |limit| self.clock.elapsed().saturating_add(limit));
        let id = self.next_wait.fetch_add(1, Ordering::Relaxed);
        self.waits.lock().insert(id, until);
        id
    }

    /// Ends a declared wait.
    pub(crate) fn undeclare(&self, id: u64) {
        self.report();
        self.waits.lock().remove(&id);
    }

    /// What the rule of liveness needs.
    pub(crate) fn clocks(&self) -> Clocks {
        Clocks {
            progress: Duration::from_millis(self.progress.load(Ordering::Relaxed)),
            waiting_until: self.waits.lock().values().max().copied(),
            told: self.told.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn set_told(&self, told: bool) {
        self.heard.store(false, Ordering::Relaxed);
        self.told.store(told, Ordering::Relaxed);
    }

    /// Whether a silence was told and goes on: a turn that began anew, after a restart, is not heard
    /// of by that.
    pub(crate) fn is_still_silent(&self) -> bool {
        self.told.load(Ordering::Relaxed) && !self.heard.load(Ordering::Relaxed)
    }

    /// Asks the turn to end by itself.
    pub(crate) fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    /// Asks the turn to end by itself, because mail interrupts it.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.cancel();
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        *self.cancel.borrow()
    }

    /// Ends when the turn is asked to end.
    pub(crate) async fn cancelled(&self) {
        // The sender lives as long as this value does.
        let _ = self.cancel.subscribe().wait_for(|cancelled| *cancelled).await;
    }

    /// Computes in this slot from now on. A turn that is over, or that waits again, passes it on.
    pub(crate) fn hold(&self, slot: Slot) {
        let mut held = self.slot.lock();
        if held.lacks() {
            held.slot = Some(slot);
        }
    }

    /// A wait begins.
    pub(crate) fn wait_begins(&self) {
        self.slot.lock().waits += 1;
    }

    /// A wait ends.
    pub(crate) fn wait_ends(&self) {
        let mut held = self.slot.lock();
        held.waits = held.waits.saturating_sub(1);
    }

    /// Gives the slot back.
    pub(crate) fn give_back(&self) {
        let slot = self.slot.lock().slot.take();
        drop(slot);
    }

    /// Goes on after a wait: asks for a slot again, unless another wait is under way.
    pub(crate) async fn go_on(&self, slots: &Slots) {
        let _asking = self.asking.lock().await;
        let lacks = self.slot.lock().lacks();
        if lacks {
            self.hold(slots.acquire(Place::Head).await);
        }
    }

    /// The turn is over: it holds no slot and takes none.
    pub(crate) fn over(&self) {
        self.slot.lock().over = true;
        self.give_back();
    }
}
