//! The end of a run: outcome, notice, collection and mail in one commit (P6, S2, S3, section 9).

use reveille_core::{
    Address, Caller, InjectionId, Kind, Notice, OpError, Outcome, RunId, Seq, Trigger,
    compose::Pick,
};

use super::end::messages;
use super::prepare::Prepared;
use super::question::cancel_questions;
use super::{Draft, Step, known};
use crate::record::{
    Claimed, Number, Released, RunEnded, Sender, Settled, Settlement, Stopped, Tells,
};
use crate::state::State;
use crate::state::row::{Ended, Open, Row};

/// Why a child's run is ended with its parent's.
pub const PARENT_ENDED: &str = "the run above it ended";

/// How a run is to end.
pub(super) struct Ending {
    outcome: Outcome,
    /// The turn whose end is drafted already.
    ended_turn: Option<Seq>,
    /// The turn whose mail is settled as failed.
    failed_turn: Option<Seq>,
    raises_floor: bool,
    silence: Silence,
}

/// Whether the parent is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Silence {
    /// It is.
    Told,
    /// It is not, unless its run could be waiting for just that.
    Asked,
    /// It is not: its own run ends.
    Kept,
}

impl Ending {
    pub(super) const fn new(outcome: Outcome) -> Self {
        Self {
            outcome,
            ended_turn: None,
            failed_turn: None,
            raises_floor: false,
            silence: Silence::Told,
        }
    }

    pub(super) fn after_turn(mut self, turn: Seq) -> Self {
        self.ended_turn = Some(turn);
        self
    }

    pub(super) fn failing(mut self, turn: Seq) -> Self {
        self.failed_turn = Some(turn);
        self
    }
}

/// A run that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRun {
    /// Which.
    pub run: RunId,
    /// The record that holds the outcome.
    pub outcome: Seq,
}

/// Drafts the end of an actor's open run.
pub(super) fn end_run(
    state: &State,
    draft: &mut Draft,
    actor: Number,
    row: &Row,
    ending: Ending,
) -> Result<EndedRun, OpError> {
    let Some(run) = &row.run else {
        return Err(OpError::StaleToken);
    };
    let Ending { outcome, raises_floor, silence, .. } = &ending;
    outcome.check()?;
    cancel_questions(state, draft, actor, row);
    close_mail(draft, actor, row, &ending, run.first);
    let seq = draft.push(RunEnded {
        actor,
        run: run.id.seq(),
        outcome: outcome.clone(),
        raises_floor: *raises_floor,
    });
    let about = (actor, run.id.seq());
    let tells = Tells { actor, run: run.id.seq(), outcome: Some(seq) };
    for to in addressees(state, actor, row, &ending, *silence) {
        let notice = Notice::of_end(row.address.clone(), run.id, run.task_id.clone(), outcome);
        let from = (actor, row.address.clone());
        let mut sent = Prepared::notice(from, notice, run.hops.saturating_sub(1), Some(tells))?;
        sent.to = vec![to];
        let notice = draft.push(sent);
        collect_at_once(state, draft, to, about, notice);
    }
    close_queued_children(state, draft, actor)?;
    Ok(EndedRun { run: run.id, outcome: seq })
}

/// Who is told of the end of a run (S2): of a task run its spawner; of a mail run everybody whose
/// request was settled in it, or the parent if there is none. The lead of a team is told of a member
/// that did not end well (section 11). Each once.
fn addressees(
    state: &State,
    actor: Number,
    row: &Row,
    ending: &Ending,
    silence: Silence,
) -> Vec<Number> {
    let parent = row.parent.filter(|parent| match silence {
        Silence::Told => true,
        Silence::Asked => !may_be_untold(state, *parent),
        Silence::Kept => false,
    });
    let run = row.run.as_ref();
    let is_task = run.is_some_and(|run| run.first.is_some());
    let mut told: Vec<Number> = Vec::new();
    if !is_task && silence == Silence::Told {
        told.extend(run.iter().flat_map(|run| run.requesters.iter().copied()));
        told.extend(requesters(row, ending));
    }
    if told.is_empty() {
        told.extend(parent);
    }
    if !ending.outcome.is_good() && silence == Silence::Told {
        told.extend(state.leads(actor));
    }
    let mut once = Vec::with_capacity(told.len());
    told.retain(|to| {
        let news = *to != actor && !once.contains(to);
        once.push(*to);
        news
    });
    told
}

/// Senders of requests that this very end settles.
fn requesters(row: &Row, ending: &Ending) -> impl Iterator<Item = Number> + use<> {
    let settles = |open: &&Open| {
        let ends = open.turn == ending.ended_turn || open.turn == ending.failed_turn;
        open.turn.is_some() && ends
    };
    let mail = row.open.iter().filter(settles).flat_map(|open| &open.mail);
    let sender = |offered: &crate::state::row::OfferedMail| match offered.mail.sender {
        Sender::Actor(sender) if offered.mail.item.kind == Kind::Request => Some(sender),
        _ => None,
    };
    mail.filter_map(sender).collect::<Vec<_>>().into_iter()
}

/// Silence is for parents that something else continues. One whose open run has no turn may rest on
/// this child alone: it is told, or it would wait for ever (S6).
fn may_be_untold(state: &State, parent: Number) -> bool {
    state.row(parent).is_none_or(|parent| parent.run.is_none() || parent.turn.is_some())
}

/// The first message of a task run is settled, mail of a failing turn is settled as failed, other
/// mail that injections held is released.
fn close_mail(draft: &mut Draft, actor: Number, row: &Row, ending: &Ending, first: Option<Seq>) {
    let pending = |seq: &Seq| row.pending.iter().any(|mail| mail.seq() == *seq);
    let mut settled: Vec<Seq> = first.filter(pending).into_iter().collect();
    let (mut failed, mut released) = (Vec::new(), Vec::new());
    let done = |open: &Open| open.turn.is_some() && open.turn == ending.ended_turn;
    for open in row.open.iter().filter(|open| !done(open)) {
        let failing = open.turn.is_some() && open.turn == ending.failed_turn;
        let fails = failing && open.trigger != Trigger::Wait && first.is_none();
        for seq in messages(open) {
            let list = match (Some(seq) == first, fails) {
                (true, _) => &mut settled,
                (false, true) => &mut failed,
                (false, false) => &mut released,
            };
            list.push(seq);
        }
    }
    for (messages, how) in [(settled, Settlement::RunEnded), (failed, Settlement::Failed)] {
        if !messages.is_empty() {
            draft.push(Settled { actor, messages, how });
        }
    }
    if !released.is_empty() {
        draft.push(Released { actor, messages: released });
    }
}

/// Hands a notice to the addressee's turn that waits for it, in the commit that makes it (S3).
fn collect_at_once(
    state: &State,
    draft: &mut Draft,
    addressee: Number,
    about: (Number, Seq),
    notice: Seq,
) {
    let Some(row) = state.row(addressee).filter(|_| !draft.recovering) else {
        return;
    };
    let waits = state.waits.get(&addressee).is_some_and(|waits| {
        waits.iter().any(|wait| Some(wait.turn) == row.turn && (wait.target, wait.run) == about)
    });
    if waits {
        collect(draft, addressee, row, notice);
    }
}

/// Offers a notice to the turn under way; it settles with it.
pub(super) fn collect(draft: &mut Draft, actor: Number, row: &Row, notice: Seq) -> InjectionId {
    let picks = vec![Pick { seq: notice, cut: false }];
    let seq = draft.push(Claimed {
        actor,
        run: row.run.as_ref().map(|run| run.id.seq()),
        turn: row.turn,
        trigger: Trigger::Wait,
        names: row.superseded_by(&picks),
        picks,
    });
    InjectionId::new(seq, draft.stamp)
}

/// Ends the children that have not begun (S6, parent-close policy `cancel`). Those that have are
/// [`State::orphans`] from this commit on: their turns need a grace, which is the runtime's to give.
fn close_queued_children(state: &State, draft: &mut Draft, actor: Number) -> Result<(), OpError> {
    if state.counters.open_children(actor) == 0 {
        return Ok(());
    }
    let child = |row: &Row| row.parent == Some(actor) && row.run.as_ref().is_some_and(|r| !r.begun);
    for (number, row) in (0..).zip(state.rows()).filter(|(_, row)| child(row)) {
        let outcome = Outcome::Cancelled { by: Caller::System, reason: PARENT_ENDED.to_owned() };
        let silence = Silence::Kept;
        let ending = Ending { raises_floor: true, silence, ..Ending::new(outcome) };
        end_run(state, draft, number, row, ending)?;
    }
    Ok(())
}

/// Ends an actor's open run from outside: a cancel, a limit, a shutdown.
#[derive(Debug)]
pub struct EndRun {
    /// Whose run.
    pub actor: Address,
    /// Only this run, if given: another one is not touched (P9).
    pub run: Option<RunId>,
    /// How it ends.
    pub outcome: Outcome,
    /// Whether earlier mail wakes nobody from now on; a cancel does that.
    pub raises_floor: bool,
    /// Whether the parent is not told, unless its run could be waiting for just that.
    pub silent: bool,
    /// Who stops the actor by that, if anybody does: nothing starts it but a resume (W9).
    pub stops: Option<Caller>,
}

/// What the end of a run found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// The run ended by this.
    Ended(EndedRun),
    /// It had ended; this is how.
    AlreadyEnded(Ended),
    /// The actor never had a run, or not this one.
    Unknown,
}

impl Step for EndRun {
    type Answer = RunEnd;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<RunEnd, OpError> {
        let (actor, row) = known(state, &self.actor)?;
        let wanted = |id: RunId| self.run.is_none_or(|run| run == id);
        if row.run.as_ref().is_some_and(|run| wanted(run.id)) {
            let Self { outcome, raises_floor, silent, stops, .. } = self;
            let silence = if silent { Silence::Asked } else { Silence::Told };
            let ending = Ending { raises_floor, silence, ..Ending::new(outcome) };
            let ended = end_run(state, draft, actor, row, ending)?;
            stop(draft, actor, row, stops);
            return Ok(RunEnd::Ended(ended));
        }
        if self.run.is_none() {
            stop(draft, actor, row, self.stops);
        }
        let ended = row.ended.clone().filter(|ended| wanted(ended.id));
        Ok(ended.map_or(RunEnd::Unknown, RunEnd::AlreadyEnded))
    }
}

fn stop(draft: &mut Draft, actor: Number, row: &Row, by: Option<Caller>) {
    if let Some(by) = by.filter(|_| row.stopped.is_none()) {
        draft.push(Stopped { actor, by });
    }
}
