//! How an actor stands, for people who look.

use std::fmt;

use reveille_core::{Address, AgentName, InjectionId, RunId, Timestamp};
use reveille_store::State;
use reveille_store::state::row::Row;

/// The state of an actor (section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorState {
    /// A task run waits for its first turn.
    Queued,
    /// A run is open.
    Running,
    /// At rest.
    Idle,
}

impl fmt::Display for ActorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Idle => "idle",
        })
    }
}

/// How an actor stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActorView {
    /// Where mail for it goes.
    pub address: Address,
    /// Whose worker it is.
    pub parent: Option<Address>,
    /// The agent that runs its turns.
    pub agent: Option<AgentName>,
    /// The spawner's own name for it.
    pub key: Option<String>,
    /// What it does.
    pub state: ActorState,
    /// Whether a turn is under way.
    pub in_turn: bool,
    /// Its open run.
    pub run: Option<RunId>,
    /// Since when: its run was begun, or it was made.
    pub since: Timestamp,
    /// Its open injections, oldest first.
    pub open: Vec<InjectionId>,
    /// Unread mail that no injection holds.
    pub pending: usize,
    /// Mail that cannot be delivered.
    pub dead: usize,
    /// How its latest run ended: the run and the name of the state.
    pub ended: Option<(RunId, &'static str)>,
}

impl ActorView {
    /// How the actor of a row stands.
    #[must_use]
    pub fn new(state: &State, row: &Row) -> Self {
        let parent = row.parent.and_then(|parent| state.row(parent));
        Self {
            address: row.address.clone(),
            parent: parent.map(|parent| parent.address.clone()),
            agent: row.agent.clone(),
            key: row.key.clone(),
            state: match &row.run {
                Some(run) if !run.begun => ActorState::Queued,
                Some(_) => ActorState::Running,
                None => ActorState::Idle,
            },
            in_turn: row.turn.is_some(),
            run: row.run.as_ref().map(|run| run.id),
            since: row.run.as_ref().map_or(row.created, |run| run.since),
            open: row.open.iter().map(|open| open.id).collect(),
            pending: row.pending.len(),
            dead: row.dead.len(),
            ended: row.ended.as_ref().map(|ended| (ended.id, ended.state.name())),
        }
    }
}
