//! Checkpoints: rows written behind the log, so that replay has an end.
//!
//! A cycle begins when a quarter of the history has been logged, and no fewer bytes than the rows will
//! take: so checkpoints never write more than the log does, however much mail waits in the rows. It
//! takes the rows that changed since the cycle before, and writes them in key order, a slice with
//! each fold of the journal. When all are written, replay may begin where the cycle began: rows that changed
//! meanwhile say up to which record they are complete.

use std::collections::BTreeSet;

use redb::WriteTransaction;
use reveille_core::Seq;

use super::{Checkpoint, REG, ROW_KIND, frame};
use crate::error::DiskError;
use crate::record::Number;
use crate::state::State;

/// Bytes that a row and a waiting message take in a checkpoint, about.
const ROW_BYTES: u64 = 200;
const MAIL_BYTES: u64 = 64;
/// Bytes of rows that are written with one fold, at most about, unless the fold itself is larger:
/// nobody waits long for a checkpoint.
const SLICE_BYTES: u64 = 512 * 1024;

/// The checkpoint that is under way.
#[derive(Debug, Default)]
pub(crate) struct Cycle {
    /// What holds at the record that the cycle begins with: replay may begin there once all rows
    /// are written.
    begun: Option<Checkpoint>,
    rest: BTreeSet<Number>,
    /// Bytes logged since the latest cycle began.
    logged: u64,
}

impl Cycle {
    /// Begins a cycle when `every` bytes have been logged, in any case when that is 0. The commit under way is applied already,
    /// so the cycle covers it.
    pub(super) fn begin_if_due(&mut self, written: u64, every: u64, state: &mut State) {
        self.logged += written;
        let rows = || state.dirty.len() as u64 * ROW_BYTES + state.counters.unread * MAIL_BYTES;
        if self.begun.is_none() && self.logged >= every && (every == 0 || self.logged >= rows()) {
            self.begin(state);
        }
    }

    /// Begins a cycle, over what is left of the one before.
    pub(super) fn begin(&mut self, state: &mut State) {
        self.begun = Some(Checkpoint {
            replay_from: state.next(),
            incarnation: state.incarnation(),
            at: state.at(),
        });
        self.logged = 0;
        self.rest.extend(state.dirty.drain());
    }

    /// Writes the next rows, so many and about so many bytes of them; when they were the last, says from where replay may begin.
    pub(super) fn write_rows(
        &mut self,
        txn: &WriteTransaction,
        (limit, at_least): (usize, u64),
        state: &State,
    ) -> Result<Option<Checkpoint>, DiskError> {
        if self.begun.is_none() {
            return Ok(None);
        }
        let as_of = Seq(state.next().0 - 1);
        let mut reg = txn.open_table(REG)?;
        let mut bytes = 0;
        for _ in 0..limit {
            if bytes > SLICE_BYTES.max(at_least) {
                return Ok(None);
            }
            let Some(number) = self.rest.pop_first() else {
                return Ok(self.begun.take());
            };
            if let Some(row) = state.row(number) {
                let mut row = row.clone();
                row.as_of = as_of;
                let row = frame(ROW_KIND, &row)?;
                bytes += row.len() as u64;
                reg.insert(number, row.as_slice())?;
            }
        }
        Ok(None)
    }
}
