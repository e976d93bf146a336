//! Budgets of a tree of actors (S5): what a spawn must fit into.
//!
//! The store counts, in the transaction that admits; this module decides.

use crate::error::OpError;
use crate::limits::{CHILDREN, CHILDREN_EVER, DEPTH, SPAWNS_PER_MINUTE, TREE};

/// The limits of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// How deep workers may have workers: 1 means that workers have none.
    pub depth: u32,
    /// Open runs among the children of one actor.
    pub children: u32,
    /// Children ever of an actor that is not the root.
    pub children_ever: u32,
    /// Open runs in the whole tree.
    pub tree: u32,
    /// Spawns in the whole tree within a minute.
    pub spawns_per_minute: u32,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            depth: DEPTH,
            children: CHILDREN,
            children_ever: CHILDREN_EVER,
            tree: TREE,
            spawns_per_minute: SPAWNS_PER_MINUTE,
        }
    }
}

/// What a tree would have with one more worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// The depth of the new worker; the root has 0.
    pub depth: u32,
    /// Open runs among the parent's children.
    pub children: u32,
    /// Children ever of the parent; `None` when it is the root.
    pub children_ever: Option<u32>,
    /// Open runs of workers in the tree.
    pub tree: u32,
    /// Spawns within the last minute.
    pub spawns_per_minute: u32,
}

impl Budgets {
    /// Admits a spawn, or names the first budget that it exceeds.
    ///
    /// # Errors
    ///
    /// `refused`, with the budget, what it would become, and its limit.
    pub fn admit(&self, counts: &Counts) -> Result<(), OpError> {
        for (budget, value, limit) in [
            ("depth", counts.depth, self.depth),
            ("children", counts.children, self.children),
            ("children_ever", counts.children_ever.unwrap_or(0), self.children_ever),
            ("tree", counts.tree, self.tree),
            ("spawns_per_minute", counts.spawns_per_minute, self.spawns_per_minute),
        ] {
            if value > limit {
                return Err(OpError::Refused {
                    budget,
                    value: u64::from(value),
                    limit: u64::from(limit),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spawn_at_the_limit_is_admitted_and_the_next_one_names_the_budget() {
        let budgets = Budgets::default();
        let mut counts = Counts {
            depth: 4,
            children: 16,
            children_ever: Some(64),
            tree: 512,
            spawns_per_minute: 60,
        };
        assert!(budgets.admit(&counts).is_ok());
        counts.children = 17;
        let error = budgets.admit(&counts).unwrap_err();
        assert_eq!(
            error.to_string(),
            "refused by the budget children: 17 with this one, at most 16"
        );
    }
}
