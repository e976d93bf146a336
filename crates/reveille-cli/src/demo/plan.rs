//! The crew of the demo, generated: it sets its own limits.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use ignore::WalkBuilder;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};

use crate::crew::{Agent, Busy, Crew, Limits, Session, Worker};
use crate::demo::fresh;
use crate::failure::Invalid;
use crate::out;

/// The worker that the host cancels.
pub(crate) const CANCELLED: &str = "cancelled";
/// The worker that hangs.
pub(crate) const HANGING: &str = "hanging";
/// Turns at the same time.
const SLOTS: usize = 8;
/// How long the hanging worker is silent before it is reported.
const STALL_AFTER: Duration = Duration::from_secs(1);
/// About how long all workers together are made to take, so that there is something to watch.
const PLAY_MS: u64 = 3_000;

/// The generated crew.
pub(crate) struct Plan {
    /// The crew file.
    pub(crate) crew: PathBuf,
    /// Files, each with a worker.
    pub(crate) files: usize,
}

/// The regular files under a path, without hidden ones and those that git ignores. Links are not
/// followed; what cannot be read is told and left out.
pub(crate) fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let given = |error| Invalid(format!("{}: {error}", path.display()));
    let path = std::fs::canonicalize(path).map_err(given)?;
    let mut files = Vec::new();
    for entry in WalkBuilder::new(&path).ignore(false).follow_links(false).build() {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                files.push(entry.into_path());
            }
            Ok(_) => {}
            Err(error) => out::note(format_args!("left out: {error}")),
        }
    }
    files.sort();
    Ok(files)
}

impl Plan {
    /// Writes the crew for these files.
    pub(crate) fn write(files: &[PathBuf], dir: &Path) -> anyhow::Result<Self> {
        fresh(dir)?;
        let dir = std::fs::canonicalize(dir)?;
        let exe = std::env::current_exe()?;
        let exe = exe.to_str().context("the path of this program is not UTF-8")?;
        let journals = dir.to_str().context("the folder's path is not UTF-8")?;
        let pace = (PLAY_MS * SLOTS as u64 / files.len().max(1) as u64).clamp(20, 300);
        let agent = |verb: &str, mode: &str, stall_after| Agent {
            command: vec![exe.to_owned(), verb.to_owned()],
            cwd: None,
            env: BTreeMap::from([
                ("DEMO_JOURNALS".to_owned(), journals.to_owned()),
                ("DEMO_MODE".to_owned(), mode.to_owned()),
                ("DEMO_PACE_MS".to_owned(), pace.to_string()),
            ]),
            stall_after,
            busy: Busy::Queue,
            style: reveille::Style::Xml,
        };
        let worker = |agent: &str, key: String, first: String| Worker {
            agent: agent.to_owned(),
            first,
            key: Some(key),
            task_id: None,
        };
        let extra =
            [CANCELLED, HANGING].map(|key| worker(key, key.into(), "Go on for ever.".into()));
        let reads = files.iter().zip(1..).map(|(file, n): (_, u32)| {
            let path = percent_encode(file.as_os_str().as_bytes(), NON_ALPHANUMERIC);
            worker("reader", format!("file-{n}"), path.to_string())
        });
        let workers: Vec<Worker> = extra.into_iter().chain(reads).collect();
        let count = u32::try_from(workers.len()).context("too many files")?;
        let crew = Crew {
            limits: Limits {
                slots: Some(SLOTS),
                children: Some(count),
                tree: Some(count),
                spawns_per_minute: Some(count),
            },
            agents: BTreeMap::from([
                ("lead".to_owned(), agent("demo-lead", "lead", None)),
                ("reader".to_owned(), agent("demo-worker", "read", None)),
                (CANCELLED.to_owned(), agent("demo-worker", "busy", None)),
                (HANGING.to_owned(), agent("demo-worker", "hang", Some(STALL_AFTER))),
            ]),
            sessions: BTreeMap::from([(
                "lead".to_owned(),
                Session {
                    agent: "lead".to_owned(),
                    first: Some("Gather what your workers report.".to_owned()),
                    workers,
                },
            )]),
        };
        let path = dir.join("crew.toml");
        std::fs::write(&path, toml::to_string(&crew)?)?;
        Ok(Self { crew: path, files: files.len() })
    }

    /// All workers.
    pub(crate) const fn workers(&self) -> usize {
        self.files + 2
    }
}
