//! The three styles that are made of elements, and back.
//!
//! | style | the injection itself | a message | a notice |
//! |---|---|---|---|
//! | `xml` | `<injection ..>` around all | `<message ..>body</message>` | `<notice ..>body</notice>` |
//! | `inbox` | `<injection ../>` first | `<inbox ..>`, body, `</inbox>` | `<notice ../>`, `<actor-notification>`, body, `</actor-notification>` |
//! | `peer-message` | `<injection ../>` first | `<peer_message ..>`, body, `</peer_message>` | the same |
//!
//! In the last two the body has lines of its own, and an `actor-notification` no attributes, as
//! harnesses expect that read them.

use super::Style;
use super::escape::{Place, escape, unescape};
use super::fields::{Field, Fields, of_entry, of_injection};
use super::parse::{Cursor, ParseError, ParsedEntry, ParsedInjection};
use super::rules::{ENTRY, INJECTION, Order, Rule, called};
use crate::injection::Injection;

/// What stands around the parts of an entry.
struct Tags {
    open: &'static str,
    /// After the fields.
    middle: &'static str,
    /// After the body.
    close: &'static str,
}

const MESSAGE: Tags = Tags { open: "<message", middle: ">", close: "</message>\n" };
const NOTICE: Tags = Tags { open: "<notice", middle: ">", close: "</notice>\n" };
const INBOX: Tags = Tags { open: "<inbox", middle: ">\n", close: "\n</inbox>\n" };
const NOTIFICATION: Tags = Tags {
    open: "<notice",
    middle: "/>\n<actor-notification>\n",
    close: "\n</actor-notification>\n",
};
const PEER: Tags = Tags { open: "<peer_message", middle: ">\n", close: "\n</peer_message>\n" };

const fn tags(style: Style, is_notice: bool) -> &'static Tags {
    match (style, is_notice) {
        (Style::PeerMessage, _) => &PEER,
        (Style::Inbox, false) => &INBOX,
        (Style::Inbox, true) => &NOTIFICATION,
        (Style::Xml | Style::Json, false) => &MESSAGE,
        (Style::Xml | Style::Json, true) => &NOTICE,
    }
}

/// What stands after the injection's own fields, and after all.
const fn around(style: Style) -> (&'static str, &'static str) {
    match style {
        Style::Xml | Style::Json => (">\n", "</injection>\n"),
        Style::Inbox | Style::PeerMessage => ("/>\n", ""),
    }
}

/// The text of an injection in a style that is made of elements.
pub(super) fn write(injection: &Injection, style: Style) -> String {
    let (middle, close) = around(style);
    let mut out = String::from("<injection");
    attributes(&mut out, &of_injection(injection), Style::Xml);
    out.push_str(middle);
    for entry in &injection.entries {
        let Fields { is_notice, fields, body } = of_entry(entry, injection, style);
        let tags = tags(style, is_notice);
        out.push_str(tags.open);
        attributes(&mut out, &fields, style);
        out.push_str(tags.middle);
        escape(&mut out, &body, Place::Body);
        out.push_str(tags.close);
    }
    out.push_str(close);
    out
}

fn attributes(out: &mut String, fields: &[Field], style: Style) {
    for (name, value) in fields {
        out.push(' ');
        out.push_str(called(style, name));
        out.push_str("=\"");
        escape(out, value, Place::Attribute);
        out.push('"');
    }
}

/// Reads an injection in a style that is made of elements.
pub(super) fn read(style: Style, text: &str) -> Result<ParsedInjection, ParseError> {
    let (middle, close) = around(style);
    let mut cursor = Cursor::new(text);
    cursor.expect("<injection", "an injection")?;
    let attributes = cursor.attributes(Style::Xml, INJECTION)?;
    cursor.expect(middle, "the end of the tag")?;
    let mut entries = Vec::new();
    while !cursor.rest().is_empty() && (close.is_empty() || !cursor.rest().starts_with(close)) {
        entries.push(entry(&mut cursor, style)?);
    }
    cursor.expect(close, "the end of the injection")?;
    cursor.done(attributes, entries)
}

fn entry(cursor: &mut Cursor<'_>, style: Style) -> Result<ParsedEntry, ParseError> {
    let start = cursor.at();
    let is_notice = !cursor.take(tags(style, false).open);
    if is_notice {
        cursor.expect(tags(style, true).open, "an entry")?;
    }
    let tags = tags(style, is_notice);
    let attributes = cursor.attributes(style, ENTRY)?;
    cursor.expect(tags.middle, "the end of the tag")?;
    let at = cursor.at();
    let written = cursor.until(tags.close, "the end of the element")?;
    let body = cursor.unescaped(written, Place::Body, at)?;
    let entry = ParsedEntry::new(attributes, body, start)?;
    // `peer_message` is for both.
    if style == Style::PeerMessage || is_notice == (entry.element == "notice") {
        Ok(entry)
    } else {
        Err(ParseError { expected: "the element of its kind", at: start })
    }
}

impl Cursor<'_> {
    /// The attributes of a tag, up to what ends it.
    fn attributes(
        &mut self,
        style: Style,
        rules: &'static [Rule],
    ) -> Result<Vec<(String, String)>, ParseError> {
        let mut order = Order::new(style, rules);
        while self.take(" ") {
            let at = self.at();
            let name = self.until("=\"", "an attribute's name")?;
            let rule = order.rule(name, at)?;
            let at = self.at();
            let written = self.until("\"", "the end of the attribute")?;
            let value = self.unescaped(written, Place::Attribute, at)?;
            order.push(rule, value, at)?;
        }
        order.done(self.at())
    }

    /// What was written at `at`.
    fn unescaped(&self, written: &str, place: Place, at: usize) -> Result<String, ParseError> {
        unescape(written, place)
            .map_err(|offset| ParseError { expected: "an escaped text", at: at + offset })
    }
}
