//! The programs of the demo: the lead and the workers, each a process for each turn.
//!
//! They know Reveille only as any program would: an injection on standard input, a few variables in
//! the environment, a result on standard output.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use reveille::render::{ParsedInjection, Style, parse};

use super::journal::{self, LeadLine, WorkerEvent, WorkerLine};
use super::pause;
use crate::out;

/// How long the lead takes over an injection.
const READING: Duration = Duration::from_millis(300);
/// A worker that would go on for ever ends after this, should everybody have forgotten it.
const FOREVER: Duration = Duration::from_secs(120);
const TICK: Duration = Duration::from_millis(100);

fn var(name: &str) -> anyhow::Result<String> {
    std::env::var(name).with_context(|| format!("{name} is not set"))
}

fn injection() -> anyhow::Result<ParsedInjection> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(parse(Style::Xml, &text)?)
}

fn journals() -> anyhow::Result<PathBuf> {
    Ok(PathBuf::from(var("DEMO_JOURNALS")?))
}

/// The lead: notes each entry of the injection.
pub(crate) fn lead() -> anyhow::Result<ExitCode> {
    let (injection, journals) = (injection()?, journals()?);
    let attempt = var("REVEILLE_ATTEMPT")?.parse()?;
    for entry in &injection.entries {
        let text = |name: &str| entry.attribute(name).map(str::to_owned);
        let line = LeadLine {
            injection: var("REVEILLE_INJECTION")?,
            attempt,
            message: text("id").context("a message without an id")?,
            kind: text("kind").context("a message without a kind")?,
            about: text("about"),
            run: text("run"),
            state: text("state"),
            at: super::now_ms(),
        };
        journal::append(&journals.join(journal::LEAD), &line)?;
    }
    pause(READING);
    out::line("**Status**: success");
    out::line(format_args!("**Summary**: {} messages read", injection.entries.len()));
    Ok(ExitCode::SUCCESS)
}

/// A worker: reads its file, or goes on for ever, talking or silent.
pub(crate) fn worker() -> anyhow::Result<ExitCode> {
    let (injection, journals) = (injection()?, journals()?);
    let note = |event| {
        let (address, run) = (var("REVEILLE_ADDRESS")?, var("REVEILLE_RUN")?);
        let line = WorkerLine { event, address, run, pid: std::process::id(), at: super::now_ms() };
        journal::append(&journals.join(journal::WORKERS), &line)
    };
    note(WorkerEvent::Start)?;
    let said = match var("DEMO_MODE")?.as_str() {
        "read" => {
            let first = injection.entries.first().context("an empty injection")?;
            read(&first.body)
        }
        mode => {
            go_on(mode == "busy");
            Ok("went on for ever".to_owned())
        }
    };
    note(WorkerEvent::End)?;
    match said {
        Ok(summary) => out::line(format_args!("**Status**: success\n**Summary**: {summary}")),
        Err(error) => out::line(format_args!("**Status**: failed\n**Summary**: {error:#}")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts what is in a file, in no hurry.
fn read(encoded: &str) -> anyhow::Result<String> {
    let path: Vec<u8> = percent_encoding::percent_decode_str(encoded).collect();
    let path = Path::new(OsStr::from_bytes(&path));
    let mut file = File::open(path).context("the file cannot be opened")?;
    let (mut bytes, mut lines) = (0u64, 0u64);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let count = file.read(&mut chunk).context("the file cannot be read")?;
        let read = chunk.get(..count).unwrap_or(&[]);
        if read.is_empty() {
            break;
        }
        bytes += count as u64;
        lines += read.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    pause(Duration::from_millis(var("DEMO_PACE_MS")?.parse()?));
    Ok(format!("{lines} lines, {bytes} bytes"))
}

fn go_on(talking: bool) {
    let mut spent = Duration::ZERO;
    while spent < FOREVER {
        pause(TICK);
        spent += TICK;
        if talking {
            out::line("still at it");
        }
    }
}
