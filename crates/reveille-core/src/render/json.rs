//! The style `json`: one object, all values strings, and back.
//!
//! `{"injection": {..}, "entries": [{"element": "message", .., "body": ".."}]}` on one line. Strings
//! are written here because more is escaped than JSON asks for: invisible tag characters and
//! characters that XML cannot hold are `\u` escapes, so that no reader is shown what it does not see.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::fields::{of_entry, of_injection};
use super::parse::{ParseError, ParsedEntry, ParsedInjection};
use crate::injection::Injection;

/// The text of an injection.
pub(super) fn write(injection: &Injection) -> String {
    let head = of_injection(injection).into_iter().map(|(name, value)| (name.to_owned(), value));
    let entries = injection.entries.iter().map(|entry| {
        let fields = of_entry(entry, injection, false);
        let element = if fields.is_notice { "notice" } else { "message" };
        let named = fields.fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        let mut all = vec![("element".to_owned(), element.to_owned())];
        all.extend(named);
        all.push(("body".to_owned(), fields.body));
        all
    });
    object(&head.collect::<Vec<_>>(), &entries.collect::<Vec<_>>())
}

type Pairs = Vec<(String, String)>;

fn object(head: &Pairs, entries: &[Pairs]) -> String {
    let mut out = String::from("{\"injection\":");
    pairs(&mut out, head);
    out.push_str(",\"entries\":[");
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        pairs(&mut out, entry);
    }
    out.push_str("]}\n");
    out
}

fn pairs(out: &mut String, pairs: &Pairs) {
    out.push('{');
    for (index, (name, value)) in pairs.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(out, name);
        out.push(':');
        string(out, value);
    }
    out.push('}');
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match form(c) {
            Form::Plain => out.push(c),
            Form::Short(short) => {
                out.push('\\');
                out.push(short);
            }
            Form::Units => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

enum Form {
    Plain,
    Short(char),
    Units,
}

const fn form(c: char) -> Form {
    match c {
        '"' | '\\' => Form::Short(c),
        '\n' => Form::Short('n'),
        '\t' => Form::Short('t'),
        '\0'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}' => {
            Form::Units
        }
        _ => Form::Plain,
    }
}

/// How many bytes a character takes in a string.
pub(super) const fn char_len(c: char) -> usize {
    match form(c) {
        Form::Plain => c.len_utf8(),
        Form::Short(_) => 2,
        Form::Units => 6 * c.len_utf16(),
    }
}

/// Names and values in the order in which they stand.
struct Ordered(Pairs);

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Ordered;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Ordered(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    injection: Ordered,
    entries: Vec<Ordered>,
}

/// Reads a text back. One that was not written here is refused at the first byte that differs.
pub(super) fn read(text: &str) -> Result<ParsedInjection, ParseError> {
    let whole: Whole = serde_json::from_str(text)
        .map_err(|error| ParseError { expected: "an injection in JSON", at: error.column() })?;
    let entries: Vec<Pairs> = whole.entries.into_iter().map(|entry| entry.0).collect();
    let again = object(&whole.injection.0, &entries);
    if again != text {
        let same = again.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        return Err(ParseError { expected: "what the writer writes", at: same });
    }
    let entry = |mut fields: Pairs| {
        let wrong = ParseError { expected: "an element and a body", at: 0 };
        let is = |index: usize, name: &str, fields: &Pairs| {
            fields.get(index).is_some_and(|(is, _)| is == name)
        };
        let last = fields.len().checked_sub(1).ok_or_else(|| wrong.clone())?;
        if !is(0, "element", &fields) || !is(last, "body", &fields) || last == 0 {
            return Err(wrong);
        }
        let (_, body) = fields.remove(last);
        let (_, element) = fields.remove(0);
        Ok(ParsedEntry { element, attributes: fields, body }.unblanked())
    };
    let entries = entries.into_iter().map(entry).collect::<Result<_, _>>()?;
    Ok(ParsedInjection { attributes: whole.injection.0, entries })
}
