//! Looking at all actors: what each does, what it waits for, and since when.

use reveille_core::{Address, AgentName, OpError, Timestamp};
use reveille_store::State;
use reveille_store::record::Number;
use reveille_store::state::row::Row;
use reveille_store::why;

use super::explain::Missing;
use crate::ops;
use crate::overview::ActorView;
use crate::runtime::Runtime;

/// An actor in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Where mail for it goes.
    pub address: Address,
    /// Whose worker it is; its entry comes before this one.
    pub parent: Option<Address>,
    /// The agent that runs its turns.
    pub agent: Option<AgentName>,
    /// What it does, in a word of section 7, with `, held` when nothing is injected.
    pub state: String,
    /// What it waits for.
    pub waiting_for: Option<String>,
    /// Since when: it asks, is held, has its turn or its run, or is at rest.
    pub since: Timestamp,
    /// Unread mail that no injection holds.
    pub pending: usize,
}

impl Runtime {
    /// Actors in the order in which they were made, at most `limit` (1 to 1000) after `after`.
    ///
    /// # Errors
    ///
    /// `unknown_actor` when there is no `after`; `storage_failed`.
    pub async fn tree(
        &self,
        after: Option<Address>,
        limit: usize,
    ) -> Result<Vec<TreeEntry>, OpError> {
        let (now, windows) = (self.now(), self.hub.config.window);
        let page = self.hub.store.look(move |state| {
            let first: Number = match after {
                Some(address) => match state.find(&address) {
                    Some(number) => number + 1,
                    None => return Err(OpError::UnknownActor { address }),
                },
                None => 0,
            };
            let rows = (0..).zip(state.rows()).skip(first as usize).take(limit.clamp(1, 1000));
            let with_why = |(number, row)| {
                let why = why::actor(state, number, now, windows)?;
                Some((number, entry(state, row, why.waiting_for)))
            };
            Ok(rows.filter_map(with_why).collect::<Vec<(Number, TreeEntry)>>())
        });
        let mut entries = Vec::new();
        for (number, mut entry) in page.await?? {
            if let Some(missing) = Missing::of(&self.hub, number, entry.agent.as_ref()) {
                entry.waiting_for = entry.waiting_for.map(|line| missing.amend(line));
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// How one actor stands.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `storage_failed`.
    pub async fn actor(&self, address: &Address) -> Result<ActorView, OpError> {
        let number = ops::number(&self.hub, address).await?;
        let view = self
            .hub
            .store
            .look(move |state| state.row(number).map(|row| ActorView::new(state, row)));
        view.await?.ok_or_else(|| OpError::UnknownActor { address: address.clone() })
    }
}

fn entry(state: &State, row: &Row, waiting_for: Option<String>) -> TreeEntry {
    let held = row.is_held() && row.stopped.is_none();
    TreeEntry {
        address: row.address.clone(),
        parent: row.parent.and_then(|parent| state.row(parent)).map(|row| row.address.clone()),
        agent: row.agent.clone(),
        state: format!("{}{}", why::state_of(row), if held { ", held" } else { "" }),
        waiting_for,
        since: since(row),
        pending: row.pending.len(),
    }
}

fn since(row: &Row) -> Timestamp {
    let asks = row.questions.first().map(|question| question.since);
    let held = || row.holds.first().map(|hold| hold.since);
    let in_turn = || row.turn.map(|_| row.claimed_at);
    let in_run = || row.run.as_ref().map(|run| run.since);
    let found = asks.or_else(held).or_else(in_turn).or_else(in_run);
    // At rest: since the latest turn began, which is all that a row knows.
    found.unwrap_or_else(|| row.claimed_at.max(row.created))
}
