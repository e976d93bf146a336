//! Escaping for the `xml` style, and back.
//!
//! Besides the five characters that mean something in XML, these become numeric references:
//! carriage returns (a reader would turn them into line feeds), characters that XML cannot hold, and
//! the invisible tag characters U+E0000 to U+E007F. In attributes line feeds and tabs as well.

use std::fmt::Write as _;

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Between tags.
    Body,
    /// Between quotation marks.
    Attribute,
}

/// How a character is written.
enum Form {
    Plain,
    Named(&'static str),
    Number,
}

const fn form(c: char, place: Place) -> Form {
    match c {
        '&' => Form::Named("&amp;"),
        '<' => Form::Named("&lt;"),
        '>' => Form::Named("&gt;"),
        '"' if matches!(place, Place::Attribute) => Form::Named("&quot;"),
        '\n' | '\t' if matches!(place, Place::Attribute) => Form::Number,
        '\n' | '\t' => Form::Plain,
        '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}' => Form::Number,
        _ => Form::Plain,
    }
}

/// Whether a byte stands for itself wherever it stands.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\\')
}

/// Appends `text`, escaped.
pub(super) fn escape(out: &mut String, text: &str, place: Place) {
    for c in text.chars() {
        match form(c, place) {
            Form::Plain => out.push(c),
            Form::Named(name) => out.push_str(name),
            Form::Number => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
        }
    }
}

/// Whether every byte of a text stands for itself, in every style and place.
pub(super) fn is_plain_text(text: &str) -> bool {
    text.bytes().all(is_plain)
}

/// How many bytes a character takes when escaped.
pub(super) fn escaped_char_len(c: char, place: Place) -> usize {
    match form(c, place) {
        Form::Plain => c.len_utf8(),
        Form::Named(name) => name.len(),
        Form::Number => "&#;".len() + digits(u32::from(c)),
    }
}

const fn digits(number: u32) -> usize {
    match number.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

/// The longest beginning of `text` that takes at most `limit` bytes in any style.
pub(super) fn head_within(text: &str, limit: usize, place: Place) -> &str {
    let mut used = 0;
    for (index, c) in text.char_indices() {
        used += escaped_char_len(c, place).max(super::json::char_len(c));
        if used > limit {
            return text.get(..index).unwrap_or("");
        }
    }
    text
}

/// Reads an escaped text back; `None` when it is not one.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('&') {
        out.push_str(plain);
        let (reference, next) = after.split_once(';')?;
        out.push(match reference {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            number => char::from_u32(number.strip_prefix('#')?.parse().ok()?)?,
        });
        rest = next;
    }
    out.push_str(rest);
    (!text.contains('<')).then_some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_comes_back_from_its_escaped_form(text in any::<String>()) {
            for place in [Place::Body, Place::Attribute] {
                let mut escaped = String::new();
                escape(&mut escaped, &text, place);
                let len: usize = text.chars().map(|c| escaped_char_len(c, place)).sum();
                prop_assert_eq!(escaped.len(), len);
                let plain = escaped.contains(['<', '>', '\r', '\u{e0041}']);
                prop_assert!(!plain, "{}", escaped);
                prop_assert_eq!(unescape(&escaped), Some(text.clone()));
                let head = head_within(&text, 10, place);
                let len: usize = head.chars().map(|c| escaped_char_len(c, place)).sum();
                prop_assert!(len <= 10 && text.starts_with(head));
            }
        }
    }
}
