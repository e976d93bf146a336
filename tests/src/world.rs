//! A runtime on a paused clock over a store in memory, which outlives it.
//!
//! Each life of the runtime has a tokio runtime of its own: dropping that is a crash, because
//! nothing of it runs any more, and the next life recovers from the store.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use reveille::{AgentSpec, Clock, Config, Runtime, Session, SessionSpec, Store, Timestamp};

use crate::host::Host;

/// When worlds begin.
pub const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A store that outlives the runtimes on it, and a host.
#[derive(Debug, Clone)]
pub struct World {
    /// The store.
    pub store: Store,
    /// The host.
    pub host: Host,
    /// The runtime's settings; each life has a clock of its own.
    pub config: Config,
    agents: Vec<(String, AgentSpec)>,
}

impl Default for World {
    fn default() -> Self {
        let config = Config { jitter_seed: Some(1), ..Config::default() };
        Self { store: Store::in_memory(), host: Host::default(), config, agents: Vec::new() }
    }
}

impl World {
    /// A world on this store.
    #[must_use]
    pub fn on(store: Store) -> Self {
        Self { store, ..Self::default() }
    }

    /// Registers an agent for every life.
    #[must_use]
    pub fn with(mut self, name: &str, spec: AgentSpec) -> Self {
        self.agents.push((name.to_owned(), spec));
        self
    }

    /// Registers an agent that the host scripts.
    #[must_use]
    pub fn agent(self, name: &str, spec: impl FnOnce(&Host) -> AgentSpec) -> Self {
        let spec = spec(&self.host);
        self.with(name, spec)
    }

    /// Changes the settings.
    #[must_use]
    pub fn set(mut self, set: impl FnOnce(&mut Config)) -> Self {
        set(&mut self.config);
        self
    }

    /// Lives: runs a runtime until `life` ends; then it is gone, as by a crash.
    pub fn live<T, Fut: Future<Output = T>>(&self, life: impl FnOnce(Runtime) -> Fut) -> T {
        let tokio = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let result = tokio.block_on(async {
            let store = self.store.clone();
            let at = store.look(|state| state.at()).await.unwrap();
            let clock = Clock::virtual_from(at.max(START));
            let config = Config { clock: Some(Arc::new(clock)), ..self.config.clone() };
            let mut builder = Runtime::builder(store).config(config);
            for (name, spec) in &self.agents {
                builder = builder.agent(name, spec.clone());
            }
            life(builder.start().await.unwrap()).await
        });
        drop(tokio);
        result
    }
}

/// A session whose main actor runs this agent.
pub async fn session(runtime: &Runtime, agent: &str) -> Session {
    runtime.create_session(SessionSpec::new(agent).agent(agent)).await.unwrap()
}

/// Waits until nothing is going on in a session.
pub async fn idle(runtime: &Runtime, session: &Session) {
    runtime.wait_idle(session.id(), Duration::from_secs(36_000)).await.unwrap();
}

/// Lets virtual time pass.
pub async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
