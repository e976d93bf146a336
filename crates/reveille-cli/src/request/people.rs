//! `hold`, `release`, `stop`, `resume`: what keeps an actor from starting (section 1, W9).

use std::time::Duration;

use clap::Args;
use reveille::limits::CANCEL_GRACE;
use reveille::{Cancel, Cancelled, Runtime};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Answer, ME, address, span};

/// An actor.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Who {
    /// Its address, its session, or SESSION/ACTOR.
    address: String,
}

impl Who {
    pub(super) async fn release(self, runtime: &Runtime) -> Answer {
        let address = address(runtime, &self.address).await?;
        let released = runtime.release(ME, address.clone()).await?;
        Ok(json!({ "address": address, "released": released }))
    }

    pub(super) async fn resume(self, runtime: &Runtime) -> Answer {
        let address = address(runtime, &self.address).await?;
        let was_stopped = runtime.resume(ME, address.clone()).await?;
        Ok(json!({ "address": address, "was_stopped": was_stopped }))
    }
}

/// An actor that is to be held.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hold {
    /// Its address, its session, or SESSION/ACTOR.
    address: String,
    /// Why, at most 200 characters.
    #[serde(default)]
    #[arg(default_value = "")]
    note: String,
}

impl Hold {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let address = address(runtime, &self.address).await?;
        let hold = runtime.hold(ME, address.clone(), self.note).await?;
        Ok(json!({ "address": address, "hold": hold }))
    }
}

/// An actor that is to be stopped.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    /// Its address, its session, or SESSION/ACTOR.
    address: String,
    /// Why.
    #[serde(default)]
    #[arg(long, default_value = "")]
    reason: String,
    /// How long a turn under way may take to end by itself.
    #[serde(default, with = "humantime_serde")]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    grace: Option<Duration>,
}

impl Stop {
    /// How long the turn under way has.
    pub(crate) fn grace(&self) -> Duration {
        self.grace.unwrap_or(CANCEL_GRACE)
    }

    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let address = address(runtime, &self.address).await?;
        let grace = self.grace();
        let cancel = Cancel::reason(self.reason).grace(grace);
        let (did, outcome) = match runtime.stop(ME, &address, cancel).await? {
            Cancelled::Ended => ("ended", Some("cancelled")),
            Cancelled::Killed => ("killed", Some("cancelled")),
            Cancelled::Abandoned => ("abandoned", Some("cancelled")),
            Cancelled::AlreadyEnded(state) => ("already_ended", Some(state.name())),
            Cancelled::Unknown => ("unknown", None),
        };
        Ok(json!({ "address": address, "did": did, "outcome": outcome }))
    }
}
