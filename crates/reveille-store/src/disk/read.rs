//! Reading records by number: bodies and outcomes, from any thread.
//!
//! The latest blobs are kept in memory, so that almost every claim is answered without touching the
//! file. A read transaction lives for one call, never longer: one that is held stops all reuse of
//! space.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use redb::{Database, ReadTransaction};
use reveille_core::Seq;
use reveille_core::id::Stamp;
use serde::{Deserialize, Serialize};

use super::{COLD, LOG, SEGMENT_KIND, begin_read, damaged, unframe};
use crate::blob;
use crate::codec;
use crate::error::DiskError;
use crate::record::Record;

/// Bytes of blobs kept in memory; those that are not in the redb file yet are kept in any case.
const RECENT_BYTES: usize = 8 << 20;

/// A blob and the number of its first record.
pub(crate) type Blob = (Seq, Arc<[u8]>);

/// A record that has left the log, as it is packed into a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Packed {
    pub(crate) seq: Seq,
    pub(crate) at: reveille_core::Timestamp,
    pub(crate) salt: u16,
    #[serde(with = "serde_bytes")]
    pub(crate) frame: Vec<u8>,
}

/// Reads records by number.
#[derive(Debug)]
pub(crate) struct Reader {
    /// Gone once the store is closed, so that nothing holds the file any more.
    db: RwLock<Option<Arc<Database>>>,
    recent: Mutex<Recent>,
}

/// The latest blobs, by the number of their first record.
#[derive(Debug, Default)]
struct Recent {
    blobs: VecDeque<Blob>,
    bytes: usize,
    /// Blobs before this record are in the redb file.
    folded: Seq,
}

/// A record with what makes its number an id.
pub(crate) type Found = (Stamp, Record);

/// What reading a record found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // almost all are found
pub enum Reading {
    /// The record, and what makes its number an id.
    Found(Stamp, Record),
    /// There is none, or it has left the store.
    Gone,
    /// It is there and cannot be read, or a neighbour of the same commit cannot; what is wrong.
    Damaged(String),
}

impl Reader {
    pub(super) fn new(db: Arc<Database>) -> Self {
        Self { db: RwLock::new(Some(db)), recent: Mutex::default() }
    }

    /// Keeps the blobs of a commit in memory.
    pub(super) fn remember(&self, blobs: Vec<Blob>) {
        let mut recent = self.recent.lock();
        recent.bytes += blobs.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        recent.blobs.extend(blobs);
        recent.shrink();
    }

    /// Blobs before this record are in the redb file from now on.
    pub(super) fn may_forget(&self, until: Seq) {
        let mut recent = self.recent.lock();
        recent.folded = recent.folded.max(until);
        recent.shrink();
    }

    /// The blobs that may not be in the redb file yet. A transaction that begins later sees those that
    /// are folded meanwhile.
    pub(crate) fn unfolded(&self) -> Vec<Blob> {
        let recent = self.recent.lock();
        let from = recent.blobs.partition_point(|(first, _)| *first < recent.folded);
        recent.blobs.range(from..).cloned().collect()
    }

    /// The records, if all of them are in memory.
    pub(crate) fn recent(&self, seqs: &[Seq]) -> Result<Option<Vec<Found>>, DiskError> {
        let blobs: Option<Vec<Arc<[u8]>>> = {
            let recent = self.recent.lock();
            seqs.iter().map(|seq| recent.holding(*seq)).collect()
        };
        let Some(blobs) = blobs else { return Ok(None) };
        seqs.iter().zip(blobs).map(|(seq, blob)| in_blob(*seq, &blob)).collect()
    }

    /// Does something with the file for a while.
    pub(crate) fn with_database<T>(
        &self,
        act: impl FnOnce(&Database) -> Result<T, crate::care::CareError>,
    ) -> Result<T, crate::care::CareError> {
        // A handle of its own: whoever closes the store need not wait for a long copy.
        let db = self.db.read().clone();
        let closed = || crate::OpenError::Io {
            path: "store.redb".into(),
            source: std::io::Error::other("the store is closed"),
        };
        act(&*db.ok_or_else(closed)?)
    }

    /// The file, unless it was let go of.
    pub(super) fn database(&self) -> parking_lot::RwLockReadGuard<'_, Option<Arc<Database>>> {
        self.db.read()
    }

    /// Lets go of the file.
    pub(crate) fn close(&self) {
        *self.db.write() = None;
    }

    /// The records, each by itself: one that is damaged keeps no other from being read.
    pub(crate) fn read_each(&self, seqs: &[Seq]) -> Result<Vec<Reading>, DiskError> {
        let db = self.db.read();
        let closed = || damaged("file", "store", "it is closed");
        let txn = begin_read(db.as_ref().ok_or_else(closed)?)?;
        let reading = |seq: &Seq| match find(&txn, *seq) {
            Ok(Some((stamp, record))) => Ok(Reading::Found(stamp, record)),
            Ok(None) => Ok(Reading::Gone),
            Err(error @ DiskError::Damaged { .. }) => Ok(Reading::Damaged(error.to_string())),
            Err(error) => Err(error),
        };
        seqs.iter().map(reading).collect()
    }

    /// The records, each or none.
    pub(crate) fn read(&self, seqs: &[Seq]) -> Result<Vec<Option<Found>>, DiskError> {
        // Looked at first: what is folded and forgotten meanwhile is in the file.
        let recent: Vec<Option<Arc<[u8]>>> = {
            let recent = self.recent.lock();
            seqs.iter().map(|seq| recent.holding(*seq)).collect()
        };
        let db = self.db.read();
        let closed = || damaged("file", "store", "it is closed");
        let txn = begin_read(db.as_ref().ok_or_else(closed)?)?;
        let read = |(seq, recent): (&Seq, Option<Arc<[u8]>>)| match recent {
            Some(blob) => in_blob(*seq, &blob),
            None => find(&txn, *seq),
        };
        seqs.iter().zip(recent).map(read).collect()
    }
}

impl Recent {
    fn shrink(&mut self) {
        while self.bytes > RECENT_BYTES {
            match self.blobs.front() {
                Some((first, bytes)) if *first < self.folded => self.bytes -= bytes.len(),
                _ => break,
            }
            self.blobs.pop_front();
        }
    }

    fn holding(&self, seq: Seq) -> Option<Arc<[u8]>> {
        let after = self.blobs.partition_point(|(first, _)| *first <= seq);
        self.blobs.get(after.checked_sub(1)?).map(|(_, bytes)| Arc::clone(bytes))
    }
}

fn in_blob(seq: Seq, bytes: &[u8]) -> Result<Option<Found>, DiskError> {
    let (header, body) = blob::read(bytes).map_err(|error| DiskError::blob(seq, error))?;
    for record in blob::records(&header, body) {
        let (found, record) = record.map_err(|error| DiskError::blob(seq, error))?;
        if found == seq {
            return Ok(Some((header.stamp, record)));
        }
    }
    Ok(None)
}

fn find(txn: &ReadTransaction, seq: Seq) -> Result<Option<Found>, DiskError> {
    let log = txn.open_table(LOG)?;
    if let Some(entry) = log.range(..=seq.0)?.next_back() {
        let (_, bytes) = entry?;
        if let Some(found) = in_blob(seq, bytes.value())? {
            return Ok(Some(found));
        }
    }
    let cold = txn.open_table(COLD)?;
    let Some(entry) = cold.range(..=seq.0)?.next_back() else {
        return Ok(None);
    };
    let (key, bytes) = entry?;
    let segment = |error: codec::CodecError| damaged("segment", key.value(), error);
    let packed: Vec<Packed> = unframe(SEGMENT_KIND, bytes.value()).map_err(segment)?;
    let Some(packed) = packed.into_iter().find(|packed| packed.seq == seq) else {
        return Ok(None);
    };
    let (frame, _) = codec::read_frame(&packed.frame).map_err(segment)?;
    let record = Record::read(frame).map_err(segment)?;
    Ok(Some((Stamp { at: packed.at, salt: packed.salt }, record)))
}
