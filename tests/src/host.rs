//! A scripted host: agents that do what a test says, and a log of every injection they were given.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reveille::message::Content;
use reveille::{
    Address, Agent, AgentSpec, Injection, InjectionId, MessageId, NewAgent, Presence, RunId,
    Timestamp, Trigger, Turn, TurnError, TurnReport,
};

/// An injection as an agent was given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Whose.
    pub actor: Address,
    /// Which.
    pub injection: InjectionId,
    /// Which attempt at it.
    pub attempt: u32,
    /// Why it was made.
    pub trigger: Trigger,
    /// Its run.
    pub run: RunId,
    /// When it was claimed.
    pub at: Timestamp,
    /// Its messages.
    pub entries: Vec<SeenEntry>,
}

/// A message as an agent was given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenEntry {
    /// Which.
    pub id: MessageId,
    /// When it was committed.
    pub sent: Timestamp,
    /// The body of a text, or the first line of a notice without its address.
    pub text: String,
    /// The run and state that a notice tells of.
    pub told: Option<(RunId, &'static str)>,
}

impl Seen {
    fn new(injection: &Injection) -> Self {
        let entries = injection.entries.iter().map(|entry| {
            let (text, told) = match &entry.content {
                Content::Text(text) => (text.body.clone(), None),
                Content::Notice(notice) => {
                    let text = notice.text(false);
                    let line = text.lines().next().unwrap_or("");
                    let ending = line.split_once(' ').map_or(line, |(_, ending)| ending);
                    (ending.to_owned(), notice.run.map(|run| (run, notice.state.name())))
                }
            };
            SeenEntry { id: entry.id, sent: entry.sent, text, told }
        });
        Self {
            actor: injection.actor.clone(),
            injection: injection.id,
            attempt: injection.attempt,
            trigger: injection.trigger,
            run: injection.run,
            at: injection.at,
            entries: entries.collect(),
        }
    }

    /// The texts of its messages.
    pub fn texts(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.text.as_str()).collect()
    }
}

/// What an agent's turn answers.
pub type Answer = Result<TurnReport, TurnError>;
type Behaviour = Arc<dyn Fn(Turn, Injection) -> BoxFuture<'static, Answer> + Send + Sync>;

/// A scripted host.
#[derive(Debug, Clone, Default)]
pub struct Host {
    log: Arc<Mutex<Vec<Seen>>>,
}

impl Host {
    /// An agent that behaves as the function says.
    pub fn agent<F, Fut>(&self, behaviour: F) -> AgentSpec
    where
        F: Fn(Turn, Injection) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        self.agent_with(behaviour, Presence::Unknown)
    }

    /// The same, with an answer to whether it has an injection.
    pub fn agent_with<F, Fut>(&self, behaviour: F, presence: Presence) -> AgentSpec
    where
        F: Fn(Turn, Injection) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        let behaviour: Behaviour =
            Arc::new(move |turn, injection| Box::pin(behaviour(turn, injection)));
        let log = Arc::clone(&self.log);
        AgentSpec::new(move |_: NewAgent| {
            let (log, behaviour) = (Arc::clone(&log), Arc::clone(&behaviour));
            async move { Ok::<_, Infallible>(Scripted { log, behaviour, presence }) }
        })
    }

    /// An agent that ends each turn at once.
    pub fn quick(&self) -> AgentSpec {
        self.agent(|_, _| async { Ok(TurnReport::success("done")) })
    }

    /// Every injection that an agent was given, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.log.lock().clone()
    }

    /// The injections of one actor.
    pub fn seen_by(&self, actor: &Address) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.actor == *actor).collect()
    }
}

struct Scripted {
    log: Arc<Mutex<Vec<Seen>>>,
    behaviour: Behaviour,
    presence: Presence,
}

impl Agent for Scripted {
    async fn turn(&mut self, turn: &Turn, injection: Injection) -> Answer {
        self.log.lock().push(Seen::new(&injection));
        (self.behaviour)(turn.clone(), injection).await
    }

    async fn contains(&mut self, _: InjectionId) -> Presence {
        self.presence
    }
}
