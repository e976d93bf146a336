//! Reading the log from a position on: for event streams (section 14).

use reveille_core::Seq;

use super::read::{Found, Reader};
use super::{LOG, begin_read, damaged};
use crate::blob;
use crate::error::DiskError;

/// Records of the log from a position on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The first position that the log still has, if that is behind the one asked for: what lies
    /// between has left the store.
    pub lost_until: Option<Seq>,
    /// Records with their positions, in order.
    pub records: Vec<(Seq, Found)>,
}

impl Reader {
    /// At least one record from `from` on, if there is one, and about `limit` of them: whole blobs.
    pub(crate) fn since(&self, from: Seq, limit: usize) -> Result<Since, DiskError> {
        let unfolded = self.unfolded();
        let db = self.database();
        let closed = || damaged("file", "store", "it is closed");
        let txn = begin_read(db.as_ref().ok_or_else(closed)?)?;
        let log = txn.open_table(LOG)?;
        let mut since = Since { lost_until: None, records: Vec::new() };
        let begins = match log.range(..=from.0)?.next_back() {
            Some(entry) => entry?.0.value(),
            None => from.0,
        };
        let mut end = Seq::ZERO;
        for entry in log.range(begins..)? {
            let (key, bytes) = entry?;
            end = since.take(Seq(key.value()), bytes.value(), from)?;
            if since.records.len() >= limit {
                return Ok(since);
            }
        }
        for (key, bytes) in unfolded.iter().filter(|(key, _)| *key >= end) {
            since.take(*key, bytes, from)?;
            if since.records.len() >= limit {
                break;
            }
        }
        Ok(since)
    }
}

impl Since {
    /// Adds the records of a blob, and says which comes after them.
    fn take(&mut self, key: Seq, bytes: &[u8], from: Seq) -> Result<Seq, DiskError> {
        if self.records.is_empty() && key > from {
            self.lost_until = Some(key);
        }
        let damaged = |error| DiskError::blob(key, error);
        let (header, body) = blob::read(bytes).map_err(damaged)?;
        for record in blob::records(&header, body) {
            let (seq, record) = record.map_err(damaged)?;
            if seq >= from {
                self.records.push((seq, (header.stamp, record)));
            }
        }
        Ok(header.end())
    }
}
