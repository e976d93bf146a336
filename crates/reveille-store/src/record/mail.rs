//! Records of messages: accepted, settled, released, marked, dead.

use reveille_core::{Caller, DeadReason, Delivery, Kind, Rank, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::Number;

/// Who sent a message, as far as rules ask: whether two messages have one sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sender {
    /// The runtime.
    Runtime,
    /// The program that embeds it.
    Host,
    /// A person, by the hash of the name.
    Person(u64),
    /// An actor.
    Actor(Number),
}

/// A key under which a call may be repeated (section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallKey {
    /// The hash of sender and key, in two halves.
    pub key: (u64, u64),
    /// The hash of the whole call.
    pub call: u64,
}

/// What a notice tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tells {
    /// Whose run.
    pub actor: Number,
    /// Which run.
    pub run: Seq,
    /// The record of its outcome, if it has one.
    pub outcome: Option<Seq>,
}

/// A message was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Who sent it.
    pub from: Caller,
    /// The same, for rules.
    pub sender: Sender,
    /// Whose mailboxes it is in.
    pub to: Vec<Number>,
    /// What it is.
    pub kind: Kind,
    /// Its place within an injection.
    pub rank: Rank,
    /// Whether it closes a window at once.
    pub urgent: bool,
    /// How it wants to be delivered.
    pub delivery: Delivery,
    /// How often it has been passed on.
    pub hops: u8,
    /// From when on it may wake; delayed mail only.
    pub not_before: Option<Timestamp>,
    /// From when on it is dead unless it was offered.
    pub expires_at: Option<Timestamp>,
    /// The hash of its merge key; 0 is none.
    pub merge: u64,
    /// The earliest moment from which windows and audit count it, if it displaces earlier ones; each
    /// mailbox goes by what is displaced in it, which the records after this one settle.
    pub since: Option<Timestamp>,
    /// The key under which the call may be repeated.
    pub key: Option<CallKey>,
    /// What a notice tells of.
    pub tells: Option<Tells>,
    /// The task that a handoff hands over.
    pub task_id: Option<String>,
    /// Rendered bytes, whole.
    pub cost: u32,
    /// Rendered bytes, cut.
    pub cut_cost: u32,
    /// Bytes that count against a mailbox.
    pub bytes: u32,
    /// The encoded `Content`.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
}

/// How a message was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settlement {
    /// Its run ended.
    RunEnded,
    /// The agent failed on it for good.
    Failed,
    /// Its sender replaced it.
    Displaced,
    /// Its sender took it back.
    Retracted,
    /// Its receiver acknowledged it before it was injected.
    Acknowledged,
    /// The agent has it, though its turn did not say so.
    Contained,
    /// The agent has it and said so before its turn ended.
    Accepted,
}

/// Messages were settled other than by a turn's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Whose mail.
    pub actor: Number,
    /// Which messages.
    pub messages: Vec<Seq>,
    /// How.
    pub how: Settlement,
}

/// Offered messages are pending again, in their old place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// Whose mail.
    pub actor: Number,
    /// Which messages.
    pub messages: Vec<Seq>,
}

/// Messages cannot be delivered; they stay readable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dead {
    /// Whose mail.
    pub actor: Number,
    /// Which messages.
    pub messages: Vec<Seq>,
    /// Why.
    pub reason: DeadReason,
}

/// How far a message has come with its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Mark {
    /// It was acknowledged.
    Acknowledged,
    /// It was archived.
    Archived,
}

/// A receiver marked messages; pending ones are settled by that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marked {
    /// Whose mail.
    pub actor: Number,
    /// Which message.
    pub message: Seq,
    /// How far it has come.
    pub mark: Mark,
    /// Whether it was pending, and is settled by this.
    pub settles: bool,
    /// Who says so.
    pub by: Caller,
}

/// A dead message was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Whose mail.
    pub actor: Number,
    /// Which message.
    pub message: Seq,
    /// Who removed it; the runtime does when its time is over.
    pub by: Caller,
}
