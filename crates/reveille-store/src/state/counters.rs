//! What admission counts (S5, section 3): derived from rows, never written.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use reveille_core::Timestamp;

use super::row::Counted;
use crate::record::Number;

/// Counts over many rows.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Unread messages of the whole store.
    pub(crate) unread: u64,
    /// Unread bytes of the whole store.
    pub(crate) bytes: u64,
    open_children: HashMap<Number, u32>,
    open_in_tree: HashMap<Number, u32>,
    children_ever: HashMap<Number, u32>,
    /// When the spawns of each tree happened, at least those of the last minute.
    spawns: HashMap<Number, VecDeque<Timestamp>>,
}

impl Counters {
    /// A row changed.
    pub(super) fn change(
        &mut self,
        parent: Option<Number>,
        root: Number,
        before: Counted,
        after: Counted,
    ) {
        self.unread = (self.unread + after.unread).saturating_sub(before.unread);
        self.bytes = (self.bytes + after.bytes).saturating_sub(before.bytes);
        let Some(parent) = parent else { return };
        if before.open_run == after.open_run {
            return;
        }
        for count in [
            self.open_children.entry(parent).or_default(),
            self.open_in_tree.entry(root).or_default(),
        ] {
            *count = if after.open_run { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    /// A worker was made.
    pub(super) fn spawned(&mut self, parent: Number, root: Number, at: Timestamp) {
        *self.children_ever.entry(parent).or_default() += 1;
        let spawns = self.spawns.entry(root).or_default();
        spawns.push_back(at);
        while spawns.front().is_some_and(|first| at.since(*first) >= Duration::from_secs(60)) {
            spawns.pop_front();
        }
    }

    /// Open runs among an actor's children.
    pub(crate) fn open_children(&self, parent: Number) -> u32 {
        self.open_children.get(&parent).copied().unwrap_or(0)
    }

    /// Open runs of workers in a tree.
    pub(crate) fn open_in_tree(&self, root: Number) -> u32 {
        self.open_in_tree.get(&root).copied().unwrap_or(0)
    }

    /// Children ever of an actor.
    pub(crate) fn children_ever(&self, parent: Number) -> u32 {
        self.children_ever.get(&parent).copied().unwrap_or(0)
    }

    /// Spawns in a tree within the minute before `now`.
    pub(crate) fn spawns_within_a_minute(&self, root: Number, now: Timestamp) -> u32 {
        let recent = |at: &&Timestamp| now.since(**at) < Duration::from_secs(60);
        let count = self
            .spawns
            .get(&root)
            .map_or(0, |spawns| spawns.iter().rev().take_while(recent).count());
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}
