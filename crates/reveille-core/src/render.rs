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
