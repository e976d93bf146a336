//! Calls that may be repeated outlive the log (section 3): their keys move here with their blobs.
//!
//! A value holds the keys of some blobs that left the log; its key is the first message of them. Old
//! ones go at the left edge, beyond the age and the number that are promised. Keys are hashes: nothing
//! of what was called is kept.

use std::collections::VecDeque;

use redb::{ReadTransaction, ReadableTable as _, TableDefinition, WriteTransaction};
use reveille_core::{MessageId, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::{DiskOptions, damaged, frame, unframe};
use crate::error::DiskError;
use crate::record::CallKey;
use crate::state::State;

pub(crate) const CALLS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("calls");
const CALLS_KIND: u8 = 133;
/// Keys of one value: about 16 KiB.
const PACK: usize = 400;

/// A call and the message that it answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) key: CallKey,
    pub(crate) message: MessageId,
}

/// A value of the table, as far as it is kept in memory.
#[derive(Debug, Clone, Copy)]
struct Pack {
    first: Seq,
    last: MessageId,
    count: usize,
}

/// How long and how many keys are remembered.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) options: DiskOptions,
    /// How many are, those in the log included.
    pub(super) remembered: usize,
    pub(super) now: Timestamp,
}

/// The keys that have left the log.
#[derive(Debug, Default)]
pub(super) struct Calls {
    packs: VecDeque<Pack>,
}

impl Calls {
    /// Reads the table and enters its keys into the state. A store that never had one has none.
    pub(super) fn load(txn: &ReadTransaction, state: &mut State) -> Result<Self, DiskError> {
        let mut calls = Self::default();
        let table = match txn.open_table(CALLS) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(calls),
            table => table?,
        };
        for entry in table.iter()? {
            let (first, bytes) = entry?;
            let first = first.value();
            let packed: Vec<Call> = unframe(CALLS_KIND, bytes.value())
                .map_err(|error| damaged("calls", first, error))?;
            calls.enter(&packed);
            packed.into_iter().for_each(|call| state.remember_call(call.key, call.message));
        }
        Ok(calls)
    }

    fn enter(&mut self, packed: &[Call]) {
        if let Some((first, last)) = packed.first().zip(packed.last()) {
            let (first, last, count) = (first.message.seq(), last.message, packed.len());
            self.packs.push_back(Pack { first, last, count });
        }
    }

    /// Writes keys that leave the log, and drops what is remembered long enough. Says up to which
    /// message calls are forgotten.
    pub(super) fn write(
        &mut self,
        txn: &WriteTransaction,
        calls: &[Call],
        keys: &Keys,
    ) -> Result<Option<Seq>, DiskError> {
        let mut left = keys.remembered;
        let goes = |oldest: &Pack, left: usize| {
            let age = keys.now.since(oldest.last.at());
            age > keys.options.key_age || left > keys.options.keys
        };
        if calls.is_empty() && self.packs.front().is_none_or(|oldest| !goes(oldest, left)) {
            return Ok(None);
        }
        let mut table = txn.open_table(CALLS)?;
        for packed in calls.chunks(PACK) {
            if let Some(first) = packed.first() {
                let bytes = frame(CALLS_KIND, &packed)?;
                table.insert(first.message.seq().0, bytes.as_slice())?;
            }
            self.enter(packed);
        }
        let mut forgotten = None;
        while let Some(oldest) = self.packs.front().copied().filter(|oldest| goes(oldest, left)) {
            table.remove(oldest.first.0)?;
            self.packs.pop_front();
            left = left.saturating_sub(oldest.count);
            forgotten = Some(oldest.last.seq());
        }
        Ok(forgotten)
    }
}
