//! `bench mailbox`: durable sends per second, against the raw log in alternating slices.

use std::collections::HashSet;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use reveille::{Address, Caller, Config, Message, MessageId, OpError, Runtime, SessionSpec, Store};
use serde_json::json;

use super::MailboxArgs;
use super::floor::Floor;
use super::measure::{Load, folder, histogram, machine, median, micros, written_bytes};
use crate::out;

/// Pairs of slices: one of the store, one of the floor.
const PAIRS: u32 = 10;
/// How many messages are acknowledged at a time.
const ACKNOWLEDGERS: usize = 1024;
/// Bytes that a record has beside its body: the floor is given as many to write.
const OVERHEAD: usize = 112;

/// What a slice found: how many were answered each second, who they were, and after how long.
struct Slice<T> {
    rate: f64,
    done: Vec<T>,
    latencies: Histogram<u64>,
}

/// A message that was acknowledged, and the mailbox that it is in.
type Sent = (MessageId, usize);

/// What all slices found.
struct Found {
    rates: Vec<f64>,
    floors: Vec<f64>,
    ratios: Vec<f64>,
    ours: Histogram<u64>,
    theirs: Histogram<u64>,
    /// Messages that are to be in their mailboxes.
    there: Vec<Sent>,
    lost: u64,
    duplicated: u64,
    written: u64,
    /// Commits of the store, each with one sync.
    commits: u64,
    busy: bool,
}

/// Measures and prints.
pub(super) async fn run(args: &MailboxArgs, json: bool) -> anyhow::Result<ExitCode> {
    let folder = folder(args.data.as_deref())?;
    let commits = Arc::new(AtomicU64::new(0));
    let runtime = runtime(&folder.path().join("data"), &commits).await?;
    let to = mailboxes(&runtime, args.mailboxes).await?;
    let floor = Arc::new(Floor::open(folder.path())?);
    let before = commits.load(Ordering::Relaxed);
    let mut found = measure(folder.path(), args, &runtime, &to, &floor, json).await?;
    found.commits = commits.load(Ordering::Relaxed) - before;
    drop(floor);
    let rate = median(&mut found.rates);
    let open = open_loop(args, &runtime, &to, rate, &mut found.there).await?;
    found.compare(&runtime).await?;
    print(args, &mut found, &open, &machine(folder.path()), json);
    runtime.shutdown().await?;
    Ok(ExitCode::from(u8::from(found.lost + found.duplicated > 0)))
}

/// A runtime whose mailboxes are never full: it measures sends alone, nothing is injected.
async fn runtime(data: &std::path::Path, commits: &Arc<AtomicU64>) -> anyhow::Result<Runtime> {
    let mut config = Config::default();
    config.limits.unread_messages = usize::MAX;
    config.limits.unread_bytes = u64::MAX;
    config.limits.store_messages = u64::MAX;
    config.limits.store_bytes = u64::MAX;
    let commits = Arc::clone(commits);
    let count = Arc::new(move |_: &reveille::Committed<'_>| {
        commits.fetch_add(1, Ordering::Relaxed);
    });
    Ok(Runtime::builder(Store::open(data)?).config(config).observe(count).start().await?)
}

async fn mailboxes(runtime: &Runtime, count: u32) -> anyhow::Result<Arc<Vec<Address>>> {
    let mut to = Vec::with_capacity(count as usize);
    let mut making = tokio::task::JoinSet::new();
    for n in 0..count {
        let runtime = runtime.clone();
        making.spawn(async move { runtime.create_session(SessionSpec::new(n.to_string())).await });
        if making.len() >= 1024
            && let Some(made) = making.join_next().await
        {
            to.push(made??.main());
        }
    }
    while let Some(made) = making.join_next().await {
        to.push(made??.main());
    }
    Ok(Arc::new(to))
}

#[allow(clippy::disallowed_methods)] // measures
async fn measure(
    folder: &std::path::Path,
    args: &MailboxArgs,
    runtime: &Runtime,
    to: &Arc<Vec<Address>>,
    floor: &Arc<Floor>,
    json: bool,
) -> anyhow::Result<Found> {
    let span = Duration::from_secs(u64::from(args.seconds)) / (2 * PAIRS);
    let (begun, load) = (Instant::now(), Load::now());
    let mut found = Found {
        rates: Vec::new(),
        floors: Vec::new(),
        ratios: Vec::new(),
        ours: histogram()?,
        theirs: histogram()?,
        there: Vec::new(),
        lost: 0,
        duplicated: 0,
        written: 0,
        commits: 0,
        busy: false,
    };
    let raw: Arc<[u8]> = vec![7; args.body as usize + OVERHEAD].into();
    for pair in 1..=PAIRS {
        let before = written_bytes(folder);
        let send = send(runtime, to, args.body);
        let ours = slice(args.senders, span, send).await?;
        found.written += written_bytes(folder) - before;
        let (floor, raw) = (Arc::clone(floor), Arc::clone(&raw));
        let append = move |_, _| {
            let (floor, raw) = (Arc::clone(&floor), Arc::clone(&raw));
            async move { floor.append(raw).await.then_some(()) }
        };
        let theirs = slice(args.senders, span, append).await?;
        if !json {
            let (ours, theirs) = (ours.rate, theirs.rate);
            out::note(format_args!("{pair}/{PAIRS}: {ours:.0} sends/s, floor {theirs:.0}/s"));
        }
        found.ratios.push(ours.rate / theirs.rate);
        found.rates.push(ours.rate);
        found.floors.push(theirs.rate);
        found.ours.add(&ours.latencies)?;
        found.theirs.add(&theirs.latencies)?;
        found.there.extend(ours.done);
        if !args.backlog {
            found.compare(runtime).await?;
            acknowledge(runtime, to, std::mem::take(&mut found.there)).await?;
        }
    }
    found.busy = Load::now().is_busy_since(load, begun.elapsed());
    Ok(found)
}

/// What a sender does: sends its next message, to one mailbox after the other.
fn send(
    runtime: &Runtime,
    to: &Arc<Vec<Address>>,
    body: u32,
) -> impl Fn(u32, u64) -> std::pin::Pin<Box<dyn Future<Output = Option<Sent>> + Send>>
+ Clone
+ Send
+ Sync
+ 'static {
    let (runtime, to, body) = (runtime.clone(), Arc::clone(to), "x".repeat(body as usize));
    move |sender, n| {
        let place = (u64::from(sender) * 7919 + n) % to.len().max(1) as u64;
        let place = usize::try_from(place).unwrap_or(0);
        let message = to.get(place).map(|to| Message::text(to.clone(), body.clone()));
        let runtime = runtime.clone();
        Box::pin(async move { runtime.send(message?).await.ok().map(|sent| (sent.id, place)) })
    }
}

/// Lets senders do something again and again, each as soon as it is answered.
#[allow(clippy::disallowed_methods)] // measures
async fn slice<T, F, Fut>(senders: u32, span: Duration, act: F) -> anyhow::Result<Slice<T>>
where
    T: Send + 'static,
    F: Fn(u32, u64) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Option<T>> + Send,
{
    let (over, begun) = (Arc::new(AtomicBool::new(false)), Instant::now());
    let mut tasks = tokio::task::JoinSet::new();
    for sender in 0..senders {
        let (act, over) = (act.clone(), Arc::clone(&over));
        tasks.spawn(async move {
            let (mut done, mut n) = (Vec::new(), 0);
            while !over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                let Some(one) = act(sender, n).await else { break };
                done.push((one, nanos(asked.elapsed())));
                n += 1;
            }
            done
        });
    }
    tokio::time::sleep(span).await;
    over.store(true, Ordering::Relaxed);
    let all = tasks.join_all().await;
    let elapsed = begun.elapsed();
    // Counting is not measured.
    let mut slice = Slice { rate: 0.0, done: Vec::new(), latencies: histogram()? };
    for (one, nanos) in all.into_iter().flatten() {
        slice.done.push(one);
        slice.latencies.saturating_record(nanos);
    }
    #[allow(clippy::cast_precision_loss)] // a count of messages is far below 2^52
    let count = slice.done.len() as f64;
    slice.rate = count / elapsed.as_secs_f64();
    Ok(slice)
}

/// The same at seven tenths of the rate that was found, on a timetable: a send that is late because
/// the one before was is counted from when it was due.
#[allow(clippy::disallowed_methods)] // measures
async fn open_loop(
    args: &MailboxArgs,
    runtime: &Runtime,
    to: &Arc<Vec<Address>>,
    rate: f64,
    acknowledged: &mut Vec<Sent>,
) -> anyhow::Result<Histogram<u64>> {
    let every = Duration::from_secs_f64(f64::from(args.senders) / (rate * 0.7).max(1.0));
    let span = Duration::from_secs(u64::from(args.seconds)) / PAIRS;
    let act = send(runtime, to, args.body);
    let mut tasks = tokio::task::JoinSet::new();
    let begun = Instant::now();
    for sender in 0..args.senders {
        let act = act.clone();
        tasks.spawn(async move {
            let (mut done, mut n) = (Vec::new(), 0u32);
            // Senders begin one after the other, not all at once.
            let mut due = begun + every.mul_f64(f64::from(sender) / 64.0 % 1.0);
            while due < begun + span {
                tokio::time::sleep_until(due.into()).await;
                let Some(one) = act(sender, u64::from(n)).await else { break };
                done.push((one, nanos(due.elapsed())));
                (due, n) = (due + every, n + 1);
            }
            done
        });
    }
    let mut all = histogram()?;
    for (one, nanos) in tasks.join_all().await.into_iter().flatten() {
        acknowledged.push(one);
        all.saturating_record(nanos);
    }
    Ok(all)
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Found {
    /// Counts acknowledged messages that are in no mailbox, and messages in mailboxes that nobody was
    /// told of.
    async fn compare(&mut self, runtime: &Runtime) -> anyhow::Result<()> {
        let pending = runtime.pending_positions().await?;
        let once: HashSet<u64> = pending.iter().copied().collect();
        let lost = self.there.iter().filter(|(id, _)| !once.contains(&id.seq().0)).count();
        self.lost += lost as u64;
        self.duplicated += pending.len().saturating_sub(self.there.len() - lost) as u64;
        Ok(())
    }
}

/// Lets the receivers acknowledge all of it, many at a time.
async fn acknowledge(
    runtime: &Runtime,
    to: &Arc<Vec<Address>>,
    sent: Vec<Sent>,
) -> anyhow::Result<()> {
    let mut tasks = tokio::task::JoinSet::new();
    let sent = Arc::new(sent);
    for begin in 0..ACKNOWLEDGERS {
        let (runtime, to, sent) = (runtime.clone(), Arc::clone(to), Arc::clone(&sent));
        tasks.spawn(async move {
            for (id, place) in sent.iter().skip(begin).step_by(ACKNOWLEDGERS) {
                if let Some(to) = to.get(*place) {
                    runtime.ack(Caller::Host, to.clone(), *id).await?;
                }
            }
            Ok::<(), OpError>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

fn print(args: &MailboxArgs, found: &mut Found, open: &Histogram<u64>, machine: &str, json: bool) {
    let (rate, floor_rate, ratio) =
        (median(&mut found.rates), median(&mut found.floors), median(&mut found.ratios));
    #[allow(clippy::cast_precision_loss)] // a count of bytes is far below 2^52
    let bytes =
        found.written as f64 / (found.ours.len() as f64 * f64::from(args.body.max(1))).max(1.0);
    let (ours, theirs) = (&found.ours, &found.theirs);
    let (lost, duplicated) = (found.lost, found.duplicated);
    #[allow(clippy::cast_precision_loss)] // a count of messages is far below 2^52
    let batch = ours.len() as f64 / found.commits.max(1) as f64;
    if json {
        return out::line(json!({
            "senders": args.senders, "mailboxes": args.mailboxes, "backlog": args.backlog,
            "rate": rate.round(), "floor_rate": floor_rate.round(), "ratio": ratio,
            "p50_us": micros(ours, 0.5), "p99_us": micros(ours, 0.99),
            "p999_us": micros(ours, 0.999),
            "floor_p50_us": micros(theirs, 0.5), "floor_p99_us": micros(theirs, 0.99),
            "open_p50_us": micros(open, 0.5), "open_p99_us": micros(open, 0.99),
            "open_p999_us": micros(open, 0.999),
            "bytes_per_body_byte": bytes, "lost": lost, "duplicated": duplicated,
            "commits": found.commits, "sends_per_commit": batch,
            "busy": found.busy, "machine": machine,
        }));
    }
    out::line(format_args!("{machine}; {} senders, {} mailboxes", args.senders, args.mailboxes));
    out::line(format_args!("{rate:.0} sends/s, raw log {floor_rate:.0}/s: ratio {ratio:.2}"));
    out::line(format_args!(
        "p50 {} us, p99 {} us; raw log {} us, {} us; at 70 % of the rate {} us, {} us",
        micros(ours, 0.5),
        micros(ours, 0.99),
        micros(theirs, 0.5),
        micros(theirs, 0.99),
        micros(open, 0.5),
        micros(open, 0.99),
    ));
    out::line(format_args!(
        "{bytes:.1} bytes written per byte of body, {batch:.1} sends with each sync"
    ));
    out::line(format_args!("{lost} lost, {duplicated} duplicated"));
    if found.busy {
        out::line("the machine was busy with other things: do not believe these figures");
    }
}
