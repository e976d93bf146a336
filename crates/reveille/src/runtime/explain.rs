//! Explaining: what the store says, and what only a runtime knows (section 14).

use reveille_core::{Address, AgentName, MessageId, OpError, RunId, Timestamp};
use reveille_store::State;
use reveille_store::record::Number;
use reveille_store::why::{self, Why};

use crate::hub::{Hub, Phase};
use crate::ops;
use crate::runtime::Runtime;

impl Runtime {
    /// Why an actor is as it is, and what it waits for.
    ///
    /// # Errors
    ///
    /// `unknown_actor`.
    pub async fn why(&self, address: &Address) -> Result<Why, OpError> {
        let number = ops::number(&self.hub, address).await?;
        let (now, windows) = (self.hub.clock.now(), self.hub.config.window);
        let found = self.hub.store.look(move |state| {
            let agent = state.row(number).and_then(|row| row.agent.clone());
            (why::actor(state, number, now, windows), agent)
        });
        let (Some(mut why), agent) = found.await? else {
            return Err(OpError::UnknownActor { address: address.clone() });
        };
        if let Some(missing) = Missing::of(&self.hub, number, agent.as_ref()) {
            why.facts.push(missing.fact());
            why.waiting_for = why.waiting_for.map(|line| missing.amend(line));
        }
        Ok(why)
    }

    /// Why a message is where it is, for each of its recipients.
    ///
    /// # Errors
    ///
    /// `unknown_id`.
    pub async fn why_message(&self, message: MessageId) -> Result<Vec<Why>, OpError> {
        let sent = ops::message(&self.hub, message).await?;
        let (now, windows) = (self.hub.clock.now(), self.hub.config.window);
        let look = move |state: &State| why::message(state, message, &sent, now, windows);
        let mut all = self.hub.store.look(look).await?;
        self.amend_at_rest(&mut all);
        Ok(all)
    }

    /// Why a run is as it is: the open run of an actor, or its latest with an outcome.
    ///
    /// # Errors
    ///
    /// `unknown_id`.
    pub async fn why_run(&self, run: RunId) -> Result<Why, OpError> {
        let (now, windows) = (self.hub.clock.now(), self.hub.config.window);
        let found = self.hub.store.look(move |state| why::run(state, run, now, windows)).await?;
        let mut why = found.ok_or_else(|| OpError::UnknownId { id: run.to_string() })?;
        self.amend_at_rest(std::slice::from_mut(&mut why));
        Ok(why)
    }

    fn amend_at_rest(&self, all: &mut [Why]) {
        if self.is_at_rest() {
            for why in all {
                why.waiting_for = why.waiting_for.take().map(|line| Missing::Runtime.amend(line));
            }
        }
    }
}

/// What an actor's next turn lacks that the store does not know of.
pub(super) enum Missing {
    /// Somebody who runs the store.
    Runtime,
    /// An agent at all.
    Any,
    /// That somebody registers its agent (W12).
    Registered(AgentName),
    /// That its agent, which could not be made, is tried again (W12).
    Made(AgentName, Timestamp),
}

impl Missing {
    /// What this actor's next turn lacks, if anything.
    pub(super) fn of(hub: &Hub, number: Number, agent: Option<&AgentName>) -> Option<Self> {
        let until = |agent| Some(Self::Made(agent, hub.unmade_until(number)?));
        match agent.cloned() {
            _ if hub.phase() == Phase::AtRest => Some(Self::Runtime),
            None => Some(Self::Any),
            Some(agent) if hub.agent(&agent).is_none() => Some(Self::Registered(agent)),
            Some(agent) => until(agent),
        }
    }

    fn fact(&self) -> String {
        match self {
            Self::Runtime => "nobody runs this store".into(),
            Self::Any => "no agent runs its turns".into(),
            Self::Registered(agent) => format!("no_agent: {agent} is not registered"),
            Self::Made(agent, _) => format!("no_agent: {agent} could not be made"),
        }
    }

    /// What an actor waits for, given what the store says. What is missing matters only to one that
    /// would otherwise go on.
    pub(super) fn amend(&self, line: String) -> String {
        if !line.starts_with("a slot") {
            return line;
        }
        match self {
            Self::Runtime => "a runtime: nobody runs this store".into(),
            Self::Any => line,
            Self::Registered(agent) => format!("the agent {agent}: nobody registered it"),
            Self::Made(agent, until) => format!("the agent {agent}, tried again at {until}"),
        }
    }
}
