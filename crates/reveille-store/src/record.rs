//! Records: everything that can happen in a store, one struct each.
//!
//! A commit is a list of records; the state of the store is what applying them in order gives. They
//! are facts, decided before they are written: replaying one asks no question and reads no clock.
//! A record's number (its `Seq`) is not in it, nor are the ids made of it. Shapes are plain: no
//! tagged, flattened, skipped or recursive types, which bincode cannot read back.

mod mail;
mod people;
mod turn;

use serde::{Serialize as _, Serializer};

use crate::codec::{self, CodecError, Frame};
use crate::legacy;

pub use self::mail::*;
pub use self::people::*;
pub use self::turn::*;

/// The dense number of an actor within its store.
pub type Number = u32;

macro_rules! records {
    ($($name:ident = $kind:literal $(version $version:literal was $old:ty)?,)*) => {
        /// Any record.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[allow(clippy::large_enum_variant)] // messages are the largest, and almost all there are
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
            /// The types of records, their versions and their names.
            pub const KINDS: &'static [(u8, u16, &'static str)] =
                &[$(($kind, newest!($($version)?), stringify!($name)),)*];

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
                match self {
                    $(Self::$name(record) => {
                        codec::write_frame(out, $kind, newest!($($version)?), record)
                    })*
                }
            }

            /// Decodes a frame; one of an older version becomes what it is called today.
            ///
            /// # Errors
            ///
            /// When its type or version is unknown or its payload is not of its type.
            pub fn read(frame: Frame<'_>) -> Result<Self, CodecError> {
                match (frame.kind, frame.version) {
                    $(
                        ($kind, newest!($($version)?)) => codec::decode(frame.payload).map(Self::$name),
                        $(($kind, 1) => codec::decode::<$old>(frame.payload)?.upgrade().map(Self::$name),)?
                    )*
                    (kind, version) => Err(CodecError::Unknown { kind, version }),
                }
            }
        }
    };
}

macro_rules! newest {
    () => {
        1
    };
    ($version:literal) => {
        $version
    };
}

records! {
    Opened = 1,
    Created = 2,
    Sent = 3 version 2 was legacy::Sent,
    Queued = 4,
    Claimed = 5 version 2 was legacy::Claimed,
    Offered = 6 version 2 was legacy::Offered,
    TurnEnded = 7 version 2 was legacy::TurnEnded,
    TurnFailed = 8 version 2 was legacy::TurnFailed,
    Settled = 9,
    Released = 10,
    Dead = 11,
    RunEnded = 12,
    Stalled = 13,
    Rearmed = 14,
    Split = 15,
    Taken = 16,
    Marked = 17,
    Dropped = 18,
    Held = 19,
    Unheld = 20,
    Stopped = 21,
    Resumed = 22,
    Asked = 23,
    Answered = 24,
    Grouped = 25,
    TeamCreated = 26,
    MemberJoined = 27,
    MemberLeft = 28,
    Scheduled = 29,
    Ticked = 30,
}

impl Record {
    /// The actors whose rows the record changes, the first of them first of all; none for a start of
    /// the store.
    #[must_use]
    pub fn actors(&self) -> Vec<Number> {
        match self {
            Self::Opened(_) => Vec::new(),
            Self::Sent(sent) => sent.to.clone(),
            Self::TeamCreated(created) => vec![created.lead],
            Self::MemberJoined(joined) => vec![joined.lead, joined.member],
            Self::MemberLeft(left) => vec![left.lead, left.member],
            Self::Created(Created { actor, .. })
            | Self::Queued(Queued { actor, .. })
            | Self::Claimed(Claimed { actor, .. })
            | Self::Offered(Offered { actor, .. })
            | Self::TurnEnded(TurnEnded { actor, .. })
            | Self::TurnFailed(TurnFailed { actor, .. })
            | Self::Settled(Settled { actor, .. })
            | Self::Released(Released { actor, .. })
            | Self::Dead(Dead { actor, .. })
            | Self::RunEnded(RunEnded { actor, .. })
            | Self::Stalled(Stalled { actor, .. })
            | Self::Rearmed(Rearmed { actor, .. })
            | Self::Split(Split { actor, .. })
            | Self::Taken(Taken { actor, .. })
            | Self::Marked(Marked { actor, .. })
            | Self::Dropped(Dropped { actor, .. })
            | Self::Held(Held { actor, .. })
            | Self::Unheld(Unheld { actor, .. })
            | Self::Stopped(Stopped { actor, .. })
            | Self::Resumed(Resumed { actor, .. })
            | Self::Asked(Asked { actor, .. })
            | Self::Answered(Answered { actor, .. })
            | Self::Grouped(Grouped { actor, .. })
            | Self::Scheduled(Scheduled { actor, .. })
            | Self::Ticked(Ticked { actor, .. }) => vec![*actor],
        }
    }
}
