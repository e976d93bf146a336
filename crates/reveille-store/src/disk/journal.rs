//! The journal: what was committed lately, in front of the redb file (P1, decision 0011).
//!
//! A commit is durable when its blobs are in the journal: one write to a file that is there already,
//! and one sync. Every few megabytes what the journal holds is *folded* into the redb file, in one
//! transaction, and the journal begins anew at its front. Blobs say for themselves which commit they
//! are of and which blob they follow, so the journal has no frames and no counter of its own: after a
//! crash, what follows the last commit of the redb file is taken, and everything older is left over.
//!
//! A crash while a commit is written leaves a torn end, which nobody was told of. Anything else that
//! does not fit is damage: a gap, or a commit beyond one that cannot be read, refuses the store. When
//! to fold is `super`'s business; the redb file says whether a journal belongs to it.

use redb::{Database, ReadableTable as _, StorageBackend};
use reveille_core::Seq;

use super::read::Blob;
use super::{LOG, META, begin_read, damaged};
use crate::blob::{self, Header};
use crate::error::DiskError;

/// Blobs begin at multiples of this: a torn write harms no blob before it.
const SECTOR_BYTES: usize = 512;
/// Zeros are written so far ahead: a sync of what changes no length and allocates nothing is faster.
const AHEAD_BYTES: u64 = 1 << 20;
/// The name under which the redb file says that a journal belongs to it.
const MARK: &str = "journal";

/// A journal that is written to.
#[derive(Debug)]
pub(crate) struct Journal {
    file: Box<dyn StorageBackend>,
    length: u64,
    /// Where the next blob goes.
    at: u64,
    /// Up to where the file has been written since it was opened.
    filled: u64,
    buffer: Vec<u8>,
}

impl Journal {
    /// Begins an empty journal; what the file held must be in the redb file, which from now on says
    /// that it has a journal of this length.
    pub(crate) fn begin(
        db: &Database,
        file: Box<dyn StorageBackend>,
        length: u64,
    ) -> Result<Self, DiskError> {
        if file.len().map_err(io)? != length {
            // Whatever its length is while it changes: nothing belongs to the redb file.
            let txn = db.begin_write()?;
            unmark(&txn)?;
            txn.commit()?;
            file.set_len(length).map_err(io)?;
            file.sync_data().map_err(io)?;
        }
        let txn = db.begin_write()?;
        txn.open_table(META)?.insert(MARK, length.to_le_bytes().as_slice())?;
        txn.commit()?;
        Ok(Self { file, length, at: 0, filled: 0, buffer: Vec::new() })
    }

    /// Whether blobs of so many bytes find room.
    pub(super) fn has_room(&self, blobs: &[Blob]) -> bool {
        let bytes: usize =
            blobs.iter().map(|(_, bytes)| bytes.len().next_multiple_of(SECTOR_BYTES)).sum();
        let bytes = bytes as u64;
        self.at + bytes <= self.length
    }

    /// Writes blobs behind those that are there, and waits until they are on the disk.
    pub(super) fn append(&mut self, blobs: &[Blob]) -> Result<(), DiskError> {
        self.buffer.clear();
        for (_, bytes) in blobs {
            self.buffer.extend_from_slice(bytes);
            self.buffer.resize(self.buffer.len().next_multiple_of(SECTOR_BYTES), 0);
        }
        let end = self.at + self.buffer.len() as u64;
        if end > self.filled {
            let ahead = (end + AHEAD_BYTES).min(self.length);
            self.buffer.resize(usize::try_from(ahead - self.at).unwrap_or(usize::MAX), 0);
            self.filled = ahead;
        }
        self.file.write(self.at, &self.buffer).map_err(io)?;
        self.file.sync_data().map_err(io)?;
        self.at = end;
        Ok(())
    }

    /// Begins anew at the front: everything is in the redb file.
    pub(super) const fn restart(&mut self) {
        self.at = 0;
    }
}

/// The length of the journal that belongs to this redb file: it may hold commits that the file has
/// not. `None` when the store was closed.
pub(crate) fn length(db: &Database) -> Result<Option<u64>, DiskError> {
    let txn = begin_read(db)?;
    let meta = match txn.open_table(META) {
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        meta => meta?,
    };
    let Some(bytes) = meta.get(MARK)? else { return Ok(None) };
    let length = bytes.value().first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    length.ok_or_else(|| damaged("meta", MARK, "it is no length")).map(Some)
}

/// Notes within a transaction that everything is in the redb file.
pub(crate) fn unmark(txn: &redb::WriteTransaction) -> Result<(), DiskError> {
    txn.open_table(META)?.remove(MARK)?;
    Ok(())
}

/// Takes over into the redb file what only its journal of this length holds. Doing it twice changes
/// nothing.
pub(crate) fn recover(
    db: &Database,
    file: &dyn StorageBackend,
    length: u64,
) -> Result<(), DiskError> {
    let there = file.len().map_err(io)?;
    if there != length {
        let what = format!("it has {there} bytes instead of {length}");
        return Err(damaged("journal", "file", what));
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read(0, &mut bytes).map_err(io)?;
    let found = after(last(db)?, &bytes)?;
    if found.is_empty() {
        return Ok(());
    }
    let txn = db.begin_write()?;
    insert(&txn, found.iter().map(|(header, bytes)| (header.first, *bytes)))?;
    txn.commit()?;
    Ok(())
}

/// Adds blobs at the right edge of the log.
pub(crate) fn insert<'a>(
    txn: &redb::WriteTransaction,
    blobs: impl Iterator<Item = (Seq, &'a [u8])>,
) -> Result<(), DiskError> {
    let mut log = txn.open_table(LOG)?;
    let mut edge = log.upper_bound_mut(std::ops::Bound::<u64>::Unbounded)?;
    for (key, bytes) in blobs {
        edge.insert_before(key.0, bytes)?;
    }
    edge.close()?;
    Ok(())
}

/// The last blob of the log in the redb file.
fn last(db: &Database) -> Result<Option<Header>, DiskError> {
    let txn = begin_read(db)?;
    let log = txn.open_table(LOG)?;
    let Some(entry) = log.last()? else { return Ok(None) };
    let (key, bytes) = entry;
    let (header, _) =
        blob::read(bytes.value()).map_err(|error| DiskError::blob(Seq(key.value()), error))?;
    Ok(Some(header))
}

/// The blobs of whole commits in a journal that follow this one.
fn after(mut last: Option<Header>, bytes: &[u8]) -> Result<Vec<(Header, &[u8])>, DiskError> {
    let (mut found, mut whole, mut at) = (Vec::new(), 0, 0);
    let folded = last.map_or(0, |last| last.commit);
    while let Some((header, blob)) = next(bytes.get(at..).unwrap_or(&[])) {
        if header.commit > folded {
            if !follows(last, &header) {
                break;
            }
            found.push((header, blob));
            last = Some(header);
            if header.last {
                whole = found.len();
            }
        }
        at += blob.len().next_multiple_of(SECTOR_BYTES);
    }
    found.truncate(whole);
    let reached = found.last().map_or(folded, |(header, _)| header.commit);
    // One commit may be torn. What lies beyond it was written after it had been acknowledged.
    match beyond(bytes, reached + 1) {
        Some(commit) => {
            let what = format!("commit {} cannot be read, and {commit} is there", reached + 1);
            Err(damaged("journal", reached + 1, what))
        }
        None => Ok(found),
    }
}

/// The blob that these bytes begin with.
fn next(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let blob = bytes.get(..blob::length(bytes)?)?;
    let (header, _) = blob::read(blob).ok()?;
    Some((header, blob))
}

fn follows(last: Option<Header>, header: &Header) -> bool {
    let is_first = header.first == Seq(1) && header.commit == 1;
    last.map_or(is_first, |last| {
        let commit = if last.last { last.commit + 1 } else { last.commit };
        (header.first, header.commit, header.chain) == (last.end(), commit, last.crc)
    })
}

/// A commit after this one that has a blob anywhere.
fn beyond(bytes: &[u8], commit: u64) -> Option<u64> {
    let places = (0..bytes.len()).step_by(SECTOR_BYTES).filter_map(|at| next(bytes.get(at..)?));
    places.map(|(header, _)| header.commit).find(|found| *found > commit)
}

fn io(error: std::io::Error) -> DiskError {
    redb::StorageError::Io(error).into()
}

#[cfg(test)]
mod tests {
    use reveille_core::Timestamp;
    use reveille_core::id::Stamp;

    use super::*;
    use crate::blob::BlobWriter;
    use crate::record::Opened;

    /// Blobs of so many commits, each with two records.
    fn commits(count: u64) -> Vec<Vec<u8>> {
        let (mut chain, mut blobs) = (0, Vec::new());
        for commit in 0..count {
            let mut writer = BlobWriter::default();
            for n in 0..2 {
                writer.push(&Opened { incarnation: commit * 2 + n }.into()).unwrap();
            }
            let stamp = Stamp { at: Timestamp::from_millis(commit), salt: 1 };
            let (parts, crc) = writer.finish(Seq(1 + commit * 2), commit + 1, stamp, chain);
            blobs.extend(parts.into_iter().map(|(_, mut bytes)| {
                bytes.resize(SECTOR_BYTES, 0);
                bytes
            }));
            chain = crc;
        }
        blobs
    }

    fn found(folded: Option<&[u8]>, journal: &[u8]) -> Result<Vec<u64>, String> {
        let last = folded.map(|blob| next(blob).unwrap().0);
        let mut bytes = journal.to_vec();
        bytes.resize(journal.len() + 4096, 0);
        let found = after(last, &bytes).map_err(|error| error.to_string())?;
        Ok(found.iter().map(|(header, _)| header.commit).collect())
    }

    #[test]
    fn what_follows_the_redb_file_is_taken_and_what_it_has_is_passed_over() {
        let blobs = commits(4);
        assert_eq!(found(None, &blobs.concat()), Ok(vec![1, 2, 3, 4]));
        assert_eq!(found(Some(&blobs[1]), &blobs.concat()), Ok(vec![3, 4]));
        assert_eq!(found(Some(&blobs[3]), &blobs.concat()), Ok(vec![]));
    }

    #[test]
    fn what_an_earlier_round_left_behind_the_end_is_passed_over() {
        let blobs = commits(9);
        let mut journal = blobs[..6].concat();
        let front = blobs[6..].concat();
        journal[..front.len()].copy_from_slice(&front);
        assert_eq!(found(Some(&blobs[5]), &journal), Ok(vec![7, 8, 9]));
    }

    #[test]
    fn a_torn_end_is_no_commit_and_a_hole_before_another_commit_is_damage() {
        let blobs = commits(3);
        let whole = blobs.concat();
        let written = blob::length(&blobs[2]).unwrap();
        for cut in blobs[..2].concat().len()..2 * SECTOR_BYTES + written {
            assert_eq!(found(None, &whole[..cut]), Ok(vec![1, 2]), "{cut}");
        }
        for byte in 0..blob::length(&blobs[0]).unwrap() {
            let mut bad = whole.clone();
            bad[byte] ^= 1;
            let error = found(None, &bad).unwrap_err();
            assert!(error.contains("commit 1 cannot be read"), "{error}");
        }
    }

    #[test]
    fn a_journal_of_another_time_is_a_gap_and_refused() {
        let blobs = commits(5);
        let error = found(Some(&blobs[0]), &blobs[3..].concat()).unwrap_err();
        assert!(error.contains("commit 2 cannot be read, and 4 is there"), "{error}");
    }
}
