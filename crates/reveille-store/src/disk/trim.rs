//! Blobs leave the log at its left edge, and what is still needed of them is copied forward.
//!
//! A blob may leave when the log is longer than the history and the checkpoint is past it: then no
//! replay needs it. Messages that are unread or dead, and the latest outcome of an actor, are packed
//! into segments of about 16 KiB; whether one is still needed is read off the rows, so segments have
//! no marks of their own. A segment is rewritten below half, and removed when nothing in it is kept.

use redb::WriteTransaction;
use reveille_core::Seq;

use super::read::Packed;
use super::{COLD, Disk, EDGE_KIND, LOG, META, SEGMENT_KIND, damaged, frame, unframe};
use crate::blob;
use crate::codec;
use crate::error::DiskError;
use crate::state::State;

/// How much longer than the history the log grows before blobs leave it: many at a time, so that
/// what is kept of them fills segments.
const SLACK_BYTES: u64 = 1 << 20;
/// A segment is closed when it has this many bytes.
const SEGMENT_BYTES: usize = 16 * 1024;

impl Disk {
    /// Drops blobs from the left edge, within the transaction of a commit; `tidy` also goes through
    /// the segments.
    pub(super) fn trim(
        &mut self,
        txn: &WriteTransaction,
        state: &State,
        tidy: bool,
    ) -> Result<(), DiskError> {
        let replay_from = self.checkpoint.replay_from;
        let history = self.options.history_bytes;
        if self.log_bytes > history + SLACK_BYTES.min(history / 4) {
            self.trimming = true;
        } else if self.log_bytes <= history {
            self.trimming = false;
        }
        let leaves = |disk: &Self| {
            let behind = disk.blobs.front().is_some_and(|blob| blob.end <= replay_from);
            disk.trimming && behind && disk.log_bytes > history && disk.blobs.len() > 1
        };
        let tidy = tidy && !self.cold.is_empty();
        if !tidy && !leaves(self) {
            return Ok(());
        }
        let mut kept: Vec<Seq> = state.rows().iter().flat_map(|row| row.kept()).collect();
        kept.sort_unstable();
        kept.dedup();
        let mut packed = Vec::new();
        let mut dropped = 0;
        let mut log = txn.open_table(LOG)?;
        while dropped < self.options.trim_bytes && leaves(self) {
            let Some(blob) = self.blobs.pop_front() else {
                break;
            };
            let bytes = log
                .remove(blob.first.0)?
                .ok_or_else(|| DiskError::blob(blob.first, "it is missing"))?;
            pack(bytes.value(), &kept, &mut packed)?;
            dropped += blob.bytes;
            self.log_bytes -= blob.bytes;
        }
        if let Some(edge) = self.blobs.front().filter(|_| dropped > 0) {
            let frame = frame(EDGE_KIND, &edge.first)?;
            txn.open_table(META)?.insert("edge", frame.as_slice())?;
        }
        if tidy {
            self.tidy(txn, &kept, &mut packed)?;
        }
        self.write_segments(txn, packed)
    }

    /// Takes apart the segments of which less than half is kept.
    fn tidy(
        &mut self,
        txn: &WriteTransaction,
        kept: &[Seq],
        packed: &mut Vec<Packed>,
    ) -> Result<(), DiskError> {
        let is_kept = |seq: &Seq| kept.binary_search(seq).is_ok();
        let thin = |seqs: &[Seq]| seqs.iter().filter(|seq| is_kept(seq)).count() * 2 < seqs.len();
        let keys: Vec<Seq> =
            self.cold.iter().filter(|(_, seqs)| thin(seqs)).map(|(key, _)| *key).collect();
        let mut cold = txn.open_table(COLD)?;
        for key in keys {
            self.cold.remove(&key);
            let Some(bytes) = cold.remove(key.0)? else {
                continue;
            };
            let segment: Vec<Packed> = unframe(SEGMENT_KIND, bytes.value())
                .map_err(|error| damaged("segment", key, error))?;
            packed.extend(segment.into_iter().filter(|packed| is_kept(&packed.seq)));
        }
        Ok(())
    }

    fn write_segments(
        &mut self,
        txn: &WriteTransaction,
        mut packed: Vec<Packed>,
    ) -> Result<(), DiskError> {
        packed.sort_by_key(|packed| packed.seq);
        let mut cold = txn.open_table(COLD)?;
        let mut segment: Vec<Packed> = Vec::new();
        let mut bytes = 0;
        let mut packed = packed.into_iter().peekable();
        while let Some(next) = packed.next() {
            bytes += next.frame.len();
            segment.push(next);
            // A segment must not reach over another one: readers find it by its first record.
            let neighbour = |seq: &Packed| {
                let begun = segment.first().map_or(Seq::ZERO, |first| first.seq);
                self.cold.range(begun..seq.seq).next().is_some()
            };
            let full = bytes >= SEGMENT_BYTES || packed.peek().is_none_or(neighbour);
            if full && let Some(first) = segment.first() {
                let key = first.seq;
                cold.insert(key.0, frame(SEGMENT_KIND, &segment)?.as_slice())?;
                self.cold.insert(key, segment.iter().map(|packed| packed.seq).collect());
                (segment, bytes) = (Vec::new(), 0);
            }
        }
        Ok(())
    }
}

/// Adds the records of a blob that are still needed.
fn pack(bytes: &[u8], kept: &[Seq], packed: &mut Vec<Packed>) -> Result<(), DiskError> {
    let (header, body) = blob::read(bytes).map_err(|error| DiskError::blob(Seq::ZERO, error))?;
    let mut rest = body;
    for seq in (header.first.0..header.end().0).map(Seq) {
        let (_, after) =
            codec::read_frame(rest).map_err(|error| DiskError::blob(header.first, error))?;
        let frame = rest.get(..rest.len() - after.len()).unwrap_or(&[]);
        if kept.binary_search(&seq).is_ok() {
            let (at, salt) = (header.stamp.at, header.stamp.salt);
            packed.push(Packed { seq, at, salt, frame: frame.to_vec() });
        }
        rest = after;
    }
    Ok(())
}
