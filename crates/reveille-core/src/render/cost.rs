//! How many bytes a message may take in an injection, in whichever style (W6).
//!
//! The receiver's style is not known when a message is sent, and it may change; so what counts of
//! each part is the style that takes most. On the way of every send: a text is gone over once, by
//! bytes and a table unless something rare is in it, and nothing is allocated.

use super::escape::{self, Place};
use super::fields::{CUT_BODY_BYTES, CUT_NOTE_BYTES, EMPTY, NO_OUTPUT};
use super::json;
use crate::limits::{BODY_BYTES, ENVELOPE_BYTES, NOTICE_CUT_BYTES};
use crate::message::{ArtifactRef, Caller, Content, Text};
use crate::notice::{Notice, NoticeState, head};
use crate::outcome::Status;

/// Bytes of an id with its prefix.
const ID_BYTES: usize = "msg_".len() + 26;
/// Bytes of a moment.
const TIME_BYTES: usize = "9999-12-31T23:59:59.999Z".len();
/// Bytes of an age, in seconds.
const AGE_BYTES: usize = "253402300799s".len();
/// Bytes of an attempt.
const ATTEMPT_BYTES: usize = "4294967295".len();
/// Bytes of an origin.
const ORIGIN_BYTES: usize = "system".len();
/// Bytes of a number that counts bytes, or seconds.
const NUMBER_BYTES: usize = "18446744073709551615".len();
/// Bytes that an entry takes whatever is in it, in the style that takes most.
const FRAME_BYTES: usize = longest(&[
    concat!(r#"<notice from="" sent="" id="" kind="" origin="" age="" attempt=""></notice>"#, "\n"),
    concat!(
        r#"<notice from="" sent_at="" id="" kind="" origin="" age="" attempt=""/>"#,
        "\n<actor-notification>\n\n</actor-notification>\n"
    ),
    concat!(
        r#"<peer_message from="" timestamp="" messageId="" kind="" correlationId="" "#,
        r#"origin="" age="" attempt="">"#,
        "\n\n</peer_message>\n"
    ),
    concat!(
        r#"{"from":"","sent":"","id":"","kind":"","origin":"","age":"","#,
        r#""attempt":"","body":""},"#
    ),
]) + TIME_BYTES
    + ID_BYTES
    + ORIGIN_BYTES
    + AGE_BYTES
    + ATTEMPT_BYTES;
/// Bytes of the words of a notice that are not its own, its note on the rest included.
const NOTICE_BYTES: usize = r#"Background sub-session \"\" (actor_id: ) "#.len()
    + "appears stalled (no activity for s).".len()
    + NUMBER_BYTES
    + "\\nStatus: success".len()
    + "\\n\\nResult: ".len()
    + NO_OUTPUT.len()
    + "\\n[the first 2048 of  bytes; the rest is kept with ]".len()
    + NUMBER_BYTES
    + ID_BYTES;

const fn longest(texts: &[&str]) -> usize {
    let mut longest = 0;
    let mut rest = texts;
    while let [text, others @ ..] = rest {
        longest = if text.len() > longest { text.len() } else { longest };
        rest = others;
    }
    longest
}

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
    let frame = FRAME_BYTES + caller_len(from) + content.kind().name().len();
    let (envelope, lists, whole, cut) = match content {
        Content::Text(text) => {
            let body = written_body_len(&text.body);
            let cut = body.min(CUT_BODY_BYTES + CUT_NOTE_BYTES);
            (frame + text_fields(text), text_lists(text), body, cut)
        }
        Content::Notice(notice) => {
            let words = notice_words(notice);
            let shown = head(&notice.head, NOTICE_CUT_BYTES);
            let envelope = frame + notice_fields(notice);
            (envelope, 0, words + body_len(&notice.head), words + body_len(shown))
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

/// What a field takes beside its value, in JSON.
const fn field(name: &str, value: usize) -> usize {
    r#","":"""#.len() + name.len() + value
}

fn caller_len(from: &Caller) -> usize {
    match from {
        Caller::System | Caller::Host | Caller::Local => "system".len(),
        Caller::Human(name) => "human:".len() + value_len(name),
        Caller::Actor(address) => address_len(address),
    }
}

fn address_len(address: &crate::address::Address) -> usize {
    ID_BYTES + "/".len() + address.name().as_str().len()
}

fn text_fields(text: &Text) -> usize {
    let value = |name, value: &Option<String>| {
        value.as_deref().map_or(0, |value| field(name, value_len(value)))
    };
    let id = |name, is_given: bool| if is_given { field(name, ID_BYTES) } else { 0 };
    let artifact =
        |artifact: ArtifactRef| field("artifact", 2 * artifact.hash.len() + 1 + NUMBER_BYTES);
    value("correlation", &text.correlation_id)
        + value("summary", &text.summary)
        + value("subject", &text.subject)
        + value("task", &text.task_id)
        + value("mission", &text.mission_id)
        + id("replyto", text.reply_to.is_some())
        + id("redrives", text.redrives.is_some())
        + text.artifact.map_or(0, artifact)
}

/// Lists are JSON, and within an attribute escaped once more.
fn text_lists(text: &Text) -> usize {
    const STRING: usize = 2 * "&quot;".len();
    let string = |text: &str| STRING + len(text, As::Nested, &NESTED);
    let list = |name, items: usize| if items == 0 { 0 } else { field(name, "[]".len() + items) };
    let references = text.references.iter().map(|reference| {
        let named = "{path:,description:},".len() + 2 * STRING;
        named + string(&reference.uri) + string(&reference.description)
    });
    let labels =
        text.labels.iter().map(|(name, value)| string(name) + string(value) + "[,],".len());
    let related = text.related.iter().map(|id| string(id) + ",".len());
    list("references", references.sum())
        + list("labels", labels.sum())
        + list("related", related.sum())
}

fn notice_fields(notice: &Notice) -> usize {
    let id = |name, is_given: bool| if is_given { field(name, ID_BYTES) } else { 0 };
    let state = match &notice.state {
        NoticeState::Completed(Status::Unrecognised(raw)) => field("status", value_len(raw)),
        NoticeState::Undelivered(reason) => field("reason", value_len(reason)),
        // The longest of the others is `class`: a word, or `signal:` and a number.
        _ => field("status", "signal:-2147483648".len().max(NUMBER_BYTES + 1)),
    };
    field("about", address_len(&notice.about))
        + id("run", notice.run.is_some())
        + id("message", notice.message.is_some())
        + field("state", "interrupted".len())
        + state
        + notice.task_id.as_deref().map_or(0, |task| field("task", value_len(task)))
}

/// A notice's text without the head: in the words of the style `inbox`, which are the most.
fn notice_words(notice: &Notice) -> usize {
    let task = notice.task_id.as_deref().map_or(0, body_len);
    let summary = notice.summary.as_deref().map_or(0, |summary| {
        let set_in = "  ".len() * summary.matches('\n').count();
        "\\nSummary: ".len() + body_len(summary) + set_in
    });
    let reason = match &notice.state {
        NoticeState::Undelivered(reason) => body_len(reason),
        _ => 0,
    };
    let called = task.max(notice.about.name().as_str().len());
    NOTICE_BYTES + called + address_len(&notice.about) + reason + summary
}

fn written_body_len(text: &str) -> usize {
    if text.chars().all(char::is_whitespace) {
        EMPTY.len() + field("blank", value_len(text))
    } else {
        body_len(text)
    }
}

/// The most bytes that a text takes as a value.
fn value_len(text: &str) -> usize {
    len(text, As::Value, &VALUE)
}

/// The most bytes that a text takes as a body that is not blank.
pub(super) fn body_len(text: &str) -> usize {
    len(text, As::Body, &BODY)
}

/// The most bytes that a character takes in a body.
pub(super) const fn body_char_len(c: char) -> usize {
    char_len(c, As::Body)
}

/// Where a text stands.
#[derive(Clone, Copy)]
enum As {
    /// In a body.
    Body,
    /// In a field.
    Value,
    /// In a list, which is JSON in a field.
    Nested,
}

const fn char_len(c: char, stands: As) -> usize {
    let (json, xml) = match (stands, c) {
        (As::Body, c) => (json::char_len(c), escape::char_len(c, Place::Body)),
        (As::Value, c) => (json::char_len(c), escape::char_len(c, Place::Attribute)),
        (As::Nested, '"') => (r#"\""#.len(), r"\&quot;".len()),
        (As::Nested, '&' | '>') => (1, escape::char_len(c, Place::Attribute)),
        // Whatever else JSON escapes is ASCII then, and stands for itself in XML.
        (As::Nested, c) => (json::char_len(c), 0),
    };
    if json > xml { json } else { xml }
}

/// What each byte takes. [`RARE`] is set for those that begin characters of which only some are
/// escaped: C1 controls, the last two of the basic plane, tag characters.
type Table = [u8; 256];

const RARE: u8 = 0x80;
static BODY: Table = table(As::Body);
static VALUE: Table = table(As::Value);
static NESTED: Table = table(As::Nested);

#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation)] // evaluated by the compiler
const fn table(stands: As) -> Table {
    let mut table = [1; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = char_len(byte as u8 as char, stands) as u8;
        byte += 1;
    }
    table[0xc2] |= RARE;
    table[0xef] |= RARE;
    table[0xf3] |= RARE;
    table
}

fn len(text: &str, stands: As, table: &Table) -> usize {
    let takes = |byte: u8| table.get(usize::from(byte)).copied().unwrap_or(RARE);
    let (mut len, mut rare) = (0, 0);
    for byte in text.bytes() {
        len += usize::from(takes(byte) & !RARE);
        rare |= takes(byte) & RARE;
    }
    if rare == 0 {
        return len;
    }
    // What characters that are looked at as a whole take more than their bytes.
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| takes(byte) & RARE != 0) {
        let mut chars = rest.get(at..).unwrap_or("").chars();
        len += chars.next().map_or(0, |c| char_len(c, stands) - c.len_utf8());
        rest = chars.as_str();
    }
    len
}

const _: () = {
    assert!(CUT_BODY_BYTES > BODY_BYTES, "a plain body is never cut");
    assert!(NOTICE_CUT_BYTES * 12 + ENVELOPE_BYTES < CUT_BODY_BYTES);
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_tables_count_what_the_characters_take(text in any::<String>(), tail in "[\\u{80}-\\u{a5}<\"\n\u{fffd}\u{ffff}\u{e0041}]*") {
            let text = text + &tail;
            for (stands, table) in [(As::Body, &BODY), (As::Value, &VALUE), (As::Nested, &NESTED)] {
                let sum: usize = text.chars().map(|c| char_len(c, stands)).sum();
                prop_assert_eq!(len(&text, stands, table), sum);
            }
        }
    }
}
