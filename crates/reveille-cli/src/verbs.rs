//! The verbs that look and act, on a runtime that holds the data folder or on a folder at rest.
//!
//! Each asks one request ([`crate::request`]) and prints the answer: with `--json` as it is, one
//! object or one on each line, else as lines for people, in which control characters that somebody
//! else wrote are made visible.

mod print;

use std::io::Read as _;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use reveille::OpError;
use reveille::limits::BODY_BYTES;
use serde_json::Value;

use crate::cli::Data;
use crate::failure::Invalid;
use crate::out;
use crate::request::{
    Nothing, Request, backup, dead, look, mail, people, questions, schedules, send, tail, teams,
};
use crate::socket::client::Client;

/// A verb and the folder that it is about.
#[derive(Debug, Args)]
pub(crate) struct At<A: Args> {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    args: A,
}

/// Verbs that look and act.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Send a message; prints its id.
    Send(Box<At<send::Send>>),
    /// Acknowledge a message for its receiver.
    Ack(At<mail::Mark>),
    /// Archive a message for its receiver.
    Archive(At<mail::Mark>),
    /// Take a message back from those who have not got it yet.
    Retract(At<mail::Retract>),
    /// List the mail that waits in a mailbox.
    Inbox(At<look::Inbox>),
    /// Show one message, run or actor.
    Show(At<look::About>),
    /// Explain why an actor, a message or a run is as it is, and what it waits for.
    Why(At<look::About>),
    /// List mail that cannot be delivered; show, redrive or drop it.
    #[command(subcommand)]
    Dead(Dead),
    /// Print what happened, in commit order.
    Tail(At<tail::Tail>),
    /// Write a backup of the store into a new folder, also while it is in use.
    Backup(At<backup::Backup>),
    /// List all actors as a tree, with what each waits for.
    Ps(At<Nothing>),
    /// List the questions that wait for an answer.
    Questions(At<Nothing>),
    /// Answer a question.
    Answer(At<questions::Answer>),
    /// Hold an actor: nothing is injected until it is released.
    Hold(At<people::Hold>),
    /// Release what holds an actor.
    Release(At<people::Who>),
    /// Stop an actor: its run ends, its mail waits, and only a resume starts it.
    Stop(At<people::Stop>),
    /// Let an actor that was stopped start again.
    Resume(At<people::Who>),
    /// Declare, list and cancel mail that is sent at a time.
    #[command(subcommand)]
    Schedule(Schedule),
    /// Make, list and change teams.
    #[command(subcommand)]
    Team(Team),
    /// Look for wakes that were lost, and for mail that awaits acknowledgement.
    Audit(At<Nothing>),
}

/// Mail that cannot be delivered.
#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    /// List it.
    List(At<dead::List>),
    /// Show a dead message and why it is dead.
    Show(At<dead::One>),
    /// Send a dead message, or one that its agent failed on, anew; prints the new id.
    Redrive(At<dead::One>),
    /// Remove a dead message for good.
    Drop(At<dead::One>),
}

/// Mail that is sent at a time.
#[derive(Debug, Subcommand)]
pub(crate) enum Schedule {
    /// Declare it, once or again and again.
    Add(At<schedules::Add>),
    /// List what is declared.
    List(At<schedules::List>),
    /// Cancel it.
    Cancel(At<schedules::Cancel>),
}

/// Teams.
#[derive(Debug, Subcommand)]
pub(crate) enum Team {
    /// Make a team; prints its id.
    Create(At<teams::Create>),
    /// List all teams.
    List(At<Nothing>),
    /// List the members of a team.
    Members(At<teams::Which>),
    /// Add a member, or a new one that runs an agent.
    Add(At<teams::Add>),
    /// Remove a member.
    Remove(At<teams::Remove>),
}

/// Asks what the verb asks, and prints the answer.
pub(crate) fn run(verb: Verb, json: bool) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Send(mut at) => {
            at.args.body = body(at.args.body)?;
            ask(*at, |send| Request::Send(Box::new(send)), print::sent, json)
        }
        Verb::Ack(at) => ask(at, Request::Ack, print::fields, json),
        Verb::Archive(at) => ask(at, Request::Archive, print::fields, json),
        Verb::Retract(at) => ask(at, Request::Retract, print::fields, json),
        Verb::Inbox(at) => ask(at, Request::Inbox, print::inbox, json),
        Verb::Show(at) => ask(at, Request::Show, print::fields, json),
        Verb::Why(at) => ask(at, Request::Why, print::why, json),
        Verb::Dead(Dead::List(at)) => ask(at, Request::DeadList, print::dead, json),
        Verb::Dead(Dead::Show(at)) => ask(at, Request::DeadShow, print::fields, json),
        Verb::Dead(Dead::Redrive(at)) => ask(at, Request::DeadRedrive, print::sent, json),
        Verb::Dead(Dead::Drop(at)) => ask(at, Request::DeadDrop, print::fields, json),
        Verb::Tail(at) => follow(at, json),
        Verb::Ps(at) => ps(&at.data, json),
        Verb::Questions(at) => ask(at, Request::Questions, print::questions, json),
        Verb::Answer(at) => ask(at, Request::Answer, print::fields, json),
        Verb::Hold(at) => ask(at, Request::Hold, print::fields, json),
        Verb::Release(at) => ask(at, Request::Release, print::fields, json),
        Verb::Stop(at) => ask(at, Request::Stop, print::fields, json),
        Verb::Resume(at) => ask(at, Request::Resume, print::fields, json),
        Verb::Schedule(Schedule::Add(mut at)) => {
            at.args.body = body(at.args.body)?;
            ask(at, Request::ScheduleAdd, print::fields, json)
        }
        Verb::Schedule(Schedule::List(at)) => {
            ask(at, Request::ScheduleList, print::schedules, json)
        }
        Verb::Schedule(Schedule::Cancel(at)) => {
            ask(at, Request::ScheduleCancel, print::fields, json)
        }
        Verb::Team(Team::Create(at)) => ask(at, Request::TeamCreate, print::sent, json),
        Verb::Team(Team::List(at)) => ask(at, Request::TeamList, print::teams, json),
        Verb::Team(Team::Members(at)) => ask(at, Request::TeamMembers, print::members, json),
        Verb::Team(Team::Add(at)) => ask(at, Request::TeamAdd, print::fields, json),
        Verb::Team(Team::Remove(at)) => ask(at, Request::TeamRemove, print::fields, json),
        Verb::Backup(mut at) => {
            // A runtime that holds the folder runs somewhere else.
            at.args.to = std::path::absolute(&at.args.to)?;
            ask(at, Request::Backup, print::fields, json)
        }
        Verb::Audit(at) => ask(at, Request::Audit, print::fields, json),
    }
}

/// A text of the command line, or what standard input has when that is `-`.
fn body(given: String) -> anyhow::Result<String> {
    let bytes = if given == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(BODY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        bytes
    } else {
        given.into_bytes()
    };
    OpError::at_most("body bytes", bytes.len(), BODY_BYTES)?;
    Ok(String::from_utf8(bytes).map_err(|_| Invalid("the body is not UTF-8".into()))?)
}

/// Asks one request, and prints its answer.
fn ask<A: Args>(
    at: At<A>,
    request: impl FnOnce(A) -> Request,
    print: fn(&Value),
    json: bool,
) -> anyhow::Result<ExitCode> {
    let mut client = Client::of(&at.data.folder()?)?;
    let answer = client.ask(request(at.args));
    // What was stored is on the disk; that the folder is free again matters as well.
    let (answer, ()) = (answer?, client.close()?);
    tell(&answer, print, json);
    Ok(ExitCode::SUCCESS)
}

fn tell(answer: &Value, print: fn(&Value), json: bool) {
    match answer {
        _ if !json => print(answer),
        Value::Array(all) => all.iter().for_each(out::line),
        one => out::line(one),
    }
}

/// Prints events as they come.
fn follow(at: At<tail::Tail>, json: bool) -> anyhow::Result<ExitCode> {
    let mut client = Client::of(&at.data.folder()?)?;
    let told = client.tail(at.args, |event| tell(&event, print::event, json));
    let closed = client.close();
    told.and(closed)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks for page after page of actors.
fn ps(data: &Data, json: bool) -> anyhow::Result<ExitCode> {
    let mut client = Client::of(&data.folder()?)?;
    let mut all: Vec<Value> = Vec::new();
    loop {
        let last = all.last().and_then(|entry| entry.get("address")).and_then(Value::as_str);
        let after = last.map(str::to_owned);
        match client.ask(Request::Ps(look::Ps { after }))? {
            Value::Array(page) if !page.is_empty() => {
                let is_last = page.len() < look::PAGE;
                all.extend(page);
                if is_last {
                    break;
                }
            }
            _ => break,
        }
    }
    if client.is_at_rest() {
        out::note("nobody runs this store");
    }
    client.close()?;
    tell(&Value::Array(all), print::tree, json);
    Ok(ExitCode::SUCCESS)
}
