//! `ack`, `archive`, `retract`: what becomes of mail beside its delivery (section 3).

use clap::Args;
use reveille::{Address, MailState, MarkedMail, MessageId, MessageView, OpError, Runtime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::send::states;
use super::{Answer, ME, address, maybe_time, message_id};

/// A message in one mailbox.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mark {
    /// The message.
    message: String,
    /// Whose mail it is; needed when it has several receivers.
    #[arg(long = "for", value_name = "ADDRESS")]
    receiver: Option<String>,
}

impl Mark {
    pub(super) async fn acknowledge(self, runtime: &Runtime) -> Answer {
        let (receiver, message) = self.find(runtime).await?;
        let marked = runtime.ack(ME, receiver.clone(), message).await?;
        Ok(view(&receiver, message, marked))
    }

    pub(super) async fn archive(self, runtime: &Runtime) -> Answer {
        let (receiver, message) = self.find(runtime).await?;
        let marked = runtime.archive(ME, receiver.clone(), message).await?;
        Ok(view(&receiver, message, marked))
    }

    async fn find(self, runtime: &Runtime) -> Result<(Address, MessageId), OpError> {
        let id = message_id(&self.message)?;
        Ok((receiver(runtime, id, self.receiver.as_deref(), |_| true).await?, id))
    }
}

/// Whose mail is meant: who is named, or the only receiver of whom `is_it` is true.
pub(super) async fn receiver(
    runtime: &Runtime,
    message: MessageId,
    named: Option<&str>,
    is_it: fn(MailState) -> bool,
) -> Result<Address, OpError> {
    if let Some(named) = named {
        return address(runtime, named).await;
    }
    let MessageView { places, .. } = runtime.message(message).await?;
    let wanted = places.iter().filter(|place| is_it(place.state));
    match wanted.collect::<Vec<_>>().as_slice() {
        [one] => Ok(one.address.clone()),
        [] if places.len() == 1 => {
            // The operation itself says what is wrong with the only one there is.
            let only = places.into_iter().next().map(|place| place.address);
            only.ok_or_else(|| OpError::UnknownId { id: message.to_string() })
        }
        _ => {
            let all: Vec<String> = places.iter().map(|place| place.address.to_string()).collect();
            Err(OpError::invalid("for", "", format!("one of {}", all.join(", "))))
        }
    }
}

fn view(receiver: &Address, message: MessageId, marked: MarkedMail) -> Value {
    json!({
        "id": message,
        "address": receiver,
        "state": marked.state.name(),
        "acknowledged": maybe_time(marked.marks.acknowledged),
        "archived": maybe_time(marked.marks.archived),
        "news": marked.news,
    })
}

/// A message that its sender takes back.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retract {
    /// The message.
    message: String,
}

impl Retract {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let id = message_id(&self.message)?;
        let places = runtime.retract(ME, id).await?;
        Ok(json!({ "id": id, "states": states(&places) }))
    }
}
