//! Records of holds, questions, groups, teams, schedules and leases.

use reveille_core::{Caller, Seq, Text, Timestamp};
use serde::{Deserialize, Serialize};

use super::Number;

/// Why an actor is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HoldReason {
    /// Somebody paused it.
    Paused,
    /// It waits for a person.
    Person,
    /// An alert holds it until that is acknowledged.
    Alert(Seq),
}

/// An actor is held: nothing is injected (section 1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Who.
    pub actor: Number,
    /// Why.
    pub reason: HoldReason,
    /// What was said.
    pub note: String,
    /// By whom.
    pub by: Caller,
}

/// A hold is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unheld {
    /// Whose.
    pub actor: Number,
    /// Which: the record that made it.
    pub hold: Seq,
    /// Who says so.
    pub by: Caller,
}

/// An actor was stopped: nothing starts it but a resume (W9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Who.
    pub actor: Number,
    /// By whom.
    pub by: Caller,
}

/// A stopped actor may start again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// Who.
    pub actor: Number,
    /// By whom.
    pub by: Caller,
}

/// What is asked (section 10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The tool that a permission is asked for.
    pub tool: Option<String>,
    /// The question.
    pub text: String,
    /// What may be answered; empty means approve, deny, approve_always.
    pub options: Vec<String>,
}

/// A turn asks and is held until there is an answer; the record names the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Who asks.
    pub actor: Number,
    /// In which turn.
    pub turn: Seq,
    /// Who is asked; `None` is a person.
    pub asked: Option<Number>,
    /// What.
    pub question: Question,
    /// The message that tells the asked actor.
    pub request: Option<Seq>,
    /// When it is denied, unless it was answered.
    pub until: Option<Timestamp>,
}

/// How a question was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Yes, this once.
    Approve,
    /// No.
    Deny,
    /// Yes, and always for this tool in this tree.
    ApproveAlways,
    /// One of the options.
    Option(String),
    /// Nobody answered in time: no.
    TimedOut,
    /// The run ended, or a person interrupted it.
    Cancelled,
}

/// A question was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Whose question.
    pub actor: Number,
    /// Which.
    pub question: Seq,
    /// How.
    pub answer: Answer,
    /// By whom.
    pub by: Caller,
}

/// From when on the notices of workers that were started together may wake (W8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum GroupPolicy {
    /// Each by itself.
    #[default]
    Each,
    /// Once one has ended well, or none can any more.
    Any,
    /// Once all have ended.
    All,
    /// Once so many have ended well, or so many can no longer.
    Quorum(u32),
}

/// Workers were started together; the record names the group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grouped {
    /// Whose workers.
    pub actor: Number,
    /// When their notices may wake.
    pub policy: GroupPolicy,
    /// The workers, with their first runs.
    pub members: Vec<(Number, Seq)>,
}

/// A team was made; the record names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamCreated {
    /// Its lead.
    pub lead: Number,
    /// What people call it.
    pub name: String,
}

/// Somebody joined a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberJoined {
    /// Which team: the record that made it.
    pub team: Seq,
    /// Its lead.
    pub lead: Number,
    /// Who joined.
    pub member: Number,
    /// As what.
    pub role: String,
}

/// Somebody left a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberLeft {
    /// Which team.
    pub team: Seq,
    /// Its lead.
    pub lead: Number,
    /// Who left.
    pub member: Number,
}

/// A message is to be sent at a time, or again and again; the record names the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// To whom.
    pub actor: Number,
    /// What the schedule is called: declaring it again changes what is sent, and keeps the time.
    pub key: String,
    /// When it is due next.
    pub due: Timestamp,
    /// Milliseconds between ticks; `None` is once.
    pub every: Option<u64>,
    /// Who declared it.
    pub by: Caller,
    /// The text that is sent.
    pub text: Text,
}

/// A schedule has come to its time, or is cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticked {
    /// Whose.
    pub actor: Number,
    /// Which.
    pub key: String,
    /// When it is due next; `None` ends it.
    pub next: Option<Timestamp>,
    /// Whether its time had come; otherwise it was cancelled.
    pub sent: bool,
}
