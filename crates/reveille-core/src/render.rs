//! The text of an injection (section 6): what the agent reads, in four styles, and back.
//!
//! Whatever the style, a text carries the same fields (`render/rules.rs` lists them), everything that
//! a sender can write is escaped, and the parser gives back exactly the bytes that went in. Nothing in
//! a body, subject, name or result opens or closes an envelope of any style (P11). Age and attempt may
//! differ between attempts at the same injection; nothing else does. How many bytes a message takes at
//! most is known before it is sent ([`costs`]); which messages share an injection is decided elsewhere
//! ([`crate::compose`]).

mod cost;
mod element;
mod escape;
mod fields;
mod json;
mod parse;
mod rules;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use cost::{Costs, costs};
pub use parse::{ParseError, ParsedEntry, ParsedInjection};

use crate::error::OpError;
use crate::injection::Injection;

/// How the text of an injection is written; each agent has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Elements `message` and `notice` within an `injection`.
    #[default]
    Xml,
    /// One JSON object.
    Json,
    /// Elements `inbox`, and `actor-notification` for notices.
    Inbox,
    /// Elements `peer_message`.
    PeerMessage,
}

impl Style {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Xml, Self::Json, Self::Inbox, Self::PeerMessage];

    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::Json => "json",
            Self::Inbox => "inbox",
            Self::PeerMessage => "peer-message",
        }
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Style {
    type Err = OpError;

    fn from_str(word: &str) -> Result<Self, OpError> {
        let found = Self::ALL.into_iter().find(|style| style.name() == word);
        found.ok_or_else(|| OpError::invalid("style", word, "xml, json, inbox, peer-message"))
    }
}

/// The text of an injection, in its style.
#[must_use]
pub fn text(injection: &Injection) -> String {
    match injection.style {
        Style::Json => json::write(injection),
        style => element::write(injection, style),
    }
}

/// Reads a text back.
///
/// # Errors
///
/// [`ParseError`] at the first byte that the writer of that style would not have written.
///
/// ```
/// use reveille_core::render::{parse, Style};
///
/// let error = parse(Style::Xml, "<injection id=x>").unwrap_err();
/// assert_eq!(error.at, "<injection ".len());
/// ```
pub fn parse(style: Style, text: &str) -> Result<ParsedInjection, ParseError> {
    match style {
        Style::Json => json::read(text),
        style => element::read(style, text),
    }
}

#[cfg(test)]
mod tests;
