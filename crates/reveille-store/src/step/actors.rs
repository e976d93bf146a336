//! Making sessions and workers: S1 (one transaction, idempotent by key) and S5 (budgets).

use reveille_core::budget::Counts;
use reveille_core::limits::{GROUP_MEMBERS, HOPS};
use reveille_core::message::label;
use reveille_core::{ActorName, Address, AgentName, Caller, OpError, RunId, SessionId};

use super::prepare::Prepared;
use super::send::store_room;
use super::{Draft, Step, Token, fresh, known};
use crate::record::{Created, GroupPolicy, Grouped, Number, Queued, Sender};
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
            store_room(state, draft, 1, first.sent.bytes)?;
            draft.push(first.to(vec![actor])?);
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
    /// What is to be spawned.
    pub worker: NewWorker,
    /// The turn that spawns it; it must be under way (P9).
    pub token: Option<Token>,
}

/// A worker that is to be made.
#[derive(Debug)]
pub struct NewWorker {
    /// The agent that runs its turns.
    pub agent: AgentName,
    /// The parent's own name for it: the same spawn again answers the worker that is there.
    pub key: Option<String>,
    /// What it is to do.
    pub first: Prepared,
    /// The task it is given.
    pub task_id: Option<String>,
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
        let Self { parent, worker, token } = self;
        let hops = token.map_or(Ok(0), |token| fresh(state, token).map(|row| row.hops + 1))?;
        let (parent, _) = known(state, &parent)?;
        let there = worker.key.as_deref().and_then(|key| state.keyed(parent, key));
        if let Some(worker) = there.and_then(|number| state.row(number)) {
            return Ok(Spawned { address: worker.address.clone(), run: None });
        }
        spawn(state, draft, (parent, hops), worker, &[]).map(|(_, spawned)| spawned)
    }
}

/// Makes workers that belong together, all or none (W8).
#[derive(Debug)]
pub struct SpawnGroup {
    /// Whose workers.
    pub parent: Address,
    /// From when on their notices may wake.
    pub policy: GroupPolicy,
    /// What is to be spawned, 1 to 64; without keys.
    pub workers: Vec<NewWorker>,
    /// The turn that spawns them; it must be under way (P9).
    pub token: Option<Token>,
}

impl Step for SpawnGroup {
    type Answer = Vec<Spawned>;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Vec<Spawned>, OpError> {
        let Self { parent, policy, workers, token } = self;
        let hops = token.map_or(Ok(0), |token| fresh(state, token).map(|row| row.hops + 1))?;
        let (parent, _) = known(state, &parent)?;
        let count = workers.len();
        if !(1..=GROUP_MEMBERS).contains(&count) {
            let allowed = format!("1 to {GROUP_MEMBERS}");
            return Err(OpError::invalid("group members", &count.to_string(), allowed));
        }
        if let GroupPolicy::Quorum(quorum) = policy
            && !(1..=count).contains(&(quorum as usize))
        {
            let allowed = format!("1 to its {count} members");
            return Err(OpError::invalid("quorum", &quorum.to_string(), allowed));
        }
        if workers.iter().any(|worker| worker.key.is_some()) {
            return Err(OpError::invalid("key", "", "none for members of a group"));
        }
        let (mut made, mut members, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for worker in workers {
            let (actor, spawned) = spawn(state, draft, (parent, hops), worker, &names)?;
            names.push(spawned.address.name().clone());
            members.extend(spawned.run.map(|run| (actor, run.seq())));
            made.push(spawned);
        }
        draft.push(Grouped { actor: parent, policy, members });
        Ok(made)
    }
}

/// Drafts one worker with its first message; `ahead` are the names of those made in the same step.
fn spawn(
    state: &State,
    draft: &mut Draft,
    (parent, hops): (Number, u8),
    worker: NewWorker,
    ahead: &[ActorName],
) -> Result<(Number, Spawned), OpError> {
    let NewWorker { agent, key, first, task_id } = worker;
    key.as_deref().map_or(Ok(()), |key| label("key", key))?;
    task_id.as_deref().map_or(Ok(()), |id| label("task_id", id))?;
    first.shape.clone()?;
    begins_at_once(&first)?;
    if hops > HOPS {
        return Err(OpError::HopLimit { hops, limit: HOPS });
    }
    let more = u32::try_from(ahead.len()).unwrap_or(u32::MAX);
    draft.limits.budgets.admit(&counts(state, draft, parent, more))?;
    store_room(state, draft, 1 + ahead.len(), first.sent.bytes)?;
    let (actor, address) = make(state, draft, NewActor { parent, agent, key }, ahead)?;
    let mut sent = first.to(vec![actor])?;
    sent.hops = hops;
    if let Caller::Actor(from) = &sent.from {
        sent.sender = state.find(from).map_or(Sender::Runtime, Sender::Actor);
    }
    let first = draft.push(sent);
    let run = draft.push(Queued { actor, first, task_id });
    let run = Some(RunId::new(run, draft.stamp));
    Ok((actor, Spawned { address, run }))
}

/// The first message of a task goes when its run begins: it cannot wait, expire, or be displaced.
fn begins_at_once(first: &Prepared) -> Result<(), OpError> {
    let sent = &first.sent;
    if sent.not_before.is_none() && sent.expires_at.is_none() && sent.merge == 0 {
        return Ok(());
    }
    let allowed = "no not_before, expires_at or merge_key: it begins a run";
    Err(OpError::invalid("first message", "", allowed))
}

/// An actor that is to be made below another one, in its session.
pub(super) struct NewActor {
    pub(super) parent: Number,
    pub(super) agent: AgentName,
    pub(super) key: Option<String>,
}

/// Drafts an actor; `ahead` are the names of those made in the same step.
pub(super) fn make(
    state: &State,
    draft: &mut Draft,
    new: NewActor,
    ahead: &[ActorName],
) -> Result<(Number, Address), OpError> {
    let NewActor { parent, agent, key } = new;
    let parent_row = state.row(parent).ok_or(OpError::StaleToken)?;
    let session = parent_row.address.session();
    let name = state.next_name(session, &agent, ahead);
    let more = Number::try_from(ahead.len()).unwrap_or(Number::MAX);
    let actor = state.next_number().saturating_add(more);
    draft.push(Created {
        actor,
        session: Some(session),
        name: name.clone(),
        title: None,
        agent: Some(agent),
        parent: Some(parent),
        key,
    });
    Ok((actor, Address::new(session, name)))
}

/// What the tree would have with one more child of `parent` that has no run yet.
pub(super) fn resting(state: &State, draft: &Draft, parent: Number) -> Counts {
    let counts = counts(state, draft, parent, 0);
    Counts { children: counts.children - 1, tree: counts.tree - 1, ..counts }
}

/// What the tree would have with one more child of `parent` beside `more` of the same step.
fn counts(state: &State, draft: &Draft, parent: Number, more: u32) -> Counts {
    let (root, depth) = state.root(parent);
    let counters = &state.counters;
    let more = more + 1;
    Counts {
        depth: depth + 1,
        children: counters.open_children(parent) + more,
        children_ever: (parent != root).then(|| counters.children_ever(parent) + more),
        tree: counters.open_in_tree(root) + more,
        spawns_per_minute: counters.spawns_within_a_minute(root, draft.at()) + more,
    }
}
