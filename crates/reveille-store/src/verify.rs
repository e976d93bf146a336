//! Checking a store at rest: every promise that can be checked without a clock.
//!
//! Opening a store already checks CRCs, the order of blobs and that each record follows from the
//! state before it. This goes over the rest: the records that rows lead to, the sums that rows
//! carry, that each outcome was told in its own commit, and, while the log still reaches back to the
//! first record, that replaying all of it gives the rows that checkpoints hold. No record is written;
//! redb may repair its own pages, as at any opening after a crash.

use std::path::Path;
use std::sync::Arc;

use redb::{ReadTransaction, ReadableTable as _};
use reveille_core::message::Content;
use reveille_core::{Outcome, Seq};

use crate::blob;
use crate::codec;
use crate::disk::{Disk, DiskOptions, LOG, begin_read, replay};
use crate::error::{DiskError, OpenError};
use crate::folder::{Folder, guarded};
use crate::record::{Number, Record};
use crate::state::State;
use crate::state::row::{Mail, Row};

/// Something that is not as promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The promise of the contract.
    pub promise: &'static str,
    /// What is wrong, naming the record or the actor.
    pub what: String,
}

/// What a store at rest holds, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Report {
    /// Records in the log.
    pub records: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// The state, unless the store is too damaged to have one.
    pub state: Option<State>,
    /// What is not as promised; empty is good.
    pub findings: Vec<Finding>,
}

impl Report {
    fn find(&mut self, promise: &'static str, what: impl Into<String>) {
        self.findings.push(Finding { promise, what: what.into() });
    }
}

/// Checks the store in a data folder.
///
/// # Errors
///
/// [`OpenError`] when there is no store or somebody holds it; damage is a finding, not an error.
pub fn verify(path: impl AsRef<Path>) -> Result<Report, OpenError> {
    let mut report = Report::default();
    let options = DiskOptions::default();
    let folder = Folder::own(path.as_ref(), false)?;
    let database = match folder.database(options) {
        Ok(database) => Arc::new(database),
        Err(OpenError::Damaged { what, .. }) => {
            report.find("P2", what);
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    let examined = guarded(|| {
        let (disk, state) = Disk::load(Arc::clone(&database), options)?;
        examine(&mut report, &database, &disk, state)
    });
    match examined {
        Ok(()) => {}
        Err(DiskError::Violated(violation)) => {
            report.find(violation.promise, violation.to_string());
        }
        Err(error @ DiskError::Damaged { .. }) => report.find("P2", error.to_string()),
        Err(error) => match folder.disk(error) {
            OpenError::Damaged { what, .. } => report.find("P2", what),
            error => return Err(error),
        },
    }
    Ok(report)
}

fn examine(
    report: &mut Report,
    database: &Arc<redb::Database>,
    disk: &Disk,
    state: State,
) -> Result<(), DiskError> {
    let txn = begin_read(database)?;
    check_log(report, &txn, &state)?;
    check_replay(report, &txn, &state)?;
    for (number, row) in (0..).zip(state.rows()) {
        check_row(report, &state, number, row);
        check_kept(report, disk, number, row)?;
    }
    report.state = Some(state);
    Ok(())
}

/// Each outcome is told in its own commit (P6).
fn check_log(report: &mut Report, txn: &ReadTransaction, state: &State) -> Result<(), DiskError> {
    let mut untold: Vec<(Number, Seq, Seq)> = Vec::new();
    for entry in txn.open_table(LOG)?.iter()? {
        let (key, bytes) = entry?;
        let damaged = |error| DiskError::blob(Seq(key.value()), error);
        report.log_bytes += bytes.value().len() as u64;
        let (header, body) = blob::read(bytes.value()).map_err(damaged)?;
        for record in blob::records(&header, body) {
            let (seq, record) = record.map_err(damaged)?;
            report.records += 1;
            match record {
                Record::RunEnded(ended) => {
                    let worker = state.row(ended.actor).is_some_and(|row| row.parent.is_some());
                    let may_be_silent = matches!(ended.outcome, Outcome::Cancelled { .. });
                    if worker && !may_be_silent {
                        untold.push((ended.actor, ended.run, seq));
                    }
                }
                Record::Sent(sent) => {
                    untold.retain(|(actor, run, _)| {
                        sent.tells.map(|told| (told.actor, told.run)) != Some((*actor, *run))
                    });
                }
                _ => {}
            }
        }
        if header.last {
            for (actor, run, seq) in untold.drain(..) {
                let what =
                    format!("record {seq}: the end of run {run} of actor {actor} is not told");
                report.find("P6", what);
            }
        }
    }
    Ok(())
}

/// The whole log, replayed from nothing, gives the state that was loaded.
fn check_replay(
    report: &mut Report,
    txn: &ReadTransaction,
    state: &State,
) -> Result<(), DiskError> {
    let first = txn.open_table(LOG)?.first()?.map(|(key, _)| key.value());
    if first != Some(1) {
        return Ok(());
    }
    let mut replayed = State::new(Vec::new(), Seq(1), 0, reveille_core::Timestamp::default());
    replay(txn, &mut replayed)?;
    if replayed.rows().len() != state.rows().len() {
        let (log, rows) = (replayed.rows().len(), state.rows().len());
        report.find("P2", format!("the log makes {log} actors, the checkpoint has {rows}"));
    }
    for (number, (log, row)) in (0..).zip(replayed.rows().iter().zip(state.rows())) {
        let number: Number = number;
        let row = Row { as_of: log.as_of, ..row.clone() };
        if *log != row {
            let what = format!("row {number} ({}) is not what the log says", row.address);
            report.find("P2", what);
        }
    }
    Ok(())
}

/// The sums of a row, and that its parts fit together.
fn check_row(report: &mut Report, state: &State, number: Number, row: &Row) {
    let mut wrong = |promise, what: &str| {
        report.find(promise, format!("row {number} ({}): {what}", row.address));
    };
    let bytes: u64 = row.unread().map(|mail| u64::from(mail.bytes)).sum();
    if bytes != row.bytes {
        wrong("P10", "its unread bytes are not the sum of its mail");
    }
    if row.unread().count() != row.unread_count as usize {
        wrong("P10", "its count of unread messages is not that of its mail");
    }
    if !row.pending.iter().map(|mail| mail.seq()).is_sorted() {
        wrong("P8", "its mail is not in commit order");
    }
    let mut unread: Vec<Seq> = row.unread().map(|mail| mail.seq()).collect();
    unread.extend(row.dead.iter().map(|dead| dead.seq));
    unread.sort_unstable();
    if unread.windows(2).any(|pair| pair.first() == pair.last()) {
        wrong("P2", "a message is in two states");
    }
    if row.open.iter().any(|open| open.mail.is_empty()) {
        wrong("P4", "an open injection is empty");
    }
    if (row.turn.is_some() || !row.open.is_empty()) && row.run.is_none() {
        wrong("P6", "a turn or an injection belongs to no run");
    }
    if row.parent.is_some_and(|parent| state.row(parent).is_none()) {
        wrong("P2", "its parent is not there");
    }
}

/// Every record that a row leads to can be read and is what the row takes it for (P2).
fn check_kept(
    report: &mut Report,
    disk: &Disk,
    number: Number,
    row: &Row,
) -> Result<(), DiskError> {
    let kept: Vec<Seq> = row.kept().collect();
    let found = disk.reader().read(&kept)?;
    let outcome = row.ended.as_ref().map(|ended| (ended.outcome, ended.id.seq()));
    let told = |what: (Number, Seq, Option<Seq>)| {
        let tells = |mail: &Mail| mail.tells.map(|told| (told.actor, told.run, told.outcome));
        row.unread().any(|mail| tells(mail) == Some(what))
    };
    let why = |seq: Seq| row.dead.iter().any(|dead| dead.why == seq);
    for (seq, found) in kept.iter().zip(found) {
        let what = match found {
            None => "it is gone",
            Some((_, Record::RunEnded(ended)))
                if (ended.actor == number && outcome == Some((*seq, ended.run)))
                    || told((ended.actor, ended.run, Some(*seq))) =>
            {
                continue;
            }
            Some((_, Record::Dead(dead))) if dead.actor == number && why(*seq) => continue,
            Some((_, Record::Sent(sent))) if sent.to.contains(&number) => {
                if codec::decode::<Content>(&sent.content).is_ok() {
                    continue;
                }
                "its content cannot be read"
            }
            Some(_) => "it is another record",
        };
        report.find("P2", format!("record {seq}, which {} leads to: {what}", row.address));
    }
    Ok(())
}
