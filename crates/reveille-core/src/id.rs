//! Identifiers that are positions of the log (P8).
//!
//! Every record of the store has a number, its [`Seq`]: dense, never reused, in commit order. An
//! identifier is the number of the record that made the thing, written as a ULID: 48 bits of commit
//! time in milliseconds, 16 bits of salt drawn by each incarnation of the store, 64 bits of
//! [`Seq`]. So an id sorts by time for people, leads to its record without an index, and needs no
//! generator. Order is decided by [`Seq`] alone, never by the id (P8).
//!
//! Ids name things; they grant nothing, and may be guessed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use ulid::Ulid;

use crate::time::Timestamp;

/// The number of a record in the store's log: its place in commit order, from 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Before every record.
    pub const ZERO: Self = Self(0);

    /// The number of the record after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What makes the number of a record an id: when it was committed, and by which incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When the record's commit was begun.
    pub at: Timestamp,
    /// Drawn by each incarnation of the store, so that two stores do not share ids.
    pub salt: u16,
}

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an id of the form {prefix}<ULID>")]
pub struct ParseIdError {
    /// The prefix that the text should have begun with.
    pub prefix: &'static str,
    /// What was given.
    pub text: String,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Ulid);

        impl $name {
            /// What the text form begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The id of the thing that record `seq` made.
            #[must_use]
            pub const fn new(seq: Seq, stamp: Stamp) -> Self {
                let random = ((stamp.salt as u128) << 64) | seq.0 as u128;
                Self(Ulid::from_parts(stamp.at.as_millis(), random))
            }

            /// The number of the record that made this thing.
            #[must_use]
            #[allow(clippy::cast_possible_truncation)] // the low 64 bits are what is meant
            pub const fn seq(self) -> Seq {
                Seq(self.0.random() as u64)
            }

            /// When the record was committed.
            #[must_use]
            pub const fn at(self) -> Timestamp {
                Timestamp::from_millis(self.0.timestamp_ms())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = [0; ulid::ULID_LEN];
                f.write_str(Self::PREFIX)?;
                f.write_str(self.0.array_to_str(&mut text))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                text.strip_prefix(Self::PREFIX)
                    .and_then(|rest| Ulid::from_string(rest).ok())
                    // Lower case and look-alike letters decode too; one thing has one name.
                    .map(Self)
                    .filter(|id| id.to_string() == text)
                    .ok_or_else(|| ParseIdError { prefix: Self::PREFIX, text: text.to_owned() })
            }
        }

        /// Text where people read it, 16 bytes where machines do.
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.0.to_bytes().serialize(serializer)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    let text = String::deserialize(deserializer)?;
                    text.parse().map_err(de::Error::custom)
                } else {
                    <[u8; 16]>::deserialize(deserializer).map(|bytes| Self(Ulid::from_bytes(bytes)))
                }
            }
        }
    };
}

id!(
    /// One agent conversation.
    SessionId,
    "ses_"
);
id!(
    /// One message, whatever the number of its recipients.
    MessageId,
    "msg_"
);
id!(
    /// One run of an actor: from being started or woken to being at rest.
    RunId,
    "run_"
);
id!(
    /// One batch of mail handed to an agent; the same through all its attempts (P4).
    InjectionId,
    "inj_"
);
id!(
    /// One question that waits for an answer, or had one (section 10).
    QuestionId,
    "que_"
);
id!(
    /// One team (section 11).
    TeamId,
    "team_"
);
#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { at: Timestamp::from_millis(1_796_000_000_123), salt: 0xbeef };

    #[test]
    fn an_id_leads_back_to_its_record_and_moment() {
        let id = MessageId::new(Seq(42), STAMP);
        assert_eq!(id.seq(), Seq(42));
        assert_eq!(id.at(), STAMP.at);
        assert_eq!(id.to_string().parse::<MessageId>().unwrap(), id);
    }

    #[test]
    fn an_id_of_another_kind_or_spelling_is_refused() {
        let id = MessageId::new(Seq(42), STAMP).to_string();
        assert!(id.parse::<RunId>().is_err());
        let (prefix, rest) = id.split_at(4);
        assert!(format!("{prefix}{}", rest.to_lowercase()).parse::<MessageId>().is_err());
        assert!("msg_".parse::<MessageId>().is_err());
        assert!("msg_é".parse::<MessageId>().is_err());
    }

    #[test]
    fn ids_are_text_in_json() {
        let id = RunId::new(Seq(7), STAMP);
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, format!("\"{id}\""));
        assert_eq!(serde_json::from_str::<RunId>(&json).unwrap(), id);
    }
}
