//! A store in memory with a clock that only the test moves, and short words for the steps.

#![allow(dead_code, unreachable_pub)] // each test uses a part

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_executor::block_on;
use reveille_core::failure::TurnFailure;
use reveille_core::window::WindowSettings;
use reveille_core::{
    Address, AgentName, Caller, Cause, FailureClass, Kind, MessageId, OpError, Seq, Status, Text,
    Timestamp,
};
use reveille_store::record::Mark;
use reveille_store::state::row::Row;
use reveille_store::step::actors::{CreateSession, NewWorker, Spawn};
use reveille_store::step::end::{EndTurn, FailTurn, Next, Report, TurnEnd};
use reveille_store::step::mark::{MarkMail, MarkedMail};
use reveille_store::step::send::{Accepted, Post, Prepared, Send, To};
use reveille_store::step::turn::{Claim, ClaimMail, OfferAgain, SafePoint};
use reveille_store::step::{Limits, Step, Token};
use reveille_store::whereabouts::{MailState, whereabouts};
use reveille_store::{Options, Store};

pub type Done<T> = Result<T, OpError>;

/// A store and its clock.
pub struct World {
    pub store: Store,
    clock: Arc<AtomicU64>,
}

impl Default for World {
    fn default() -> Self {
        Self::with(|_| {})
    }
}

impl World {
    /// A world with other limits.
    pub fn with(set: impl FnOnce(&mut Limits)) -> Self {
        let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
        let theirs = Arc::clone(&clock);
        let now = Arc::new(move || Timestamp::from_millis(theirs.load(Ordering::Relaxed)));
        let mut options = Options { now, salt: 7, ..Options::default() };
        set(&mut options.limits);
        Self { store: options.in_memory(), clock }
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::Relaxed))
    }

    /// Lets time pass.
    pub fn pass(&self, seconds: u64) {
        self.clock.fetch_add(seconds * 1_000, Ordering::Relaxed);
    }

    pub fn run<S: Step>(&self, step: S) -> Done<S::Answer> {
        block_on(self.store.run(step))
    }

    pub fn session(&self, title: &str) -> Address {
        let agent = Some(AgentName::new("agent").unwrap());
        self.run(CreateSession { title: title.into(), agent, first: None }).unwrap().main
    }

    /// A worker whose task has ended: its parent is told, and the parent's notices are away.
    pub fn worker(&self, parent: &Address) -> Address {
        let worker = worker("task");
        self.run(Spawn { parent: parent.clone(), worker, token: None }).unwrap().address
    }

    pub fn number(&self, address: &Address) -> u32 {
        let address = address.clone();
        block_on(self.store.look(move |state| state.find(&address))).unwrap().unwrap()
    }

    pub fn row(&self, address: &Address) -> Row {
        let number = self.number(address);
        block_on(self.store.look(move |state| state.row(number).cloned())).unwrap().unwrap()
    }

    pub fn post(&self, from: &Caller, to: &[&Address], post: Post) -> Done<Accepted> {
        let to = To::Actors(to.iter().map(|to| (*to).clone()).collect());
        self.post_to(from, to, post)
    }

    pub fn post_to(&self, from: &Caller, to: To, post: Post) -> Done<Accepted> {
        let message = Prepared::new(from.clone(), post, &to);
        self.run(Send { to, message, token: None })
    }

    /// Sends a text of a person.
    pub fn send(&self, to: &Address, body: &str) -> MessageId {
        self.post(&anna(), &[to], text(body)).unwrap().id
    }

    /// Opens a turn with what waits; windows close at once.
    pub fn claim(&self, actor: &Address) -> Option<Claim> {
        let zero = Duration::ZERO;
        let windows = WindowSettings { quiet: zero, max: zero, min_gap: zero };
        self.run(ClaimMail { actor: self.number(actor), windows }).unwrap()
    }

    pub fn again(&self, actor: &Address) -> Option<Claim> {
        self.run(OfferAgain { actor: self.number(actor) }).unwrap()
    }

    pub fn safe_point(&self, token: Token) -> Option<Claim> {
        self.run(SafePoint { token, steer: false }).unwrap()
    }

    pub fn end(&self, claim: &Claim) -> TurnEnd {
        self.report(claim, false, Next::Auto).unwrap()
    }

    pub fn report(&self, claim: &Claim, changed: bool, next: Next) -> Done<TurnEnd> {
        let (status, result) = (Status::Success, "done".to_owned());
        let report = Report { status, summary: None, result, changed, next };
        self.run(EndTurn { token: claim.token, report })
    }

    pub fn fail(&self, claim: &Claim, failure: TurnFailure) -> TurnEnd {
        let (class, error) = (FailureClass::Transient, "it failed".to_owned());
        let (token, cause) = (claim.token, Cause::Crash);
        let fail = FailTurn { token, failure, class, error, back_off: Duration::ZERO, cause };
        self.run(fail).unwrap()
    }

    pub fn mark(&self, actor: &Address, message: MessageId, mark: Mark) -> Done<MarkedMail> {
        let (actor, by) = (actor.clone(), anna());
        self.run(MarkMail { actor, message, mark, by, token: None })
    }

    pub fn place(&self, message: MessageId, actor: &Address) -> MailState {
        let (number, now) = (self.number(actor), self.now());
        let look = move |state: &_| whereabouts(state, message.seq(), number, now);
        block_on(self.store.look(look)).unwrap()
    }

    /// Whether mail would wake the actor now.
    pub fn wakes(&self, actor: &Address) -> bool {
        self.row(actor).wake_worthy(self.now()).is_some()
    }

    /// The bodies of a claim's texts, and `notice` for notices.
    pub fn bodies(&self, claim: &Claim) -> Vec<String> {
        let seqs: Vec<Seq> = claim.picks.iter().map(|pick| pick.seq).collect();
        let body = |record| match record {
            Some((_, reveille_store::record::Record::Sent(sent))) => {
                let sent: reveille_store::record::Sent = sent;
                match reveille_store::codec::decode(&sent.content).unwrap() {
                    reveille_core::Content::Text(text) => text.body,
                    reveille_core::Content::Notice(notice) => notice.state.name().to_owned(),
                }
            }
            other => panic!("{other:?}"),
        };
        self.store.records(&seqs).unwrap().into_iter().map(body).collect()
    }
}

pub fn anna() -> Caller {
    Caller::human("anna").unwrap()
}

pub fn actor(address: &Address) -> Caller {
    Caller::Actor(address.clone())
}

/// A text that wants nothing special and is not urgent.
pub fn text(body: &str) -> Post {
    Post { urgent: Some(false), ..Post::new(Text::new(body)) }
}

pub fn of_kind(kind: Kind, body: &str) -> Post {
    let task_id = (kind == Kind::Handoff).then(|| "T1".to_owned());
    Post::new(Text { kind, task_id, ..Text::new(body) })
}

pub fn worker(task: &str) -> NewWorker {
    NewWorker {
        agent: AgentName::new("worker").unwrap(),
        key: None,
        first: Prepared::text(Caller::Host, Text::new(task)),
        task_id: None,
    }
}
