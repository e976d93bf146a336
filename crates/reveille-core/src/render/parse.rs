//! What is read back from a text, and the place up to which it was read.
//!
//! A text that was tampered with is an error with its place, and not a different injection: readers
//! take what the writer of their style writes and nothing else.

use super::fields::EMPTY;

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

    /// Of the fields and the body of an entry that begins at `at`.
    pub(super) fn new(
        mut attributes: Vec<(String, String)>,
        mut body: String,
        at: usize,
    ) -> Result<Self, ParseError> {
        let wrong = |expected| Err(ParseError { expected, at });
        let is_notice = find(&attributes, "kind") == Some("notice");
        let (about, state) = (find(&attributes, "about"), find(&attributes, "state"));
        if about.is_some() != state.is_some() || (about.is_some() && !is_notice) {
            return wrong("a notice with what it is about and a state");
        }
        // A blank body is kept in the last field.
        if let Some((_, blank)) = attributes.pop_if(|(name, _)| name == "blank") {
            if body != EMPTY {
                return wrong("a body that reads (empty)");
            }
            body = blank;
        } else if body.trim().is_empty() {
            return wrong("a body that is not blank");
        }
        let element = if is_notice { "notice" } else { "message" };
        Ok(Self { element: element.to_owned(), attributes, body })
    }
}

impl ParsedInjection {
    /// The value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        find(&self.attributes, name)
    }
}

/// A text and the place up to which it was read.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) const fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) const fn error(&self, expected: &'static str) -> ParseError {
        ParseError { expected, at: self.at }
    }

    pub(super) fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    pub(super) fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), ParseError> {
        if self.take(token) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// Everything before `end`, which is passed over.
    pub(super) fn until(
        &mut self,
        end: &str,
        expected: &'static str,
    ) -> Result<&'a str, ParseError> {
        let (before, _) = self.rest().split_once(end).ok_or_else(|| self.error(expected))?;
        self.at += before.len() + end.len();
        Ok(before)
    }

    /// The injection, when the text ends here and has as many messages as it says.
    pub(super) fn done(
        &self,
        attributes: Vec<(String, String)>,
        entries: Vec<ParsedEntry>,
    ) -> Result<ParsedInjection, ParseError> {
        if !self.rest().is_empty() {
            return Err(self.error("nothing after the injection"));
        }
        if find(&attributes, "messages") != Some(entries.len().to_string().as_str()) {
            return Err(self.error("as many messages as it says"));
        }
        Ok(ParsedInjection { attributes, entries })
    }
}
