//! Crew files: agents, sessions and workers, as TOML.
//!
//! Unknown keys are refused, with the line; names and values are checked before anything starts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reveille::limits::SLOTS;
use reveille::message::label;
use reveille::{AgentName, AgentSpec, Config, Style, Text};
use reveille_agents::Command;
use reveille_agents::ledger::Ledger;
use serde::{Deserialize, Serialize};

use crate::failure::Invalid;

/// A crew.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Crew {
    #[serde(default)]
    pub(crate) limits: Limits,
    #[serde(default)]
    pub(crate) agents: BTreeMap<String, Agent>,
    #[serde(default)]
    pub(crate) sessions: BTreeMap<String, Session>,
}

/// What the crew may use; what is left out has the runtime's default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// Turns at the same time; 0 is without limit.
    pub(crate) slots: Option<usize>,
    /// Open runs among one actor's children.
    pub(crate) children: Option<u32>,
    /// Open runs in one tree.
    pub(crate) tree: Option<u32>,
    /// Spawns per minute in one tree.
    pub(crate) spawns_per_minute: Option<u32>,
}

/// An agent that is a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agent {
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// Where it runs, from the crew file's folder.
    pub(crate) cwd: Option<PathBuf>,
    /// Added to its environment.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// No progress for this long is a stall.
    #[serde(default, with = "humantime_serde")]
    pub(crate) stall_after: Option<Duration>,
    /// What happens to mail while a turn runs.
    #[serde(default)]
    pub(crate) busy: Busy,
    /// How injections are written.
    #[serde(default)]
    pub(crate) style: Style,
}

/// What happens to mail while a turn runs. A program that is run once for each turn has no safe
/// points, so there is nothing else to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Busy {
    /// It waits.
    #[default]
    Queue,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Session {
    /// The agent of its main actor.
    pub(crate) agent: String,
    /// Its first message, sent once.
    pub(crate) first: Option<String>,
    /// Its workers, spawned once each.
    #[serde(default)]
    pub(crate) workers: Vec<Worker>,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Worker {
    /// The agent that runs its turns.
    pub(crate) agent: String,
    /// What it is to do.
    pub(crate) first: String,
    /// What it is known by over starts; otherwise its agent and its first message.
    pub(crate) key: Option<String>,
    /// The task it is given.
    pub(crate) task_id: Option<String>,
}

impl Session {
    /// The workers, each with what it is known by over starts. One without a key is known by its
    /// agent, its first message, and how many alike stand before it, so that the list may grow and be
    /// put in another order.
    pub(crate) fn keyed(&self) -> Vec<(String, &Worker)> {
        let mut alike: HashMap<(&str, &str), u32> = HashMap::new();
        let key = |worker: &Worker, nth: u32| {
            let sum = crc32fast::hash(worker.first.as_bytes());
            format!("{}-{sum:08x}-{nth}", worker.agent)
        };
        let mut keyed = Vec::new();
        for worker in &self.workers {
            let nth = alike.entry((&worker.agent, &worker.first)).or_default();
            *nth += 1;
            keyed.push((worker.key.clone().unwrap_or_else(|| key(worker, *nth)), worker));
        }
        keyed
    }
}

impl Crew {
    /// Reads a crew file and checks it.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let invalid = |what: String| Invalid(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| invalid(error.to_string()))?;
        let crew: Self =
            toml::from_str(&text).map_err(|error| invalid(error.to_string().trim_end().into()))?;
        crew.check().map_err(invalid)?;
        Ok(crew)
    }

    fn check(&self) -> Result<(), String> {
        if self.sessions.is_empty() {
            return Err("there is no [sessions.NAME]".into());
        }
        for (name, agent) in &self.agents {
            AgentName::new(name).map_err(|error| format!("agents.{name}: {error}"))?;
            if agent.command.is_empty() {
                return Err(format!("agents.{name}.command names no program"));
            }
            if agent.stall_after == Some(Duration::ZERO) {
                return Err(format!("agents.{name}.stall_after is 0s, allowed is at least 1ms"));
            }
        }
        for (name, session) in &self.sessions {
            self.check_workers(session).map_err(|error| format!("sessions.{name}: {error}"))?;
            let workers = session.workers.iter().map(|worker| &worker.agent);
            for agent in workers.chain([&session.agent]) {
                if !self.agents.contains_key(agent) {
                    return Err(format!(
                        "sessions.{name} uses agent {agent:?}, which is not there"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Everything that would make a declaration fail half-way.
    fn check_workers(&self, session: &Session) -> Result<(), String> {
        let first = session.first.iter().map(|first| ("first".to_owned(), first));
        let keyed = session.keyed();
        let firsts = keyed
            .iter()
            .map(|(key, worker)| (format!("the first message of {key}"), &worker.first));
        for (what, first) in first.chain(firsts) {
            Text::new(first).check().map_err(|error| format!("{what}: {error}"))?;
        }
        let mut keys = HashSet::new();
        for (key, worker) in session.keyed() {
            label("key", &key).map_err(|error| error.to_string())?;
            let task_id = worker.task_id.as_deref();
            task_id.map_or(Ok(()), |id| label("task_id", id)).map_err(|error| error.to_string())?;
            if !keys.insert(key.clone()) {
                return Err(format!("two workers have the key {key:?}"));
            }
        }
        let budgets = self.config().limits.budgets;
        let count = u32::try_from(session.workers.len()).unwrap_or(u32::MAX);
        for (limit, value) in [
            ("children", budgets.children),
            ("tree", budgets.tree),
            ("spawns_per_minute", budgets.spawns_per_minute),
        ] {
            if count > value {
                return Err(format!("{count} workers, but limits.{limit} is {value}"));
            }
        }
        Ok(())
    }

    /// The runtime's settings for this crew.
    pub(crate) fn config(&self) -> Config {
        let mut config = Config::default();
        let Limits { slots, children, tree, spawns_per_minute } = self.limits;
        config.slots = slots.unwrap_or(SLOTS);
        let budgets = &mut config.limits.budgets;
        budgets.children = children.unwrap_or(budgets.children);
        budgets.tree = tree.unwrap_or(budgets.tree);
        budgets.spawns_per_minute = spawns_per_minute.unwrap_or(budgets.spawns_per_minute);
        config
    }

    /// The agents to register; paths are taken from the crew file's folder.
    pub(crate) fn specs(&self, folder: &Path, ledger: &Ledger) -> Vec<(String, AgentSpec)> {
        let spec = |(name, agent): (&String, &Agent)| {
            let mut argv: Vec<OsString> = agent.command.iter().map(Into::into).collect();
            if let Some(program) = argv.first_mut()
                && Path::new(program).components().count() > 1
            {
                *program = folder.join(&*program).into();
            }
            let mut command = Command::new(argv).ledger(ledger.clone());
            command = command
                .cwd(agent.cwd.as_ref().map_or_else(|| folder.into(), |cwd| folder.join(cwd)));
            for (variable, value) in &agent.env {
                command = command.env(variable, value);
            }
            let spec = command.spec();
            let spec = agent.stall_after.into_iter().fold(spec, AgentSpec::stall_after);
            let spec = spec.style(agent.style);
            (name.clone(), spec)
        };
        self.agents.iter().map(spec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Crew, String> {
        let crew: Crew = toml::from_str(text).map_err(|error| error.to_string())?;
        crew.check().map(|()| crew)
    }

    #[test]
    fn a_mistake_in_a_crew_file_is_named() {
        let agent = "[agents.a]\ncommand = [\"true\"]\n";
        for (text, named) in [
            (String::new(), "[sessions.NAME]"),
            (format!("{agent}[sessions.lead]\nagent = \"b\"\n"), "uses agent \"b\""),
            (format!("{agent}colour = 3\n"), "colour"),
            (format!("{agent}busy = \"steer\"\n"), "steer"),
            (format!("{agent}stall_after = \"0s\"\n[sessions.s]\nagent = \"a\"\n"), "at least 1ms"),
            (
                format!(
                    "{agent}[sessions.s]\nagent = \"a\"\n\
                     [[sessions.s.workers]]\nagent = \"a\"\nfirst = \"x\"\nkey = \"one\"\n\
                     [[sessions.s.workers]]\nagent = \"a\"\nfirst = \"y\"\nkey = \"one\"\n"
                ),
                "two workers have the key \"one\"",
            ),
            (
                format!(
                    "[limits]\nchildren = 0\n{agent}[sessions.s]\nagent = \"a\"\n\
                     [[sessions.s.workers]]\nagent = \"a\"\nfirst = \"x\"\n"
                ),
                "1 workers, but limits.children is 0",
            ),
            ("[agents.A]\ncommand = [\"x\"]\n[sessions.s]\nagent = \"A\"\n".into(), "agent name"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(named), "{text}\n{error}");
        }
    }

    #[test]
    fn workers_without_a_key_are_known_by_what_they_are_asked() {
        let worker = |first: &str| Worker {
            agent: "a".into(),
            first: first.into(),
            key: None,
            task_id: None,
        };
        let keys = |firsts: &[&str]| -> HashSet<String> {
            let workers = firsts.iter().map(|first| worker(first)).collect();
            let session = Session { agent: "a".into(), first: None, workers };
            session.keyed().into_iter().map(|(key, _)| key).collect()
        };
        let before = keys(&["one", "two", "one"]);
        assert_eq!(before.len(), 3);
        assert!(keys(&["new", "one", "one", "two"]).is_superset(&before));
    }
}
