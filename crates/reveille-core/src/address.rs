//! Addresses: `<session id>/<actor name>` (contract, section 1).
//!
//! A name is checked when it is made, so a value of these types is always a legal name: nothing
//! that reaches a file path, an attribute or a log line needs checking again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::OpError;
use crate::id::SessionId;
use crate::limits::{ACTOR_NAME_BYTES, AGENT_NAME_BYTES};

/// The name of an actor within its session: `[a-z0-9][a-z0-9-]{0,63}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ActorName(Box<str>);

/// The name that an agent is registered under: like an [`ActorName`], at most 56 characters, so
/// that `<agent>-<n>` is an actor's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct AgentName(Box<str>);

fn check(field: &'static str, name: &str, limit: usize) -> Result<Box<str>, OpError> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fits = (1..=limit).contains(&name.len())
        && name.starts_with(legal)
        && name.chars().all(|c| legal(c) || c == '-');
    if fits {
        Ok(name.into())
    } else {
        Err(OpError::invalid(field, name, format!("[a-z0-9][a-z0-9-]{{0,{}}}", limit - 1)))
    }
}

macro_rules! name {
    ($name:ident, $field:literal, $limit:expr) => {
        impl $name {
            /// Checks a name.
            ///
            /// # Errors
            ///
            /// `invalid` when it has other characters, none, or too many.
            pub fn new(name: &str) -> Result<Self, OpError> {
                check($field, name, $limit).map(Self)
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = OpError;

            fn from_str(name: &str) -> Result<Self, OpError> {
                Self::new(name)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                Self::new(&name).map_err(de::Error::custom)
            }
        }
    };
}

name!(ActorName, "actor name", ACTOR_NAME_BYTES);
name!(AgentName, "agent name", AGENT_NAME_BYTES);

impl ActorName {
    /// The actor that every session begins with.
    #[must_use]
    pub fn main() -> Self {
        Self("main".into())
    }

    /// The `n`-th subagent of a session that runs this agent: `<agent>-<n>`.
    #[must_use]
    pub fn numbered(agent: &AgentName, n: u32) -> Self {
        // At most 56 + 1 + 7 characters: a tree holds far fewer than 10^7 actors of one agent.
        Self(format!("{agent}-{n}").into())
    }
}

/// Where mail goes: one actor of one session.
///
/// ```
/// use reveille_core::Address;
///
/// let address: Address = "ses_01KB8F7ZQ3ZZZZ000000000001/reviewer-2".parse()?;
/// assert_eq!(address.name().as_str(), "reviewer-2");
/// assert!("ses_01KB8F7ZQ3ZZZZ000000000001/../etc".parse::<Address>().is_err());
/// # Ok::<(), reveille_core::OpError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    session: SessionId,
    name: ActorName,
}

impl Address {
    /// The actor `name` of `session`.
    #[must_use]
    pub const fn new(session: SessionId, name: ActorName) -> Self {
        Self { session, name }
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// The actor's name within its session.
    #[must_use]
    pub const fn name(&self) -> &ActorName {
        &self.name
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.session, self.name)
    }
}

impl FromStr for Address {
    type Err = OpError;

    fn from_str(text: &str) -> Result<Self, OpError> {
        let form = || OpError::invalid("address", text, "<session id>/<actor name>");
        let (session, name) = text.split_once('/').ok_or_else(form)?;
        Ok(Self { session: session.parse().map_err(|_| form())?, name: ActorName::new(name)? })
    }
}

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            (self.session, &self.name).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
        } else {
            let (session, name) = Deserialize::deserialize(deserializer)?;
            Ok(Self { session, name })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_the_alphabet_or_the_length_are_refused_with_the_rule() {
        for bad in ["", "-a", "A", "a/b", "a.b", "..", "é", "a b", "a\n", &"a".repeat(65)] {
            let error = ActorName::new(bad).unwrap_err();
            assert!(error.to_string().contains("[a-z0-9][a-z0-9-]{0,63}"), "{error}");
        }
        for good in ["main", "0", "a-", &"a".repeat(64)] {
            assert_eq!(ActorName::new(good).unwrap().as_str(), good);
        }
        assert!(AgentName::new(&"a".repeat(57)).is_err());
    }

    #[test]
    fn a_numbered_name_of_the_longest_agent_is_a_legal_name() {
        let agent = AgentName::new(&"a".repeat(56)).unwrap();
        let name = ActorName::numbered(&agent, 9_999_999);
        assert!(ActorName::new(name.as_str()).is_ok());
    }
}
