//! Records of actors, runs, injections and turns.

use reveille_core::compose::Pick;
use reveille_core::failure::{Charges, TurnFailure};
use reveille_core::{ActorName, AgentName, Outcome, Seq, SessionId, Timestamp, Trigger};
use serde::{Deserialize, Serialize};

use super::{Number, Settlement};

/// A runtime opened the store: every earlier token is stale (P9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// Counts the starts of this store, from 1.
    pub incarnation: u64,
}

/// An actor, and with a main actor its session, was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// Its number: one above the highest so far.
    pub actor: Number,
    /// The session it belongs to; `None` makes a session, named by this record.
    pub session: Option<SessionId>,
    /// Its name within the session.
    pub name: ActorName,
    /// What people call the session.
    pub title: Option<String>,
    /// The agent that runs its turns.
    pub agent: Option<AgentName>,
    /// Whose worker it is.
    pub parent: Option<Number>,
    /// The spawner's own name for it: a second spawn under it makes no second actor.
    pub key: Option<String>,
}

/// A task run was admitted; the record names the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Whose run.
    pub actor: Number,
    /// Its first message.
    pub first: Seq,
    /// The task it was given.
    pub task_id: Option<String>,
}

/// Mail was taken for an injection; the record names the injection and its window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// Whose mail.
    pub actor: Number,
    /// The open run it continues; `None` begins a mail run, named by this record.
    pub run: Option<Seq>,
    /// The turn it joins; `None` begins a turn, named by this record.
    pub turn: Option<Seq>,
    /// Why.
    pub trigger: Trigger,
    /// Which messages, as arranged.
    pub picks: Vec<Pick>,
    /// The injections that it takes the place of.
    pub names: Vec<Seq>,
}

/// An open injection is offered again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Whose injection.
    pub actor: Number,
    /// Which.
    pub injection: Seq,
    /// Which attempt this is, from 1 for a part of another one, else from 2.
    pub attempt: u32,
    /// The turn it joins; `None` begins a turn, named by this record.
    pub turn: Option<Seq>,
}

/// An injection and its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Which injection.
    pub injection: Seq,
    /// Whether a wait collected it (S3).
    pub collected: bool,
    /// Its messages.
    pub messages: Vec<Seq>,
}

/// A turn ended with an answer: all injections it held are settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// Whose turn.
    pub actor: Number,
    /// Which.
    pub turn: Seq,
    /// Whether it says that it changed anything (W9).
    pub changed: bool,
    /// What it held.
    pub settled: Vec<Batch>,
}

/// A turn ended without an answer: its injections stay open and are offered again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnFailed {
    /// Whose turn.
    pub actor: Number,
    /// Which.
    pub turn: Seq,
    /// How it failed.
    pub failure: TurnFailure,
    /// What was said.
    pub error: String,
    /// What its injections have been through, where that is more than before.
    pub charged: Vec<(Seq, Charges)>,
    /// Not before this moment.
    pub again_at: Timestamp,
}

/// A part of an open injection becomes one of its own, named by this record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Whose injection.
    pub actor: Number,
    /// Which is taken apart.
    pub injection: Seq,
    /// The messages of the part.
    pub messages: Vec<Seq>,
    /// What they have been through.
    pub charges: Charges,
}

/// An open injection is settled though its turn has not ended with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Whose injection.
    pub actor: Number,
    /// Which.
    pub injection: Seq,
    /// Its messages.
    pub messages: Vec<Seq>,
    /// How that is known.
    pub how: Settlement,
}

/// A run has its one outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    /// Whose run.
    pub actor: Number,
    /// Which.
    pub run: Seq,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether mail committed before this record wakes nobody any more (section 9).
    pub raises_floor: bool,
}

/// A silence was told of (L1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stalled {
    /// Whose.
    pub actor: Number,
    /// In which run.
    pub run: Seq,
}

/// Progress came after a silence that was told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rearmed {
    /// Whose.
    pub actor: Number,
    /// In which run.
    pub run: Seq,
}
