//! Messages: who sent them, what they carry, and the limits of their fields (section 3, P10, P11).
//!
//! This module knows plain text; notices of the runtime are in [`crate::notice`]. Where a message
//! is and who has read it is the store's business.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::error::OpError;
use crate::limits::{BODY_BYTES, LABEL_BYTES, LINE_CHARS};
use crate::notice::Notice;

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
    let fits = (1..=LABEL_BYTES).contains(&text.len()) && !text.chars().any(char::is_control);
    if fits {
        Ok(())
    } else {
        Err(OpError::invalid(
            field,
            text,
            format!("1 to {LABEL_BYTES} bytes, no control characters"),
        ))
    }
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Plain text from a person, an agent or the host.
    Text,
    /// The runtime tells how a run stands or ended.
    Notice,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Notice => "notice",
        })
    }
}

/// The place of a message within an injection (W5); only the runtime and the host choose one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rank {
    /// How a run ended.
    RunNotice = 0,
    /// What people and agents write.
    Mail = 1,
    /// A run seems to stand still.
    LivenessNotice = 2,
}

/// A plain text message, without its sender and recipients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// At most 200 characters.
    pub subject: Option<String>,
    /// At most 200 characters.
    pub summary: Option<String>,
    /// At most 32768 bytes; kept byte for byte.
    pub body: String,
    /// The task this belongs to.
    pub task_id: Option<String>,
}

impl Text {
    /// A message that is nothing but its body.
    #[must_use]
    pub fn new(body: impl Into<String>) -> Self {
        Self { subject: None, summary: None, body: body.into(), task_id: None }
    }

    /// Checks every field against its limit.
    ///
    /// # Errors
    ///
    /// `too_large` or `invalid`, naming the field, what it has and what is allowed.
    pub fn check(&self) -> Result<(), OpError> {
        for (field, line) in
            [("subject characters", &self.subject), ("summary characters", &self.summary)]
        {
            let chars = line.as_deref().map_or(0, |line| line.chars().count());
            OpError::at_most(field, chars, LINE_CHARS)?;
        }
        self.task_id.as_deref().map_or(Ok(()), |id| label("task_id", id))?;
        OpError::at_most("body bytes", self.body.len(), BODY_BYTES)
    }

    /// What counts against a mailbox's byte limit: body, subject and summary.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let line = |line: &Option<String>| line.as_deref().map_or(0, str::len);
        (self.body.len() + line(&self.subject) + line(&self.summary)) as u64
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
            Self::Text(_) => Kind::Text,
            Self::Notice(_) => Kind::Notice,
        }
    }

    /// Its place within an injection (W5).
    #[must_use]
    pub const fn rank(&self) -> Rank {
        match self {
            Self::Text(_) => Rank::Mail,
            Self::Notice(notice) if notice.state.is_end() => Rank::RunNotice,
            Self::Notice(_) => Rank::LivenessNotice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_at_the_limit_is_accepted_and_one_byte_more_is_not() {
        assert!(Text::new("x".repeat(BODY_BYTES)).check().is_ok());
        let error = Text::new("x".repeat(BODY_BYTES + 1)).check().unwrap_err();
        assert_eq!(error.to_string(), "body bytes has 32769, at most 32768 are allowed");
    }

    #[test]
    fn lines_are_measured_in_characters_and_bodies_in_bytes() {
        let mut text = Text::new("é".repeat(BODY_BYTES / 2));
        text.subject = Some("é".repeat(LINE_CHARS));
        assert!(text.check().is_ok());
        text.subject = Some("é".repeat(LINE_CHARS + 1));
        assert!(text.check().unwrap_err().to_string().starts_with("subject characters has 201"));
    }

    #[test]
    fn a_person_needs_a_printable_name() {
        assert_eq!(Caller::human("anna").unwrap().to_string(), "human:anna");
        assert!(Caller::human("").is_err());
        assert!(Caller::human("a\nb").is_err());
    }
}
