//! `bench wake`: injections out of bursts of durable mail, against what the log calls for.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use parking_lot::Mutex;
use reveille::{
    Agent, AgentSpec, Config, Injection, Message, NewAgent, Runtime, Session, SessionSpec, Store,
    Turn, TurnError, TurnReport,
};
use reveille_store::model::{Model, Modelled};
use reveille_store::record::Record;
use serde_json::json;

use super::WakeArgs;
use super::measure::{Load, folder, machine};
use crate::out;

/// Messages of one burst to one session.
const BURST: u32 = 10;

/// An agent that answers at once, and counts what it was given.
struct Counts(Arc<Mutex<HashMap<u64, u32>>>);

impl Agent for Counts {
    async fn turn(&mut self, _: &Turn, injection: Injection) -> Result<TurnReport, TurnError> {
        let mut given = self.0.lock();
        for entry in &injection.entries {
            *given.entry(entry.id.seq().0).or_default() += 1;
        }
        Ok(TurnReport::success(""))
    }
}

/// Measures and prints.
#[allow(clippy::disallowed_methods)] // measures
pub(super) async fn run(args: &WakeArgs, json: bool) -> anyhow::Result<ExitCode> {
    let folder = folder(args.data.as_deref())?;
    let given = Arc::new(Mutex::new(HashMap::new()));
    let config = Config { slots: 0, ..Config::default() };
    let model = Arc::new(Mutex::new((Model::new(config.window), 0u64)));
    let theirs = Arc::clone(&model);
    let counts = Arc::clone(&given);
    let agent = AgentSpec::new(move |_: NewAgent| {
        let counts = Counts(Arc::clone(&counts));
        async move { Ok::<_, std::convert::Infallible>(counts) }
    });
    let runtime = Runtime::builder(Store::open(folder.path().join("data"))?)
        .agent("counts", agent)
        .config(config)
        .observe(Arc::new(move |commit| {
            let mut model = theirs.lock();
            for (seq, record) in commit.records {
                model.1 += u64::from(matches!(record, Record::Sent(_)));
                model.0.take(*seq, commit.stamp.at, record);
            }
        }))
        .start()
        .await?;
    let sessions = sessions(&runtime, args.sessions).await?;
    let (begun, load) = (Instant::now(), Load::now());
    bursts(&runtime, &sessions, args.messages, json).await?;
    // Asking for each session while all of them are at it would be most of the work.
    while (given.lock().len() as u64) < model.lock().1 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for session in &sessions {
        runtime.wait_idle(session.id(), std::time::Duration::from_secs(600)).await?;
    }
    let span = begun.elapsed();
    let busy = Load::now().is_busy_since(load, span);
    let machine = machine(folder.path());
    runtime.shutdown().await?;
    let (model, sent) =
        std::mem::replace(&mut *model.lock(), (Model::new(Config::default().window), 0));
    let end = reveille::Timestamp::MAX;
    let found = model.finish(end);
    let given = given.lock();
    let lost = sent.saturating_sub(given.len() as u64);
    let duplicated = given.values().filter(|times| **times > 1).count() as u64;
    #[allow(clippy::cast_precision_loss)] // a count of messages is far below 2^52
    let rate = sent as f64 / span.as_secs_f64();
    print(args, sent, &found, (lost, duplicated), rate, busy, &machine, json);
    let wrong = found.injections != found.expected || lost + duplicated > 0;
    Ok(ExitCode::from(u8::from(wrong)))
}

async fn sessions(runtime: &Runtime, count: u32) -> anyhow::Result<Vec<Session>> {
    let (mut made, mut making) = (Vec::new(), tokio::task::JoinSet::new());
    for n in 0..count {
        let runtime = runtime.clone();
        let spec = SessionSpec::new(n.to_string()).agent("counts");
        making.spawn(async move { runtime.create_session(spec).await });
        if making.len() >= 1024 {
            made.push(making.join_next().await.context("a session")???);
        }
    }
    while let Some(session) = making.join_next().await {
        made.push(session??);
    }
    Ok(made)
}

/// Sends all messages, in bursts to one session after the other.
async fn bursts(
    runtime: &Runtime,
    sessions: &[Session],
    messages: u32,
    json: bool,
) -> anyhow::Result<()> {
    let rounds = messages.div_ceil(BURST);
    for round in 1..=rounds {
        let count = BURST.min(messages - (round - 1) * BURST);
        let mut sending = tokio::task::JoinSet::new();
        for session in sessions {
            let (runtime, to) = (runtime.clone(), session.main());
            sending.spawn(async move {
                for n in 0..count {
                    runtime.send(Message::text(to.clone(), n.to_string())).await?;
                }
                Ok::<_, reveille::OpError>(())
            });
            if sending.len() >= 256 {
                sending.join_next().await.context("a burst")???;
            }
        }
        while let Some(sent) = sending.join_next().await {
            sent??;
        }
        if !json {
            out::note(format_args!("{round}/{rounds} rounds of bursts"));
        }
    }
    Ok(())
}

#[allow(clippy::too_many_arguments)] // all that is printed
fn print(
    args: &WakeArgs,
    reasons: u64,
    found: &Modelled,
    (lost, duplicated): (u64, u64),
    rate: f64,
    busy: bool,
    machine: &str,
    json: bool,
) {
    let mut late = found.lateness_ms.clone();
    late.sort_unstable();
    let p99 = late.get((late.len() * 99 / 100).min(late.len().saturating_sub(1))).unwrap_or(&0);
    for (seq, what) in found.differences.iter().take(10) {
        out::note(format_args!("record {seq}: {what}"));
    }
    if json {
        return out::line(json!({
            "sessions": args.sessions, "reasons": reasons, "windows": late.len(),
            "injections": found.injections, "expected_injections": found.expected,
            "lateness_p99_us": p99 * 1000, "rate": rate.round(),
            "lost": lost, "duplicated": duplicated, "busy": busy, "machine": machine,
        }));
    }
    out::line(format_args!(
        "{machine}; {} sessions, {reasons} messages, {rate:.0}/s",
        args.sessions
    ));
    out::line(format_args!(
        "{} injections, {} called for by the log; p99 of windows {p99} ms late",
        found.injections, found.expected
    ));
    out::line(format_args!("{lost} lost, {duplicated} duplicated"));
    if busy {
        out::line("the machine was busy with other things: do not believe the rate");
    }
}
