//! What a text carries, before it is written in a style: names and values, in order.
//!
//! The names, their order and what they may hold are in [`super::rules`]. Lists are JSON texts: they
//! come back whole, whatever is in them. A blank body reads `(empty)` and is kept in a field `blank`.
//! A trace context is for the runtime's own records and is not written.

use std::fmt::Write as _;

use super::Style;
use super::cost::{body_char_len, body_len};
use super::json;
use crate::injection::{Entry, Injection};
use crate::limits::{
    ENVELOPE_BYTES, INJECTION_BYTES, INJECTION_HEAD_BYTES, LISTS_BYTES, NOTICE_CUT_BYTES,
};
use crate::message::{Caller, Content, Kind, Text};
use crate::notice::{Notice, NoticeState, head};
use crate::outcome::Status;

/// What a blank body reads.
pub(super) const EMPTY: &str = "(empty)";
/// What a notification says of a run that gave nothing.
pub(super) const NO_OUTPUT: &str = "(no output)";
/// Bytes kept for the line that says how to read the rest of a cut message.
pub(super) const CUT_NOTE_BYTES: usize = 160;
/// Written bytes that the body of a cut message may take.
pub(super) const CUT_BODY_BYTES: usize =
    INJECTION_BYTES - INJECTION_HEAD_BYTES - ENVELOPE_BYTES - LISTS_BYTES - CUT_NOTE_BYTES;

/// A name and a value.
pub(super) type Field = (&'static str, String);

/// An entry as it is written.
pub(super) struct Fields {
    /// Whether it is a notice.
    pub(super) is_notice: bool,
    pub(super) fields: Vec<Field>,
    pub(super) body: String,
}

/// The fields of the injection itself.
pub(super) fn of_injection(injection: &Injection) -> Vec<Field> {
    let mut fields = vec![
        ("id", injection.id.to_string()),
        ("actor", injection.actor.to_string()),
        ("run", injection.run.to_string()),
        ("trigger", injection.trigger.to_string()),
        ("attempt", injection.attempt.to_string()),
        ("origin", "runtime".to_owned()),
        ("messages", injection.entries.len().to_string()),
    ];
    if !injection.names.is_empty() {
        let names: Vec<String> = injection.names.iter().map(ToString::to_string).collect();
        fields.push(("names", names.join(" ")));
    }
    fields
}

/// The fields and the body of an entry.
pub(super) fn of_entry(entry: &Entry, injection: &Injection, style: Style) -> Fields {
    let mut fields = vec![
        ("from", entry.from.to_string()),
        ("sent", entry.sent.to_string()),
        ("id", entry.id.to_string()),
        ("kind", entry.content.kind().to_string()),
    ];
    let text = match &entry.content {
        Content::Text(text) => Some(text),
        Content::Notice(_) => None,
    };
    let correlation = text.and_then(|text| text.correlation_id.clone());
    // Harnesses that read `peer_message` expect this one always.
    let always = (style == Style::PeerMessage).then(String::new);
    optional(&mut fields, "correlation", correlation.or(always));
    optional(&mut fields, "summary", text.and_then(|text| text.summary.clone()));
    optional(&mut fields, "references", text.and_then(references));
    let origin = if text.is_some() { entry.from.origin() } else { Caller::System.origin() };
    fields.push(("origin", origin.to_owned()));
    fields.push(("age", format!("{}s", injection.at.since(entry.sent).as_secs())));
    if injection.attempt > 1 {
        fields.push(("attempt", injection.attempt.to_string()));
    }
    let body = match &entry.content {
        Content::Text(text) => of_text(&mut fields, text, entry),
        Content::Notice(notice) => {
            of_notice(&mut fields, notice);
            match style {
                Style::Inbox => notification(notice, entry.cut),
                Style::Xml | Style::Json | Style::PeerMessage => notice.text(entry.cut),
            }
        }
    };
    let body = if body.trim().is_empty() {
        fields.push(("blank", body));
        EMPTY.to_owned()
    } else {
        body
    };
    Fields { is_notice: entry.content.kind() == Kind::Notice, fields, body }
}

fn optional(fields: &mut Vec<Field>, name: &'static str, value: Option<String>) {
    fields.extend(value.map(|value| (name, value)));
}

fn of_text(fields: &mut Vec<Field>, text: &Text, entry: &Entry) -> String {
    optional(fields, "subject", text.subject.clone());
    optional(fields, "task", text.task_id.clone());
    optional(fields, "mission", text.mission_id.clone());
    optional(fields, "replyto", text.reply_to.map(|id| id.to_string()));
    optional(fields, "redrives", text.redrives.map(|id| id.to_string()));
    optional(fields, "labels", labels(text));
    optional(fields, "related", related(text));
    let artifact = text.artifact.map(|artifact| format!("{} {}", artifact.hex(), artifact.bytes));
    optional(fields, "artifact", artifact);
    if !entry.cut || body_len(&text.body) <= CUT_BODY_BYTES + CUT_NOTE_BYTES {
        return text.body.clone();
    }
    let head = head_within(&text.body, CUT_BODY_BYTES);
    fields.push(("cut", format!("{} of {} bytes", head.len(), text.body.len())));
    format!("{head}\n[cut here; the whole text is kept as {}]", entry.id)
}

/// The longest beginning of a body that takes at most `limit` bytes in any style.
fn head_within(text: &str, limit: usize) -> &str {
    let mut used = 0;
    for (index, c) in text.char_indices() {
        used += body_char_len(c);
        if used > limit {
            return text.get(..index).unwrap_or("");
        }
    }
    text
}

/// `[{"path":"..","description":".."}]`, as harnesses that read `peer_message` expect it; a
/// description that is empty is left out.
fn references(text: &Text) -> Option<String> {
    json::list(&text.references, |out, reference| {
        out.push_str("{\"path\":");
        json::string(out, &reference.uri);
        if !reference.description.is_empty() {
            out.push_str(",\"description\":");
            json::string(out, &reference.description);
        }
        out.push('}');
    })
}

/// `[["name","value"]]`.
fn labels(text: &Text) -> Option<String> {
    json::list(&text.labels, |out, (name, value)| {
        out.push('[');
        json::string(out, name);
        out.push(',');
        json::string(out, value);
        out.push(']');
    })
}

/// `["id"]`.
fn related(text: &Text) -> Option<String> {
    json::list(&text.related, |out, id| json::string(out, id))
}

/// The state in all its parts, and what it is told of.
fn of_notice(fields: &mut Vec<Field>, notice: &Notice) {
    optional(fields, "task", notice.task_id.clone());
    fields.push(("about", notice.about.to_string()));
    optional(fields, "run", notice.run.map(|run| run.to_string()));
    optional(fields, "message", notice.message.map(|id| id.to_string()));
    fields.push(("state", notice.state.name().to_owned()));
    match &notice.state {
        NoticeState::Completed(status) => fields.push(("status", status.to_string())),
        NoticeState::Failed(class) => fields.push(("class", class.to_string())),
        NoticeState::Stalled { quiet_s } => fields.push(("quiet", format!("{quiet_s}s"))),
        NoticeState::Undelivered(reason) => fields.push(("reason", reason.clone())),
        NoticeState::Cancelled | NoticeState::Interrupted => {}
    }
}

/// A notice in the words of harnesses that parse `actor-notification`: a header, then `Status`,
/// `Summary` and `Result` or `Error`, a line each. The result may have lines and is the last, so
/// nothing in it reads as one of the others; further lines of a summary are set in for that.
fn notification(notice: &Notice, cut: bool) -> String {
    let plain = notice.text(cut);
    let first = plain.lines().next().unwrap_or("");
    let ending = first.split_once(' ').map_or(first, |(_, ending)| ending);
    let called = notice.task_id.as_deref().unwrap_or_else(|| notice.about.name().as_str());
    let called = called.replace('"', "'");
    let mut text =
        format!("Background sub-session \"{called}\" (actor_id: {}) {ending}", notice.about);
    if let NoticeState::Completed(status @ (Status::Success | Status::Partial)) = &notice.state {
        let _ = write!(text, "\nStatus: {status}");
    }
    if let Some(summary) = &notice.summary {
        let _ = write!(text, "\nSummary: {}", summary.replace('\n', "\n  "));
    }
    let shown = if cut { head(&notice.head, NOTICE_CUT_BYTES) } else { &notice.head };
    match &notice.state {
        NoticeState::Completed(_) if shown.is_empty() => {
            let _ = write!(text, "\nResult: {NO_OUTPUT}");
        }
        NoticeState::Completed(_) => {
            let _ = write!(text, "\nResult: {shown}");
        }
        _ if shown.is_empty() => {}
        _ => {
            let _ = write!(text, "\nError: {shown}");
        }
    }
    if (shown.len() as u64) < notice.whole_bytes {
        let note = plain.rsplit('\n').next().unwrap_or("");
        let _ = write!(text, "\n{note}");
    }
    text
}
