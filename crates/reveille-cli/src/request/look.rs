//! `ps`, `inbox`, `show`, `why`, `audit`: looking, which changes nothing (section 14).

use clap::Args;
use reveille::message::Content;
use reveille::{
    ActorView, DueView, InboxEntry, MessageView, OpError, Outcome, Place, RunId, Runtime, TreeEntry,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Answer, address, maybe_time, message_id, time};

/// How many actors one answer holds at most; more are asked for with `after`.
pub(crate) const PAGE: usize = 1000;

/// Actors in the order in which they were made.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ps {
    /// Those after this address.
    pub(crate) after: Option<String>,
}

impl Ps {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let after = self.after.map(|after| after.parse()).transpose()?;
        let view = |entry: &TreeEntry| {
            json!({
                "address": entry.address,
                "parent": entry.parent,
                "agent": entry.agent,
                "state": entry.state,
                "waiting_for": entry.waiting_for,
                "since": time(entry.since),
                "pending": entry.pending,
            })
        };
        Ok(runtime.tree(after, PAGE).await?.iter().map(view).collect::<Value>())
    }
}

/// A mailbox.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inbox {
    /// Whose: an address, a session, or SESSION/ACTOR.
    address: String,
    /// At most so many messages.
    #[serde(default = "some")]
    #[arg(long, default_value_t = some())]
    limit: usize,
}

const fn some() -> usize {
    1000
}

impl Inbox {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let address = address(runtime, &self.address).await?;
        let view = |entry: &InboxEntry| {
            json!({
                "id": entry.id,
                "from": entry.from.to_string(),
                "kind": entry.kind.name(),
                "subject": entry.subject,
                "since": time(entry.since),
                "offered": entry.offered,
                "wakes": entry.wakes,
            })
        };
        Ok(runtime.inbox(&address, self.limit).await?.iter().map(view).collect::<Value>())
    }
}

/// One thing.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    /// A message (msg_...), a run (run_...) or an actor: an address, a session, SESSION/ACTOR.
    what: String,
}

impl About {
    pub(super) async fn show(self, runtime: &Runtime) -> Answer {
        if self.what.starts_with("msg_") {
            let message = runtime.message(message_id(&self.what)?).await?;
            return Ok(message_view(&message));
        }
        if self.what.starts_with("run_") {
            let id = run_id(&self.what)?;
            let why = runtime.why_run(id).await?;
            // An open run has none, and that is not an error here.
            let outcome = match runtime.outcome(id).await {
                Ok(outcome) => outcome_view(&outcome),
                Err(OpError::UnknownId { .. }) => Value::Null,
                Err(error) => return Err(error),
            };
            return Ok(json!({ "id": id, "state": why.state, "outcome": outcome }));
        }
        let address = address(runtime, &self.what).await?;
        Ok(actor_view(&runtime.actor(&address).await?))
    }

    pub(super) async fn why(self, runtime: &Runtime) -> Answer {
        let all = if self.what.starts_with("msg_") {
            runtime.why_message(message_id(&self.what)?).await?
        } else if self.what.starts_with("run_") {
            vec![runtime.why_run(run_id(&self.what)?).await?]
        } else {
            vec![runtime.why(&address(runtime, &self.what).await?).await?]
        };
        Ok(all.into_iter().map(|why| json!(why)).collect())
    }
}

fn run_id(text: &str) -> Result<RunId, OpError> {
    text.parse().map_err(|_| OpError::invalid("run", text, "run_ and a ULID"))
}

/// A message, whole.
pub(super) fn message_view(message: &MessageView) -> Value {
    let MessageView { id, from, content, places } = message;
    let place = |place: &Place| {
        json!({
            "address": place.address,
            "state": place.state.name(),
            "acknowledged": maybe_time(place.marks.acknowledged),
            "archived": maybe_time(place.marks.archived),
        })
    };
    let mut view = match content {
        Content::Text(text) => json!({
            "subject": text.subject,
            "summary": text.summary,
            "body": text.body,
            "references": text.references,
            "labels": text.labels,
            "correlation_id": text.correlation_id,
            "reply_to": text.reply_to,
            "task_id": text.task_id,
            "mission_id": text.mission_id,
            "related": text.related,
            "trace": text.trace,
            "artifact": text.artifact.map(|one| json!({ "hash": one.hex(), "bytes": one.bytes })),
            "redrives": text.redrives,
        }),
        Content::Notice(notice) => json!({
            "about": notice.about,
            "run": notice.run,
            "message": notice.message,
            "state": notice.state.name(),
            "task_id": notice.task_id,
            "body": notice.text(false),
        }),
    };
    if let Some(view) = view.as_object_mut() {
        view.insert("id".into(), json!(id));
        view.insert("from".into(), from.to_string().into());
        view.insert("kind".into(), content.kind().name().into());
        view.insert("sent".into(), time(id.at()));
        view.insert("to".into(), places.iter().map(place).collect());
    }
    view
}

fn outcome_view(outcome: &Outcome) -> Value {
    let mut view = match outcome {
        Outcome::Completed { status, summary, result } => {
            json!({ "status": status.to_string(), "summary": summary, "result": result })
        }
        Outcome::Failed { class, error } => json!({ "class": class.to_string(), "error": error }),
        Outcome::Cancelled { by, reason } => json!({ "by": by.to_string(), "reason": reason }),
        Outcome::Interrupted { cause } => json!({ "cause": cause.to_string() }),
    };
    if let Some(view) = view.as_object_mut() {
        view.insert("state".into(), outcome.state().into());
    }
    view
}

fn actor_view(actor: &ActorView) -> Value {
    let ended = actor.ended.as_ref().map(|(run, state)| json!({ "run": run, "state": state }));
    json!({
        "address": actor.address,
        "parent": actor.parent,
        "agent": actor.agent,
        "key": actor.key,
        "state": actor.state.to_string(),
        "in_turn": actor.in_turn,
        "run": actor.run,
        "since": time(actor.since),
        "open": actor.open,
        "pending": actor.pending,
        "dead": actor.dead,
        "ended": ended,
    })
}

/// Overdue mail, which is none unless a wake was lost, and what awaits acknowledgement.
pub(super) async fn audit(runtime: &Runtime) -> Answer {
    let audit = runtime.audit().await?;
    let due = |due: &DueView| {
        json!({
            "address": due.address,
            "id": due.id,
            "kind": due.kind.name(),
            "since": time(due.since),
        })
    };
    let unacknowledged: Value = runtime.unacknowledged().await?.iter().map(due).collect();
    Ok(json!({
        "overdue": audit.overdue,
        "actors": audit.actors,
        "unacknowledged": unacknowledged,
    }))
}
