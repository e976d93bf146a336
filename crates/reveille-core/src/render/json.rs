//! The style `json`: one object, and back.
//!
//! `{"injection":{..},"entries":[{..,"body":".."}]}` on one line. Values are strings, lists are
//! arrays. Strings are written here because more is escaped than JSON asks for: control characters,
//! invisible tag characters and characters that XML cannot hold are `\u` escapes, so that no reader
//! is shown what it does not see; so is `<`, so that no tag of any style stands in a text for a model
//! to take for one. They are read by `serde_json` and refused unless they are what is written here.

use std::fmt::Write as _;

use super::Style;
use super::escape::{first_difference, split_at_char};
use super::fields::{Field, of_entry, of_injection};
use super::parse::{Cursor, ParseError, ParsedEntry, ParsedInjection};
use super::rules::{ENTRY, Form, INJECTION, Order, Rule, Shape};
use crate::injection::Injection;

/// The text of an injection.
pub(super) fn write(injection: &Injection) -> String {
    let mut out = String::from("{\"injection\":{");
    pairs(&mut out, &of_injection(injection));
    out.push_str("},\"entries\":[");
    for (index, entry) in injection.entries.iter().enumerate() {
        out.push_str(if index > 0 { ",{" } else { "{" });
        let fields = of_entry(entry, injection, Style::Json);
        pairs(&mut out, &fields.fields);
        out.push_str(",\"body\":");
        string(&mut out, &fields.body);
        out.push('}');
    }
    out.push_str("]}\n");
    out
}

fn pairs(out: &mut String, fields: &[Field]) {
    for (index, (name, value)) in fields.iter().enumerate() {
        out.push_str(if index > 0 { ",\"" } else { "\"" });
        out.push_str(name);
        out.push_str("\":");
        if ENTRY.iter().any(|rule| rule.name == *name && matches!(rule.form, Form::List(_))) {
            out.push_str(value);
        } else {
            string(out, value);
        }
    }
}

/// An array of what `one` writes; `None` when there is nothing in it.
pub(super) fn list<T>(items: &[T], one: impl Fn(&mut String, &T)) -> Option<String> {
    let mut out = String::from("[");
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        one(&mut out, item);
    }
    out.push(']');
    (!items.is_empty()).then_some(out)
}

/// Appends `text` as a string.
pub(super) fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some((plain, c, after)) = split_at_char(rest, |c| !matches!(form(c), Escape::None)) {
        out.push_str(plain);
        match form(c) {
            Escape::None => out.push(c),
            Escape::Short(short) => out.extend(['\\', short]),
            Escape::Units => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out.push('"');
}

/// How a character is written.
enum Escape {
    None,
    Short(char),
    Units,
}

const fn form(c: char) -> Escape {
    match c {
        '"' | '\\' => Escape::Short(c),
        '\n' => Escape::Short('n'),
        '\t' => Escape::Short('t'),
        '<'
        | '\0'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{fffe}'
        | '\u{ffff}'
        | '\u{e0000}'..='\u{e007f}' => Escape::Units,
        _ => Escape::None,
    }
}

/// How many bytes a character takes in a string.
pub(super) const fn char_len(c: char) -> usize {
    match form(c) {
        Escape::None => c.len_utf8(),
        Escape::Short(_) => 2,
        Escape::Units => 6 * c.len_utf16(),
    }
}

/// Reads a text back.
pub(super) fn read(text: &str) -> Result<ParsedInjection, ParseError> {
    let mut cursor = Cursor::new(text);
    cursor.expect("{\"injection\":{", "an injection")?;
    let mut order = Order::new(Style::Json, INJECTION);
    loop {
        cursor.expect("\"", "a name")?;
        field(&mut cursor, &mut order)?;
        if cursor.take("}") {
            break;
        }
        cursor.expect(",", "a comma or the end of the fields")?;
    }
    let attributes = order.done(cursor.at())?;
    cursor.expect(",\"entries\":[", "the entries")?;
    let mut entries = Vec::new();
    while !cursor.take("]") {
        if !entries.is_empty() {
            cursor.expect(",", "a comma or the end of the entries")?;
        }
        entries.push(entry(&mut cursor)?);
    }
    cursor.expect("}\n", "the end")?;
    cursor.done(attributes, entries)
}

fn entry(cursor: &mut Cursor<'_>) -> Result<ParsedEntry, ParseError> {
    let start = cursor.at();
    cursor.expect("{\"", "an entry")?;
    let mut order = Order::new(Style::Json, ENTRY);
    while !cursor.take("body\":") {
        field(cursor, &mut order)?;
        cursor.expect(",\"", "the next field")?;
    }
    let attributes = order.done(cursor.at())?;
    let body = cursor.json_string()?;
    cursor.expect("}", "the end of the entry")?;
    ParsedEntry::new(attributes, body, start)
}

/// A field from within its name on.
fn field(cursor: &mut Cursor<'_>, order: &mut Order) -> Result<(), ParseError> {
    let at = cursor.at();
    let name = cursor.until("\":", "a field's name")?;
    let rule: &Rule = order.rule(name, at)?;
    let at = cursor.at();
    let value = match rule.form {
        Form::List(shape) => cursor.json_list(shape)?.to_owned(),
        Form::Text | Form::Fits(_) => cursor.json_string()?,
    };
    order.push(rule, value, at)
}

impl<'a> Cursor<'a> {
    fn json_string(&mut self) -> Result<String, ParseError> {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.bytes().enumerate().skip(1).find(|&(_, byte)| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let written = end.and_then(|(end, _)| rest.get(..=end));
        let written = written.ok_or_else(|| self.error("a string"))?;
        let value: String = serde_json::from_str(written).map_err(|_| self.error("a string"))?;
        let mut again = String::new();
        string(&mut again, &value);
        self.skip(first_difference(&again, written));
        if again == written { Ok(value) } else { Err(self.error("a string as it is written")) }
    }

    /// A list, which comes back as it stands.
    pub(super) fn json_list(&mut self, shape: Shape) -> Result<&'a str, ParseError> {
        let start = self.rest();
        self.expect("[", "a list")?;
        loop {
            match shape {
                Shape::Strings => drop(self.json_string()?),
                Shape::Pairs => {
                    self.expect("[", "a pair")?;
                    self.json_string()?;
                    self.expect(",", "the second of a pair")?;
                    self.json_string()?;
                    self.expect("]", "the end of a pair")?;
                }
                Shape::References => {
                    self.expect("{\"path\":", "a reference")?;
                    self.json_string()?;
                    if self.take(",\"description\":") {
                        self.json_string()?;
                    }
                    self.expect("}", "the end of a reference")?;
                }
            }
            if self.take("]") {
                return Ok(start.get(..start.len() - self.rest().len()).unwrap_or(""));
            }
            self.expect(",", "a comma or the end of the list")?;
        }
    }
}
