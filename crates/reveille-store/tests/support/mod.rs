//! A workload that uses every step, and is the same each time.

#![allow(dead_code, unreachable_pub)] // each test uses a part
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_executor::block_on;
use reveille_core::failure::TurnFailure;
use reveille_core::window::WindowSettings;
use reveille_core::{
    Address, AgentName, Caller, Cause, Delivery, FailureClass, Kind, MessageId, OpError, Outcome,
    Seq, Status, Text, Timestamp,
};
use reveille_store::record::{Answer, GroupPolicy, HoldReason, Mark, Question};
use reveille_store::state::row::Row;
use reveille_store::step::actors::{CreateSession, NewWorker, Spawn, SpawnGroup};
use reveille_store::step::chores::DoChores;
use reveille_store::step::dead::DropDead;
use reveille_store::step::end::{Accept, EndTurn, FailTurn, Next, Report, TurnEnd};
use reveille_store::step::hold::{Hold, Release, Resume};
use reveille_store::step::mark::{MarkMail, Retract};
use reveille_store::step::question::{AnswerQuestion, Ask, AskAnswer};
use reveille_store::step::recover::Recover;
use reveille_store::step::run::EndRun;
use reveille_store::step::schedule::{Schedule, When};
use reveille_store::step::send::{Accepted, Post, Prepared, Send, To};
use reveille_store::step::team::{AddMember, CreateTeam, Joins, RemoveMember};
use reveille_store::step::turn::{Claim, ClaimMail, OfferAgain, SafePoint};
use reveille_store::step::wait::{StopWaiting, WaitFor};
use reveille_store::step::watch::{NoteProgress, TellStall};
use reveille_store::step::{Limits, Step};
use reveille_store::{DiskOptions, Options, Store};

/// Options under which checkpoints and trimming happen within a few commits, and time goes by a
/// second with each.
pub fn small(history_bytes: u64) -> Options {
    let ticks = AtomicU64::new(0);
    let now = move || {
        let ticks = ticks.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_millis(1_800_000_000_000 + ticks * 1_000)
    };
    Options {
        limits: Limits::default(),
        disk: DiskOptions {
            history_bytes,
            rows_per_fold: 2,
            journal_bytes: 64 * 1024,
            ..DiskOptions::default()
        },
        now: Arc::new(now),
        space: None,
        salt: 7,
    }
}

/// Runs steps and notes what was acknowledged.
pub struct Runner<'a> {
    store: &'a Store,
    /// After each acknowledged step, the number of the next record.
    pub acknowledged: Vec<Seq>,
    /// The rows after each acknowledged step, by the number of the next record.
    pub rows: Vec<(Seq, Vec<Row>)>,
}

type Done<T> = Result<T, OpError>;

impl<'a> Runner<'a> {
    pub fn new(store: &'a Store) -> Self {
        Self { store, acknowledged: Vec::new(), rows: Vec::new() }
    }

    fn noted<T>(&mut self, answer: T) -> Done<T> {
        let look = self.store.look(|state| (state.next(), reveille_store::raw::rows(state)));
        let (next, rows) = block_on(look)?;
        self.acknowledged.push(next);
        self.rows.push((next, rows));
        Ok(answer)
    }

    pub fn step<S: Step>(&mut self, step: S) -> Done<S::Answer> {
        let answer = block_on(self.store.run(step))?;
        self.noted(answer)
    }

    fn number(&self, address: &Address) -> Done<u32> {
        let address = address.clone();
        Ok(block_on(self.store.look(move |state| state.find(&address)))?.unwrap())
    }

    pub fn session(&mut self, title: &str) -> Done<Address> {
        let first = Prepared::text(Caller::Host, Text::new("first"));
        let session = CreateSession {
            title: title.into(),
            agent: Some(AgentName::new("lead")?),
            first: Some(first),
        };
        Ok(self.step(session)?.main)
    }

    pub fn send(&mut self, to: &[&Address], body: &str) -> Done<()> {
        self.post(to, Caller::Host, Post::new(Text::new(body))).map(drop)
    }

    pub fn post(&mut self, to: &[&Address], from: Caller, post: Post) -> Done<Accepted> {
        let to = To::Actors(to.iter().map(|to| (*to).clone()).collect());
        let message = Prepared::new(from, post, &to);
        self.step(Send { to, message, token: None })
    }

    pub fn spawn(&mut self, parent: &Address) -> Done<Address> {
        let spawn = Spawn { parent: parent.clone(), worker: worker("task")?, token: None };
        Ok(self.step(spawn)?.address)
    }

    pub fn claim(&mut self, actor: &Address) -> Done<Claim> {
        let actor = self.number(actor)?;
        let zero = Duration::ZERO;
        let windows = WindowSettings { quiet: zero, max: zero, min_gap: zero };
        Ok(self.step(ClaimMail { actor, windows })?.unwrap())
    }

    pub fn again(&mut self, actor: &Address) -> Done<Claim> {
        let actor = self.number(actor)?;
        Ok(self.step(OfferAgain { actor })?.unwrap())
    }

    pub fn end(&mut self, claim: &Claim, next: Next) -> Done<TurnEnd> {
        let report = Report {
            status: Status::Success,
            summary: Some("in a line".into()),
            result: "x".repeat(300),
            changed: true,
            next,
        };
        self.step(EndTurn { token: claim.token, report })
    }

    pub fn fail(&mut self, claim: &Claim, failure: TurnFailure) -> Done<TurnEnd> {
        self.step(FailTurn {
            token: claim.token,
            failure,
            class: FailureClass::Transient,
            error: "it failed".into(),
            back_off: Duration::ZERO,
            cause: Cause::Crash,
        })
    }

    pub fn cancel(&mut self, actor: &Address) -> Done<()> {
        let outcome = Outcome::Cancelled { by: Caller::Host, reason: "enough".into() };
        let (actor, run) = (actor.clone(), None);
        let end = EndRun { actor, run, outcome, raises_floor: true, silent: false, stops: None };
        self.step(end).map(drop)
    }

    fn wait(&mut self, claim: &Claim, id: u64, target: &Address) -> Done<()> {
        let wait = WaitFor { token: claim.token, id, target: target.clone(), run: None };
        block_on(self.store.wait_for(wait))?;
        self.noted(())
    }

    fn stop(&mut self, claim: &Claim, id: u64, returned: bool) -> Done<()> {
        block_on(self.store.stop_waiting(StopWaiting { token: claim.token, id, returned }))?;
        self.noted(())
    }

    /// Everything that can happen, so that every type of record is written.
    pub fn everything(&mut self) -> Done<()> {
        self.step(Recover)?;
        let (lead, other) = (self.session("lead")?, self.session("other")?);
        self.send(&[&lead, &other], "to both")?;
        let turn = self.claim(&lead)?;
        let (quick, slow, queued) = (self.spawn(&lead)?, self.spawn(&lead)?, self.spawn(&lead)?);
        // A wait that is met by its outcome, and one that is given up.
        self.wait(&turn, 1, &quick)?;
        let task = self.claim(&quick)?;
        self.end(&task, Next::Auto)?;
        self.wait(&turn, 1, &quick)?;
        self.stop(&turn, 1, true)?;
        let task = self.claim(&slow)?;
        self.wait(&turn, 2, &slow)?;
        let stall = TellStall { token: task.token, quiet_s: 360, evidence: "nothing".into() };
        self.step(stall)?;
        self.step(NoteProgress { token: task.token })?;
        self.end(&task, Next::Auto)?;
        self.stop(&turn, 2, false)?;
        self.end(&turn, Next::Auto)?;
        self.cancel(&queued)?;
        // Mail that fails for a while, and mail that fails for good.
        let mut turn = self.claim(&other)?;
        self.fail(&turn, TurnFailure::Transient)?;
        turn = self.again(&other)?;
        self.fail(&turn, TurnFailure::Lost { charged: false })?;
        turn = self.again(&other)?;
        self.fail(&turn, TurnFailure::Permanent)?;
        self.send(&[&other], "too much")?;
        turn = self.claim(&other)?;
        self.fail(&turn, TurnFailure::Overflow)?;
        self.send(&[&other], "cancelled")?;
        self.claim(&other)?;
        self.cancel(&other)?;
        // A task that panics, and one that is lost with the process.
        let (panics, lost) = (self.spawn(&lead)?, self.spawn(&lead)?);
        let task = self.claim(&panics)?;
        self.fail(&task, TurnFailure::Panic)?;
        self.claim(&lost)?;
        let turn = self.claim(&lead)?;
        self.step(Recover)?;
        let stale = self.end(&turn, Next::Auto).unwrap_err();
        if stale != OpError::StaleToken {
            return Err(stale);
        }
        let turn = self.again(&lead)?;
        self.end(&turn, Next::Finish)?;
        self.send(&[&lead], "last")?;
        self.people(&lead, &other)
    }

    /// The same for what people, teams, groups and schedules do.
    fn people(&mut self, lead: &Address, other: &Address) -> Done<()> {
        let text = || Post::new(Text::new("text"));
        let human = || Caller::Human("anna".into());
        let kind = |kind| Post::new(Text { kind, ..Text::new("text") });
        // Mail that is merged, marked, retracted, steered, split, accepted, delayed, expired.
        let merged = Post { merge_key: Some("m".into()), key: Some("k".into()), ..text() };
        self.post(&[other], human(), merged.clone())?;
        self.post(&[other], human(), Post { key: None, ..merged })?;
        let alert = self.post(&[other], human(), Post { hold: true, ..kind(Kind::Alert) })?;
        self.mark(other, alert.id, Mark::Acknowledged)?;
        self.mark(other, alert.id, Mark::Archived)?;
        self.post(&[other], human(), Post { delivery: Delivery::Passive, ..text() })?;
        let soon = Timestamp::from_millis(1_900_000_000_000);
        self.post(&[lead], human(), Post { not_before: Some(soon), ..text() })?;
        let gone = Timestamp::from_millis(1_800_000_000_001);
        self.post(&[lead], human(), Post { expires_at: Some(gone), ..text() })?;
        self.chores(lead)?;
        let dead = self.dead_of(lead)?;
        self.step(DropDead { actor: lead.clone(), message: dead, by: Caller::Host })?;
        let back = self.post(&[lead], human(), text())?;
        let (to, from, by) = (vec![self.number(lead)?], human(), human());
        self.step(Retract { message: back.id, to, from, by, token: None })?;
        let turn = self.claim(other)?;
        self.fail(&turn, TurnFailure::Overflow)?;
        let turn = self.again(other)?;
        self.post(&[other], human(), Post { delivery: Delivery::Steer, ..text() })?;
        while self.step(SafePoint { token: turn.token, steer: false })?.is_some() {}
        self.step(Accept { token: turn.token, injection: turn.injection })?;
        let ask = |text: &str| Question { tool: None, text: text.into(), options: Vec::new() };
        let limit = Duration::from_secs(300);
        let asked = self.step(Ask { token: turn.token, question: ask("may I?"), limit })?;
        if let AskAnswer::Waits(question) = asked {
            let (answer, by) = (Answer::Approve, human());
            self.step(AnswerQuestion { question, answer, by, token: None })?;
        }
        self.fail(&turn, TurnFailure::Interrupted)?;
        self.cancel(other)?;
        // Holds, stops, groups, teams, schedules.
        let (reason, note) = (HoldReason::Paused, "a pause".to_owned());
        self.step(Hold { actor: other.clone(), reason, note, by: human() })?;
        self.step(Release { actor: other.clone(), hold: None, by: human() })?;
        let outcome = Outcome::Cancelled { by: human(), reason: "stopped".into() };
        let stops = Some(human());
        let (actor, run) = (other.clone(), None);
        self.step(EndRun { actor, run, outcome, raises_floor: false, silent: false, stops })?;
        self.step(Resume { actor: other.clone(), by: human() })?;
        let workers = vec![worker("one")?, worker("two")?];
        let (parent, policy) = (other.clone(), GroupPolicy::All);
        self.step(SpawnGroup { parent, policy, workers, token: None })?;
        let team = self.step(CreateTeam { lead: lead.clone(), name: "build".into() })?;
        let member = Joins::Actor(other.clone());
        self.step(AddMember { team, member, role: "tests".into(), by: human() })?;
        self.step(RemoveMember { team, member: other.clone(), by: human() })?;
        let (actor, key) = (lead.clone(), "nightly".to_owned());
        let when = When::Every(Duration::from_secs(1));
        self.step(Schedule { actor, key, when, text: Text::new("tick"), by: human() })?;
        self.send(&[other], "time passes")?;
        self.chores(lead)
    }

    fn mark(&mut self, actor: &Address, message: MessageId, mark: Mark) -> Done<()> {
        let by = Caller::Human("anna".into());
        self.step(MarkMail { actor: actor.clone(), message, mark, by, token: None }).map(drop)
    }

    fn chores(&mut self, actor: &Address) -> Done<()> {
        let actor = self.number(actor)?;
        self.step(DoChores { actor }).map(drop)
    }

    fn dead_of(&self, actor: &Address) -> Done<MessageId> {
        let number = self.number(actor)?;
        let seq =
            block_on(self.store.look(move |state| state.rows()[number as usize].dead[0].seq))?;
        let (stamp, _) = self.store.records(&[seq])?[0].clone().unwrap();
        Ok(MessageId::new(seq, stamp))
    }
}

/// A worker that is to be made.
pub fn worker(task: &str) -> Done<NewWorker> {
    Ok(NewWorker {
        agent: AgentName::new("worker")?,
        key: None,
        first: Prepared::text(Caller::Host, Text::new(task)),
        task_id: Some("T1".into()),
    })
}
