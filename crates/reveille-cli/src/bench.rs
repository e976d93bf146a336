//! `bench`: measures on this machine, through the public API, with a floor in the same run.
//!
//! Figures are ratios to a floor that is measured in slices between those of the store, so that what
//! the machine does meanwhile hits both. Counts are taken from the store afterwards: what was lost or
//! doubled is a figure like the others.

mod floor;
mod mailbox;
mod measure;
mod wake;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Durable sends, against a raw append log with the same senders.
    Mailbox(MailboxArgs),
    /// Injections out of bursts of durable mail, against the number that the log calls for.
    Wake(WakeArgs),
}

/// How `bench mailbox` measures.
#[derive(Debug, Args)]
pub(crate) struct MailboxArgs {
    /// Senders that each send again as soon as they are answered.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) senders: u32,
    /// Mailboxes that the senders write to in turn.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) mailboxes: u32,
    /// Seconds of measuring, store and floor together.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,
    /// Bytes of a body.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(0..=32_768))]
    pub(crate) body: u32,
    /// Leave all mail unread. Otherwise it is acknowledged between slices, unmeasured: unread mail
    /// that outlives the history is copied forward, and its mailboxes are written anew.
    #[arg(long)]
    pub(crate) backlog: bool,
    /// Where the files are made; a folder of its own, removed afterwards.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// How `bench wake` measures.
#[derive(Debug, Args)]
pub(crate) struct WakeArgs {
    /// Sessions that are written to.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) sessions: u32,
    /// Messages to each session, in bursts.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) messages: u32,
    /// Where the files are made; a folder of its own, removed afterwards.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// Measures.
pub(crate) fn run(bench: &Bench, json: bool) -> anyhow::Result<ExitCode> {
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match bench {
        Bench::Mailbox(args) => tokio.block_on(mailbox::run(args, json)),
        Bench::Wake(args) => tokio.block_on(wake::run(args, json)),
    }
}
