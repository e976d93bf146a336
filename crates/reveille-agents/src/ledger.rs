//! Notes of the processes that are running, to find those that a crash left behind (section 12).
//!
//! One small file for each, in the data folder. A left-over group is killed only if it is certainly
//! the one that was noted: the machine was not restarted since, and either its leader has the same
//! number and start time and leads its group, or the leader is gone and a member carries the run's
//! id in its environment. Anything else is left alone: numbers are used again, and strangers are not
//! killed. Notes are not synced: when the machine dies, the processes do too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process_group};

/// A folder of notes.
#[derive(Debug, Clone)]
pub struct Ledger {
    folder: PathBuf,
}

/// A note; dropping it removes it.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            // Harmless: the next sweep finds nobody under it.
            tracing::debug!(path = %self.path.display(), %error, "a note was not removed");
        }
    }
}

/// What is known of a process from `/proc/<pid>/stat`.
struct Stat {
    group: i32,
    started: u64,
}

impl Ledger {
    /// Opens the folder, making it if there is none.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    pub(crate) fn note(&self, pid: u32, run: &str) -> io::Result<Entry> {
        // A number may be given to another process before the note of the first is gone.
        let path = self.folder.join(format!("{pid}-{run}"));
        let started = stat(pid).map_or(0, |stat| stat.started);
        fs::write(&path, format!("{pid}\n{started}\n{}\n{run}\n", boot()))?;
        Ok(Entry { path })
    }

    /// Kills the groups that were left behind, and says how many there were. To be called by the
    /// owner of the data folder before it starts anything.
    ///
    /// # Errors
    ///
    /// When the notes cannot be read.
    pub fn sweep(&self) -> io::Result<usize> {
        let mut killed = 0;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            match fs::read_to_string(&path) {
                Ok(note) => killed += usize::from(kill_noted(&note)),
                Err(error) => tracing::warn!(path = %path.display(), %error, "not a note"),
            }
            fs::remove_file(&path)?;
        }
        Ok(killed)
    }
}

fn kill_noted(note: &str) -> bool {
    let mut lines = note.lines();
    let (Some(pid), Some(started), Some(booted), Some(run)) =
        (lines.next(), lines.next(), lines.next(), lines.next())
    else {
        // Cut off while it was written: then nothing was handed to the process yet.
        return false;
    };
    let (Ok(pid), Ok(started)) = (pid.parse::<u32>(), started.parse::<u64>()) else {
        return false;
    };
    let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    let same = booted == boot() && is_noted(pid, started, run);
    same && kill_process_group(group, Signal::KILL).is_ok()
}

fn is_noted(pid: u32, started: u64, run: &str) -> bool {
    let group = i64::from(pid);
    match stat(pid) {
        Some(leader) => leader.started == started && i64::from(leader.group) == group,
        None => processes().into_iter().any(|member| {
            stat(member).is_some_and(|stat| i64::from(stat.group) == group) && runs(member, run)
        }),
    }
}

/// Whether a process carries the run in its environment.
fn runs(pid: u32, run: &str) -> bool {
    let environment = fs::read(Path::new("/proc").join(pid.to_string()).join("environ"));
    let wanted = format!("REVEILLE_RUN={run}");
    environment.is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The second field is the program's name in brackets and may hold anything, brackets too.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(Stat { group: fields.get(2)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}

/// Names this start of the machine.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    const RUN: &str = "run_0";

    fn start(script: &str) -> Child {
        Command::new("sh")
            .args(["-c", script])
            .env("REVEILLE_RUN", RUN)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    fn ledger() -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        (folder, ledger)
    }

    #[test]
    fn a_left_over_group_is_killed_and_a_second_sweep_finds_nothing() {
        let (_folder, ledger) = ledger();
        let mut child = start("sleep 600 & sleep 600");
        std::mem::forget(ledger.note(child.id(), RUN).unwrap());
        assert_eq!(ledger.sweep().unwrap(), 1);
        assert!(!child.wait().unwrap().success());
        assert_eq!(ledger.sweep().unwrap(), 0);
    }

    #[test]
    fn a_group_whose_leader_is_gone_is_known_by_its_environment() {
        let (_folder, ledger) = ledger();
        let mut child = start("sleep 600 >/dev/null & echo gone");
        let pid = child.id();
        std::mem::forget(ledger.note(pid, RUN).unwrap());
        child.wait().unwrap();
        assert!(!is_noted(pid, 0, "run_other"), "another run's processes are not ours");
        assert_eq!(ledger.sweep().unwrap(), 1);
    }

    #[test]
    fn a_stranger_with_the_same_number_is_left_alone() {
        let (folder, ledger) = ledger();
        let mut stranger = start("sleep 600");
        let pid = stranger.id();
        let started = stat(pid).unwrap().started;
        for note in [
            format!("{pid}\n{}\n{}\n{RUN}\n", started + 1, boot()),
            format!("{pid}\n{started}\nanother boot\n{RUN}\n"),
            format!("{pid}\n{started}"),
        ] {
            fs::write(folder.path().join(pid.to_string()), note).unwrap();
            assert_eq!(ledger.sweep().unwrap(), 0);
            assert!(stranger.try_wait().unwrap().is_none());
        }
        drop(crate::group::Group::of(pid));
        stranger.wait().unwrap();
    }
}
