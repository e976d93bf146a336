//! The runtime: what an embedding program calls and shuts down.
//!
//! Mail beyond sending is in [`mail`], holds, questions, teams and schedules in `people`, looking in
//! `look`, a store that nobody runs in `rest`.

mod care;
pub(crate) mod events;
mod explain;
pub(crate) mod look;
pub(crate) mod mail;
pub(crate) mod people;
mod rest;
pub(crate) mod tree;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ractor::ActorRef;
use reveille_core::{Address, AgentName, Caller, OpError, Outcome, RunId, SessionId, Text};
use reveille_store::Store;
use reveille_store::state::row::Ended;
use reveille_store::step::actors::CreateSession;
use reveille_store::step::recover::Recovered;
use reveille_store::step::send::{Accepted, Prepared};

use crate::agent::AgentSpec;
use crate::builder::Builder;
use crate::hub::{Hub, Phase};
use crate::letter::Message;
use crate::ops;
use crate::overview::ActorView;
use crate::resident;
use crate::root;
use crate::spec::{Cancel, Cancelled, Session, SessionSpec, Spawn, Worker};
use crate::watchdog;

#[derive(Debug, Clone)]
pub(crate) struct Supervisors {
    pub(crate) root: ActorRef<root::Message>,
    pub(crate) watchdog: ActorRef<watchdog::Message>,
}

/// A runtime. Clones are handles on the same one.
///
/// It runs until [`Runtime::shutdown`]; dropping every handle without that leaves its store as a
/// crash would, which the next start recovers from.
#[derive(Debug, Clone)]
pub struct Runtime {
    hub: Arc<Hub>,
    /// `None` on a store at rest.
    supervisors: Option<Supervisors>,
    recovered: Arc<Recovered>,
}

impl Runtime {
    pub(crate) fn new(hub: Arc<Hub>, supervisors: Supervisors, recovered: Recovered) -> Self {
        Self { hub, supervisors: Some(supervisors), recovered: Arc::new(recovered) }
    }

    pub(crate) fn hub(&self) -> Arc<Hub> {
        Arc::clone(&self.hub)
    }

    /// Begins a runtime on a store.
    #[must_use]
    pub fn builder(store: Store) -> Builder {
        Builder::new(store)
    }

    /// What the start found to be left over.
    #[must_use]
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// Looks at every actor that has something to do: once, at the start (decision 5).
    pub(crate) async fn wake_all(&self) -> Result<(), OpError> {
        let needy = self.hub.store.look(|state| {
            let ended = |row: &reveille_store::state::row::Row| row.ended.is_some();
            let rows = (0..).zip(state.rows());
            let closing = rows.filter(|(number, row)| {
                ended(row) && row.run.is_none() && !state.orphans(*number).is_empty()
            });
            let watched = state.watched().map(|(number, _)| number);
            closing.map(|(number, _)| number).chain(watched).collect::<HashSet<_>>()
        });
        let needy = needy.await?;
        self.hub.set_backlog(needy.clone(), self.recovered.one_by_one);
        let mut in_order: Vec<_> = needy.into_iter().collect();
        in_order.sort_unstable();
        in_order.into_iter().for_each(|number| self.hub.touch(number));
        Ok(())
    }

    /// Makes a session and its main actor.
    ///
    /// # Errors
    ///
    /// `invalid` when the name or the agent's name is not allowed.
    pub async fn create_session(&self, spec: SessionSpec) -> Result<Session, OpError> {
        self.hub.open()?;
        let SessionSpec { name, agent, first } = spec;
        let first = first.map(|body| Prepared::text(Caller::Host, Text::new(body)));
        let agent = agent.as_deref().map(AgentName::new).transpose()?;
        let title = name.clone();
        let made = self.hub.store.run(CreateSession { title, agent, first }).await?;
        Ok(Session { id: made.id, main: made.main, name })
    }

    /// All sessions, in the order in which they were made.
    ///
    /// # Errors
    ///
    /// `storage_failed`.
    pub async fn sessions(&self) -> Result<Vec<Session>, OpError> {
        let sessions = self.hub.store.look(|state| {
            let session = |row: &reveille_store::state::row::Row| {
                let name = row.title.clone()?;
                Some(Session { id: row.address.session(), main: row.address.clone(), name })
            };
            state.rows().iter().filter_map(session).collect()
        });
        sessions.await
    }

    /// Sends a message in the host's name; durable when Ok (P1).
    ///
    /// # Errors
    ///
    /// `invalid`, `too_large`, `unknown_recipient`, `mailbox_full`, `store_full`: nothing is stored
    /// then, for no recipient.
    pub async fn send(&self, message: Message) -> Result<Accepted, OpError> {
        self.send_as(Caller::Host, message).await
    }

    /// Sends a message in the name of somebody whom the host has identified.
    ///
    /// # Errors
    ///
    /// As [`Runtime::send`]; `forbidden` when this caller may not send it.
    pub async fn send_as(&self, caller: Caller, message: Message) -> Result<Accepted, OpError> {
        ops::send(&self.hub, caller, message, None).await
    }

    /// Spawns a worker of `parent`: its first message begins a run, which `parent` is told of.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `invalid`, `too_large`; `refused` when a budget is used up (S5).
    pub async fn spawn(&self, parent: Address, spawn: Spawn) -> Result<Worker, OpError> {
        ops::spawn(&self.hub, Caller::Host, parent, spawn, None).await
    }

    /// Waits for the latest run of an actor, at most `limit`; answers at once when it has ended.
    /// This only reads: whoever is to be told is told all the same (S3).
    ///
    /// # Errors
    ///
    /// `timed_out`, `unknown_actor`, `shutting_down`.
    pub async fn wait(&self, address: &Address, limit: Duration) -> Result<Outcome, OpError> {
        let number = ops::number(&self.hub, address).await?;
        let wait = async {
            let mut wanted = None;
            loop {
                let end = self.hub.next_end(number);
                let found = self.hub.store.look(move |state| {
                    let row = state.row(number)?;
                    let open = row.run.as_ref().map(|run| run.id);
                    let ended = row.ended.as_ref();
                    let is_it = |ended: &&Ended| match wanted {
                        Some(run) => ended.id == run,
                        None => open.is_none(),
                    };
                    // A run that was followed by another one with an outcome is answered by that.
                    let passed = wanted.is_some() && open != wanted;
                    let ended = ended.filter(|ended| is_it(ended) || passed);
                    Some((open, ended.map(|ended| ended.outcome)))
                });
                match found.await? {
                    Some((_, Some(outcome))) => return ops::outcome(&self.hub, outcome).await,
                    Some((open, None)) => wanted = wanted.or(open),
                    None => {}
                }
                // Nobody tells any more: the runtime goes, or there is none.
                end.await.map_err(|_| OpError::ShuttingDown)?;
            }
        };
        within(limit, wait).await
    }

    /// Waits until nothing is going on in a session: no run is open and no mail would wake.
    ///
    /// # Errors
    ///
    /// `timed_out`, `storage_failed`.
    pub async fn wait_idle(&self, session: SessionId, limit: Duration) -> Result<(), OpError> {
        let mut commits = self.hub.commits();
        let wait = async {
            loop {
                commits.borrow_and_update();
                let now = self.hub.clock.now();
                let idle = self.hub.store.look(move |state| {
                    let mut of_session =
                        state.watched().filter(|(_, row)| row.address.session() == session);
                    of_session.all(|(_, row)| row.run.is_none() && row.wake_worthy(now).is_none())
                });
                if idle.await? {
                    return Ok(());
                }
                commits.changed().await.map_err(|_| OpError::ShuttingDown)?;
            }
        };
        within(limit, wait).await
    }

    /// Cancels the open run of an actor: its turn has the grace to end by itself (section 9).
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `storage_failed`, `shutting_down`.
    pub async fn cancel(&self, address: &Address, cancel: Cancel) -> Result<Cancelled, OpError> {
        ops::cancel_run(&self.hub, Caller::Host, address, cancel).await
    }

    /// Registers an agent, or replaces it for turns to come. Actors that were held for want of it
    /// go on.
    ///
    /// # Errors
    ///
    /// `invalid` when the name is not allowed.
    pub fn register_agent(&self, name: &str, spec: AgentSpec) -> Result<(), OpError> {
        self.hub.register(AgentName::new(name)?, spec);
        Ok(())
    }

    /// The outcome of a run, whole, if it is the latest of its actor.
    ///
    /// # Errors
    ///
    /// `unknown_id` when it is another one, or open.
    pub async fn outcome(&self, run: RunId) -> Result<Outcome, OpError> {
        let found = self.hub.store.look(move |state| {
            let ended = state.rows().iter().filter_map(|row| row.ended.as_ref());
            ended.into_iter().find(|ended| ended.id == run).map(|ended| ended.outcome)
        });
        match found.await? {
            Some(seq) => ops::outcome(&self.hub, seq).await,
            None => Err(OpError::UnknownId { id: run.to_string() }),
        }
    }

    /// Actors in the order in which they were made, at most `limit` (1 to 1000) after `after`.
    ///
    /// # Errors
    ///
    /// `storage_failed`.
    pub async fn actors(
        &self,
        after: Option<Address>,
        limit: usize,
    ) -> Result<Vec<ActorView>, OpError> {
        let page = self.hub.store.look(move |state| {
            let skip = after.and_then(|address| state.find(&address)).map_or(0, |n| n as usize + 1);
            let rows = state.rows().iter().skip(skip).take(limit.clamp(1, 1000));
            rows.map(|row| ActorView::new(state, row)).collect()
        });
        page.await
    }

    /// Windows over mail that was gone when they closed (W2), since the start.
    #[must_use]
    pub fn stale_wakes(&self) -> u64 {
        self.hub.stale_wakes()
    }

    /// Starts no turn any more, and ends when the running turns have ended; those that take longer
    /// than the configured grace are cut. A mail run that was cut goes on at the next start, a task
    /// run ends `interrupted`. What happened can still be looked at afterwards.
    pub async fn drain(&self) {
        self.hub.store.closing();
        if self.supervisors.is_none() {
            return;
        }
        self.hub.set_phase(Phase::Closing);
        let grace = self.hub.config.shutdown_grace;
        if tokio::time::timeout(grace, self.quiet()).await.is_ok() {
            return;
        }
        self.tell_residents(|| resident::Message::Cut);
        let patience = self.hub.config.abort_grace * 2;
        if tokio::time::timeout(patience, self.quiet()).await.is_err() {
            tracing::warn!("turns that do not yield are abandoned");
        }
    }

    /// Drains the runtime and closes its store.
    ///
    /// Dropping the future forces: what is still running counts as lost at the next start.
    ///
    /// # Errors
    ///
    /// `storage_failed` when the store could not be closed cleanly; nothing accepted is lost.
    pub async fn shutdown(&self) -> Result<(), OpError> {
        self.drain().await;
        if let Some(Supervisors { root, watchdog }) = &self.supervisors {
            watchdog.stop(None);
            // Bounded: residents and root stop at their next message.
            if let Err(error) = root.stop_and_wait(None, Some(Duration::from_secs(5))).await {
                tracing::warn!(%error, "the supervisors did not stop in time");
            }
        }
        let store = self.hub.store.clone();
        let closed = tokio::task::spawn_blocking(move || store.close()).await;
        self.hub.release_waiters();
        closed.unwrap_or_else(|error| Err(OpError::StorageFailed { reason: error.to_string() }))
    }

    fn tell_residents(&self, message: impl Fn() -> resident::Message) {
        for resident in self.hub.residents() {
            // An actor that is gone runs no turn.
            let _ = resident.actor.cast(message());
        }
    }

    /// Ends when no turn is under way.
    async fn quiet(&self) {
        let mut commits = self.hub.commits();
        loop {
            commits.borrow_and_update();
            // In this order: who has claimed by now is seen in the store.
            let claiming = self.hub.is_claiming();
            let quiet =
                self.hub.store.look(|state| state.rows().iter().all(|row| row.turn.is_none()));
            match quiet.await {
                Ok(quiet) if claiming || !quiet => {}
                Ok(_) | Err(_) => return,
            }
            if commits.changed().await.is_err() {
                return;
            }
        }
    }
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, OpError>>,
) -> Result<T, OpError> {
    let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    tokio::time::timeout(limit, work).await.unwrap_or(Err(OpError::TimedOut { limit_ms }))
}
