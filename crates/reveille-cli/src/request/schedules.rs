//! `schedule add, list, cancel`: mail that is sent at a time, or again and again (section 3).

use std::time::Duration;

use clap::Args;
use reveille::{OpError, Runtime, ScheduleView, Text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Answer, ME, address, moment, span, time};

/// A schedule that is declared; again under the same key changes it and keeps its rhythm.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Add {
    /// To whom: an address, a session, or SESSION/ACTOR.
    address: String,
    /// What the schedule is called.
    key: String,
    /// The text; - reads it from standard input.
    #[serde(default)]
    #[arg(default_value = "")]
    pub(crate) body: String,
    /// Once: a moment (RFC 3339), or a span from now on like 10m.
    #[arg(long, value_name = "WHEN", required_unless_present = "every", conflicts_with = "every")]
    at: Option<String>,
    /// Again and again, at least a second apart.
    #[serde(default, with = "humantime_serde")]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    every: Option<Duration>,
}

impl Add {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let address = address(runtime, &self.address).await?;
        let (key, text) = (self.key.clone(), Text::new(self.body));
        let due = match (self.at, self.every) {
            (Some(at), None) => {
                let at = moment(runtime, "at", &at)?;
                runtime.schedule_at(ME, address.clone(), key, at, text).await?
            }
            (None, Some(every)) => {
                runtime.schedule_every(ME, address.clone(), key, every, text).await?
            }
            _ => return Err(OpError::invalid("at", "", "either at or every")),
        };
        Ok(json!({ "address": address, "key": self.key, "due": time(due) }))
    }
}

/// Which schedules.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// Of this actor only.
    address: Option<String>,
}

impl List {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let of = match &self.address {
            Some(text) => Some(address(runtime, text).await?),
            None => None,
        };
        let view = |one: &ScheduleView| {
            let every = one.every.map(humantime_serde::re::humantime::format_duration);
            json!({
                "address": one.address,
                "key": one.key,
                "due": time(one.due),
                "every": every.map(|every| every.to_string()),
                "by": one.by.to_string(),
            })
        };
        Ok(runtime.schedules(of).await?.iter().map(view).collect::<Value>())
    }
}

/// A schedule that is cancelled.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancel {
    /// Whose.
    address: String,
    /// What it is called.
    key: String,
}

impl Cancel {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let address = address(runtime, &self.address).await?;
        let cancelled = runtime.unschedule(address.clone(), self.key.clone()).await?;
        Ok(json!({ "address": address, "key": self.key, "cancelled": cancelled }))
    }
}
