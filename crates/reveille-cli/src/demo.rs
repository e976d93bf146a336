//! `demo`: the main job on real files, judged by what the processes themselves wrote down.
//!
//! It writes a crew (a lead, a worker for each file, one worker to be cancelled and one that hangs),
//! hosts it with `up` in a process of its own, sends that process KILL while workers run and an
//! injection is open, hosts it again until nothing is going on, and counts. The summary is counted
//! from the journals of the processes and from nothing else.

mod journal;
mod kill;
mod plan;
pub(crate) mod players;
mod summary;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use reveille_agents::ledger::Ledger;

use self::journal::Journals;
use self::kill::Killed;
use self::plan::Plan;
use crate::cli::DemoArgs;
use crate::failure::Invalid;
use crate::out;

/// How often a moment for the KILL is taken.
const TRIES: usize = 3;
/// How often the journals are looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Runs the demo.
pub(crate) fn run(args: &DemoArgs, json: bool) -> anyhow::Result<ExitCode> {
    let files = plan::files(&args.path)?;
    let temporary = tempfile::tempdir()?;
    let dir = match &args.keep {
        Some(keep) => keep.clone(),
        None => temporary.path().to_owned(),
    };
    let plan = Plan::write(&files, &dir)?;
    let history = args.history.clone();
    let stage = Stage { journals: Journals::in_folder(&dir), dir, plan, history };
    let bar = bar(stage.plan.workers());
    let killed = stage.play(&bar)?;
    bar.finish_and_clear();

    let summary = summary::count(&stage.journals, &killed)?;
    let report = reveille_store::verify::verify(stage.data())?;
    for found in &report.findings {
        out::note(format_args!("{}: {}", found.promise, found.what));
    }
    if json {
        out::line(serde_json::to_string(&summary)?);
    } else {
        out::line(summary.text());
    }
    let good = summary.is_good() && report.findings.is_empty();
    Ok(ExitCode::from(u8::from(!good)))
}

/// Where the demo plays.
pub(crate) struct Stage {
    dir: PathBuf,
    plan: Plan,
    journals: Journals,
    history: Option<PathBuf>,
}

impl Stage {
    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Plays once through. When the KILL fell between two things, begins anew.
    fn play(&self, bar: &ProgressBar) -> anyhow::Result<Killed> {
        for _ in 0..TRIES {
            let mut host = self.host(true)?;
            let killed = kill::while_busy(self, &mut host, bar)?;
            if let Some(killed) = killed {
                let mut host = self.host(false)?;
                self.wait(&mut host, bar)?;
                return Ok(killed);
            }
            drop(host);
            Ledger::open(self.data().join("processes"))?.sweep()?;
            if let Some(history) = &self.history {
                std::fs::remove_file(history)?;
            }
            std::fs::remove_dir_all(self.data())?;
            self.journals.remove()?;
        }
        anyhow::bail!("the KILL fell {TRIES} times when no worker ran or no injection was open")
    }

    /// Starts the process that hosts the crew; the first one also cancels a worker.
    fn host(&self, cancels: bool) -> anyhow::Result<Host> {
        let mut up = Command::new(std::env::current_exe()?);
        up.arg("up").arg(&self.plan.crew).arg("--data").arg(self.data()).arg("--until-idle");
        if cancels {
            up.args(["--cancel", plan::CANCELLED]);
        }
        if let Some(history) = &self.history {
            up.arg("--history").arg(history);
        }
        up.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(Host(up.spawn().context("the host of the crew")?))
    }

    /// Waits until the host ends by itself.
    fn wait(&self, host: &mut Host, bar: &ProgressBar) -> anyhow::Result<()> {
        loop {
            bar.set_position(self.journals.ended()? as u64);
            if let Some(status) = host.0.try_wait()? {
                anyhow::ensure!(status.success(), "the host of the crew ended with {status}");
                return Ok(());
            }
            pause(LOOK);
        }
    }
}

/// The hosting process; it does not outlive the demo.
pub(crate) struct Host(Child);

impl Drop for Host {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[allow(clippy::disallowed_methods)] // the demo is about real processes and real time
pub(crate) fn pause(span: Duration) {
    std::thread::sleep(span);
}

/// Milliseconds since the Unix epoch.
#[allow(clippy::disallowed_methods)] // journals say when, for people and outside checkers
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn bar(workers: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(workers as u64);
    match ProgressStyle::with_template("{bar:40} {pos}/{len} workers, {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Refuses a folder that holds an earlier demo.
fn fresh(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let taken = std::fs::read_dir(dir)?.next().is_some();
    if taken {
        let what = format!("{} is not empty: give --keep a new folder", dir.display());
        return Err(Invalid(what).into());
    }
    Ok(())
}
