//! What callers hand in: sessions, spawns and cancels, as builders. Messages are in
//! `crate::letter`.

use std::time::Duration;

use reveille_core::limits::CANCEL_GRACE;
use reveille_core::{Address, RunId, SessionId, Text};

/// A session to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSpec {
    pub(crate) name: String,
    pub(crate) agent: Option<String>,
    pub(crate) first: Option<String>,
}

impl SessionSpec {
    /// A session that people call by this name. Names need not be unique; ids are.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), agent: None, first: None }
    }

    /// The agent of its main actor. Without one its mail waits.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// What its main actor finds in its mailbox, stored together with the session.
    #[must_use]
    pub fn first_message(mut self, body: impl Into<String>) -> Self {
        self.first = Some(body.into());
        self
    }
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub(crate) id: SessionId,
    pub(crate) main: Address,
    pub(crate) name: String,
}

impl Session {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> SessionId {
        self.id
    }

    /// The address of its main actor.
    #[must_use]
    pub fn main(&self) -> Address {
        self.main.clone()
    }

    /// What people call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A worker to be spawned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    pub(crate) agent: String,
    pub(crate) first: Text,
    pub(crate) key: Option<String>,
    pub(crate) task_id: Option<String>,
}

impl Spawn {
    /// A worker that runs this agent.
    #[must_use]
    pub fn agent(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), first: Text::new(""), key: None, task_id: None }
    }

    /// What it is to do.
    #[must_use]
    pub fn first_message(mut self, body: impl Into<String>) -> Self {
        self.first.body = body.into();
        self
    }

    /// The spawner's own name for it: the same spawn again answers the worker that is there.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The task that it is given.
    #[must_use]
    pub fn task_id(mut self, id: impl Into<String>) -> Self {
        self.task_id = Some(id.into());
        self
    }
}

/// How a spawn was admitted (S1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It starts at once.
    Admitted,
    /// It waits for a slot.
    Queued {
        /// How many wait before it.
        position: usize,
    },
    /// It was there already.
    Existing,
}

/// A worker that was spawned, or was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    pub(crate) address: Address,
    pub(crate) run: Option<RunId>,
    pub(crate) admission: Admission,
}

impl Worker {
    /// Where mail for it goes, from now on.
    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// The run that was begun; `None` when the worker was there already.
    #[must_use]
    pub const fn run(&self) -> Option<RunId> {
        self.run
    }

    /// How it was admitted.
    #[must_use]
    pub const fn admission(&self) -> Admission {
        self.admission
    }
}

/// A cancel: why, and how long the turn may take to end by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    pub(crate) reason: String,
    pub(crate) grace: Duration,
    pub(crate) silent: bool,
    pub(crate) stops: bool,
}

impl Cancel {
    /// For this reason, with a grace of 5 s.
    #[must_use]
    pub fn reason(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), grace: CANCEL_GRACE, silent: false, stops: false }
    }

    /// How long the turn may take to end by itself.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The actor stays stopped: its mail waits until somebody resumes it (W9).
    #[must_use]
    pub(crate) const fn stops(mut self) -> Self {
        self.stops = true;
        self
    }

    /// Nobody is told.
    #[must_use]
    pub const fn silent(mut self) -> Self {
        self.silent = true;
        self
    }
}

/// What a cancel found, and did (section 9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancelled {
    /// The run ended by it, and its turn with it.
    Ended,
    /// The run ended by it; its turn had to be cut.
    Killed,
    /// The run ended by it; its turn does not yield, and nothing of it counts any more.
    Abandoned,
    /// The run had ended before.
    AlreadyEnded(reveille_core::NoticeState),
    /// The actor has never had a run.
    Unknown,
}
