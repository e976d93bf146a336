//! Records: everything that can happen in a store, one struct each.
//!
//! A commit is a list of records; the state of the store is what applying them in order gives. They
//! are facts, decided before they are written: replaying one asks no question and reads no clock.
//! A record's number (its [`Seq`]) is not in it, nor are the ids made of it. Shapes are plain: no
//! tagged, flattened, skipped or recursive types, which bincode cannot read back.

use reveille_core::compose::Pick;
use reveille_core::failure::{Charges, TurnFailure};
use reveille_core::message::{Kind, Rank};
use reveille_core::{ActorName, AgentName, Caller, Outcome, Seq, SessionId, Timestamp, Trigger};
use serde::{Deserialize, Serialize, Serializer};

use crate::codec::{self, CodecError, Frame};

/// The dense number of an actor within its store.
pub type Number = u32;

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

/// A message was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Who sent it.
    pub from: Caller,
    /// Whose mailboxes it is in.
    pub to: Vec<Number>,
    /// What it is.
    pub kind: Kind,
    /// Its place within an injection.
    pub rank: Rank,
    /// Whether it closes a window at once.
    pub urgent: bool,
    /// The run that a notice tells of.
    pub about: Option<(Number, Seq)>,
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
}

/// An open injection is offered again, in a turn named by this record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Whose injection.
    pub actor: Number,
    /// Which.
    pub injection: Seq,
    /// Which attempt this is, from 2.
    pub attempt: u32,
}

/// A turn ended with an answer: all injections it held are settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// Whose turn.
    pub actor: Number,
    /// Which.
    pub turn: Seq,
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
    /// What its injections have been through.
    pub charges: Charges,
    /// Not before this moment.
    pub again_at: Timestamp,
}

/// How a message was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settlement {
    /// Its run ended.
    RunEnded,
    /// The agent failed on it for good.
    Failed,
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

/// Why a message is dead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeadReason {
    /// Every attempt at it failed.
    Poison(String),
    /// It is more than the agent can take.
    Overflow,
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

macro_rules! records {
    ($($name:ident = $kind:literal,)*) => {
        /// Any record.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Record {
            $(
                #[doc = concat!("See [`", stringify!($name), "`](struct@", stringify!($name), ").")]
                $name($name),
            )*
        }

        $(
            impl From<$name> for Record {
                fn from(record: $name) -> Self {
                    Self::$name(record)
                }
            }
        )*

        impl Record {
            /// The types of records and their names.
            pub const KINDS: &'static [(u8, &'static str)] = &[$(($kind, stringify!($name)),)*];

            /// The name of the record's type.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($name),)* }
            }

            /// Serialises the record's fields, for people and outside checkers.
            ///
            /// # Errors
            ///
            /// What the serialiser refuses.
            pub fn serialize_fields<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$name(record) => record.serialize(serializer),)* }
            }

            /// Appends the record's frame.
            ///
            /// # Errors
            ///
            /// When the record is larger than one may be.
            pub fn write(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
                match self { $(Self::$name(record) => codec::write_frame(out, $kind, 1, record),)* }
            }

            /// Decodes a frame.
            ///
            /// # Errors
            ///
            /// When its type or version is unknown or its payload is not of its type.
            pub fn read(frame: Frame<'_>) -> Result<Self, CodecError> {
                match (frame.kind, frame.version) {
                    $(($kind, 1) => codec::decode(frame.payload).map(Self::$name),)*
                    (kind, version) => Err(CodecError::Unknown { kind, version }),
                }
            }
        }
    };
}

records! {
    Opened = 1,
    Created = 2,
    Sent = 3,
    Queued = 4,
    Claimed = 5,
    Offered = 6,
    TurnEnded = 7,
    TurnFailed = 8,
    Settled = 9,
    Released = 10,
    Dead = 11,
    RunEnded = 12,
    Stalled = 13,
    Rearmed = 14,
}
