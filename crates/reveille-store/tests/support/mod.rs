//! A workload that uses every step, and is the same each time.

#![allow(dead_code, unreachable_pub)] // each test uses a part
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_executor::block_on;
use reveille_core::failure::TurnFailure;
use reveille_core::window::WindowSettings;
use reveille_core::{
    Address, AgentName, Caller, Cause, FailureClass, OpError, Outcome, Seq, Status, Text, Timestamp,
};
use reveille_store::state::row::Row;
use reveille_store::step::actors::{CreateSession, Spawn};
use reveille_store::step::recover::Recover;
use reveille_store::step::run::EndRun;
use reveille_store::step::send::{Prepared, Send};
use reveille_store::step::turn::{
    Claim, ClaimMail, EndTurn, FailTurn, Next, OfferAgain, Report, TurnEnd,
};
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
        disk: DiskOptions { history_bytes, rows_per_commit: 2, ..DiskOptions::default() },
        now: Arc::new(now),
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
        let first = Prepared::text(Caller::Host, Text::new("first"), false)?;
        let session = CreateSession {
            title: title.into(),
            agent: Some(AgentName::new("lead")?),
            first: Some(first),
        };
        Ok(self.step(session)?.main)
    }

    pub fn send(&mut self, to: &[&Address], body: &str) -> Done<()> {
        let message = Prepared::text(Caller::Host, Text::new(body), false)?;
        let to = to.iter().map(|to| (*to).clone()).collect();
        self.step(Send { to, message, token: None }).map(drop)
    }

    pub fn spawn(&mut self, parent: &Address) -> Done<Address> {
        let spawn = Spawn {
            parent: parent.clone(),
            agent: AgentName::new("worker")?,
            key: None,
            first: Prepared::text(Caller::Host, Text::new("task"), false)?,
            task_id: Some("T1".into()),
            token: None,
        };
        Ok(self.step(spawn)?.address)
    }

    pub fn claim(&mut self, actor: &Address) -> Done<Claim> {
        let actor = self.number(actor)?;
        let windows = WindowSettings { quiet: Duration::ZERO, max: Duration::ZERO };
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
        self.step(EndRun { actor, run, outcome, raises_floor: true, silent: false }).map(drop)
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
        self.send(&[&lead], "last")
    }
}
