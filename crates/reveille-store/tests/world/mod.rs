//! A store with a clock that only the test moves, and short words for the steps.
//!
//! The disk is in memory. When a world is dropped its log is replayed, and must give the same rows.

#![allow(dead_code, unreachable_pub)] // each test uses a part

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_executor::block_on;
use reveille_core::compose::Pick;
use reveille_core::failure::TurnFailure;
use reveille_core::window::WindowSettings;
use reveille_core::{
    Address, AgentName, Caller, Cause, Content, Entry, FailureClass, Injection, InjectionId, Kind,
    MessageId, Notice, OpError, Outcome, Seq, Status, Style, Text, Timestamp,
};
use reveille_store::codec;
use reveille_store::fault::{FaultyDisk, Leftover, open};
use reveille_store::raw;
use reveille_store::record::{Mark, Record};
use reveille_store::state::row::Row;
use reveille_store::step::actors::{CreateSession, NewWorker, Spawn};
use reveille_store::step::chores::DoChores;
use reveille_store::step::end::{EndTurn, FailTurn, Next, Report, TurnEnd};
use reveille_store::step::mark::{MarkMail, MarkedMail};
use reveille_store::step::run::{EndRun, RunEnd};
use reveille_store::step::send::{Accepted, Post, Prepared, Send, To};
use reveille_store::step::turn::{Claim, ClaimMail, OfferAgain, SafePoint};
use reveille_store::step::{Limits, Step, Token};
use reveille_store::whereabouts::{MailState, whereabouts};
use reveille_store::{DiskOptions, Options, Store};

pub type Done<T> = Result<T, OpError>;

pub const HOST: Caller = Caller::Host;

/// A store, its disk and its clock.
pub struct World {
    pub store: Store,
    disk: FaultyDisk,
    options: Options,
    clock: Arc<AtomicU64>,
    /// How mail is gathered; windows close at once, unless a test says otherwise.
    pub windows: WindowSettings,
}

impl Default for World {
    fn default() -> Self {
        Self::with(|_| {})
    }
}

impl World {
    /// A world with other limits.
    pub fn with(set: impl FnOnce(&mut Limits)) -> Self {
        Self::on(DiskOptions::default(), set)
    }

    /// A world that uses its file otherwise, and has other limits.
    pub fn on(disk_options: DiskOptions, set: impl FnOnce(&mut Limits)) -> Self {
        let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
        let theirs = Arc::clone(&clock);
        let now = Arc::new(move || Timestamp::from_millis(theirs.load(Ordering::Relaxed)));
        let mut options = Options { now, salt: 7, disk: disk_options, ..Options::default() };
        set(&mut options.limits);
        let disk = FaultyDisk::default();
        let store = open(disk.clone(), options.clone()).unwrap();
        let zero = Duration::ZERO;
        let windows = WindowSettings { quiet: zero, max: zero, min_gap: zero };
        Self { store, disk, options, clock, windows }
    }

    /// Cuts the power and opens what is left. The disk had written everything.
    pub fn restart(&mut self) {
        self.disk = FaultyDisk::holding(self.disk.after_crash(Leftover::Kept));
        self.store = open(self.disk.clone(), self.options.clone()).unwrap();
    }

    /// The same; the ids of the new start have another salt.
    pub fn restart_with_salt(&mut self, salt: u16) {
        self.options.salt = salt;
        self.restart();
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::Relaxed))
    }

    /// Lets seconds pass.
    pub fn pass(&self, seconds: u64) {
        self.later(Duration::from_secs(seconds));
    }

    pub fn later(&self, span: Duration) {
        let millis = u64::try_from(span.as_millis()).unwrap();
        self.clock.fetch_add(millis, Ordering::Relaxed);
    }

    /// Sets the wall clock back.
    pub fn set_back(&self, seconds: u64) {
        self.clock.fetch_sub(seconds * 1_000, Ordering::Relaxed);
    }

    pub fn run<S: Step>(&self, step: S) -> Done<S::Answer> {
        block_on(self.store.run(step))
    }

    pub fn session(&self, title: &str) -> Address {
        let agent = Some(AgentName::new("agent").unwrap());
        self.run(CreateSession { title: title.into(), agent, first: None }).unwrap().main
    }

    /// A worker whose task waits for its first turn.
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
        self.post_to(from, self::to(to), post)
    }

    pub fn post_to(&self, from: &Caller, to: To, post: Post) -> Done<Accepted> {
        let message = Prepared::new(from.clone(), post, &to);
        self.run(Send { to, message, token: None })
    }

    /// Sends a text of a person.
    pub fn send(&self, to: &Address, body: &str) -> MessageId {
        self.post(&anna(), &[to], text(body)).unwrap().id
    }

    /// Sends a text that leaves all to its sender; answers its id.
    pub fn send_as(&self, from: Caller, to: &Address, body: &str) -> MessageId {
        self.put(from, to, Post::new(Text::new(body)))
    }

    /// Sends to one; answers the id.
    pub fn put(&self, from: Caller, to: &Address, post: Post) -> MessageId {
        self.post(&from, &[to], post).unwrap().id
    }

    /// Sends in the name of a turn.
    pub fn post_in(
        &self,
        turn: &Claim,
        from: &Address,
        to: &[&Address],
        post: Post,
    ) -> Done<Accepted> {
        let to = self::to(to);
        let message = Prepared::new(actor(from), post, &to);
        self.run(Send { to, message, token: Some(turn.token) })
    }

    /// Opens a turn with what waits.
    pub fn claim(&self, actor: &Address) -> Option<Claim> {
        self.run(ClaimMail { actor: self.number(actor), windows: self.windows }).unwrap()
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

    /// Ends a turn and its run.
    pub fn finish(&self, claim: &Claim) -> TurnEnd {
        self.end_as(claim, Status::Success)
    }

    pub fn end_as(&self, claim: &Claim, status: Status) -> TurnEnd {
        let (result, next) = ("done".to_owned(), Next::Finish);
        let report = Report { status, summary: None, result, changed: true, next };
        self.run(EndTurn { token: claim.token, report }).unwrap()
    }

    pub fn fail(&self, claim: &Claim, failure: TurnFailure) -> TurnEnd {
        self.fail_after(claim, failure, Duration::ZERO)
    }

    pub fn fail_after(&self, claim: &Claim, failure: TurnFailure, back_off: Duration) -> TurnEnd {
        let (class, error) = (FailureClass::Transient, "it failed".to_owned());
        let (token, cause) = (claim.token, Cause::Crash);
        self.run(FailTurn { token, failure, class, error, back_off, cause }).unwrap()
    }

    pub fn end_run(&self, actor: &Address, change: impl FnOnce(&mut EndRun)) -> RunEnd {
        let outcome = Outcome::Cancelled { by: HOST, reason: "enough".into() };
        let (raises_floor, silent, stops) = (false, false, None);
        let actor = actor.clone();
        let mut end = EndRun { actor, run: None, outcome, raises_floor, silent, stops };
        change(&mut end);
        self.run(end).unwrap()
    }

    pub fn cancel(&self, actor: &Address) -> RunEnd {
        self.end_run(actor, |end| end.raises_floor = true)
    }

    pub fn stop(&self, actor: &Address) -> RunEnd {
        self.end_run(actor, |end| end.stops = Some(anna()))
    }

    /// Does what is due; answers whether anything was.
    pub fn chores(&self, actor: &Address) -> bool {
        self.run(DoChores { actor: self.number(actor) }).unwrap()
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

    /// The word for where a message is.
    pub fn place_name(&self, message: MessageId, actor: &Address) -> &'static str {
        self.place(message, actor).name()
    }

    pub fn acknowledge(&self, actor: &Address, message: MessageId) -> MarkedMail {
        self.mark(actor, message, Mark::Acknowledged).unwrap()
    }

    pub fn record(&self, seq: Seq) -> Record {
        self.store.records(&[seq]).unwrap()[0].clone().expect("the record is there").1
    }

    fn content(&self, seq: Seq) -> Content {
        match self.record(seq) {
            Record::Sent(sent) => codec::decode(&sent.content).unwrap(),
            other => panic!("{other:?} is no message"),
        }
    }

    pub fn text_of(&self, seq: Seq) -> Text {
        match self.content(seq) {
            Content::Text(text) => text,
            Content::Notice(notice) => panic!("{notice:?} is no text"),
        }
    }

    /// The body of a text, the state of a notice.
    fn words(&self, seq: Seq) -> String {
        match self.content(seq) {
            Content::Text(text) => text.body,
            Content::Notice(notice) => notice.state.name().to_owned(),
        }
    }

    /// What a claim holds, in its words.
    pub fn bodies(&self, claim: &Claim) -> Vec<String> {
        claim.picks.iter().map(|pick| self.words(pick.seq)).collect()
    }

    /// The text that the agent is given.
    pub fn rendered(&self, actor: &Address, claim: &Claim) -> String {
        let stamped = |seq: Seq| self.store.records(&[seq]).unwrap()[0].clone().unwrap();
        let entry = |pick: &Pick| {
            let (stamp, record) = stamped(pick.seq);
            let Record::Sent(sent) = record else { panic!("no message") };
            let content = codec::decode(&sent.content).unwrap();
            let id = MessageId::new(pick.seq, stamp);
            Entry { id, from: sent.from, sent: stamp.at, content, cut: pick.cut }
        };
        let name = |seq: &Seq| InjectionId::new(*seq, stamped(*seq).0);
        let injection = Injection {
            id: claim.injection,
            actor: actor.clone(),
            run: claim.run,
            trigger: claim.trigger,
            attempt: claim.attempt,
            names: claim.names.iter().map(name).collect(),
            style: Style::default(),
            at: claim.at,
            entries: claim.picks.iter().map(entry).collect(),
        };
        injection.text()
    }

    /// All that waits in a mailbox, in its words.
    pub fn waiting(&self, actor: &Address) -> Vec<String> {
        self.row(actor).pending.iter().map(|mail| self.words(mail.seq())).collect()
    }

    /// The notices that wait in a mailbox.
    pub fn notices(&self, actor: &Address) -> Vec<Notice> {
        let contents = self.row(actor).pending.into_iter().map(|mail| self.content(mail.seq()));
        let notice = |content| match content {
            Content::Notice(notice) => Some(notice),
            Content::Text(_) => None,
        };
        contents.filter_map(notice).collect()
    }
}

/// What was done must be found again in the log.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let before = block_on(self.store.look(raw::rows)).unwrap();
        self.restart();
        let after = block_on(self.store.look(raw::rows)).unwrap();
        assert_eq!(before, after, "the log gives other rows");
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

pub fn to(addresses: &[&Address]) -> To {
    To::Actors(addresses.iter().map(|address| (*address).clone()).collect())
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
