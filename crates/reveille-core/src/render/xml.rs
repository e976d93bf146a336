//! Writing the `xml` style.

use std::fmt::Write as _;

use super::escape::{Place, escape, escaped_len, head_within};
use crate::injection::{Entry, Injection};
use crate::limits::{ENVELOPE_BYTES, INJECTION_BYTES, INJECTION_HEAD_BYTES, NOTICE_CUT_BYTES};
use crate::message::{Caller, Content, Text};
use crate::notice::Notice;

/// Bytes that the fixed part of a message's envelope may take: tags, names, ids, times, numbers.
const FRAME_BYTES: usize = 560;
/// Bytes that a notice's envelope has beyond that: whom it tells of, its run, state and status.
const NOTICE_FRAME_BYTES: usize = 760;
/// Bytes kept for the line that says how to read the rest of a cut message.
const CUT_NOTE_BYTES: usize = 160;
/// Escaped bytes that the body of a cut message may take.
const CUT_BODY_BYTES: usize =
    INJECTION_BYTES - INJECTION_HEAD_BYTES - ENVELOPE_BYTES - CUT_NOTE_BYTES;

/// The text of an injection.
#[must_use]
pub fn xml(injection: &Injection) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<injection id=\"{}\" actor=\"{}\" run=\"{}\" trigger=\"{}\" attempt=\"{}\" \
         origin=\"runtime\" at=\"{}\" messages=\"{}\">",
        injection.id,
        injection.actor,
        injection.run,
        injection.trigger,
        injection.attempt,
        injection.at,
        injection.entries.len(),
    );
    for entry in &injection.entries {
        write_entry(&mut out, entry, injection);
    }
    out.push_str("</injection>\n");
    out
}

fn write_entry(out: &mut String, entry: &Entry, injection: &Injection) {
    let element = match entry.content {
        Content::Text(_) => "message",
        Content::Notice(_) => "notice",
    };
    let _ = write!(out, "<{element} id=\"{}\"", entry.id);
    attribute(out, "from", &entry.from.to_string());
    let origin = match entry.content {
        Content::Notice(_) => Caller::System.origin(),
        Content::Text(_) => entry.from.origin(),
    };
    attribute(out, "origin", origin);
    attribute(out, "kind", &entry.content.kind().to_string());
    attribute(out, "sent", &entry.sent.to_string());
    attribute(out, "age", &format!("{}s", injection.at.since(entry.sent).as_secs()));
    if injection.attempt > 1 {
        attribute(out, "attempt", &injection.attempt.to_string());
    }
    match &entry.content {
        Content::Text(text) => write_text(out, text, entry),
        Content::Notice(notice) => write_notice(out, notice, entry.cut),
    }
    let _ = writeln!(out, "</{element}>");
}

fn write_text(out: &mut String, text: &Text, entry: &Entry) {
    optional(out, "subject", text.subject.as_deref());
    optional(out, "summary", text.summary.as_deref());
    optional(out, "task", text.task_id.as_deref());
    optional(out, "mission", text.mission_id.as_deref());
    optional(out, "correlation", text.correlation_id.as_deref());
    optional(out, "replyto", text.reply_to.map(|id| id.to_string()).as_deref());
    optional(out, "redrives", text.redrives.map(|id| id.to_string()).as_deref());
    optional(out, "artifact", text.artifact.map(|artifact| artifact.hex()).as_deref());
    if !entry.cut {
        return body(out, &text.body);
    }
    let head = head_within(&text.body, CUT_BODY_BYTES, Place::Body);
    attribute(out, "cut", &format!("{} of {} bytes", head.len(), text.body.len()));
    body(out, &format!("{head}\n[cut here; the whole text is kept as {}]", entry.id));
}

fn write_notice(out: &mut String, notice: &Notice, cut: bool) {
    attribute(out, "about", &notice.about.to_string());
    optional(out, "run", notice.run.map(|run| run.to_string()).as_deref());
    optional(out, "message", notice.message.map(|id| id.to_string()).as_deref());
    attribute(out, "state", notice.state.name());
    if let crate::NoticeState::Completed(status) = &notice.state {
        attribute(out, "status", &status.to_string());
    }
    optional(out, "task", notice.task_id.as_deref());
    body(out, &notice.text(cut));
}

fn optional(out: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        attribute(out, name, value);
    }
}

fn attribute(out: &mut String, name: &str, value: &str) {
    let _ = write!(out, " {name}=\"");
    escape(out, value, Place::Attribute);
    out.push('"');
}

/// Ends the opening tag and writes the body. A blank one reads `(empty)`; what it really holds is
/// an attribute then, so that nothing is lost.
fn body(out: &mut String, text: &str) {
    if text.trim().is_empty() {
        attribute(out, "blank", text);
        out.push_str(">(empty)");
    } else {
        out.push('>');
        escape(out, text, Place::Body);
    }
}

/// The most bytes that a message may take in an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Whole, envelope included.
    pub whole: u32,
    /// Cut, envelope included; at most `whole`.
    pub cut: u32,
    /// The envelope alone.
    pub envelope: u32,
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
    let attribute = |text: &str| escaped_len(text, Place::Attribute);
    let optional = |text: &Option<String>| text.as_deref().map_or(0, attribute);
    let frame = FRAME_BYTES + attribute(&from.to_string());
    let (envelope, whole, cut) = match content {
        Content::Text(text) => {
            let frame =
                frame + optional(&text.subject) + optional(&text.summary) + optional(&text.task_id);
            let body = blank_or(&text.body);
            (frame, body, body.min(CUT_BODY_BYTES + CUT_NOTE_BYTES))
        }
        Content::Notice(notice) => {
            let frame = frame + NOTICE_FRAME_BYTES + optional(&notice.task_id);
            let cut = blank_or(&notice.text(true));
            (frame, blank_or(&notice.text(false)).max(cut), cut)
        }
    };
    let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    Costs { whole: size(envelope + whole), cut: size(envelope + cut), envelope: size(envelope) }
}

fn blank_or(text: &str) -> usize {
    if text.trim().is_empty() {
        escaped_len(text, Place::Attribute) + "(empty)".len()
    } else {
        escaped_len(text, Place::Body)
    }
}

const _: () = {
    assert!(NOTICE_CUT_BYTES * 9 + ENVELOPE_BYTES < CUT_BODY_BYTES);
};

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::address::{ActorName, Address};
    use crate::id::{InjectionId, MessageId, RunId, Seq, SessionId, Stamp};
    use crate::injection::Trigger;
    use crate::limits::{BODY_BYTES, LABEL_BYTES, LINE_CHARS};
    use crate::outcome::{Outcome, Status};
    use crate::time::Timestamp;

    const STAMP: Stamp = Stamp { at: Timestamp::from_millis(1_796_000_000_000), salt: 7 };

    pub(crate) fn address() -> Address {
        let name = ActorName::new(&"a".repeat(64)).unwrap();
        Address::new(SessionId::new(Seq(1), STAMP), name)
    }

    pub(crate) fn injection(contents: Vec<(Caller, Content, bool)>) -> Injection {
        let entries = contents
            .into_iter()
            .zip(10..)
            .map(|((from, content, cut), seq)| Entry {
                id: MessageId::new(Seq(seq), STAMP),
                from,
                sent: STAMP.at,
                content,
                cut,
            })
            .collect();
        Injection {
            id: InjectionId::new(Seq(u64::MAX), STAMP),
            actor: address(),
            run: RunId::new(Seq(3), STAMP),
            trigger: Trigger::Window,
            attempt: u32::MAX,
            names: Vec::new(),
            style: crate::render::Style::Xml,
            at: Timestamp::MAX,
            entries,
        }
    }

    fn worst_lines(body: String) -> Text {
        Text {
            subject: Some("\u{e0041}".repeat(LINE_CHARS)),
            summary: Some("\u{e0041}".repeat(LINE_CHARS)),
            ..Text::new(body)
        }
    }

    /// The most that senders can do: every envelope and every cost stays within its bound.
    #[test]
    fn no_rendering_takes_more_than_its_cost_and_no_envelope_more_than_its_limit() {
        let agent = Caller::Actor(address());
        let human = Caller::human(&"\u{e0041}".repeat(LABEL_BYTES / 4)).unwrap();
        let long = Outcome::Completed {
            status: Status::Unrecognised("\u{e0041}".repeat(64)),
            summary: Some("&".repeat(LINE_CHARS)),
            result: "&".repeat(100_000),
        };
        let notice = Notice::of_end(address(), RunId::new(Seq(2), STAMP), None, &long);
        let contents = [
            Content::Text(worst_lines("x".into())),
            Content::Text(worst_lines(" \n".into())),
            Content::Text(Text::new("&".repeat(BODY_BYTES))),
            Content::Text(Text::new("\r".repeat(BODY_BYTES))),
            Content::Notice(notice),
        ];
        let empty = xml(&injection(vec![])).len();
        assert!(empty <= INJECTION_HEAD_BYTES);
        for content in contents {
            for from in [&agent, &human] {
                let costs = costs(from, &content);
                for (cost, cut) in [(costs.whole, false), (costs.cut, true)] {
                    let text = xml(&injection(vec![(from.clone(), content.clone(), cut)]));
                    let size = text.len() - empty;
                    assert!(size <= cost as usize, "{size} > {cost}: {}", &text[..1200]);
                }
                assert!(costs.cut as usize <= INJECTION_BYTES - INJECTION_HEAD_BYTES);
            }
        }
        let envelope = costs(&agent, &Content::Text(worst_lines("x".into()))).envelope;
        assert!(envelope as usize <= ENVELOPE_BYTES, "{envelope}");
    }
}
