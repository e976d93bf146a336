//! The text of an injection (section 6): what the agent reads.
//!
//! The `xml` style, its escaping, and its parser, which gives back exactly the bytes that went in.
//! Nothing that a sender can write opens or closes an element (P11). Age and attempt may differ
//! between attempts at the same injection; nothing else does.

mod escape;
mod parse;
mod xml;

pub use parse::{ParseError, ParsedEntry, ParsedInjection, parse_xml};
pub use xml::{Costs, costs, xml};

use serde::{Deserialize, Serialize};

use crate::injection::Injection;

/// How the text of an injection is written; each agent has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Our own elements.
    #[default]
    Xml,
}

/// The text of an injection, in its style.
#[must_use]
pub fn text(injection: &Injection) -> String {
    match injection.style {
        Style::Xml => xml(injection),
    }
}
