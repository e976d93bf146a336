//! The root supervisor: makes actors resident, and anew when their code panics (S7).
//!
//! A resident actor that fails takes its turn's task with it; its mail and their order are the
//! store's and stay. One that fails more than five times within a minute is left out until somebody
//! asks for it after that minute.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use reveille_store::record::Number;

use crate::hub::{Flags, Hub};
use crate::resident::{Identity, ResidentActor};

/// Failures of one actor within [`PERIOD`] that are answered by a restart.
const INTENSITY: usize = 5;
const PERIOD: Duration = Duration::from_secs(60);

/// What the root is told.
pub(crate) enum Message {
    /// This actor has something to do.
    Wake(Number),
}

/// The behaviour of the root.
pub(crate) struct Root;

pub(crate) struct State {
    hub: Arc<Hub>,
    numbers: HashMap<ActorId, Number>,
    failures: HashMap<Number, VecDeque<Duration>>,
}

impl Actor for Root {
    type Msg = Message;
    type State = State;
    type Arguments = Arc<Hub>;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        hub: Arc<Hub>,
    ) -> Result<State, ActorProcessingErr> {
        Ok(State { hub, numbers: HashMap::new(), failures: HashMap::new() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Message>,
        Message::Wake(number): Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        state.make(&myself, number).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Message>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(cell, _, _) => {
                state.numbers.remove(&cell.get_id());
            }
            SupervisionEvent::ActorFailed(cell, error) => {
                if let Some(number) = state.numbers.remove(&cell.get_id()) {
                    tracing::error!(number, %error, "a resident actor failed");
                    state.hub.set_executing(number, false);
                    state.hub.move_out(number);
                    state.failed(number);
                    state.make(&myself, number).await;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl State {
    /// Makes an actor resident, unless it is.
    async fn make(&mut self, myself: &ActorRef<Message>, number: Number) {
        if self.hub.resident(number).is_some() || self.fails_too_often(number) {
            return;
        }
        let identity =
            Identity { hub: Arc::clone(&self.hub), number, flags: Arc::new(Flags::default()) };
        match Actor::spawn_linked(None, ResidentActor, identity, myself.get_cell()).await {
            Ok((actor, _)) => {
                self.numbers.insert(actor.get_id(), number);
            }
            Err(error) => tracing::error!(number, %error, "an actor could not be made resident"),
        }
    }

    fn failed(&mut self, number: Number) {
        let now = self.hub.clock.elapsed();
        self.failures.entry(number).or_default().push_back(now);
    }

    fn fails_too_often(&mut self, number: Number) -> bool {
        let now = self.hub.clock.elapsed();
        let Some(failures) = self.failures.get_mut(&number) else {
            return false;
        };
        failures.retain(|at| now.saturating_sub(*at) < PERIOD);
        let often = failures.len() > INTENSITY;
        if failures.is_empty() {
            self.failures.remove(&number);
        }
        often
    }
}
