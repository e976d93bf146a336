//! Escaping for the styles that are made of elements, and back.
//!
//! Besides the characters that mean something in XML, these become numeric references: carriage
//! returns (a reader would turn them into line feeds), characters that XML cannot hold, and the
//! invisible tag characters U+E0000 to U+E007F. In attributes line feeds and tabs as well.
//! A text has one escaped form; [`unescape`] refuses any other, and says where it differs.

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

/// How many bytes a character takes when escaped.
pub(super) const fn char_len(c: char, place: Place) -> usize {
    match form(c, place) {
        Form::Plain => c.len_utf8(),
        Form::Named(name) => name.len(),
        Form::Number => "&#;".len() + digits(c as u32),
    }
}

const fn digits(number: u32) -> usize {
    match number.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

/// Appends `text`, escaped.
pub(super) fn escape(out: &mut String, text: &str, place: Place) {
    out.reserve(text.len());
    let mut rest = text;
    while let Some((plain, c, after)) =
        split_at_char(rest, |c| !matches!(form(c, place), Form::Plain))
    {
        out.push_str(plain);
        match form(c, place) {
            Form::Plain => out.push(c),
            Form::Named(name) => out.push_str(name),
            Form::Number => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
        }
        rest = after;
    }
    out.push_str(rest);
}

/// Splits a text at the first character that `is` it: what is before, the character, what is after.
pub(super) fn split_at_char(text: &str, is: impl Fn(char) -> bool) -> Option<(&str, char, &str)> {
    let (plain, rest) = text.split_at_checked(text.find(is)?)?;
    let mut rest = rest.chars();
    let c = rest.next()?;
    Some((plain, c, rest.as_str()))
}

/// Reads an escaped text back.
///
/// # Errors
///
/// Where it differs from what [`escape`] writes.
pub(super) fn unescape(text: &str, place: Place) -> Result<String, usize> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('&') {
        out.push_str(plain);
        let at = text.len() - after.len() - 1;
        let (reference, next) = after.split_once(';').ok_or(at)?;
        out.push(referenced(reference).ok_or(at)?);
        rest = next;
    }
    out.push_str(rest);
    let mut again = String::new();
    escape(&mut again, &out, place);
    if again == text { Ok(out) } else { Err(first_difference(&again, text)) }
}

fn referenced(reference: &str) -> Option<char> {
    match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        number => char::from_u32(number.strip_prefix('#')?.parse().ok()?),
    }
}

/// How many bytes two texts have in common at their beginning.
pub(super) fn first_difference(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_has_one_escaped_form() {
        for (other, at) in [("a&#65;", 1), ("ab>", 2), ("&lt", 0), ("\r", 0), ("&#x26;", 0)] {
            assert_eq!(unescape(other, Place::Body), Err(at), "{other}");
        }
        assert_eq!(unescape("a\n", Place::Attribute), Err(1));
        assert_eq!(unescape("a\n", Place::Body), Ok("a\n".into()));
    }

    proptest! {
        #[test]
        fn any_text_comes_back_from_its_escaped_form(text in any::<String>()) {
            for place in [Place::Body, Place::Attribute] {
                let mut escaped = String::new();
                escape(&mut escaped, &text, place);
                let len: usize = text.chars().map(|c| char_len(c, place)).sum();
                prop_assert_eq!(escaped.len(), len);
                let is_plain = !escaped.contains(['<', '>', '\r', '\u{e0041}']);
                prop_assert!(is_plain, "{}", escaped);
                prop_assert_eq!(unescape(&escaped, place), Ok(text.clone()));
            }
        }
    }
}
