//! A store at rest: all that needs no turn, on a store that nobody runs.
//!
//! Mail is sent and marked, holds are declared, questions answered and everything is looked at by the
//! same operations as on a runtime, and each is durable when Ok (P1). No turn starts, nothing is
//! recovered and no clock is watched: the next start of a runtime finds what was done here and goes on
//! from there (P5, P12). Whoever only looks leaves the log as it was.

use std::collections::HashMap;
use std::sync::Arc;

use reveille_core::{OpError, Timestamp};
use reveille_store::step::recover::Recovered;
use reveille_store::{Setup, Store};

use crate::clock::Clock;
use crate::config::Config;
use crate::hub::{Hub, Phase};
use crate::runtime::Runtime;

impl Runtime {
    /// The operations on a store that nobody runs. What would wait for a turn answers
    /// `shutting_down`.
    ///
    /// # Errors
    ///
    /// `storage_failed`.
    pub async fn at_rest(store: Store) -> Result<Self, OpError> {
        let latest = store.look(|state| state.at()).await?;
        let clock = Arc::new(Clock::system_from(latest));
        let config = Config::default();
        let (limits, now) = (config.limits, Arc::clone(&clock));
        store.configure(Setup { limits, now: Arc::new(move || now.now()), observer: None });
        let hub = Arc::new(Hub::new(store, config, clock, HashMap::new()));
        hub.set_phase(Phase::AtRest);
        Ok(Self { hub, supervisors: None, recovered: Arc::new(Recovered::default()) })
    }

    /// Whether this is a store at rest: [`Runtime::at_rest`].
    #[must_use]
    pub const fn is_at_rest(&self) -> bool {
        self.supervisors.is_none()
    }

    /// The moment by the runtime's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.hub.clock.now()
    }
}
