//! The redb file: the log of blobs, and the checkpoints behind it (decision 4, P1).
//!
//! Before it is here, a commit is in the [`journal`]: it is durable from then on.
//!
//! | table | key -> value | written | deleted |
//! |---|---|---|---|
//! | `log` | first record -> blob | when the journal is folded, at the right edge | left edge, behind the checkpoint |
//! | `reg` | actor number -> row | checkpoint, in key order | never |
//! | `cold` | first record -> packed records | when their blob leaves the log | when nothing in it is kept |
//! | `calls` | first message -> keys of calls | when their blob leaves the log | left edge, by age and number |
//! | `meta` | name -> value | creation, checkpoint, begin of a journal | the journal's, at a clean close |
//!
//! The truth is the journal and `log` together. A fold is one transaction: many commits enter `log`,
//! `checkpoint` says which rows are written with them, and `trim` which blobs leave. Without a journal
//! (in memory) every commit is a fold. This module keeps to one writer and leaves deciding what to
//! write to the engine.

mod calls;
mod checkpoint;
pub(crate) mod journal;
mod load;
mod read;
mod since;
mod trim;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use redb::{Database, ReadableDatabase as _, TableDefinition};
use reveille_core::Seq;
use reveille_core::id::Stamp;
use reveille_core::limits::{KEY_AGE, KEYS};
use serde::{Deserialize, Serialize};

use crate::blob::BlobWriter;
use crate::codec;
use crate::error::DiskError;
use crate::state::State;

pub(crate) use self::calls::CALLS;
pub(crate) use self::checkpoint::Cycle;
pub(crate) use self::load::replay;
pub(crate) use self::read::Reader;
pub use self::read::Reading;
pub use self::since::Since;

use self::journal::Journal;
pub(crate) use self::read::Blob;

pub(crate) const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
pub(crate) const REG: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("reg");
pub(crate) const COLD: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("cold");
pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

/// The frame types of what stands behind the log.
pub(crate) const ROW_KIND: u8 = 128;
pub(crate) const SEGMENT_KIND: u8 = 129;
pub(crate) const CHECKPOINT_KIND: u8 = 130;
pub(crate) const STORE_KIND: u8 = 131;
pub(crate) const EDGE_KIND: u8 = 132;

/// The format of stores that this program reads and writes; older ones are migrated first.
pub const STORE_FORMAT: u32 = 2;

/// The journal is folded when it holds more than this, or an eighth of the history.
const FOLD_BYTES: u64 = 4 << 20;

/// What a store says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoreMeta {
    pub(crate) format: u32,
}

/// Where replay begins, and what holds there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) replay_from: Seq,
    pub(crate) incarnation: u64,
    pub(crate) at: reveille_core::Timestamp,
}

/// How much of the log is kept, and how often rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskOptions {
    /// Bytes of log kept as history; a checkpoint begins whenever a quarter of it was written.
    pub history_bytes: u64,
    /// How long the history is kept at the most.
    pub history_age: std::time::Duration,
    /// How long the key of a call that left the log is remembered.
    pub key_age: std::time::Duration,
    /// Keys that are remembered, those in the log included, which are never forgotten.
    pub keys: usize,
    /// Bytes of redb's page cache.
    pub cache_bytes: usize,
    /// Bytes of the journal; a commit that is larger goes past it.
    pub journal_bytes: u64,
    /// Rows written with one fold of the journal, at most.
    pub rows_per_fold: usize,
    /// Bytes of log dropped with one fold, about, unless more came with it.
    pub trim_bytes: u64,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            history_bytes: 32 << 20,
            history_age: std::time::Duration::from_secs(7 * 24 * 3600),
            key_age: KEY_AGE,
            keys: KEYS,
            cache_bytes: 64 << 20,
            journal_bytes: 16 << 20,
            rows_per_fold: 16_384,
            trim_bytes: 4 << 20,
        }
    }
}

/// A blob of the log, as far as it is kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlobRef {
    pub(crate) first: Seq,
    pub(crate) end: Seq,
    pub(crate) bytes: u64,
    /// When its commit was begun.
    pub(crate) at: reveille_core::Timestamp,
}

/// The redb file and what is known of it.
#[derive(Debug)]
pub(crate) struct Disk {
    db: Arc<Database>,
    options: DiskOptions,
    /// The log in the redb file.
    blobs: VecDeque<BlobRef>,
    log_bytes: u64,
    journal: Option<Journal>,
    /// What only the journal holds.
    unfolded: Vec<BlobRef>,
    unfolded_bytes: u64,
    folded_at: reveille_core::Timestamp,
    /// The CRC of the latest blob.
    chain: u32,
    /// The number of the latest commit.
    commit: u64,
    /// Whether blobs are leaving the log, until it is no longer than the history.
    trimming: bool,
    checkpoint: Checkpoint,
    cycle: Cycle,
    /// The packed segments: first record -> the records in it.
    cold: BTreeMap<Seq, Vec<Seq>>,
    /// The segment that was looked through last.
    tidied: Seq,
    calls: calls::Calls,
    reader: Arc<Reader>,
}

impl Disk {
    /// Makes the tables of a new store.
    pub(crate) fn initialise(db: &Database) -> Result<(), DiskError> {
        let txn = db.begin_write()?;
        {
            txn.open_table(LOG)?;
            txn.open_table(REG)?;
            txn.open_table(COLD)?;
            txn.open_table(calls::CALLS)?;
            let mut meta = txn.open_table(META)?;
            let frame = frame(STORE_KIND, &StoreMeta { format: STORE_FORMAT })?;
            meta.insert("store", frame.as_slice())?;
        }
        txn.commit()?;
        Ok(())
    }

    /// Reads bodies and outcomes, from any thread.
    pub(crate) fn reader(&self) -> Arc<Reader> {
        Arc::clone(&self.reader)
    }

    /// Keeps commits in a journal before they are folded into the redb file.
    pub(crate) fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Writes a commit and waits until it is on the disk. After an error nothing may be assumed.
    pub(crate) fn commit(
        &mut self,
        first: Seq,
        stamp: Stamp,
        blob: &BlobWriter,
        state: &mut State,
    ) -> Result<(), DiskError> {
        let (parts, chain) = blob.finish(first, self.commit + 1, stamp, self.chain);
        let blobs: Vec<Blob> =
            parts.into_iter().map(|(first, bytes)| (first, bytes.into())).collect();
        let written: u64 = blobs.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let next = blobs.iter().map(|(key, _)| *key).skip(1).chain([state.next()]);
        for ((first, bytes), end) in blobs.iter().zip(next) {
            let bytes = bytes.len() as u64;
            self.unfolded.push(BlobRef { first: *first, end, bytes, at: stamp.at });
        }
        self.unfolded_bytes += written;
        (self.chain, self.commit) = (chain, self.commit + 1);
        match self.journal.as_mut().filter(|journal| journal.has_room(&blobs)) {
            Some(journal) => journal.append(&blobs)?,
            None => self.fold(&blobs, state)?,
        }
        // Not before: nobody reads what is not on the disk.
        self.reader.remember(blobs);
        Ok(())
    }

    /// Folds the journal into the redb file when it holds enough: between commits, when everybody is
    /// answered.
    pub(crate) fn fold_if_due(&mut self, state: &mut State) -> Result<(), DiskError> {
        let enough = FOLD_BYTES.min(self.options.history_bytes / 8);
        let lately = state.at().since(self.folded_at) < self.options.history_age / 64;
        let old = self.has_aged(state.at()) && !lately;
        if self.unfolded_bytes > enough || old { self.fold(&[], state) } else { Ok(()) }
    }

    /// Whether the oldest blob is older than the history may be.
    fn has_aged(&self, now: reveille_core::Timestamp) -> bool {
        self.blobs.front().is_some_and(|blob| now.since(blob.at) > self.options.history_age)
    }

    /// One transaction: the blobs that only the journal holds, those of a commit that it has no room
    /// for, the next rows of a checkpoint, and what leaves the log.
    fn fold(&mut self, fresh: &[Blob], state: &mut State) -> Result<(), DiskError> {
        let written = self.unfolded_bytes;
        self.folded_at = state.at();
        // What has aged leaves only behind a checkpoint.
        let every = if self.has_aged(state.at()) { 0 } else { self.options.history_bytes / 4 };
        self.cycle.begin_if_due(written, every, state);
        let txn = self.db.begin_write()?;
        self.insert_unfolded(&txn, fresh)?;
        let rows = (self.options.rows_per_fold, written);
        let finished = self.cycle.write_rows(&txn, rows, state)?;
        if let Some(checkpoint) = finished {
            write_checkpoint(&txn, &checkpoint)?;
            self.checkpoint = checkpoint;
        }
        let trimmed = self.trim(&txn, state, finished.is_some())?;
        txn.commit()?;
        self.folded();
        if let Some(edge) = trimmed.edge {
            state.forget(edge);
        }
        if let Some(until) = trimmed.forgotten {
            state.forget_calls(until);
        }
        Ok(())
    }

    fn insert_unfolded(
        &self,
        txn: &redb::WriteTransaction,
        fresh: &[Blob],
    ) -> Result<(), DiskError> {
        let unfolded = self.reader.unfolded();
        let blobs = unfolded.iter().chain(fresh);
        journal::insert(txn, blobs.map(|(first, bytes)| (*first, &**bytes)))
    }

    fn folded(&mut self) {
        self.log_bytes += std::mem::take(&mut self.unfolded_bytes);
        self.reader.may_forget(self.unfolded.last().map_or(Seq::ZERO, |blob| blob.end));
        self.blobs.extend(self.unfolded.drain(..));
        if let Some(journal) = &mut self.journal {
            journal.restart();
        }
    }

    /// Writes all that checkpoints lack, so that the next start replays nothing.
    pub(crate) fn close(&mut self, state: &mut State) -> Result<(), DiskError> {
        let mut txn = self.db.begin_write()?;
        txn.set_quick_repair(true);
        self.insert_unfolded(&txn, &[])?;
        self.cycle.begin(state);
        if let Some(checkpoint) = self.cycle.write_rows(&txn, (usize::MAX, u64::MAX), state)? {
            write_checkpoint(&txn, &checkpoint)?;
        }
        journal::unmark(&txn)?;
        txn.commit()?;
        self.folded();
        Ok(())
    }
}

/// However the disk is let go of, nobody who can still read keeps the file.
impl Drop for Disk {
    fn drop(&mut self) {
        self.reader.close();
    }
}

fn write_checkpoint(
    txn: &redb::WriteTransaction,
    checkpoint: &Checkpoint,
) -> Result<(), DiskError> {
    let mut meta = txn.open_table(META)?;
    meta.insert("checkpoint", frame(CHECKPOINT_KIND, checkpoint)?.as_slice())?;
    Ok(())
}

/// One value as a frame of its own.
pub(crate) fn frame<T: Serialize>(kind: u8, value: &T) -> Result<Vec<u8>, DiskError> {
    let mut bytes = Vec::new();
    codec::write_frame(&mut bytes, kind, version(kind), value)
        .map_err(|error| damaged("value", kind, error))?;
    Ok(bytes)
}

/// The version of a frame behind the log: rows have changed once.
const fn version(kind: u8) -> u16 {
    if kind == ROW_KIND { 2 } else { 1 }
}

/// Reads a value that is a frame of its own.
pub(crate) fn unframe<T: serde::de::DeserializeOwned>(
    kind: u8,
    bytes: &[u8],
) -> Result<T, codec::CodecError> {
    let (frame, rest) = codec::read_frame(bytes)?;
    if frame.kind != kind || frame.version != version(kind) {
        return Err(codec::CodecError::Unknown { kind: frame.kind, version: frame.version });
    }
    if !rest.is_empty() {
        return Err(codec::CodecError::Payload(format!("{} bytes are left over", rest.len())));
    }
    codec::decode(frame.payload)
}

pub(crate) fn damaged(what: &'static str, key: impl ToString, error: impl ToString) -> DiskError {
    DiskError::Damaged { what, key: key.to_string(), error: error.to_string() }
}

/// The read transaction of a database; the trait that has it is imported here alone.
pub(crate) fn begin_read(db: &Database) -> Result<redb::ReadTransaction, DiskError> {
    Ok(db.begin_read()?)
}
