//! The hub: what all parts of a runtime share, and how a commit reaches those it concerns.
//!
//! After each commit the store calls [`Hub::committed`], on its own thread. Bodies do not travel
//! here: an actor gets the hint "look again", at most one at a time, and whoever waits for a run
//! looks again too (decision 2). A hint that is lost only delays: everybody who looks asks the
//! store (P5).

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use parking_lot::{Mutex, RwLock};
use ractor::ActorRef;
use reveille_core::{AgentName, Delivery, OpError, Seq, Timestamp};
use reveille_store::record::{Dead, Number, Record, Sent, Settled, Taken};
use reveille_store::step::Token;
use reveille_store::{Committed, Store};
use tokio::sync::{oneshot, watch};

use crate::agent::AgentSpec;
use crate::clock::Clock;
use crate::config::Config;
use crate::pulse::Pulse;
use crate::resident;
use crate::root;
use crate::slots::{Place, Slot, SlotTable, Slots};
use crate::watchdog;

/// What is done by a runtime at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Turns start.
    Running,
    /// No turn starts any more.
    Closing,
    /// Nobody runs the store: no turn starts, and what waits for one is not waited for.
    AtRest,
}

/// The way to a resident actor.
#[derive(Debug, Clone)]
pub(crate) struct Resident {
    pub(crate) actor: ActorRef<resident::Message>,
    flags: Arc<Flags>,
}

/// What is known of a resident actor without asking it.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// A hint is on its way.
    pub(crate) hinted: AtomicBool,
    /// It will look by itself at whatever ordinary mail comes: its turn ends, its window closes, its
    /// hold goes. Ordinary mail only moves a closing time back, so it needs no hint then. Cleared
    /// before each look at the store, set after it: mail that the look did not see hints.
    pub(crate) looks: AtomicBool,
}

impl Resident {
    pub(crate) const fn new(actor: ActorRef<resident::Message>, flags: Arc<Flags>) -> Self {
        Self { actor, flags }
    }

    /// "Look again", unless that is on its way already.
    fn hint(&self) {
        if !self.flags.hinted.swap(true, Ordering::AcqRel) {
            // An actor that is gone needs no hint: the one that takes its place looks first.
            let _ = self.actor.cast(resident::Message::Look);
        }
    }
}

/// What all parts of a runtime share.
pub(crate) struct Hub {
    pub(crate) store: Store,
    pub(crate) config: Config,
    pub(crate) clock: Arc<Clock>,
    pub(crate) slots: SlotTable,
    agents: RwLock<HashMap<AgentName, AgentSpec>>,
    residents: RwLock<HashMap<Number, Resident>>,
    /// The turns that are under way, for the watchdog.
    pub(crate) turns: Mutex<HashMap<Number, Arc<Pulse>>>,
    /// Who waits for something that a commit tells.
    waiters: Mutex<HashMap<Waited, Vec<oneshot::Sender<()>>>>,
    /// Actors whose agents could not be made: how often, and when it is tried again (W12).
    unmade: Mutex<HashMap<Number, (u32, Timestamp)>>,
    /// Actors that a start found with something to do: they begin behind those that are live (W11).
    backlog: Mutex<HashSet<Number>>,
    /// How many turns may be starting.
    pub(crate) starts: Slots,
    /// Turns that were open when the process died, if one of them is suspected of it: one by one.
    suspects: OnceLock<Slots>,
    /// Counts commits, for those who wait for a state and not for one actor.
    commits: watch::Sender<u64>,
    phase: watch::Sender<Phase>,
    pub(crate) root: OnceLock<ActorRef<root::Message>>,
    pub(crate) watchdog: OnceLock<ActorRef<watchdog::Message>>,
    stale_wakes: AtomicU64,
    /// Actors whose turn is under way, or waits for a slot.
    executing: Mutex<HashSet<Number>>,
    overdue: AtomicU64,
    #[cfg(feature = "test-util")]
    pub(crate) loses_hints: AtomicBool,
    claims: AtomicUsize,
    next_wait: AtomicU64,
}

/// What somebody may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Waited {
    /// The end of a run of this actor.
    End(Number),
    /// That it is settled what becomes of this message.
    Fate(Seq),
    /// The answer to this question.
    Answer(Seq),
}

/// Somebody who is about to claim.
pub(crate) struct Claiming(Arc<Hub>);

impl Drop for Claiming {
    fn drop(&mut self) {
        self.0.claims.fetch_sub(1, Ordering::SeqCst);
        if self.0.phase() == Phase::Closing {
            self.0.commits.send_modify(|commits| *commits += 1);
        }
    }
}

/// Whether mail can only move the closing time of a window back, and wants nothing of a turn.
fn is_ordinary(sent: &Sent) -> bool {
    let timed = sent.not_before.is_some() || sent.expires_at.is_some() || sent.since.is_some();
    !sent.urgent && !timed && sent.delivery != Delivery::Interrupt
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Hub {
    pub(crate) fn new(
        store: Store,
        config: Config,
        clock: Arc<Clock>,
        agents: HashMap<AgentName, AgentSpec>,
    ) -> Self {
        Self {
            slots: SlotTable::new(config.slots),
            unmade: Mutex::default(),
            backlog: Mutex::default(),
            starts: Slots::new(config.starting),
            suspects: OnceLock::new(),
            store,
            config,
            clock,
            agents: RwLock::new(agents),
            residents: RwLock::default(),
            turns: Mutex::default(),
            waiters: Mutex::default(),
            commits: watch::Sender::new(0),
            phase: watch::Sender::new(Phase::Running),
            root: OnceLock::new(),
            watchdog: OnceLock::new(),
            stale_wakes: AtomicU64::new(0),
            executing: Mutex::default(),
            overdue: AtomicU64::new(0),
            #[cfg(feature = "test-util")]
            loses_hints: AtomicBool::new(false),
            claims: AtomicUsize::new(0),
            next_wait: AtomicU64::new(0),
        }
    }

    /// Tells of a commit: called by the store, in the order of commits.
    pub(crate) fn committed(&self, commit: &Committed<'_>) {
        let waits = !self.waiters.lock().is_empty();
        for (_, record) in commit.records {
            self.touch_those_concerned(record);
            if waits {
                self.tell_waiters(record);
            }
        }
        self.commits.send_modify(|commits| *commits += 1);
    }

    fn touch_those_concerned(&self, record: &Record) {
        match record {
            Record::Sent(sent) if is_ordinary(sent) => {
                sent.to.iter().for_each(|&to| self.touch_unless_it_looks(to));
            }
            Record::Sent(sent) => sent.to.iter().for_each(|&to| self.touch(to)),
            Record::Queued(queued) => self.touch(queued.actor),
            Record::Released(released) => self.touch(released.actor),
            Record::RunEnded(ended) => self.touch(ended.actor),
            Record::Resumed(resumed) => self.touch(resumed.actor),
            Record::Unheld(unheld) => self.touch(unheld.actor),
            Record::Asked(asked) => self.touch(asked.actor),
            Record::Answered(answered) => self.touch(answered.actor),
            Record::Scheduled(scheduled) => self.touch(scheduled.actor),
            _ => {}
        }
    }

    fn tell_waiters(&self, record: &Record) {
        let mut waiters = self.waiters.lock();
        if waiters.is_empty() {
            return;
        }
        let mut told = Vec::new();
        let mut tell = |waited| told.extend(waiters.remove(&waited).into_iter().flatten());
        match record {
            // A question may have to be answered by somebody who waits for the one who asks.
            Record::Asked(asked) => tell(Waited::End(asked.actor)),
            Record::RunEnded(ended) => tell(Waited::End(ended.actor)),
            Record::Answered(answered) => tell(Waited::Answer(answered.question)),
            Record::TurnEnded(ended) => {
                let messages = ended.settled.iter().flat_map(|batch| &batch.messages);
                messages.for_each(|&message| tell(Waited::Fate(message)));
            }
            Record::Taken(Taken { messages, .. })
            | Record::Settled(Settled { messages, .. })
            | Record::Dead(Dead { messages, .. }) => {
                messages.iter().for_each(|&message| tell(Waited::Fate(message)));
            }
            Record::Marked(marked) if marked.settles => tell(Waited::Fate(marked.message)),
            _ => {}
        }
        drop(waiters);
        for waiter in told {
            // Whoever stopped waiting is not there any more.
            let _ = waiter.send(());
        }
    }

    /// Hints at an actor about ordinary mail.
    fn touch_unless_it_looks(&self, actor: Number) {
        let looks = |resident: &Resident| resident.flags.looks.load(Ordering::Acquire);
        if !self.residents.read().get(&actor).is_some_and(looks) {
            self.touch(actor);
        }
    }

    /// Hints at an actor; one that is not resident becomes so.
    pub(crate) fn touch(&self, actor: Number) {
        #[cfg(feature = "test-util")]
        if self.loses_hints.load(Ordering::Relaxed) {
            return;
        }
        let resident = self.residents.read().get(&actor).cloned();
        match (resident, self.root.get()) {
            (Some(resident), _) => resident.hint(),
            // During recovery there is no root yet; it looks at everybody when it starts.
            (None, Some(root)) => drop(root.cast(root::Message::Wake(actor))),
            (None, None) => {}
        }
    }

    /// Notes that an actor's agent could not be made; it is tried again after a while (W12).
    pub(crate) fn could_not_be_made(&self, actor: Number) {
        let mut unmade = self.unmade.lock();
        let attempt = unmade.get(&actor).map_or(0, |(attempt, _)| *attempt).saturating_add(1);
        unmade.insert(actor, (attempt, self.clock.now().after(self.back_off(attempt))));
    }

    /// Notes that an actor's agent is there.
    pub(crate) fn was_made(&self, actor: Number) {
        self.unmade.lock().remove(&actor);
    }

    /// Until when an actor is held because its agent could not be made.
    pub(crate) fn unmade_until(&self, actor: Number) -> Option<Timestamp> {
        self.unmade.lock().get(&actor).map(|(_, until)| *until)
    }

    /// Notes what a start found: these begin behind what is live.
    pub(crate) fn set_backlog(&self, backlog: HashSet<Number>, one_by_one: bool) {
        *self.backlog.lock() = backlog;
        if one_by_one {
            // Set once: a runtime starts once.
            let _ = self.suspects.set(Slots::new(1));
        }
    }

    /// Waits until this actor's turn may be starting (W11).
    pub(crate) async fn may_start(&self, actor: Number) -> Slot {
        let place = if self.backlog.lock().remove(&actor) { Place::Tail } else { Place::Head };
        self.starts.acquire(place).await
    }

    /// Waits until a turn that was open when the process died may run; held until it is over.
    pub(crate) async fn may_run_again(&self) -> Option<Slot> {
        Some(self.suspects.get()?.acquire(Place::Tail).await)
    }

    pub(crate) fn resident(&self, actor: Number) -> Option<Resident> {
        self.residents.read().get(&actor).cloned()
    }

    pub(crate) fn residents(&self) -> Vec<Resident> {
        self.residents.read().values().cloned().collect()
    }

    pub(crate) fn settle_in(&self, actor: Number, resident: Resident) {
        self.residents.write().insert(actor, resident);
    }

    pub(crate) fn move_out(&self, actor: Number) {
        self.residents.write().remove(&actor);
    }

    pub(crate) fn agent(&self, name: &AgentName) -> Option<AgentSpec> {
        self.agents.read().get(name).cloned()
    }

    pub(crate) fn register(&self, name: AgentName, spec: AgentSpec) {
        self.agents.write().insert(name, spec);
        self.unmade.lock().clear();
        self.residents().iter().for_each(Resident::hint);
    }

    /// Ends at the next end of a run of this actor.
    pub(crate) fn next_end(&self, actor: Number) -> oneshot::Receiver<()> {
        self.next(Waited::End(actor))
    }

    /// Ends when the next commit tells of this; at once, with an error, if nobody will.
    pub(crate) fn next(&self, waited: Waited) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        if self.phase() == Phase::AtRest {
            return receiver;
        }
        let mut waiters = self.waiters.lock();
        let waiters = waiters.entry(waited).or_default();
        waiters.retain(|waiter| !waiter.is_closed());
        waiters.push(sender);
        receiver
    }

    pub(crate) fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Ends when the runtime closes.
    pub(crate) async fn closing(&self) {
        // The sender lives as long as this value does.
        let _ = self.phase.subscribe().wait_for(|phase| *phase == Phase::Closing).await;
    }

    /// Notes that somebody is about to claim: from before they look at the phase until the claim is
    /// in the store, so that a runtime that closes waits for them.
    pub(crate) fn claiming(self: &Arc<Self>) -> Claiming {
        self.claims.fetch_add(1, Ordering::SeqCst);
        Claiming(Arc::clone(self))
    }

    /// Whether anybody is about to claim.
    pub(crate) fn is_claiming(&self) -> bool {
        self.claims.load(Ordering::SeqCst) > 0
    }

    /// Refuses new work once the runtime closes.
    pub(crate) fn open(&self) -> Result<(), OpError> {
        self.open_to(None)
    }

    /// The same; a turn under way may finish what it is at.
    pub(crate) fn open_to(&self, turn: Option<Token>) -> Result<(), OpError> {
        match (self.phase(), turn) {
            (Phase::Running | Phase::AtRest, _) | (Phase::Closing, Some(_)) => Ok(()),
            (Phase::Closing, None) => Err(OpError::ShuttingDown),
        }
    }

    /// A number for a wait inside a turn.
    pub(crate) fn next_wait(&self) -> u64 {
        self.next_wait.fetch_add(1, Ordering::Relaxed)
    }

    /// Wakes everybody who waits, once the store answers no more: they look and see.
    pub(crate) fn release_waiters(&self) {
        self.waiters.lock().clear();
        self.commits.send_modify(|commits| *commits += 1);
    }

    /// Notes that an actor's turn is under way or waits for a slot, or is over.
    pub(crate) fn set_executing(&self, actor: Number, executing: bool) {
        let mut all = self.executing.lock();
        if executing {
            all.insert(actor);
        } else {
            all.remove(&actor);
        }
    }

    pub(crate) fn is_executing(&self, actor: Number) -> bool {
        self.executing.lock().contains(&actor)
    }

    pub(crate) fn count_overdue(&self, more: u64) {
        self.overdue.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn overdue(&self) -> u64 {
        self.overdue.load(Ordering::Relaxed)
    }

    /// A window closed and there was nothing to wake for (W2).
    pub(crate) fn stale_wake(&self) {
        self.stale_wakes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stale_wakes(&self) -> u64 {
        self.stale_wakes.load(Ordering::Relaxed)
    }

    /// The delay before what failed at its `attempt`-th attempt may be offered again.
    pub(crate) fn back_off(&self, attempt: u32) -> Duration {
        let (min, max) = self.config.backoff;
        let delays = ExponentialBuilder::default()
            .with_factor(2.0)
            .with_min_delay(min)
            .with_max_delay(max)
            .without_max_times()
            .with_jitter();
        let delays = match self.config.jitter_seed {
            Some(seed) => delays.with_jitter_seed(seed.wrapping_add(u64::from(attempt))),
            None => delays,
        };
        let nth = attempt.saturating_sub(1).min(16) as usize;
        delays.build().nth(nth).unwrap_or(max).min(max)
    }
}
