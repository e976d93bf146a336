//! `tail`: the event stream, from any position on, without the bodies of messages (section 14).

use std::collections::VecDeque;

use clap::Args;
use reveille::id::Stamp;
use reveille::{
    Event, Events, Happened, InjectionId, MessageId, OpError, QuestionId, RunId, Runtime, Seq,
    TeamId,
};
use reveille_store::record::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::time;

/// What happened.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tail {
    /// Only what happened after this position; everything that the history has without it.
    #[arg(long, value_name = "POSITION")]
    after: Option<u64>,
    /// Go on with what happens from now on.
    #[serde(default)]
    #[arg(long, short)]
    pub(crate) follow: bool,
}

impl Tail {
    /// Begins the stream.
    ///
    /// # Errors
    ///
    /// `invalid` when a store at rest is to be followed.
    pub(crate) fn begin(&self, runtime: &Runtime) -> Result<Stream, OpError> {
        if self.follow && runtime.is_at_rest() {
            let limit = "no, on a store that nobody runs: nothing happens there";
            return Err(OpError::invalid("follow", "yes", limit));
        }
        let (events, follow) = (runtime.events(self.after.map(Seq)), self.follow);
        Ok(Stream { events, follow, ready: VecDeque::new() })
    }
}

/// Events, one after the other.
pub(crate) struct Stream {
    events: Events,
    follow: bool,
    ready: VecDeque<Event>,
}

impl Stream {
    /// The next one; `None` when all are told and nobody wants to follow.
    ///
    /// # Errors
    ///
    /// `storage_failed`, `shutting_down`.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, OpError> {
        if self.follow {
            return self.events.next().await.and_then(view).map(Some);
        }
        if self.ready.is_empty() {
            self.ready = self.events.ready().await?.into();
        }
        self.ready.pop_front().map(view).transpose()
    }
}

fn view(event: Event) -> Result<Value, OpError> {
    match event {
        Event::Happened(happened) => happened_view(&happened),
        Event::Lost { from, until } => {
            Ok(json!({ "type": "lost", "position": from, "until": until }))
        }
    }
}

fn happened_view(happened: &Happened) -> Result<Value, OpError> {
    let Happened { position, at, salt, actors, kind, record } = happened;
    let fields = record.serialize_fields(serde_json::value::Serializer);
    let mut fields =
        fields.map_err(|error| OpError::StorageFailed { reason: error.to_string() })?;
    conceal(&mut fields);
    Ok(json!({
        "type": kind,
        "position": position,
        "at": time(*at),
        "actors": actors,
        "id": made(record, *position, Stamp { at: *at, salt: *salt }),
        "fields": fields,
    }))
}

/// The id of what a record made.
fn made(record: &Record, seq: Seq, stamp: Stamp) -> Option<String> {
    Some(match record {
        Record::Sent(_) => MessageId::new(seq, stamp).to_string(),
        Record::Queued(_) => RunId::new(seq, stamp).to_string(),
        Record::Claimed(_) | Record::Split(_) => InjectionId::new(seq, stamp).to_string(),
        Record::Asked(_) => QuestionId::new(seq, stamp).to_string(),
        Record::TeamCreated(_) => TeamId::new(seq, stamp).to_string(),
        _ => return None,
    })
}

/// Takes out what people and agents wrote: a stream of events shows that, not what, was said.
fn conceal(fields: &mut Value) {
    match fields {
        Value::Object(fields) => {
            for told in ["content", "body", "result", "text"] {
                if fields.get(told).is_some_and(|value| !value.is_object()) {
                    fields.remove(told);
                }
            }
            fields.values_mut().for_each(conceal);
        }
        Value::Array(values) => values.iter_mut().for_each(conceal),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_not_in_the_stream() {
        let mut fields = json!({
            "content": [1, 2], "kind": "Text",
            "text": { "body": "secret", "subject": "s" },
            "outcome": { "Completed": { "result": "secret", "summary": null } },
            "question": { "text": "secret", "tool": "rm" },
        });
        conceal(&mut fields);
        assert!(!fields.to_string().contains("secret"), "{fields}");
        assert_eq!(fields["question"]["tool"], "rm");
        assert!(fields.get("content").is_none());
    }
}
