//! How many bytes a message may take in an injection, in whichever style (W6).
//!
//! The receiver's style is not known when a message is sent, and it may change; so what counts is the
//! style that takes most. On the way of every send: a text is gone over once, plain text not even
//! character by character.

use super::escape::{Place, escaped_char_len, is_plain_text};
use super::fields::{CUT_BODY_BYTES, CUT_NOTE_BYTES, EMPTY, notification};
use super::json;
use crate::limits::{ENVELOPE_BYTES, NOTICE_CUT_BYTES};
use crate::message::{Caller, Content, Text};
use crate::notice::Notice;

/// Bytes that the fixed fields of a message may take, with names, tags, ids, times and numbers.
const FRAME_BYTES: usize = 360;
/// Bytes that a further field takes beside its value.
const FIELD_BYTES: usize = 18;
/// Bytes of an id, an address's session, a state.
const ID_BYTES: usize = 32;

/// The most bytes that a message may take in an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Whole, envelope included.
    pub whole: u32,
    /// Cut, envelope included; at most `whole`.
    pub cut: u32,
    /// The envelope alone: everything but the body and the lists (references, labels, related ids),
    /// which have limits of their own.
    pub envelope: u32,
    /// The lists alone.
    pub lists: u32,
}

/// Says how many bytes a message may take in an injection.
///
/// ```
/// use reveille_core::{message::Content, render, Caller, Text};
///
/// let costs = render::costs(&Caller::Host, &Content::Text(Text::new("<".repeat(100))));
/// assert!(costs.whole >= 400 && costs.cut <= costs.whole);
/// ```
#[must_use]
pub fn costs(from: &Caller, content: &Content) -> Costs {
    let frame = FRAME_BYTES + caller_len(from);
    let (envelope, lists, whole, cut) = match content {
        Content::Text(text) => {
            let (envelope, lists) = (frame + text_fields(text), text_lists(text));
            let body = body_len(&text.body);
            (envelope, lists, body, body.min(CUT_BODY_BYTES + CUT_NOTE_BYTES))
        }
        Content::Notice(notice) => {
            let words = |cut| body_len(&notice.text(cut)).max(body_len(&notification(notice, cut)));
            let cut = words(true);
            (frame + notice_fields(notice), 0, words(false).max(cut), cut)
        }
    };
    let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    let around = envelope + lists;
    Costs {
        whole: size(around + whole),
        cut: size(around + cut),
        envelope: size(envelope),
        lists: size(lists),
    }
}

fn caller_len(from: &Caller) -> usize {
    match from {
        Caller::System | Caller::Host | Caller::Local => ID_BYTES,
        Caller::Human(name) => ID_BYTES + value_len(name),
        Caller::Actor(address) => ID_BYTES + address.name().as_str().len(),
    }
}

fn text_fields(text: &Text) -> usize {
    let field =
        |value: &Option<String>| value.as_deref().map_or(0, |value| FIELD_BYTES + value_len(value));
    let id = |is: bool| if is { FIELD_BYTES + ID_BYTES } else { 0 };
    field(&text.subject)
        + field(&text.summary)
        + field(&text.task_id)
        + field(&text.mission_id)
        + field(&text.correlation_id)
        + id(text.reply_to.is_some())
        + id(text.redrives.is_some())
        + if text.artifact.is_some() { FIELD_BYTES + 96 } else { 0 }
}

/// Lists are JSON within a field: each of their strings is written twice over.
fn text_lists(text: &Text) -> usize {
    let string = |text: &str| text.chars().map(nested_len).sum::<usize>() + 2 * "&quot;".len();
    let references = text.references.iter().map(|one| {
        let names = r#"{"path":,"description":},"#.len() + 4 * "&quot;".len();
        names + string(&one.uri) + string(&one.description)
    });
    let labels = text.labels.iter().map(|(name, value)| string(name) + string(value) + 4);
    let related = text.related.iter().map(|id| string(id) + 1);
    let all: usize = references.chain(labels).chain(related).sum();
    if all == 0 { 0 } else { all + 3 * (FIELD_BYTES + 2) }
}

fn notice_fields(notice: &Notice) -> usize {
    let about = 2 * ID_BYTES + notice.about.name().as_str().len();
    let status = match &notice.state {
        crate::NoticeState::Completed(status) => value_len(&status.to_string()),
        _ => 0,
    };
    let task = notice.task_id.as_deref().map_or(0, value_len);
    6 * FIELD_BYTES + about + 2 * ID_BYTES + status + task
}

/// The most bytes that a character takes as a value.
fn char_len(c: char) -> usize {
    escaped_char_len(c, Place::Attribute).max(json::char_len(c))
}

/// The most bytes that a character takes within JSON within a value.
fn nested_len(c: char) -> usize {
    // serde_json escapes quotation marks, backslashes and control characters, with at most `\u001f`;
    // what it writes is then a value in its turn.
    match c {
        '"' => char_len('\\') + char_len('"'),
        '\\' => 2 * char_len('\\'),
        '\0'..='\u{1f}' => char_len('\\') + 5,
        c => char_len(c),
    }
}

fn value_len(text: &str) -> usize {
    if is_plain_text(text) { text.len() } else { text.chars().map(char_len).sum() }
}

fn body_len(text: &str) -> usize {
    if is_plain_text(text) && !text.trim().is_empty() {
        return text.len();
    }
    if text.trim().is_empty() {
        return FIELD_BYTES + EMPTY.len() + value_len(text);
    }
    let char_len = |c| escaped_char_len(c, Place::Body).max(json::char_len(c));
    text.chars().map(char_len).sum()
}

const _: () = {
    assert!(NOTICE_CUT_BYTES * 12 + ENVELOPE_BYTES < CUT_BODY_BYTES);
};
