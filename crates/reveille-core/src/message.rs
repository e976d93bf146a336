//! Messages: who sent them, what they are, and how they want to be delivered (section 3, P10, P11).
//!
//! What people, agents and the host write is a [`Text`]; what the runtime tells is a
//! [`crate::notice::Notice`]. Where a message is and who has read it is the store's business.

mod kind;
mod text;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::error::OpError;
use crate::limits::LABEL_BYTES;
use crate::notice::Notice;

pub use self::kind::{Delivery, Kind, Rank};
pub use self::text::{ArtifactRef, Reference, Text};

/// Who calls: recorded by the runtime from identity, never read from a field (P11).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Caller {
    /// The runtime itself.
    System,
    /// The program that embeds the runtime.
    Host,
    /// A person, by name.
    Human(String),
    /// Somebody on this machine who needed no token; counts as a person.
    Local,
    /// An actor, from within one of its turns.
    Actor(Address),
}

impl Caller {
    /// A person.
    ///
    /// # Errors
    ///
    /// `invalid` when the name is empty, too long, or has control characters.
    pub fn human(name: &str) -> Result<Self, OpError> {
        label("human", name).map(|()| Self::Human(name.to_owned()))
    }

    /// What kind of caller this is, as injections show it.
    #[must_use]
    pub const fn origin(&self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Host => "host",
            Self::Human(_) | Self::Local => "human",
            Self::Actor(_) => "agent",
        }
    }

    /// Whether this is a person.
    #[must_use]
    pub const fn is_human(&self) -> bool {
        matches!(self, Self::Human(_) | Self::Local)
    }

    /// Whether this is the runtime or the program that embeds it: they alone choose ranks and make
    /// notices (P11, W5).
    #[must_use]
    pub const fn is_runtime(&self) -> bool {
        matches!(self, Self::System | Self::Host)
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("system"),
            Self::Host => f.write_str("host"),
            Self::Human(name) => write!(f, "human:{name}"),
            Self::Local => f.write_str("local"),
            Self::Actor(address) => address.fmt(f),
        }
    }
}

/// Checks a short text that names something: 1 to 256 bytes, no control characters.
///
/// # Errors
///
/// `invalid`, naming the field.
pub fn label(field: &'static str, text: &str) -> Result<(), OpError> {
    short(field, text, LABEL_BYTES)
}

/// The same with a limit of its own.
fn short(field: &'static str, text: &str, limit: usize) -> Result<(), OpError> {
    let fits = (1..=limit).contains(&text.len()) && !text.chars().any(char::is_control);
    if fits {
        Ok(())
    } else {
        Err(OpError::invalid(field, text, format!("1 to {limit} bytes, no control characters")))
    }
}

/// What a message carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// Text.
    Text(Text),
    /// A notice.
    Notice(Notice),
}

impl Content {
    /// What the message is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Text(text) => text.kind,
            Self::Notice(_) => Kind::Notice,
        }
    }

    /// Its place within an injection, unless the host says otherwise (W5).
    #[must_use]
    pub const fn rank(&self) -> Rank {
        match self {
            Self::Text(text) if matches!(text.kind, Kind::Continuation) => Rank::Continuation,
            Self::Text(_) => Rank::Mail,
            Self::Notice(notice) if notice.state.is_liveness() => Rank::LivenessNotice,
            Self::Notice(_) => Rank::RunNotice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_needs_a_printable_name() {
        assert_eq!(Caller::human("anna").unwrap().to_string(), "human:anna");
        assert!(Caller::human("").is_err());
        assert!(Caller::human("a\nb").is_err());
    }
}
