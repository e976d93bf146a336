//! `up`: hosts a crew until interrupted, and continues where it stopped.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use reveille::{Address, Cancel, Outcome, RunId};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::UpArgs;
use crate::crew::Crew;
use crate::history;
use crate::host::Hosted;
use crate::out;
use crate::socket::Socket;

/// How often what changed is told.
const TELL: Duration = Duration::from_millis(200);
/// How long a worker that is to be cancelled is left to work.
const BEFORE_CANCEL: Duration = Duration::from_millis(400);
/// The exit code of a program that was interrupted twice.
const FORCED: u8 = 130;

/// Hosts a crew.
pub(crate) fn run(args: &UpArgs, json: bool) -> anyhow::Result<ExitCode> {
    let crew = Crew::read(&args.crew)?;
    let data = args.data.folder()?;
    let folder = crew_folder(&args.crew)?;
    let history = args.history.as_deref().map(history::observer).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut interrupts = Interrupts::new()?;
        let mut teller = Teller { json, told: HashMap::new() };
        let mut hosted = tokio::select! {
            hosted = Hosted::start(&crew, &folder, &data, history) => hosted?,
            () = interrupts.next() => return Ok(ExitCode::from(FORCED)),
        };
        let runtime = hosted.runtime.clone();
        let mut socket = None;
        let served = tokio::select! {
            served = serve(&mut hosted, &crew, args, &mut teller, &mut socket) => served,
            () = interrupts.next() => {
                out::note("shutting down; interrupt again to force");
                Ok(())
            }
        };
        // Whatever went wrong, what is running is given its time.
        let close = async {
            runtime.drain().await;
            // Until here people can look at what is still running.
            if let Some(socket) = socket {
                socket.close().await;
            }
            teller.tell(&hosted).await?;
            runtime.shutdown().await.context("shutting down")
        };
        tokio::select! {
            closed = close => closed?,
            () = interrupts.next() => return Ok(ExitCode::from(FORCED)),
        }
        served.map(|()| ExitCode::SUCCESS)
    })
}

fn crew_folder(crew: &Path) -> anyhow::Result<PathBuf> {
    let crew = std::fs::canonicalize(crew).with_context(|| crew.display().to_string())?;
    Ok(crew.parent().unwrap_or_else(|| Path::new("/")).to_owned())
}

/// Declares the crew, opens the socket and tells what ends. Ends when nothing is going on, if that was asked for.
async fn serve(
    hosted: &mut Hosted,
    crew: &Crew,
    args: &UpArgs,
    teller: &mut Teller,
    socket: &mut Option<Socket>,
) -> anyhow::Result<()> {
    teller.pass_over(hosted).await?;
    hosted.declare_all(crew).await?;
    *socket = Some(Socket::open(&args.data.folder()?, hosted.runtime.clone())?);
    let hosted = &*hosted;
    let cancel = async {
        match &args.cancel {
            Some(key) => cancel(hosted, key).await,
            None => Ok(()),
        }
    };
    let idle = async {
        cancel.await?;
        if !args.until_idle {
            return std::future::pending().await;
        }
        for session in &hosted.sessions {
            hosted.runtime.wait_idle(session.id(), Duration::MAX).await?;
        }
        Ok(())
    };
    let mut idle = std::pin::pin!(idle);
    loop {
        let done = tokio::time::timeout(TELL, &mut idle).await;
        teller.tell(hosted).await?;
        if let Ok(done) = done {
            return done;
        }
    }
}

/// Cancels a worker once it has worked for a moment.
async fn cancel(hosted: &Hosted, key: &str) -> anyhow::Result<()> {
    let worker = loop {
        let actors = hosted.actors().await?;
        let worker = actors.into_iter().find(|view| view.key.as_deref() == Some(key));
        let worker = worker.with_context(|| format!("there is no worker with the key {key}"))?;
        if worker.in_turn || worker.run.is_none() {
            break worker;
        }
        tokio::time::sleep(TELL / 10).await;
    };
    if worker.run.is_some() {
        tokio::time::sleep(BEFORE_CANCEL).await;
        let cancel = Cancel::reason("cancelled by the host");
        hosted.runtime.cancel(&worker.address, cancel).await?;
    }
    Ok(())
}

/// Tells each run that ended, once.
struct Teller {
    json: bool,
    told: HashMap<Address, RunId>,
}

impl Teller {
    /// What ended before this start was told then.
    async fn pass_over(&mut self, hosted: &Hosted) -> anyhow::Result<()> {
        let interrupted = hosted.runtime.recovered().interrupted.clone();
        let earlier = hosted.actors().await?.into_iter();
        let told = earlier.filter(|view| !interrupted.contains(&view.address));
        self.told.extend(told.filter_map(|view| Some((view.address, view.ended?.0))));
        Ok(())
    }

    async fn tell(&mut self, hosted: &Hosted) -> anyhow::Result<()> {
        for view in hosted.actors().await? {
            let Some((run, state)) = view.ended else {
                continue;
            };
            if self.told.insert(view.address.clone(), run) == Some(run) {
                continue;
            }
            // Another run may have taken its place already; then its end is all there is to tell.
            let outcome = hosted.runtime.outcome(run).await.ok();
            let detail = outcome.as_ref().map(detail).unwrap_or_default();
            let address = view.address;
            if self.json {
                out::line(json!({
                    "address": address, "run": run, "state": state, "detail": detail
                }));
            } else {
                let colon = if detail.is_empty() { "" } else { ": " };
                out::line(format_args!("{address} {state}{colon}{detail}"));
            }
        }
        Ok(())
    }
}

/// What a run says of its end, in a line.
fn detail(outcome: &Outcome) -> String {
    let line = |text: &str| text.lines().collect::<Vec<_>>().join(", ");
    match outcome {
        Outcome::Completed { status, summary: Some(summary), .. } => {
            format!("{status}, {}", line(summary))
        }
        Outcome::Completed { status, .. } => status.to_string(),
        Outcome::Failed { class, error } => format!("{class}, {}", line(error)),
        Outcome::Cancelled { by, reason } => format!("by {by}, {}", line(reason)),
        Outcome::Interrupted { cause } => cause.to_string(),
    }
}

/// Interrupts and requests to terminate.
struct Interrupts {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Interrupts {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
