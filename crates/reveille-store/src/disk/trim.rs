//! Blobs leave the log at its left edge, and what is still needed of them is copied forward.
//!
//! A blob may leave when the log is longer than the history and the checkpoint is past it: then no
//! replay needs it. Messages that are unread or dead, and the latest outcome of an actor, are packed
//! into segments of about 16 KiB; whether one is still needed is read off the rows, so segments have
//! no marks of their own. A segment is rewritten below half, and removed when nothing in it is kept.

use redb::{ReadableTable as _, WriteTransaction};
use reveille_core::id::Stamp;
use reveille_core::{MessageId, Seq};

use super::calls::{Call, Keys};
use super::read::Packed;
use super::{COLD, Disk, EDGE_KIND, LOG, META, SEGMENT_KIND, damaged, frame, unframe};
use crate::blob;
use crate::codec;
use crate::error::DiskError;
use crate::record::Record;
use crate::state::State;
use crate::state::row::Row;

/// How much longer than the history the log grows before blobs leave it: many at a time, so that
/// what is kept of them fills segments.
const SLACK_BYTES: u64 = 1 << 20;
/// Segments that are looked through at the end of a checkpoint.
const SEGMENTS_PER_TIDY: usize = 512;
/// The types of records that a row may lead to.
const SENT: u8 = 3;
const DEAD: u8 = 11;
const RUN_ENDED: u8 = 12;
/// A segment is closed when it has this many bytes.
const SEGMENT_BYTES: usize = 16 * 1024;

/// What trimming made of memory's business.
#[derive(Debug, Default)]
pub(super) struct Trimmed {
    /// Where the log begins now, if that has changed.
    pub(super) edge: Option<Seq>,
    /// Calls up to this message are remembered no more.
    pub(super) forgotten: Option<Seq>,
}

impl Disk {
    /// Drops blobs from the left edge, within the transaction of a commit; `tidy` also goes through
    /// the segments.
    pub(super) fn trim(
        &mut self,
        txn: &WriteTransaction,
        state: &State,
        tidy: bool,
    ) -> Result<Trimmed, DiskError> {
        let replay_from = self.checkpoint.replay_from;
        let history = self.options.history_bytes;
        if self.log_bytes > history + SLACK_BYTES.min(history / 4) {
            self.trimming = true;
        } else if self.log_bytes <= history {
            self.trimming = false;
        }
        let now = state.at();
        let leaves = |disk: &Self| {
            let Some(first) = disk.blobs.front().filter(|blob| blob.end <= replay_from) else {
                return false;
            };
            let long = disk.trimming && disk.log_bytes > history;
            let old = now.since(first.at) > disk.options.history_age;
            (long || old) && disk.blobs.len() > 1
        };
        let tidy = tidy && !self.cold.is_empty();
        if !tidy && !leaves(self) {
            return Ok(Trimmed::default());
        }
        let (mut packed, mut calls) = (Vec::new(), Vec::new());
        let mut dropped = 0;
        let mut log = txn.open_table(LOG)?;
        // No less than what came: otherwise the log would grow.
        let most = self.options.trim_bytes.max(self.unfolded_bytes * 2);
        while dropped < most && leaves(self) {
            let Some(blob) = self.blobs.pop_front() else {
                break;
            };
            let bytes = log
                .remove(blob.first.0)?
                .ok_or_else(|| DiskError::blob(blob.first, "it is missing"))?;
            pack(bytes.value(), state, &mut packed, &mut calls)?;
            dropped += blob.bytes;
            self.log_bytes -= blob.bytes;
        }
        let mut trimmed = Trimmed::default();
        if let Some(edge) = self.blobs.front().filter(|_| dropped > 0) {
            trimmed.edge = Some(edge.first);
            let frame = frame(EDGE_KIND, &edge.first)?;
            txn.open_table(META)?.insert("edge", frame.as_slice())?;
        }
        if tidy {
            self.tidy(txn, state, &mut packed)?;
        }
        trimmed.forgotten = self.calls.write(
            txn,
            &calls,
            &Keys { options: self.options, remembered: state.calls(), now },
        )?;
        self.write_segments(txn, packed)?;
        Ok(trimmed)
    }

    /// Takes apart the segments of which less than half is kept.
    fn tidy(
        &mut self,
        txn: &WriteTransaction,
        state: &State,
        packed: &mut Vec<Packed>,
    ) -> Result<(), DiskError> {
        let next = self.tidied.next();
        let keys: Vec<Seq> =
            self.cold.range(next..).map(|(key, _)| *key).take(SEGMENTS_PER_TIDY).collect();
        self.tidied = keys.last().copied().unwrap_or(Seq::ZERO);
        let mut cold = txn.open_table(COLD)?;
        for key in keys {
            let segment: Vec<Packed> = match cold.get(key.0)? {
                Some(bytes) => unframe(SEGMENT_KIND, bytes.value())
                    .map_err(|error| damaged("segment", key, error))?,
                None => continue,
            };
            let all = segment.len();
            let mut kept = Vec::with_capacity(all);
            for one in segment {
                if is_kept(state, one.seq, &one.frame)? {
                    kept.push(one);
                }
            }
            if kept.len() * 2 < all {
                cold.remove(key.0)?;
                self.cold.remove(&key);
                packed.extend(kept);
            }
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
fn pack(
    bytes: &[u8],
    state: &State,
    packed: &mut Vec<Packed>,
    calls: &mut Vec<Call>,
) -> Result<(), DiskError> {
    let (header, body) = blob::read(bytes).map_err(|error| DiskError::blob(Seq::ZERO, error))?;
    let mut rest = body;
    for seq in (header.first.0..header.end().0).map(Seq) {
        let (_, after) =
            codec::read_frame(rest).map_err(|error| DiskError::blob(header.first, error))?;
        let frame = rest.get(..rest.len() - after.len()).unwrap_or(&[]);
        calls.extend(call(seq, header.stamp, frame)?);
        if is_kept(state, seq, frame)? {
            let (at, salt) = (header.stamp.at, header.stamp.salt);
            packed.push(Packed { seq, at, salt, frame: frame.to_vec() });
        }
        rest = after;
    }
    Ok(())
}

/// The call that a record was made by, if it may be repeated.
fn call(seq: Seq, stamp: Stamp, frame: &[u8]) -> Result<Option<Call>, DiskError> {
    let damaged = |error: codec::CodecError| DiskError::blob(seq, error);
    let (frame, _) = codec::read_frame(frame).map_err(damaged)?;
    if frame.kind != SENT {
        return Ok(None);
    }
    match Record::read(frame).map_err(damaged)? {
        Record::Sent(sent) => {
            Ok(sent.key.map(|key| Call { key, message: MessageId::new(seq, stamp) }))
        }
        _ => Ok(None),
    }
}

/// Whether a row still leads to a record: unread or dead mail, mail that awaits acknowledgement, an
/// actor's latest outcome, and one whose notice has not been read.
fn is_kept(state: &State, seq: Seq, frame: &[u8]) -> Result<bool, DiskError> {
    let damaged = |error: codec::CodecError| DiskError::blob(seq, error);
    let (frame, _) = codec::read_frame(frame).map_err(damaged)?;
    // Most records are none of these: they are not decoded.
    if ![SENT, RUN_ENDED, DEAD].contains(&frame.kind) {
        return Ok(false);
    }
    let row = |actor| state.row(actor);
    Ok(match Record::read(frame).map_err(damaged)? {
        Record::Sent(sent) => sent.to.into_iter().filter_map(row).any(|row| row.keeps(seq)),
        Record::Dead(dead) => {
            row(dead.actor).is_some_and(|row| row.dead.iter().any(|dead| dead.why == seq))
        }
        Record::RunEnded(ended) => {
            let latest = |row: &Row| row.ended.as_ref().is_some_and(|ended| ended.outcome == seq);
            row(ended.actor).is_some_and(latest) || state.is_told_of(ended.actor, seq)
        }
        _ => false,
    })
}
