//! `dead list, show, redrive, drop`: mail that cannot be delivered (section 4).

use clap::Args;
use reveille::{DeadView, MailState, OpError, Runtime, Settlement};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::look::message_view;
use super::mail::receiver;
use super::send::states;
use super::{Answer, ME, address, message_id, time};

/// How much dead mail one mailbox is looked through for.
const MANY: usize = 100_000;

/// Which dead mail.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// Of this actor only.
    address: Option<String>,
    /// At most so many.
    #[serde(default = "some")]
    #[arg(long, default_value_t = some())]
    limit: usize,
}

const fn some() -> usize {
    1000
}

impl List {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let of = match &self.address {
            Some(text) => Some(address(runtime, text).await?),
            None => None,
        };
        if let Some(of) = &of {
            runtime.actor(of).await?;
        }
        let dead = runtime.dead(of, self.limit.min(MANY)).await?;
        Ok(dead.iter().map(view).collect())
    }
}

fn view(dead: &DeadView) -> Value {
    json!({
        "id": dead.id,
        "address": dead.address,
        "since": time(dead.at),
        "reason": dead.reason.name(),
        "detail": dead.reason.detail(),
        "from": dead.from.as_ref().map(ToString::to_string),
    })
}

/// One dead message.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct One {
    /// The message.
    message: String,
    /// Whose mail it is; needed when it is dead for several receivers.
    #[arg(long = "for", value_name = "ADDRESS")]
    receiver: Option<String>,
}

fn is_dead(state: MailState) -> bool {
    state == MailState::Dead
}

fn is_redrivable(state: MailState) -> bool {
    is_dead(state) || matches!(state, MailState::Settled { how: Settlement::Failed, .. })
}

impl One {
    pub(super) async fn show(self, runtime: &Runtime) -> Answer {
        let id = message_id(&self.message)?;
        let receiver = receiver(runtime, id, self.receiver.as_deref(), is_dead).await?;
        let all = runtime.dead(Some(receiver), MANY).await?;
        let dead = all.iter().find(|dead| dead.id == id);
        let dead = dead.ok_or_else(|| OpError::invalid("message", &self.message, "dead mail"))?;
        let mut shown = view(dead);
        if let Some(shown) = shown.as_object_mut() {
            shown.insert("message".into(), message_view(&runtime.message(id).await?));
        }
        Ok(shown)
    }

    pub(super) async fn redrive(self, runtime: &Runtime) -> Answer {
        let id = message_id(&self.message)?;
        let receiver = receiver(runtime, id, self.receiver.as_deref(), is_redrivable).await?;
        let sent = runtime.redrive(ME, receiver, id).await?;
        let states = states(&sent.states);
        Ok(json!({ "id": sent.id, "redrives": id, "states": states }))
    }

    pub(super) async fn drop(self, runtime: &Runtime) -> Answer {
        let id = message_id(&self.message)?;
        let receiver = receiver(runtime, id, self.receiver.as_deref(), is_dead).await?;
        runtime.drop_dead(ME, receiver.clone(), id).await?;
        Ok(json!({ "id": id, "address": receiver }))
    }
}
