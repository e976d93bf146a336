//! What a text carries, before it is written in a style: names and values, in order.
//!
//! | of the injection | of an entry | of a message, where given | of a notice |
//! |---|---|---|---|
//! | `id`, `actor`, `run`, `trigger`, `attempt`, `origin`, `at`, `messages`, `names` | `from`, `sent`, `id`, `kind`, `correlation`, `summary`, `references`, `origin`, `age`, `attempt` | `subject`, `task`, `mission`, `replyto`, `redrives`, `labels`, `related`, `artifact`, `cut` | `about`, `run`, `message`, `state`, `status`, `task` |
//!
//! Lists are JSON texts: they come back whole, whatever is in them. A blank body reads `(empty)` and
//! is kept in a field `blank`.

use std::fmt::Write as _;

use super::escape::{Place, head_within};
use crate::injection::{Entry, Injection};
use crate::limits::{
    ENVELOPE_BYTES, INJECTION_BYTES, INJECTION_HEAD_BYTES, LISTS_BYTES, NOTICE_CUT_BYTES,
};
use crate::message::{Caller, Content, Text};
use crate::notice::{Notice, NoticeState, head};

/// What a blank body reads.
pub(super) const EMPTY: &str = "(empty)";
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
        ("at", injection.at.to_string()),
        ("messages", injection.entries.len().to_string()),
    ];
    if !injection.names.is_empty() {
        let names: Vec<String> = injection.names.iter().map(ToString::to_string).collect();
        fields.push(("names", names.join(" ")));
    }
    fields
}

/// The fields and the body of an entry; `as_notification` words a notice as harnesses do that parse
/// `actor-notification`.
pub(super) fn of_entry(entry: &Entry, injection: &Injection, as_notification: bool) -> Fields {
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
    fields.push(("correlation", correlation.unwrap_or_default()));
    optional(&mut fields, "summary", text.and_then(|text| text.summary.clone()));
    let references = text.filter(|text| !text.references.is_empty()).map(references);
    optional(&mut fields, "references", references);
    let origin = if text.is_some() { entry.from.origin() } else { Caller::System.origin() };
    fields.push(("origin", origin.to_owned()));
    fields.push(("age", format!("{}s", injection.at.since(entry.sent).as_secs())));
    if injection.attempt > 1 {
        fields.push(("attempt", injection.attempt.to_string()));
    }
    let body = match &entry.content {
        Content::Text(text) => of_text(&mut fields, text, entry),
        Content::Notice(notice) => of_notice(&mut fields, notice, entry.cut, as_notification),
    };
    let body = if body.trim().is_empty() {
        fields.push(("blank", body));
        EMPTY.to_owned()
    } else {
        body
    };
    Fields { is_notice: text.is_none(), fields, body }
}

fn optional(fields: &mut Vec<Field>, name: &'static str, value: Option<String>) {
    fields.extend(value.map(|value| (name, value)));
}

fn references(text: &Text) -> String {
    let one = |reference: &crate::message::Reference| serde_json::json!({ "path": reference.uri, "description": reference.description });
    serde_json::Value::Array(text.references.iter().map(one).collect()).to_string()
}

fn of_text(fields: &mut Vec<Field>, text: &Text, entry: &Entry) -> String {
    optional(fields, "subject", text.subject.clone());
    optional(fields, "task", text.task_id.clone());
    optional(fields, "mission", text.mission_id.clone());
    optional(fields, "replyto", text.reply_to.map(|id| id.to_string()));
    optional(fields, "redrives", text.redrives.map(|id| id.to_string()));
    let json = |list: serde_json::Result<String>| list.unwrap_or_default();
    if !text.labels.is_empty() {
        fields.push(("labels", json(serde_json::to_string(&text.labels))));
    }
    if !text.related.is_empty() {
        fields.push(("related", json(serde_json::to_string(&text.related))));
    }
    if let Some(artifact) = text.artifact {
        fields.push(("artifact", format!("{} {}", artifact.hex(), artifact.bytes)));
    }
    if !entry.cut {
        return text.body.clone();
    }
    let head = head_within(&text.body, CUT_BODY_BYTES, Place::Body);
    fields.push(("cut", format!("{} of {} bytes", head.len(), text.body.len())));
    format!("{head}\n[cut here; the whole text is kept as {}]", entry.id)
}

fn of_notice(fields: &mut Vec<Field>, notice: &Notice, cut: bool, as_notification: bool) -> String {
    fields.push(("about", notice.about.to_string()));
    optional(fields, "run", notice.run.map(|run| run.to_string()));
    optional(fields, "message", notice.message.map(|id| id.to_string()));
    fields.push(("state", notice.state.name().to_owned()));
    if let NoticeState::Completed(status) = &notice.state {
        fields.push(("status", status.to_string()));
    }
    optional(fields, "task", notice.task_id.clone());
    if as_notification { notification(notice, cut) } else { notice.text(cut) }
}

/// A notice in the words of harnesses that parse `actor-notification`: a header, then `Summary` and
/// `Result` or `Error`, a line each.
pub(super) fn notification(notice: &Notice, cut: bool) -> String {
    let plain = notice.text(false);
    let first = plain.lines().next().unwrap_or("");
    let ending = first.split_once(' ').map_or(first, |(_, ending)| ending);
    let about = notice.task_id.as_deref().unwrap_or_else(|| notice.about.name().as_str());
    let about = about.replace('"', "'");
    let mut text =
        format!("Background sub-session \"{about}\" (actor_id: {}) {ending}", notice.about);
    if let Some(summary) = &notice.summary {
        let _ = write!(text, "\nSummary: {summary}");
    }
    let shown = if cut { head(&notice.head, NOTICE_CUT_BYTES) } else { &notice.head };
    let name = match notice.state {
        NoticeState::Completed(_) => "Result",
        _ => "Error",
    };
    if !shown.is_empty() {
        let _ = write!(text, "\n{name}: {shown}");
    }
    text
}
