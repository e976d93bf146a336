//! The outside journals: written by the processes themselves, each line in one write.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What workers write.
pub(crate) const WORKERS: &str = "workers.jsonl";
/// What the lead writes.
pub(crate) const LEAD: &str = "lead.jsonl";

/// What happened to a worker's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WorkerEvent {
    /// It begins to work.
    Start,
    /// It has worked.
    End,
}

/// A line of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerLine {
    pub(crate) event: WorkerEvent,
    pub(crate) address: String,
    pub(crate) run: String,
    pub(crate) pid: u32,
    pub(crate) at: u64,
}

/// A line of the lead: one entry of an injection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeadLine {
    pub(crate) injection: String,
    pub(crate) attempt: u32,
    pub(crate) message: String,
    pub(crate) kind: String,
    pub(crate) about: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) at: u64,
}

/// Appends a line, in one write.
pub(crate) fn append(path: &Path, line: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(())
}

/// Both journals of a demo.
#[derive(Debug, Clone)]
pub(crate) struct Journals {
    workers: PathBuf,
    lead: PathBuf,
}

impl Journals {
    pub(crate) fn in_folder(dir: &Path) -> Self {
        Self { workers: dir.join(WORKERS), lead: dir.join(LEAD) }
    }

    /// Begins anew.
    pub(crate) fn remove(&self) -> anyhow::Result<()> {
        for journal in [&self.workers, &self.lead] {
            if journal.exists() {
                std::fs::remove_file(journal)?;
            }
        }
        Ok(())
    }

    pub(crate) fn workers(&self) -> anyhow::Result<Vec<WorkerLine>> {
        read(&self.workers)
    }

    pub(crate) fn lead(&self) -> anyhow::Result<Vec<LeadLine>> {
        read(&self.lead)
    }

    /// How many workers are told of as ended.
    pub(crate) fn ended(&self) -> anyhow::Result<usize> {
        let lines = self.workers()?;
        Ok(lines.iter().filter(|line| line.event == WorkerEvent::End).count())
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    // A line that is being written may be seen in part; it has no end yet.
    let whole = text.rfind('\n').and_then(|end| text.get(..end)).unwrap_or("");
    whole.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
