//! The words of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Durable mail, one injection per window, and supervised workers for agent sessions.
#[derive(Debug, Parser)]
#[command(name = "reveille", version, propagate_version = true)]
pub(crate) struct Cli {
    /// Print JSON to standard output and nothing else: one object, or one on each line.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show the main job on real files: workers, one lead, a KILL, recovery, a summary.
    Demo(DemoArgs),
    /// Host a crew until interrupted; continue where it stopped.
    Up(UpArgs),
    /// Check every promise that can be checked on a store that nobody holds.
    Verify(VerifyArgs),
    /// Put a backup into an absent or empty data folder, after checking it.
    Restore(crate::care::RestoreArgs),
    /// Make the file of a store that nobody holds as small as it can be.
    Compact(crate::care::CareArgs),
    /// Bring a store of an older format to this program's, after a backup.
    Migrate(crate::care::CareArgs),
    /// Look at a data folder: what is unusual, and what to do about it.
    Doctor(crate::care::CareArgs),
    /// Measure on this machine, with a floor in the same run.
    #[command(subcommand)]
    Bench(crate::bench::Bench),
    #[command(flatten)]
    Ask(crate::verbs::Verb),
    /// The lead of the demo: one turn on the injection on standard input.
    #[command(hide = true)]
    DemoLead,
    /// A worker of the demo: one turn on the injection on standard input.
    #[command(hide = true)]
    DemoWorker,
}

/// Where the data folder is.
#[derive(Debug, Args)]
pub(crate) struct Data {
    /// The data folder [default: $XDG_DATA_HOME/reveille].
    #[arg(long, value_name = "DIR", env = "REVEILLE_DATA")]
    data: Option<PathBuf>,
}

impl Data {
    /// The data folder, as given or where the system keeps data of programs.
    pub(crate) fn folder(&self) -> anyhow::Result<PathBuf> {
        if let Some(data) = &self.data {
            return Ok(data.clone());
        }
        let var =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        var("XDG_DATA_HOME")
            .or_else(|| var("HOME").map(|home| home.join(".local/share")))
            .map(|base| base.join("reveille"))
            .ok_or_else(|| anyhow::anyhow!("no data folder: give --data DIR, or set HOME"))
    }
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The folder or file to work on.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Keep the store (DIR/data) and the journals of the processes.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Append every record of every commit to this file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// The crew file.
    #[arg(value_name = "CREW.toml")]
    pub(crate) crew: PathBuf,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Append every record of every commit to this file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// End when nothing is going on any more.
    #[arg(long)]
    pub(crate) until_idle: bool,
    /// Cancel the worker with this key shortly after it started.
    #[arg(long, value_name = "KEY", hide = true)]
    pub(crate) cancel: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) data: Data,
}
