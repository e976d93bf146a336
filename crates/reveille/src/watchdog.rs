//! The watchdog: tells of turns that stand still, once for each silence (L1, L5).
//!
//! It looks at the turns that are under way and at nothing else, so its cost does not grow with
//! actors at rest. Its own pauses are not charged to those it watches.

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use reveille_core::liveness::{Verdict, judge, watcher_paused};
use reveille_store::step::watch::{NoteProgress, TellStall};
use tokio::task::JoinHandle;

use crate::hub::Hub;
use crate::pulse::Pulse;

/// How soon it looks again at a turn that stands still, to see whether it goes on.
const STILL: Duration = Duration::from_secs(1);

/// What the watchdog is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Message {
    /// A turn began.
    Look,
    /// The planned moment has come.
    Due,
}

/// The behaviour of the watchdog.
pub(crate) struct Watchdog;

pub(crate) struct State {
    hub: Arc<Hub>,
    /// When it looks next, on the clock's monotonic count.
    planned: Option<(Duration, JoinHandle<()>)>,
}

/// Tells the watchdog that a turn began.
pub(crate) fn look(hub: &Hub) {
    if let Some(watchdog) = hub.watchdog.get() {
        // A watchdog that is gone is made anew with the runtime.
        let _ = watchdog.cast(Message::Look);
    }
}

impl Actor for Watchdog {
    type Msg = Message;
    type State = State;
    type Arguments = Arc<Hub>;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        hub: Arc<Hub>,
    ) -> Result<State, ActorProcessingErr> {
        Ok(State { hub, planned: None })
    }

    async fn handle(
        &self,
        myself: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let now = state.hub.clock.elapsed();
        tracing::trace!(?message, "the watchdog looks");
        let planned = state.planned.as_ref().map_or(now, |(planned, _)| *planned);
        if watcher_paused(planned, now) {
            tracing::warn!(late = ?now.saturating_sub(planned), "the watchdog stood still");
            // Silence that was told already goes on; a beat would make it a new one.
            let untold = state.turns().into_iter().filter(|pulse| !pulse.clocks().told);
            untold.for_each(|pulse| pulse.beat());
        }
        let mut next: Option<Duration> = None;
        for pulse in state.turns() {
            let at = state.watch(&pulse, now).await;
            next = Some(next.map_or(at, |next| next.min(at)));
        }
        state.plan(&myself, now, next);
        Ok(())
    }

    async fn post_stop(
        &self,
        _: ActorRef<Message>,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        state.plan_nothing();
        Ok(())
    }
}

impl State {
    fn turns(&self) -> Vec<Arc<Pulse>> {
        self.hub.turns.lock().values().cloned().collect()
    }

    /// Does what the rule says about a turn, and says when to look again.
    async fn watch(&self, pulse: &Pulse, now: Duration) -> Duration {
        let clocks = pulse.clocks();
        let Some(token) = *pulse.token.lock() else {
            return now + STILL;
        };
        let again = now + STILL.min(pulse.stall_after);
        if pulse.is_still_silent() {
            return again;
        }
        match judge(&clocks, now, pulse.stall_after) {
            // A declared wait may end early: its end is not the next moment to look.
            Verdict::Fine { look_at } => return look_at.min(now + pulse.stall_after),
            Verdict::StillStalled => {}
            Verdict::Rearmed => {
                pulse.set_told(false);
                self.report(self.hub.store.run(NoteProgress { token }).await);
            }
            Verdict::Stalled { quiet } => {
                pulse.set_told(true);
                let told = TellStall {
                    token,
                    quiet_s: quiet.as_secs(),
                    evidence: format!("no progress for {} ms", quiet.as_millis()),
                };
                self.report(self.hub.store.run(told).await);
            }
        }
        again
    }

    fn report<T>(&self, told: Result<T, reveille_core::OpError>) {
        if let Err(error) = told {
            tracing::debug!(code = %error.code(), "the turn ended before its silence was noted");
        }
    }

    fn plan(&mut self, myself: &ActorRef<Message>, now: Duration, next: Option<Duration>) {
        self.plan_nothing();
        self.planned = next.map(|at| {
            let myself = myself.clone();
            let span = at.saturating_sub(now).max(Duration::from_millis(1));
            let timer = tokio::spawn(async move {
                tokio::time::sleep(span).await;
                // A watchdog that is gone needs no timer.
                let _ = myself.cast(Message::Due);
            });
            (now + span, timer)
        });
    }

    fn plan_nothing(&mut self) {
        if let Some((_, timer)) = self.planned.take() {
            timer.abort();
        }
    }
}
