//! Making sessions and workers: S1 (one transaction, idempotent by key) and S5 (budgets).

use reveille_core::budget::Counts;
use reveille_core::message::label;
use reveille_core::{ActorName, Address, AgentName, OpError, RunId, SessionId};

use super::send::{Prepared, store_room};
use super::{Draft, Step, Token, fresh, known};
use crate::record::{Created, Number, Queued};
use crate::state::State;

/// Makes a session and its main actor, and gives it a first message in the same commit.
#[derive(Debug)]
pub struct CreateSession {
    /// What people call it; need not be unique.
    pub title: String,
    /// The agent of the main actor.
    pub agent: Option<AgentName>,
    /// What its main actor finds in its mailbox.
    pub first: Option<Prepared>,
}

/// A session that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCreated {
    /// The session.
    pub id: SessionId,
    /// Its main actor.
    pub main: Address,
}

impl Step for CreateSession {
    type Answer = SessionCreated;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<SessionCreated, OpError> {
        label("session name", &self.title)?;
        let actor = state.next_number();
        let seq = draft.push(Created {
            actor,
            session: None,
            name: ActorName::main(),
            title: Some(self.title),
            agent: self.agent,
            parent: None,
            key: None,
        });
        if let Some(first) = self.first {
            store_room(state, draft, 1)?;
            draft.push(first.to(vec![actor]));
        }
        let id = SessionId::new(seq, draft.stamp);
        Ok(SessionCreated { id, main: Address::new(id, ActorName::main()) })
    }
}

/// Makes a worker and gives it its first message, which begins a run.
#[derive(Debug)]
pub struct Spawn {
    /// Whose worker.
    pub parent: Address,
    /// The agent that runs its turns.
    pub agent: AgentName,
    /// The parent's own name for it: the same spawn again answers the worker that is there.
    pub key: Option<String>,
    /// What it is to do.
    pub first: Prepared,
    /// The task it is given.
    pub task_id: Option<String>,
    /// The turn that spawns it; it must be under way (P9).
    pub token: Option<Token>,
}

/// A worker that was made, or was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawned {
    /// Where mail for it goes, from now on.
    pub address: Address,
    /// The run that was begun; `None` when the worker was there already.
    pub run: Option<RunId>,
}

impl Step for Spawn {
    type Answer = Spawned;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Spawned, OpError> {
        let Self { parent, agent, key, first, task_id, token } = self;
        token.map_or(Ok(()), |token| fresh(state, token).map(drop))?;
        let (parent, row) = known(state, &parent)?;
        key.as_deref().map_or(Ok(()), |key| label("key", key))?;
        task_id.as_deref().map_or(Ok(()), |id| label("task_id", id))?;
        let there = key.as_deref().and_then(|key| state.keyed(parent, key));
        if let Some(worker) = there.and_then(|number| state.row(number)) {
            return Ok(Spawned { address: worker.address.clone(), run: None });
        }
        draft.limits.budgets.admit(&counts(state, draft, parent))?;
        store_room(state, draft, 1)?;
        let session = row.address.session();
        let name = state.next_name(session, &agent);
        let actor = state.next_number();
        draft.push(Created {
            actor,
            session: Some(session),
            name: name.clone(),
            title: None,
            agent: Some(agent),
            parent: Some(parent),
            key,
        });
        let first = draft.push(first.to(vec![actor]));
        let run = draft.push(Queued { actor, first, task_id });
        let run = Some(RunId::new(run, draft.stamp));
        Ok(Spawned { address: Address::new(session, name), run })
    }
}

/// What the tree would have with one more child of `parent`.
fn counts(state: &State, draft: &Draft, parent: Number) -> Counts {
    let (root, depth) = state.root(parent);
    let counters = &state.counters;
    Counts {
        depth: depth + 1,
        children: counters.open_children(parent) + 1,
        children_ever: (parent != root).then(|| counters.children_ever(parent) + 1),
        tree: counters.open_in_tree(root) + 1,
        spawns_per_minute: counters.spawns_within_a_minute(root, draft.at()) + 1,
    }
}
