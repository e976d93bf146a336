//! Starting a runtime: settings, agents, recovery before service (P12, L6).

use std::collections::HashMap;
use std::sync::Arc;

use ractor::{Actor as _, SpawnErr};
use reveille_core::{AgentName, OpError};
use reveille_store::step::recover::Recover;
use reveille_store::{Observer, Setup, Store};

use crate::agent::AgentSpec;
use crate::clock::Clock;
use crate::config::{Config, ConfigError};
use crate::hub::Hub;
use crate::root::Root;
use crate::runtime::{Runtime, Supervisors};
use crate::watchdog::Watchdog;

/// Why a runtime did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The settings contradict each other.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A name is not allowed, or recovery failed.
    #[error(transparent)]
    Store(#[from] OpError),
    /// The supervisors could not be started.
    #[error("the supervisors did not start: {0}")]
    Supervisor(#[from] Box<SpawnErr>),
}

/// Collects what a runtime needs.
pub struct Builder {
    store: Store,
    config: Config,
    agents: Vec<(String, AgentSpec)>,
    observer: Option<Observer>,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Builder {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, config: Config::default(), agents: Vec::new(), observer: None }
    }

    /// Registers an agent under a name.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>, spec: AgentSpec) -> Self {
        self.agents.push((name.into(), spec));
        self
    }

    /// Sets everything that can be set.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Calls this after each commit, in their order, before anybody is answered: for histories and
    /// the like. It is on everybody's way, so it must be quick, and must not call the runtime.
    #[must_use]
    pub fn observe(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Starts the runtime. When this returns, recovery is finished (P12).
    ///
    /// # Errors
    ///
    /// [`StartError`]: contradictory settings, an illegal name, a store that failed.
    pub async fn start(self) -> Result<Runtime, StartError> {
        self.config.check()?;
        let latest = self.store.look(|state| state.at()).await?;
        let system = || Arc::new(Clock::system_from(latest));
        let clock = self.config.clock.clone().unwrap_or_else(system);
        let mut agents = HashMap::new();
        for (name, spec) in self.agents {
            agents.insert(AgentName::new(&name)?, spec);
        }
        let limits = self.config.limits;
        let hub = Arc::new(Hub::new(self.store, self.config, Arc::clone(&clock), agents));
        let (observer, others) = (Arc::downgrade(&hub), self.observer);
        hub.store.configure(Setup {
            limits,
            now: Arc::new(move || clock.now()),
            observer: Some(Arc::new(move |commit| {
                if let Some(other) = &others {
                    other(commit);
                }
                if let Some(hub) = observer.upgrade() {
                    hub.committed(commit);
                }
            })),
        });
        let recovered = hub.store.run(Recover).await?;
        let (root, _) = Root::spawn(None, Root, Arc::clone(&hub)).await.map_err(Box::new)?;
        let (watchdog, _) =
            Watchdog::spawn_linked(None, Watchdog, Arc::clone(&hub), root.get_cell())
                .await
                .map_err(Box::new)?;
        let supervisors = Supervisors { root: root.clone(), watchdog: watchdog.clone() };
        // Both are set once: the hub was made above.
        let _ = (hub.root.set(root), hub.watchdog.set(watchdog));
        let runtime = Runtime::new(hub, supervisors, recovered);
        runtime.wake_all().await?;
        tokio::spawn(crate::runtime::look::keep_auditing(runtime.hub()));
        Ok(runtime)
    }
}
