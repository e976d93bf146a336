//! Which fields a text may have, in which order, and what they may hold.
//!
//! Written by [`super::fields`], checked when a text is read: a field that is unknown, missing, twice
//! there or out of place, or that holds what is never written, is refused with its place.

use std::str::FromStr;

use super::Style;
use super::parse::{Cursor, ParseError};
use crate::address::Address;
use crate::id::{InjectionId, MessageId, RunId};
use crate::message::Kind;

/// One field.
pub(super) struct Rule {
    /// Its name, which the styles `xml` and `json` use.
    pub(super) name: &'static str,
    /// Whether it is always there.
    required: bool,
    /// What it holds.
    pub(super) form: Form,
}

/// What a field holds.
pub(super) enum Form {
    /// What somebody wrote.
    Text,
    /// What passes this check.
    Fits(fn(&str) -> bool),
    /// A list in JSON.
    List(Shape),
}

/// What the items of a list are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Strings,
    Pairs,
    References,
}

const fn always(name: &'static str, fits: fn(&str) -> bool) -> Rule {
    Rule { name, required: true, form: Form::Fits(fits) }
}

const fn sometimes(name: &'static str, fits: fn(&str) -> bool) -> Rule {
    Rule { name, required: false, form: Form::Fits(fits) }
}

const fn written(name: &'static str) -> Rule {
    Rule { name, required: false, form: Form::Text }
}

const fn list(name: &'static str, shape: Shape) -> Rule {
    Rule { name, required: false, form: Form::List(shape) }
}

/// The fields of the injection itself.
pub(super) const INJECTION: &[Rule] = &[
    always("id", is::<InjectionId>),
    always("actor", is::<Address>),
    always("run", is::<RunId>),
    always("trigger", |word| ["window", "task", "wait", "safe_point"].contains(&word)),
    always("attempt", is_number),
    always("origin", |word| word == "runtime"),
    always("messages", is_number),
    sometimes("names", |names| names.split(' ').all(is::<InjectionId>)),
];

/// The fields of an entry. The first seven are those that `peer_message` has of old, in its order.
pub(super) const ENTRY: &[Rule] = &[
    always("from", is_caller),
    always("sent", |time| time.len() == 24 && humantime::parse_rfc3339(time).is_ok()),
    always("id", is::<MessageId>),
    always("kind", is::<Kind>),
    written("correlation"),
    written("summary"),
    list("references", Shape::References),
    always("origin", |word| ["agent", "human", "host", "system"].contains(&word)),
    always("age", is_seconds),
    sometimes("attempt", is_number),
    written("subject"),
    written("task"),
    written("mission"),
    sometimes("replyto", is::<MessageId>),
    sometimes("redrives", is::<MessageId>),
    list("labels", Shape::Pairs),
    list("related", Shape::Strings),
    sometimes("artifact", is_artifact),
    sometimes("cut", |cut| cut.strip_suffix(" bytes").is_some_and(|cut| all(cut, " of "))),
    sometimes("about", is::<Address>),
    sometimes("run", is::<RunId>),
    sometimes("message", is::<MessageId>),
    sometimes("state", is_state),
    written("status"),
    written("class"),
    sometimes("quiet", is_seconds),
    written("reason"),
    sometimes("blank", |blank| blank.trim().is_empty()),
];

fn is<T: FromStr>(text: &str) -> bool {
    text.parse::<T>().is_ok()
}

fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok_and(|number| number.to_string() == text)
}

fn all(text: &str, between: &str) -> bool {
    text.split_once(between).is_some_and(|(one, other)| is_number(one) && is_number(other))
}

fn is_seconds(text: &str) -> bool {
    text.strip_suffix('s').is_some_and(is_number)
}

fn is_caller(text: &str) -> bool {
    ["system", "host", "local"].contains(&text) || text.starts_with("human:") || is::<Address>(text)
}

fn is_artifact(text: &str) -> bool {
    let is_hash = |hash: &str| {
        hash.len() == 64 && hash.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    };
    text.split_once(' ').is_some_and(|(hash, bytes)| is_hash(hash) && is_number(bytes))
}

fn is_state(word: &str) -> bool {
    ["completed", "failed", "cancelled", "interrupted", "stalled", "undelivered"].contains(&word)
}

/// What a field is called in a style.
pub(super) fn called(style: Style, name: &'static str) -> &'static str {
    match (style, name) {
        (Style::Inbox, "sent") => "sent_at",
        (Style::PeerMessage, "sent") => "timestamp",
        (Style::PeerMessage, "id") => "messageId",
        (Style::PeerMessage, "correlation") => "correlationId",
        (_, name) => name,
    }
}

/// Takes the fields of one tag or object in their order.
pub(super) struct Order {
    style: Style,
    rest: &'static [Rule],
    fields: Vec<(String, String)>,
}

impl Order {
    pub(super) const fn new(style: Style, rules: &'static [Rule]) -> Self {
        Self { style, rest: rules, fields: Vec::new() }
    }

    /// The rule of the field that stands at `at` under this name.
    pub(super) fn rule(&mut self, name: &str, at: usize) -> Result<&'static Rule, ParseError> {
        let style = self.style;
        while let Some((rule, rest)) = self.rest.split_first() {
            self.rest = rest;
            if called(style, rule.name) == name {
                return Ok(rule);
            }
            if self.is_required(rule) {
                return Err(ParseError { expected: rule.name, at });
            }
        }
        Err(ParseError { expected: "a field that belongs here", at })
    }

    /// Takes the value that stands at `at`.
    pub(super) fn push(&mut self, rule: &Rule, value: String, at: usize) -> Result<(), ParseError> {
        let fits = match rule.form {
            Form::Text => true,
            Form::Fits(fits) => fits(&value),
            Form::List(shape) => {
                let mut cursor = Cursor::new(&value);
                cursor.json_list(shape).is_ok() && cursor.rest().is_empty()
            }
        };
        if !fits {
            return Err(ParseError { expected: rule.name, at });
        }
        // Where it is always there, an empty one stands for none.
        if !(self.style == Style::PeerMessage && rule.name == "correlation" && value.is_empty()) {
            self.fields.push((rule.name.to_owned(), value));
        }
        Ok(())
    }

    /// All that was taken; the fields end at `at`.
    pub(super) fn done(self, at: usize) -> Result<Vec<(String, String)>, ParseError> {
        match self.rest.iter().find(|rule| self.is_required(rule)) {
            Some(rule) => Err(ParseError { expected: rule.name, at }),
            None => Ok(self.fields),
        }
    }

    fn is_required(&self, rule: &Rule) -> bool {
        rule.required || (self.style == Style::PeerMessage && rule.name == "correlation")
    }
}
