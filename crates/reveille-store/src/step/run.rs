//! The end of a run: outcome, notice, collection and mail in one commit (P6, S2, S3, section 9).

use reveille_core::message::Content;
use reveille_core::{
    Address, Caller, InjectionId, Notice, OpError, Outcome, RunId, Seq, Trigger, compose::Pick,
};

use super::send::Prepared;
use super::turn::messages;
use super::{Draft, Step, known};
use crate::record::{Claimed, Number, Released, RunEnded, Settled, Settlement};
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

    pub(super) const fn after_turn(mut self, turn: Seq) -> Self {
        self.ended_turn = Some(turn);
        self
    }

    pub(super) const fn failing(mut self, turn: Seq) -> Self {
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
    close_mail(draft, actor, row, &ending, run.first);
    let seq = draft.push(RunEnded {
        actor,
        run: run.id.seq(),
        outcome: outcome.clone(),
        raises_floor: *raises_floor,
    });
    let told = |parent: &Number| match silence {
        Silence::Told => true,
        Silence::Asked => !may_be_untold(state, *parent),
        Silence::Kept => false,
    };
    let parent = row.parent.filter(told);
    if let Some(parent) = parent {
        let notice = Notice::of_end(row.address.clone(), run.id, run.task_id.clone(), outcome);
        let about = (actor, run.id.seq());
        let prepared = Prepared::notice(row.address.clone(), &Content::Notice(notice), about)?;
        let notice = draft.push(prepared.to(vec![parent]));
        collect_at_once(state, draft, parent, about, notice);
    }
    close_queued_children(state, draft, actor)?;
    Ok(EndedRun { run: run.id, outcome: seq })
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
    let seq = draft.push(Claimed {
        actor,
        run: row.run.as_ref().map(|run| run.id.seq()),
        turn: row.turn,
        trigger: Trigger::Wait,
        picks: vec![Pick { seq: notice, cut: false }],
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
            let Self { outcome, raises_floor, silent, .. } = self;
            let silence = if silent { Silence::Asked } else { Silence::Told };
            let ending = Ending { raises_floor, silence, ..Ending::new(outcome) };
            return end_run(state, draft, actor, row, ending).map(RunEnd::Ended);
        }
        let ended = row.ended.clone().filter(|ended| wanted(ended.id));
        Ok(ended.map_or(RunEnd::Unknown, RunEnd::AlreadyEnded))
    }
}
