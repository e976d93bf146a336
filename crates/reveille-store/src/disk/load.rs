//! Reading a store: rows, then the log from the checkpoint on (P12, section 12).
//!
//! Everything that is read is checked: CRCs, the order of blobs and their chain, and that each
//! record follows from the state before it. What does not fit is damage and is named; nothing is
//! skipped, repaired or written here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use redb::{Database, ReadTransaction, ReadableTable as _};
use reveille_core::{Seq, Timestamp};

use super::calls::Calls;
use super::read::{Packed, Reader};
use super::{
    BlobRef, CHECKPOINT_KIND, COLD, Checkpoint, Cycle, Disk, DiskOptions, EDGE_KIND, LOG, META,
    REG, ROW_KIND, SEGMENT_KIND, STORE_FORMAT, STORE_KIND, StoreMeta, begin_read, damaged, unframe,
};
use crate::blob;
use crate::error::DiskError;
use crate::state::State;
use crate::state::row::Row;

impl Disk {
    /// Reads the whole store; its journal is recovered.
    pub(crate) fn load(
        db: Arc<Database>,
        options: DiskOptions,
    ) -> Result<(Self, State), DiskError> {
        let txn = begin_read(&db)?;
        check_format(&txn)?;
        let checkpoint = read_checkpoint(&txn)?;
        let rows = read_rows(&txn)?;
        let Checkpoint { replay_from, incarnation, at } = checkpoint;
        let mut state = State::new(rows, replay_from, incarnation, at);
        let calls = Calls::load(&txn, &mut state)?;
        let log = replay(&txn, &mut state)?;
        check_edge(&txn, &log)?;
        if state.rows().iter().any(|row| row.as_of >= state.next()) {
            return Err(damaged("log", state.next(), "it ends before its checkpoint"));
        }
        state.derive()?;
        let cold = read_cold(&txn)?;
        drop(txn);
        let disk = Self {
            reader: Arc::new(Reader::new(Arc::clone(&db))),
            db,
            options,
            log_bytes: log.blobs.iter().map(|blob| blob.bytes).sum(),
            blobs: log.blobs,
            journal: None,
            unfolded: Vec::new(),
            unfolded_bytes: 0,
            folded_at: Timestamp::default(),
            chain: log.chain,
            commit: log.commit,
            trimming: false,
            checkpoint,
            cycle: Cycle::default(),
            cold,
            tidied: Seq::ZERO,
            calls,
        };
        Ok((disk, state))
    }
}

fn check_format(txn: &ReadTransaction) -> Result<(), DiskError> {
    let meta = txn.open_table(META)?;
    let store = meta.get("store")?.ok_or_else(|| damaged("meta", "store", "it is missing"))?;
    let store: StoreMeta =
        unframe(STORE_KIND, store.value()).map_err(|error| damaged("meta", "store", error))?;
    if store.format == STORE_FORMAT {
        Ok(())
    } else {
        Err(damaged("meta", "store", format!("format {} is unknown", store.format)))
    }
}

fn read_checkpoint(txn: &ReadTransaction) -> Result<Checkpoint, DiskError> {
    let meta = txn.open_table(META)?;
    let none = Checkpoint { replay_from: Seq(1), incarnation: 0, at: Timestamp::default() };
    meta.get("checkpoint")?.map_or(Ok(none), |bytes| {
        unframe(CHECKPOINT_KIND, bytes.value())
            .map_err(|error| damaged("meta", "checkpoint", error))
    })
}

/// The log begins where the latest trimming left it.
fn check_edge(txn: &ReadTransaction, log: &Log) -> Result<(), DiskError> {
    let meta = txn.open_table(META)?;
    let edge = meta.get("edge")?.map_or(Ok(Seq(1)), |bytes| {
        unframe(EDGE_KIND, bytes.value()).map_err(|error| damaged("meta", "edge", error))
    })?;
    let begins = log.blobs.front().map_or(Seq(1), |blob| blob.first);
    if begins == edge {
        return Ok(());
    }
    Err(damaged("log", begins, format!("record {edge} was expected to be its first")))
}

fn read_rows(txn: &ReadTransaction) -> Result<Vec<Row>, DiskError> {
    let mut rows = Vec::new();
    for (expected, entry) in (0u32..).zip(txn.open_table(REG)?.iter()?) {
        let (number, bytes) = entry?;
        if number.value() != expected {
            return Err(damaged("row", expected, "it is missing"));
        }
        let row =
            unframe(ROW_KIND, bytes.value()).map_err(|error| damaged("row", expected, error))?;
        rows.push(row);
    }
    Ok(rows)
}

/// The log as it was found.
pub(crate) struct Log {
    pub(crate) blobs: VecDeque<BlobRef>,
    pub(crate) chain: u32,
    pub(crate) commit: u64,
}

/// Checks the whole log, and applies the records that the state does not have yet.
pub(crate) fn replay(txn: &ReadTransaction, state: &mut State) -> Result<Log, DiskError> {
    let mut log = Log { blobs: VecDeque::new(), chain: 0, commit: 0 };
    let mut whole = true;
    for entry in txn.open_table(LOG)?.iter()? {
        let (key, bytes) = entry?;
        let key = Seq(key.value());
        let (header, body) =
            blob::read(bytes.value()).map_err(|error| DiskError::blob(key, error))?;
        follows(&log, whole, key, &header).map_err(|error| DiskError::blob(key, error))?;
        for record in blob::records(&header, body) {
            let (seq, record) = record.map_err(|error| DiskError::blob(key, error))?;
            if seq >= state.next() {
                state.apply(seq, header.stamp, &record)?;
            } else {
                state.note(seq, header.stamp, &record);
            }
        }
        let bytes = bytes.value().len() as u64;
        let at = header.stamp.at;
        log.blobs.push_back(BlobRef { first: key, end: header.end(), bytes, at });
        (log.chain, log.commit, whole) = (header.crc, header.commit, header.last);
    }
    let begins = log.blobs.front().map_or(Seq(1), |blob| blob.first);
    let ends = log.blobs.back().map_or(Seq(1), |blob| blob.end);
    if !whole {
        return Err(DiskError::blob(ends, "the last commit is not whole"));
    }
    if ends != state.next() || begins > state.next() {
        let what = format!("the log holds {begins} to {ends}, {} was expected", state.next());
        return Err(damaged("log", ends, what));
    }
    Ok(log)
}

/// Whether a blob may stand where it stands.
fn follows(log: &Log, whole: bool, key: Seq, header: &blob::Header) -> Result<(), String> {
    if header.first != key {
        return Err(format!("it says that it begins with record {}", header.first));
    }
    let Some(before) = log.blobs.back() else {
        return Ok(());
    };
    if before.end != key {
        return Err(format!(
            "record {} was expected: a blob is missing or out of place",
            before.end
        ));
    }
    let commit = if whole { log.commit + 1 } else { log.commit };
    if header.commit != commit {
        return Err(format!("it is of commit {}, expected was {commit}", header.commit));
    }
    if header.chain != log.chain {
        return Err("it does not follow the blob before it: one of the two was replaced".into());
    }
    Ok(())
}

fn read_cold(txn: &ReadTransaction) -> Result<BTreeMap<Seq, Vec<Seq>>, DiskError> {
    let mut cold = BTreeMap::new();
    for entry in txn.open_table(COLD)?.iter()? {
        let (key, bytes) = entry?;
        let packed: Vec<Packed> = unframe(SEGMENT_KIND, bytes.value())
            .map_err(|error| damaged("segment", key.value(), error))?;
        cold.insert(Seq(key.value()), packed.iter().map(|packed| packed.seq).collect());
    }
    Ok(cold)
}
