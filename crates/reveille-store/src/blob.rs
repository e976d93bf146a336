//! Blobs: the records of one commit as one value of the log.
//!
//! A blob begins with a header of 48 bytes, little-endian: `format (1) | last (1) | salt (2) |
//! count (4) | first (8) | commit (8) | at (8) | chain (4) | length (4) | spare (4) | CRC-32 (4)`.
//! `first` is the number of its first record; numbers are dense over the whole log, so a blob that
//! is missing, doubled or in another's place is noticed. `chain` is the CRC of the blob before, so
//! one that was replaced by another valid one is noticed too. A commit that is larger than a page
//! is cut at record boundaries; `last` marks its last part.

use reveille_core::id::Stamp;
use reveille_core::{Seq, Timestamp};

use crate::codec::{self, CodecError};
use crate::record::Record;

/// Bytes of a blob's header.
pub const HEADER_BYTES: usize = 48;
/// A part ends before it grows beyond this; redb gives it a page of its own of that size.
pub const PART_BYTES: usize = 64 * 1024;
const BLOB_FORMAT: u8 = 1;

/// What a blob says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The number of its first record.
    pub first: Seq,
    /// How many records it has, at least one.
    pub count: u32,
    /// The number of its commit, from 1.
    pub commit: u64,
    /// When the commit was begun, and the salt of its incarnation.
    pub stamp: Stamp,
    /// The CRC of the blob before it; 0 for the first.
    pub chain: u32,
    /// Whether it is the last part of its commit.
    pub last: bool,
    /// Its own CRC, over all its other bytes.
    pub crc: u32,
}

impl Header {
    /// The number after its last record.
    #[must_use]
    pub const fn end(&self) -> Seq {
        Seq(self.first.0 + self.count as u64)
    }
}

/// Why bytes are not a blob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// The header or the blob as a whole is damaged.
    #[error("the blob is damaged: {0}")]
    Damaged(&'static str),
    /// One of its records is damaged.
    #[error("record {seq}: {error}")]
    Record {
        /// The number of the record.
        seq: Seq,
        /// What is wrong with it.
        error: CodecError,
    },
}

/// Collects the records of a commit and cuts them into blobs.
#[derive(Debug, Default)]
pub(crate) struct BlobWriter {
    body: Vec<u8>,
    /// Where each record ends in `body`.
    ends: Vec<usize>,
}

impl BlobWriter {
    /// Begins anew in the same memory.
    pub(crate) fn clear(&mut self) {
        self.body.clear();
        self.ends.clear();
    }

    pub(crate) fn push(&mut self, record: &Record) -> Result<(), CodecError> {
        let before = self.body.len();
        record.write(&mut self.body).inspect_err(|_| self.body.truncate(before))?;
        self.ends.push(self.body.len());
        Ok(())
    }

    /// The blobs, each with the number of its first record, and the CRC of the last one.
    pub(crate) fn finish(
        &self,
        first: Seq,
        commit: u64,
        stamp: Stamp,
        mut chain: u32,
    ) -> (Vec<(Seq, Vec<u8>)>, u32) {
        let mut blobs = Vec::new();
        let (mut start, mut done) = (0, 0);
        while done < self.ends.len() {
            let begin = if done == 0 { 0 } else { self.ends.get(done - 1).copied().unwrap_or(0) };
            let fits = |end: &&usize| **end - begin <= PART_BYTES - HEADER_BYTES;
            let taken = self.ends.get(done..).unwrap_or(&[]).iter().take_while(fits).count().max(1);
            let end = self.ends.get(done + taken - 1).copied().unwrap_or(begin);
            let body = self.body.get(begin..end).unwrap_or(&[]);
            let header = Header {
                first: Seq(first.0 + start),
                count: u32::try_from(taken).unwrap_or(u32::MAX),
                commit,
                stamp,
                chain,
                last: done + taken == self.ends.len(),
                crc: 0,
            };
            let (blob, crc) = write(&header, body);
            blobs.push((header.first, blob));
            chain = crc;
            start += taken as u64;
            done += taken;
        }
        (blobs, chain)
    }
}

/// Writes a blob, and says its CRC.
pub(crate) fn write(header: &Header, body: &[u8]) -> (Vec<u8>, u32) {
    let mut blob = Vec::with_capacity(HEADER_BYTES + body.len());
    blob.extend_from_slice(&[BLOB_FORMAT, u8::from(header.last)]);
    blob.extend_from_slice(&header.stamp.salt.to_le_bytes());
    blob.extend_from_slice(&header.count.to_le_bytes());
    blob.extend_from_slice(&header.first.0.to_le_bytes());
    blob.extend_from_slice(&header.commit.to_le_bytes());
    blob.extend_from_slice(&header.stamp.at.as_millis().to_le_bytes());
    blob.extend_from_slice(&header.chain.to_le_bytes());
    blob.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    blob.extend_from_slice(&[0; 4]);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&blob);
    hasher.update(body);
    let crc = hasher.finalize();
    blob.extend_from_slice(&crc.to_le_bytes());
    blob.extend_from_slice(body);
    (blob, crc)
}

/// Takes the next `N` bytes.
fn field<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], BlobError> {
    let (field, rest) =
        bytes.split_first_chunk::<N>().ok_or(BlobError::Damaged("its header is truncated"))?;
    *bytes = rest;
    Ok(*field)
}

/// How long the blob is that these bytes begin with, if they do: only its header is looked at.
pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
    let body =
        bytes.get(HEADER_BYTES - 12..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    (bytes.first() == Some(&BLOB_FORMAT)).then_some(HEADER_BYTES + body? as usize)
}

/// Reads a blob's header and gives its records' bytes, after checking that it is whole.
///
/// # Errors
///
/// [`BlobError::Damaged`].
pub fn read(blob: &[u8]) -> Result<(Header, &[u8]), BlobError> {
    let mut rest = blob;
    let [format, last] = field(&mut rest)?;
    if format != BLOB_FORMAT {
        return Err(BlobError::Damaged("its format is unknown"));
    }
    let salt = u16::from_le_bytes(field(&mut rest)?);
    let count = u32::from_le_bytes(field(&mut rest)?);
    let first = Seq(u64::from_le_bytes(field(&mut rest)?));
    let commit = u64::from_le_bytes(field(&mut rest)?);
    let at = Timestamp::from_millis(u64::from_le_bytes(field(&mut rest)?));
    let chain = u32::from_le_bytes(field(&mut rest)?);
    let length = u32::from_le_bytes(field(&mut rest)?) as usize;
    let _spare: [u8; 4] = field(&mut rest)?;
    let crc = u32::from_le_bytes(field(&mut rest)?);
    if rest.len() != length {
        return Err(BlobError::Damaged("its length is wrong"));
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(blob.get(..HEADER_BYTES - 4).unwrap_or(&[]));
    hasher.update(rest);
    if hasher.finalize() != crc {
        return Err(BlobError::Damaged("its CRC does not match"));
    }
    if count == 0 || first == Seq::ZERO || first.0.checked_add(u64::from(count)).is_none() {
        return Err(BlobError::Damaged("its numbers are impossible"));
    }
    let stamp = Stamp { at, salt };
    Ok((Header { first, count, commit, stamp, chain, last: last == 1, crc }, rest))
}

/// The records of a blob, with their numbers.
///
/// # Errors
///
/// [`BlobError::Record`] at the first one that is damaged, [`BlobError::Damaged`] when there are
/// more or fewer than the header says.
pub fn records<'a>(
    header: &Header,
    body: &'a [u8],
) -> impl Iterator<Item = Result<(Seq, Record), BlobError>> + use<'a> {
    let (first, end) = (header.first, header.end());
    let mut rest = body;
    let mut seq = first;
    let mut over = false;
    std::iter::from_fn(move || {
        if over || (rest.is_empty() && seq == end) {
            return None;
        }
        if rest.is_empty() || seq >= end {
            over = true;
            return Some(Err(BlobError::Damaged("its count is wrong")));
        }
        let read = codec::read_frame(rest)
            .and_then(|(frame, after)| Record::read(frame).map(|record| (record, after)));
        Some(match read {
            Ok((record, after)) => {
                let this = seq;
                rest = after;
                seq = seq.next();
                Ok((this, record))
            }
            Err(error) => {
                over = true;
                Err(BlobError::Record { seq, error })
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Opened;

    const STAMP: Stamp = Stamp { at: Timestamp::from_millis(9), salt: 3 };

    fn blobs(count: u64) -> Vec<(Seq, Vec<u8>)> {
        let mut writer = BlobWriter::default();
        for incarnation in 0..count {
            writer.push(&Opened { incarnation }.into()).unwrap();
        }
        writer.finish(Seq(5), 2, STAMP, 77).0
    }

    #[test]
    fn a_large_commit_is_cut_into_parts_that_follow_one_another() {
        let blobs = blobs(20_000);
        assert!(blobs.len() > 2);
        let (mut next, mut chain) = (Seq(5), 77);
        for (index, (key, blob)) in blobs.iter().enumerate() {
            assert!(blob.len() <= PART_BYTES);
            let (header, body) = read(blob).unwrap();
            assert_eq!((*key, header.first, header.chain), (next, next, chain));
            assert_eq!(header.last, index + 1 == blobs.len());
            for (record, expected) in records(&header, body).zip(next.0..) {
                let (seq, record) = record.unwrap();
                assert_eq!(seq, Seq(expected));
                assert_eq!(record, Opened { incarnation: expected - 5 }.into());
            }
            (next, chain) = (header.end(), header.crc);
        }
        assert_eq!(next, Seq(20_005));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let (_, good) = blobs(3).remove(0);
        for byte in 0..good.len() {
            let mut bad = good.clone();
            bad[byte] ^= 0x10;
            assert!(read(&bad).is_err(), "byte {byte}");
            assert!(read(&good[..byte]).is_err());
        }
    }
}
