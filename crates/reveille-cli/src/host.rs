//! Hosting a crew: the store, the programs that a crash left behind, the runtime, the declarations.

use std::path::Path;

use anyhow::Context as _;
use reveille::{ActorView, Observer, Options, Runtime, Session, SessionSpec, Spawn};
use reveille_agents::ledger::Ledger;

use crate::crew::{self, Crew};
use crate::out;

/// A crew that is being hosted.
pub(crate) struct Hosted {
    pub(crate) runtime: Runtime,
    pub(crate) sessions: Vec<Session>,
}

impl Hosted {
    /// Opens the data folder and recovers.
    pub(crate) async fn start(
        crew: &Crew,
        folder: &Path,
        data: &Path,
        history: Option<Observer>,
    ) -> anyhow::Result<Self> {
        let store = Options::default().open(data)?;
        let ledger = Ledger::open(data.join("processes")).context("the notes of processes")?;
        let left = ledger.sweep().context("the processes that were left over")?;
        if left > 0 {
            out::note(format_args!(
                "{left} processes were left over from an earlier start: killed"
            ));
        }
        let mut builder = Runtime::builder(store).config(crew.config());
        if let Some(history) = history {
            builder = builder.observe(history);
        }
        for (name, spec) in crew.specs(folder, &ledger) {
            builder = builder.agent(name, spec);
        }
        let hosted = Self { runtime: builder.start().await?, sessions: Vec::new() };
        hosted.tell_recovered();
        Ok(hosted)
    }

    /// Declares the crew: what is there already is left alone.
    pub(crate) async fn declare_all(&mut self, crew: &Crew) -> anyhow::Result<()> {
        for (name, session) in &crew.sessions {
            self.declare(name, session).await.with_context(|| format!("session {name}"))?;
        }
        Ok(())
    }

    fn tell_recovered(&self) {
        let recovered = self.runtime.recovered();
        let (interrupted, again) = (recovered.interrupted.len(), recovered.again.len());
        if interrupted + again > 0 {
            out::note(format_args!(
                "recovered: {interrupted} runs interrupted, {again} injections offered again"
            ));
        }
    }

    /// Makes the session, with its first message, and its workers, each once.
    async fn declare(&mut self, name: &str, declared: &crew::Session) -> anyhow::Result<()> {
        let known = self.runtime.sessions().await?.into_iter().find(|known| known.name() == name);
        let session = match known {
            Some(known) => known,
            None => {
                let mut spec = SessionSpec::new(name).agent(&declared.agent);
                if let Some(first) = &declared.first {
                    spec = spec.first_message(first);
                }
                self.runtime.create_session(spec).await?
            }
        };
        for (key, worker) in declared.keyed() {
            let mut spawn = Spawn::agent(&worker.agent).first_message(&worker.first).key(&key);
            if let Some(task) = &worker.task_id {
                spawn = spawn.task_id(task);
            }
            let spawned = self.runtime.spawn(session.main(), spawn).await;
            spawned.with_context(|| format!("worker {key}"))?;
        }
        self.sessions.push(session);
        Ok(())
    }

    /// All actors of the runtime, page by page.
    pub(crate) async fn actors(&self) -> anyhow::Result<Vec<ActorView>> {
        let mut all: Vec<ActorView> = Vec::new();
        loop {
            let after = all.last().map(|view| view.address.clone());
            let page = self.runtime.actors(after, 1000).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }
}
