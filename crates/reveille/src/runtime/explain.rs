//! Explaining: what the store says, and what only a runtime knows (section 14).

use reveille_core::{Address, MessageId, OpError, RunId};
use reveille_store::why::{self, Why};

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
        // What is missing matters only to an actor that would otherwise go on.
        let wants = why.waiting_for.as_deref().is_some_and(|line| line.starts_with("a slot"));
        match agent {
            None => why.facts.push("no agent runs its turns".into()),
            Some(agent) if self.hub.agent(&agent).is_none() => {
                why.facts.push(format!("no_agent: {agent} is not registered"));
                if wants {
                    why.waiting_for = Some(format!("the agent {agent}: nobody registered it"));
                }
            }
            Some(agent) => {
                if let Some(until) = self.hub.unmade_until(number) {
                    why.facts.push(format!("no_agent: {agent} could not be made"));
                    if wants {
                        let until = format!("the agent {agent}, tried again at {until}");
                        why.waiting_for = Some(until);
                    }
                }
            }
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
        self.hub.store.look(move |state| why::message(state, message, &sent, now, windows)).await
    }

    /// Why a run is as it is: the open run of an actor, or its latest with an outcome.
    ///
    /// # Errors
    ///
    /// `unknown_id`.
    pub async fn why_run(&self, run: RunId) -> Result<Why, OpError> {
        let (now, windows) = (self.hub.clock.now(), self.hub.config.window);
        let found = self.hub.store.look(move |state| why::run(state, run, now, windows)).await?;
        found.ok_or_else(|| OpError::UnknownId { id: run.to_string() })
    }
}
