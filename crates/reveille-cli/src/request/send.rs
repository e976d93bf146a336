//! `send`: a message with every field that the contract gives it (section 3).

use clap::Args;
use reveille::{Address, Kind, MailState, Message, OpError, Runtime, TeamId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Answer, ME, address, message_id, moment};

/// A message to be sent.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Send {
    /// An address, a session (its main actor), SESSION/ACTOR, or the id of a team.
    pub(crate) to: String,
    /// The text; - reads it from standard input.
    #[serde(default)]
    #[arg(default_value = "")]
    pub(crate) body: String,
    /// One more recipient: all of them get it, or none.
    #[serde(default)]
    #[arg(long, value_name = "TO")]
    and_to: Vec<String>,
    /// text, information, announcement, request, handoff, decision_request, alert, shutdown_request.
    #[serde(default)]
    #[arg(long)]
    kind: Option<String>,
    /// At most 200 characters.
    #[arg(long)]
    subject: Option<String>,
    /// At most 200 characters.
    #[arg(long)]
    summary: Option<String>,
    /// auto, queue, steer, interrupt, passive, reject_if_busy.
    #[arg(long)]
    delivery: Option<String>,
    /// Whether it closes the open window at once; yes, unless this says otherwise.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    urgent: Option<bool>,
    /// The same call under the same key is done once.
    #[arg(long)]
    key: Option<String>,
    /// Takes the place of a pending message of yours with the same key.
    #[arg(long, value_name = "KEY")]
    merge_key: Option<String>,
    /// It wakes nobody before: a moment (RFC 3339), or a span from now on like 10m.
    #[arg(long, value_name = "WHEN")]
    not_before: Option<String>,
    /// It is dead from then on unless it was offered: a moment, or a span from now on.
    #[arg(long, value_name = "WHEN")]
    expires_at: Option<String>,
    /// What ties it to other messages of one conversation.
    #[arg(long, value_name = "ID")]
    correlation_id: Option<String>,
    /// The message that it answers.
    #[arg(long, value_name = "MESSAGE")]
    reply_to: Option<String>,
    /// The task that it belongs to.
    #[arg(long, value_name = "ID")]
    task_id: Option<String>,
    /// The mission that it belongs to.
    #[arg(long, value_name = "ID")]
    mission_id: Option<String>,
    /// The id of something else that it is about.
    #[serde(default)]
    #[arg(long, value_name = "ID")]
    related: Vec<String>,
    /// A short pair that is carried.
    #[serde(default)]
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    /// A pointer to something outside, divided at its last =.
    #[serde(default)]
    #[arg(long = "reference", value_name = "URI=DESCRIPTION", value_parser = reference)]
    references: Vec<Reference>,
    /// W3C traceparent.
    #[arg(long, value_name = "TRACEPARENT")]
    trace: Option<String>,
    /// It also starts an actor that was stopped.
    #[serde(default)]
    #[arg(long)]
    resume: bool,
    /// It holds its receiver until it is acknowledged; an alert only.
    #[serde(default)]
    #[arg(long)]
    hold: bool,
}

/// A pointer to something outside.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    uri: String,
    #[serde(default)]
    description: String,
}

/// Sets a field of a message.
type Set = fn(Message, String) -> Message;

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("there is no = in it")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[allow(clippy::unnecessary_wraps)] // the form that clap calls
fn reference(text: &str) -> Result<Reference, String> {
    let (uri, description) = text.rsplit_once('=').unwrap_or((text, ""));
    Ok(Reference { uri: uri.to_owned(), description: description.to_owned() })
}

impl Send {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let message = self.message(runtime).await?;
        let sent = runtime.send_as(ME, message).await?;
        Ok(json!({ "id": sent.id, "duplicate": sent.duplicate, "states": states(&sent.states) }))
    }

    async fn message(self, runtime: &Runtime) -> Result<Message, OpError> {
        let mut message = match self.to.parse::<TeamId>() {
            Ok(team) if self.and_to.is_empty() => Message::to_team(team, self.body),
            Ok(_) => {
                return Err(OpError::invalid("and_to", &self.to, "a team has its members"));
            }
            Err(_) => Message::text(address(runtime, &self.to).await?, self.body),
        };
        for to in &self.and_to {
            message = message.and_to(address(runtime, to).await?);
        }
        if let Some(kind) = self.kind {
            message = message.kind(kind.parse::<Kind>()?);
        }
        if let Some(delivery) = self.delivery {
            message = message.delivery(delivery.parse()?);
        }
        if let Some(urgent) = self.urgent {
            message = message.urgent(urgent);
        }
        if let Some(reply_to) = self.reply_to {
            message = message.reply_to(message_id(&reply_to)?);
        }
        if let Some(when) = self.not_before {
            message = message.not_before(moment(runtime, "not_before", &when)?);
        }
        if let Some(when) = self.expires_at {
            message = message.expires_at(moment(runtime, "expires_at", &when)?);
        }
        let texts: [(Option<String>, Set); 8] = [
            (self.subject, Message::subject),
            (self.summary, Message::summary),
            (self.key, Message::key),
            (self.merge_key, Message::merge_key),
            (self.correlation_id, Message::correlation_id),
            (self.task_id, Message::task_id),
            (self.mission_id, Message::mission_id),
            (self.trace, Message::trace),
        ];
        for (text, set) in texts {
            if let Some(text) = text {
                message = set(message, text);
            }
        }
        message = self.related.into_iter().fold(message, Message::related);
        for (name, value) in self.labels {
            message = message.label(name, value);
        }
        for Reference { uri, description } in self.references {
            message = message.reference(uri, description);
        }
        if self.resume {
            message = message.resume();
        }
        Ok(if self.hold { message.hold() } else { message })
    }
}

/// Where a message is, for each recipient.
pub(super) fn states(states: &[(Address, MailState)]) -> Value {
    let state =
        |(address, state): &(Address, MailState)| (address.to_string(), state.name().into());
    Value::Object(states.iter().map(state).collect::<Map<_, _>>())
}
