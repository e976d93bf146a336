//! The `reveille` command.
//!
//! `demo` shows the main job on real files, `up` hosts a crew, `verify` checks a store; `send`, `ps` and
//! the other verbs of [`verbs`] look and act, whether a runtime holds the folder or not. Data goes to
//! standard output, everything else to standard error; `--json` prints objects, one on each line, and
//! nothing else.

mod bench;
mod care;
mod cli;
mod crew;
mod demo;
mod failure;
mod history;
mod host;
mod out;
mod request;
mod socket;
mod up;
mod verbs;
mod verify;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::{Cli, Verb};
use crate::failure::Invalid;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && std::env::args().any(|word| word == "--json") => {
            return failure::report(&Invalid(error.to_string()).into(), true);
        }
        Err(error) => error.exit(),
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("REVEILLE_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let done = match cli.verb {
        Verb::Demo(args) => demo::run(&args, cli.json),
        Verb::Up(args) => up::run(&args, cli.json),
        Verb::Verify(args) => verify::run(&args, cli.json),
        Verb::Restore(args) => care::restore(&args, cli.json),
        Verb::Compact(args) => care::compact(&args, cli.json),
        Verb::Migrate(args) => care::migrate(&args, cli.json),
        Verb::Doctor(args) => care::look(&args, cli.json),
        Verb::Bench(bench) => bench::run(&bench, cli.json),
        Verb::Ask(verb) => verbs::run(verb, cli.json),
        Verb::DemoLead => demo::players::lead(),
        Verb::DemoWorker => demo::players::worker(),
    };
    done.unwrap_or_else(|error| failure::report(&error, cli.json))
}
