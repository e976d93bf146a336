//! Reading the styles that are made of elements back.
//!
//! Reads exactly what [`super::element`] writes and refuses the rest, so a text that was tampered with
//! is an error and not a different injection.

use super::Style;
use super::element::{inbox_name, peer_name};
use super::escape::unescape;

/// Why a text is not an injection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an injection: expected {expected} at byte {at}")]
pub struct ParseError {
    /// What should have stood there.
    pub expected: &'static str,
    /// Where, counted from 0.
    pub at: usize,
}

/// An entry as it was read: its kind of element, its fields, its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedEntry {
    /// `message` or `notice`.
    pub element: String,
    /// Name and value, in order, by the names of the style `xml`.
    pub attributes: Vec<(String, String)>,
    /// The bytes that the sender wrote.
    pub body: String,
}

/// An injection as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedInjection {
    /// Name and value, in order.
    pub attributes: Vec<(String, String)>,
    /// Its messages, in order.
    pub entries: Vec<ParsedEntry>,
}

fn find<'a>(attributes: &'a [(String, String)], name: &str) -> Option<&'a str> {
    attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

impl ParsedEntry {
    /// The value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        find(&self.attributes, name)
    }

    /// Puts a blank body, which is kept in a field, where it belongs.
    pub(super) fn unblanked(mut self) -> Self {
        if let Some(index) = self.attributes.iter().position(|(name, _)| name == "blank") {
            self.body = self.attributes.remove(index).1;
        }
        self
    }
}

impl ParsedInjection {
    /// The value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        find(&self.attributes, name)
    }
}

/// Reads an injection in a style that is made of elements.
pub(super) fn read(style: Style, text: &str) -> Result<ParsedInjection, ParseError> {
    let mut reader = Reader { text, at: 0 };
    reader.expect("<injection", "<injection")?;
    let attributes = reader.attributes(|name| name)?;
    let (open, end) = if style == Style::Xml { (">\n", "</injection>\n") } else { ("/>\n", "") };
    reader.expect(open, "the end of the tag")?;
    let mut entries = Vec::new();
    while !reader.is_at_end(end) {
        entries.push(match style {
            Style::Inbox => reader.inbox()?,
            Style::PeerMessage => reader.peer_message()?,
            Style::Xml | Style::Json => reader.plain()?,
        });
    }
    if reader.rest().is_empty() {
        Ok(ParsedInjection { attributes, entries })
    } else {
        Err(reader.error("nothing after the injection"))
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// Gives fields the names of the style `xml` again.
type Called = fn(&str) -> &str;

fn from_peer(name: &str) -> &str {
    ["sent", "id", "correlation"].into_iter().find(|one| peer_name(one) == name).unwrap_or(name)
}

fn from_inbox(name: &str) -> &str {
    if name == inbox_name("sent") { "sent" } else { name }
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    const fn error(&self, expected: &'static str) -> ParseError {
        ParseError { expected, at: self.at }
    }

    /// Takes the end of the whole; without one the text just ends.
    fn is_at_end(&mut self, end: &str) -> bool {
        if end.is_empty() { self.rest().is_empty() } else { self.take(end) }
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), ParseError> {
        if self.take(token) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// Everything before `end`, which is passed over.
    fn until(&mut self, end: &str, expected: &'static str) -> Result<&'a str, ParseError> {
        let (before, _) = self.rest().split_once(end).ok_or_else(|| self.error(expected))?;
        self.at += before.len() + end.len();
        Ok(before)
    }

    fn plain(&mut self) -> Result<ParsedEntry, ParseError> {
        let element = ["message", "notice"]
            .into_iter()
            .find(|element| self.take(&format!("<{element}")))
            .ok_or_else(|| self.error("<message or <notice"))?;
        let attributes = self.attributes(|name| name)?;
        self.expect(">", ">")?;
        self.body(element, attributes, &format!("</{element}>\n"))
    }

    fn peer_message(&mut self) -> Result<ParsedEntry, ParseError> {
        self.expect("<peer_message", "<peer_message")?;
        let attributes = self.attributes(from_peer)?;
        self.expect(">\n", "the end of the tag")?;
        let is_notice = find(&attributes, "about").is_some();
        let element = if is_notice { "notice" } else { "message" };
        self.body(element, attributes, "\n</peer_message>\n")
    }

    fn inbox(&mut self) -> Result<ParsedEntry, ParseError> {
        if self.take("<inbox") {
            let attributes = self.attributes(from_inbox)?;
            self.expect(">\n", "the end of the tag")?;
            return self.body("message", attributes, "\n</inbox>\n");
        }
        self.expect("<notice", "<inbox or <notice")?;
        let attributes = self.attributes(from_inbox)?;
        self.expect("/>\n<actor-notification>\n", "an actor-notification")?;
        self.body("notice", attributes, "\n</actor-notification>\n")
    }

    fn body(
        &mut self,
        element: &str,
        attributes: Vec<(String, String)>,
        end: &str,
    ) -> Result<ParsedEntry, ParseError> {
        let written = self.until(end, "the end of the element")?;
        let body = unescape(written).ok_or_else(|| self.error("an escaped body"))?;
        Ok(ParsedEntry { element: element.to_owned(), attributes, body }.unblanked())
    }

    /// The attributes of a tag, up to what ends it.
    fn attributes(&mut self, called: Called) -> Result<Vec<(String, String)>, ParseError> {
        let mut attributes = Vec::new();
        while self.take(" ") {
            let name = self.until("=\"", "an attribute's name")?;
            if !name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
                return Err(self.error("an attribute's name"));
            }
            let value = self.until("\"", "the end of the attribute")?;
            let value = unescape(value).ok_or_else(|| self.error("an escaped value"))?;
            attributes.push((called(name).to_owned(), value));
        }
        Ok(attributes)
    }
}
