//! Requests: what the local verbs ask of a runtime, or of a store that nobody runs.
//!
//! A request is the same words everywhere: the flags of the command line, and the fields of a line on
//! the socket. It is performed by one function, on a [`Runtime`] that may be at rest, in the name of
//! whoever has access to the data folder: [`ME`], never of somebody that a field names (P11). Fields
//! that are not known are refused. Answers are JSON: times in RFC 3339, ids and addresses as text.

pub(crate) mod backup;
pub(crate) mod dead;
pub(crate) mod look;
pub(crate) mod mail;
pub(crate) mod people;
pub(crate) mod questions;
pub(crate) mod schedules;
pub(crate) mod send;
pub(crate) mod tail;
pub(crate) mod teams;

use std::time::Duration;

use clap::Args;
use reveille::{ActorName, Address, Caller, MessageId, OpError, Runtime, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// In whose name requests are performed: of a person on this machine.
pub(crate) const ME: Caller = Caller::Local;

/// What a request answers.
pub(crate) type Answer = Result<Value, OpError>;

/// Anything that may be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Request {
    Send(Box<send::Send>),
    Ack(mail::Mark),
    Archive(mail::Mark),
    Retract(mail::Retract),
    Inbox(look::Inbox),
    Show(look::About),
    Why(look::About),
    Ps(look::Ps),
    Audit(Nothing),
    Tail(tail::Tail),
    DeadList(dead::List),
    DeadShow(dead::One),
    DeadRedrive(dead::One),
    DeadDrop(dead::One),
    Hold(people::Hold),
    Release(people::Who),
    Stop(people::Stop),
    Resume(people::Who),
    Questions(Nothing),
    Answer(questions::Answer),
    ScheduleAdd(schedules::Add),
    ScheduleList(schedules::List),
    ScheduleCancel(schedules::Cancel),
    TeamCreate(teams::Create),
    TeamList(Nothing),
    TeamMembers(teams::Which),
    TeamAdd(teams::Add),
    TeamRemove(teams::Remove),
    Backup(backup::Backup),
}

/// A request that says all by its name.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

impl Request {
    /// Performs it. A tail answers what there is by [`tail::Tail::stream`]; here it answers nothing.
    pub(crate) async fn perform(self, runtime: &Runtime) -> Answer {
        match self {
            Self::Send(it) => it.perform(runtime).await,
            Self::Ack(it) => it.acknowledge(runtime).await,
            Self::Archive(it) => it.archive(runtime).await,
            Self::Retract(it) => it.perform(runtime).await,
            Self::Inbox(it) => it.perform(runtime).await,
            Self::Show(it) => it.show(runtime).await,
            Self::Why(it) => it.why(runtime).await,
            Self::Ps(it) => it.perform(runtime).await,
            Self::Audit(Nothing {}) => look::audit(runtime).await,
            Self::Tail(_) => Ok(Value::Null),
            Self::DeadList(it) => it.perform(runtime).await,
            Self::DeadShow(it) => it.show(runtime).await,
            Self::DeadRedrive(it) => it.redrive(runtime).await,
            Self::DeadDrop(it) => it.drop(runtime).await,
            Self::Hold(it) => it.perform(runtime).await,
            Self::Release(it) => it.release(runtime).await,
            Self::Stop(it) => it.perform(runtime).await,
            Self::Resume(it) => it.resume(runtime).await,
            Self::Questions(Nothing {}) => questions::list(runtime).await,
            Self::Answer(it) => it.perform(runtime).await,
            Self::ScheduleAdd(it) => it.perform(runtime).await,
            Self::ScheduleList(it) => it.perform(runtime).await,
            Self::ScheduleCancel(it) => it.perform(runtime).await,
            Self::TeamCreate(it) => it.perform(runtime).await,
            Self::TeamList(Nothing {}) => teams::list(runtime).await,
            Self::TeamMembers(it) => it.members(runtime).await,
            Self::TeamAdd(it) => it.perform(runtime).await,
            Self::TeamRemove(it) => it.perform(runtime).await,
            Self::Backup(it) => it.perform(runtime).await,
        }
    }
}

/// Whom a text names: an address, a session by id or name (its main actor, the latest of a name), or
/// `SESSION/ACTOR`.
async fn address(runtime: &Runtime, text: &str) -> Result<Address, OpError> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let unknown = match runtime.find_session(text).await {
        Ok(session) => return Ok(Address::new(session, ActorName::main())),
        Err(error) => error,
    };
    // A session's name may have slashes of its own.
    match (unknown, text.rsplit_once('/')) {
        (OpError::UnknownId { .. }, Some((session, actor))) => {
            let actor = ActorName::new(actor)?;
            Ok(Address::new(runtime.find_session(session).await?, actor))
        }
        (error, _) => Err(error),
    }
}

fn message_id(text: &str) -> Result<MessageId, OpError> {
    text.parse().map_err(|_| OpError::invalid("message", text, "msg_ and a ULID"))
}

/// A moment: RFC 3339, or a span from now on.
fn moment(runtime: &Runtime, field: &'static str, text: &str) -> Result<Timestamp, OpError> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let limit = "RFC 3339 in UTC like 2026-10-01T08:30:00Z, or a span from now on like 10m";
    let span = span(text).map_err(|_| OpError::invalid(field, text, limit))?;
    Ok(runtime.now().after(span))
}

/// A span like `500ms`, `10m` or `1h 30m`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    humantime_serde::re::humantime::parse_duration(text).map_err(|error| error.to_string())
}

/// Times in answers.
fn time(at: Timestamp) -> Value {
    Value::String(at.to_string())
}

/// Times in answers that may be missing.
fn maybe_time(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, time)
}
