//! Looking at a data folder: what is unusual about it, and what to do about that. Changes nothing but
//! what every opening changes: redb repairs its own pages after a crash.

use std::fs;
use std::path::Path;

use reveille_core::Timestamp;
use reveille_core::limits::{DISK_RESERVE_BYTES, DISK_RESERVE_PERCENT};

use crate::disk::{DiskOptions, STORE_FORMAT};
use crate::error::OpenError;
use crate::verify::{Report, verify};

/// How much something matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Unusual,
    /// To be mended.
    Bad,
}

impl Severity {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Unusual => "unusual",
            Self::Bad => "bad",
        }
    }
}

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// How much it matters.
    pub severity: Severity,
    /// What was looked at, in a word.
    pub about: &'static str,
    /// What was found, and what to do.
    pub what: String,
}

/// Looks at a data folder at `now`.
#[must_use]
pub fn doctor(path: impl AsRef<Path>, now: Timestamp) -> Vec<Diagnosis> {
    let path = path.as_ref();
    let mut found = Vec::new();
    let mut say = |severity, about, what: String| found.push(Diagnosis { severity, about, what });
    let file = path.join("store.redb");
    let size = fs::metadata(&file).map(|meta| meta.len());
    match &size {
        Ok(0) => say(Severity::Bad, "store", "store.redb is empty: restore a backup".into()),
        Ok(bytes) => say(Severity::Fine, "store", format!("store.redb has {bytes} bytes")),
        Err(error) => say(Severity::Bad, "store", format!("store.redb: {error}")),
    }
    marker(path, &mut say);
    leftovers(path, &mut say);
    permissions(path, &mut say);
    space(path, &mut say);
    if size.is_ok_and(|bytes| bytes > 0) {
        match verify(path) {
            Ok(report) => contents(&report, now, &mut say),
            Err(OpenError::AlreadyInUse { holder, .. }) => {
                let what = format!("{holder} holds the folder: its contents were not looked at");
                say(Severity::Unusual, "holder", what);
            }
            Err(error) => say(Severity::Bad, "store", error.to_string()),
        }
    }
    found.sort_by_key(|diagnosis| std::cmp::Reverse(diagnosis.severity));
    found
}

type Say<'a> = &'a mut dyn FnMut(Severity, &'static str, String);

fn marker(path: &Path, say: Say<'_>) {
    let known = STORE_FORMAT;
    let text = match fs::read_to_string(path.join("FORMAT")) {
        Ok(text) => text,
        Err(error) => {
            let what = format!("FORMAT: {error}; the next start writes it, if the store is whole");
            return say(Severity::Unusual, "format", what);
        }
    };
    let format: Option<u32> =
        text.trim().strip_prefix("reveille store ").and_then(|n| n.parse().ok());
    match format {
        Some(format) if format == known => {
            say(Severity::Fine, "format", format!("format {format}"));
        }
        Some(format) if format < known => {
            let what = format!("format {format}: run `reveille migrate` to get to {known}");
            say(Severity::Bad, "format", what);
        }
        Some(format) => {
            let what = format!("format {format} is newer than {known}: a newer program is needed");
            say(Severity::Bad, "format", what);
        }
        None => say(Severity::Bad, "format", format!("FORMAT says {:?}", text.trim())),
    }
}

fn leftovers(path: &Path, say: Say<'_>) {
    let names = fs::read_dir(path).into_iter().flatten().flatten();
    for name in names.filter_map(|entry| entry.file_name().into_string().ok()) {
        if name.ends_with(".new") || name.ends_with(".incomplete") {
            let what = format!("{name} was left by something that was cut off; it can be removed");
            say(Severity::Unusual, "leftover", what);
        }
        if name.starts_with("store.redb.format-") {
            let what = format!("{name} is the backup of a migration; remove it when all is well");
            say(Severity::Unusual, "leftover", what);
        }
    }
}

#[cfg(unix)]
fn permissions(path: &Path, say: Say<'_>) {
    use std::os::unix::fs::PermissionsExt as _;
    for name in ["store.redb", "journal", "lock", "reveille.sock"] {
        let mode = fs::metadata(path.join(name)).map(|meta| meta.permissions().mode() & 0o777);
        if let Ok(mode) = mode
            && mode & 0o077 != 0
        {
            let what = format!("{name} has mode {mode:o}: others can reach it; chmod 600 it");
            say(Severity::Unusual, "permissions", what);
        }
    }
}

#[cfg(not(unix))]
fn permissions(_: &Path, _: Say<'_>) {}

fn space(path: &Path, say: Say<'_>) {
    let Some((free, total)) = disk_space(path) else {
        return say(Severity::Unusual, "disk", "its free space cannot be read".into());
    };
    let reserve = disk_reserve(total);
    if free < reserve {
        let what = format!("{free} bytes are free, sends are refused below {reserve}");
        return say(Severity::Bad, "disk", what);
    }
    say(Severity::Fine, "disk", format!("{free} of {total} bytes are free"));
}

/// The free bytes and all bytes of the disk below a path.
pub(crate) fn disk_space(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some((stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize))
}

/// How much of a disk of this size sends leave free (section 3).
pub(crate) const fn disk_reserve(total: u64) -> u64 {
    let share = total / 100 * DISK_RESERVE_PERCENT;
    if share < DISK_RESERVE_BYTES { share } else { DISK_RESERVE_BYTES }
}

fn contents(report: &Report, now: Timestamp, say: Say<'_>) {
    for finding in &report.findings {
        say(Severity::Bad, "verify", format!("{}: {}", finding.promise, finding.what));
    }
    let Some(state) = &report.state else { return };
    let dead: usize = state.rows().iter().map(|row| row.dead.len()).sum();
    if dead > 0 {
        let what = format!("{dead} dead messages: see `reveille dead list`");
        say(Severity::Unusual, "dead", what);
    }
    let without = |row: &&crate::state::row::Row| row.agent.is_none() && !row.pending.is_empty();
    let without = state.rows().iter().filter(without).count();
    if without > 0 {
        let what = format!("{without} actors have mail and no agent: it waits until one comes");
        say(Severity::Unusual, "agents", what);
    }
    if state.at() > now {
        let what =
            format!("the latest commit is of {}: this machine's clock is behind", state.at());
        say(Severity::Unusual, "clock", what);
    }
    let history = DiskOptions::default().history_bytes;
    if report.log_bytes > history * 2 {
        let (bytes, what) = (report.log_bytes, "much mail waits, or a checkpoint is due");
        say(Severity::Unusual, "log", format!("the log has {bytes} bytes: {what}"));
    }
    if report.findings.is_empty() {
        say(Severity::Fine, "verify", format!("{} records, no violation", report.records));
    }
}
