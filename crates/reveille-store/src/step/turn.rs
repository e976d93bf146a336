//! Turns: claiming mail, offering it again, and the turn's end (section 4; P3, P4, P5, P9).

use reveille_core::compose::{Pick, compose};
use reveille_core::failure::{Charges, TurnFailure, Verdict, judge};
use reveille_core::need::{Need, Start, need};
use reveille_core::window::WindowSettings;
use reveille_core::{
    Cause, FailureClass, InjectionId, OpError, Outcome, RunId, Seq, Status, Timestamp, Trigger,
};

use super::run::{EndedRun, Ending, end_run};
use super::{Draft, Step, Token, fresh};
use crate::record::{Claimed, Dead, DeadReason, Number, Offered, Released, TurnEnded, TurnFailed};
use crate::state::row::{Open, Row};
use crate::state::{State, Wait};

/// A turn that was opened, and the injection it begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What the turn must show to act.
    pub token: Token,
    /// The injection.
    pub injection: InjectionId,
    /// The run that it begins or continues.
    pub run: RunId,
    /// Why it was made.
    pub trigger: Trigger,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Whether the attempt before it was lost, so that the agent may have the injection already.
    pub lost: bool,
    /// Whether a silence of the run was told, and nothing was heard since (L1).
    pub stalled: bool,
    /// When the attempt was committed.
    pub at: Timestamp,
    /// Its messages, as arranged.
    pub picks: Vec<Pick>,
}

/// Opens a turn with the mail that waits, when the actor needs one (P5): a task is queued, or a
/// window over mail that may wake is closed. Answers `None` when it does not: a stale wake (W2), or
/// one that came too early because mail came after it was decided.
#[derive(Debug)]
pub struct ClaimMail {
    /// Whose mail.
    pub actor: Number,
    /// How long its mail is gathered.
    pub windows: WindowSettings,
}

impl Step for ClaimMail {
    type Answer = Option<Claim>;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Option<Claim>, OpError> {
        let Some(row) = state.row(self.actor) else {
            return Ok(None);
        };
        let trigger = match need(&row.standing(), draft.at(), self.windows) {
            Need::Turn(Start::Task) => Trigger::Task,
            Need::Turn(Start::Window) => Trigger::Window,
            Need::Turn(Start::Again) | Need::Look(_) | Need::Nothing => return Ok(None),
        };
        let picks = compose(row.pending.iter().map(|mail| mail.item), draft.limits.injection);
        let run = row.run.as_ref().map(|run| run.id);
        let seq = draft.push(Claimed {
            actor: self.actor,
            run: run.map(RunId::seq),
            turn: None,
            trigger,
            picks: picks.clone(),
        });
        Ok(Some(Claim {
            token: Token { incarnation: state.incarnation(), actor: self.actor, turn: seq },
            injection: InjectionId::new(seq, draft.stamp),
            run: run.unwrap_or_else(|| RunId::new(seq, draft.stamp)),
            trigger,
            attempt: 1,
            lost: false,
            stalled: row.stalled.is_some(),
            at: draft.at(),
            picks,
        }))
    }
}

/// Opens a turn with the oldest open injection, once its back-off is over (P4).
#[derive(Debug)]
pub struct OfferAgain {
    /// Whose injection.
    pub actor: Number,
}

impl Step for OfferAgain {
    type Answer = Option<Claim>;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Option<Claim>, OpError> {
        let Some(row) = state.row(self.actor) else {
            return Ok(None);
        };
        let due = row.turn.is_none() && row.again_at <= draft.at();
        let Some((open, run)) = row.open.first().zip(row.run.as_ref()).filter(|_| due) else {
            return Ok(None);
        };
        let attempt = open.attempt + 1;
        let injection = open.id.seq();
        let turn = draft.push(Offered { actor: self.actor, injection, attempt });
        Ok(Some(Claim {
            token: Token { incarnation: state.incarnation(), actor: self.actor, turn },
            injection: open.id,
            run: run.id,
            trigger: open.trigger,
            attempt,
            lost: open.lost,
            stalled: row.stalled.is_some(),
            at: draft.at(),
            picks: open
                .mail
                .iter()
                .map(|mail| Pick { seq: mail.mail.seq(), cut: mail.cut })
                .collect(),
        }))
    }
}

/// What a turn asks for at its end (S6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Next {
    /// The run goes on while anything could continue it: live workers or mail that waits.
    #[default]
    Auto,
    /// The same, said expressly.
    Yield,
    /// The run ends, whatever is going on below it.
    Finish,
}

/// What a turn answers at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What it says of its success.
    pub status: Status,
    /// One line of its own.
    pub summary: Option<String>,
    /// Its answer.
    pub result: String,
    /// What it asks for.
    pub next: Next,
}

/// Ends a turn with an answer: everything it held is settled, and its run may end, in one commit.
#[derive(Debug)]
pub struct EndTurn {
    /// The turn's token.
    pub token: Token,
    /// Its answer.
    pub report: Report,
}

/// What became of a run at the end of one of its turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The run goes on.
    Continues,
    /// The run ended.
    Ended(EndedRun),
}

impl Step for EndTurn {
    type Answer = TurnEnd;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<TurnEnd, OpError> {
        let Self { token: Token { actor, turn, .. }, report } = self;
        let row = fresh(state, self.token)?;
        let Report { status, summary, result, next } = report;
        let outcome = Outcome::Completed { status, summary, result };
        outcome.check()?;
        let unreturned = release_unreturned(state, draft, row, self.token);
        draft.push(TurnEnded { actor, turn });
        let others = row.open.iter().any(|open| open.turn != Some(turn));
        let continues = others
            || unreturned
            || row.wake_worthy().is_some()
            || state.counters.open_children(actor) > 0;
        if continues && next != Next::Finish {
            return Ok(TurnEnd::Continues);
        }
        let ending = Ending::new(outcome).after_turn(turn);
        end_run(state, draft, actor, row, ending).map(TurnEnd::Ended)
    }
}

/// Ends a turn without an answer.
#[derive(Debug)]
pub struct FailTurn {
    /// The turn's token.
    pub token: Token,
    /// How it failed.
    pub failure: TurnFailure,
    /// The class that the outcome gets, should the run end by it.
    pub class: FailureClass,
    /// What was said.
    pub error: String,
    /// How long to wait before what it held may be offered again.
    pub back_off: std::time::Duration,
    /// What cut the turn off, if it was lost.
    pub cause: Cause,
}

impl Step for FailTurn {
    type Answer = TurnEnd;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<TurnEnd, OpError> {
        let row = fresh(state, self.token)?;
        let failed = Failed {
            actor: self.token.actor,
            turn: self.token.turn,
            failure: self.failure,
            class: self.class,
            error: self.error,
            again_at: draft.at().after(self.back_off),
            cause: self.cause,
        };
        fail(state, draft, row, failed)
    }
}

/// A turn that failed, whoever noticed it.
pub(super) struct Failed {
    pub(super) actor: Number,
    pub(super) turn: Seq,
    pub(super) failure: TurnFailure,
    pub(super) class: FailureClass,
    pub(super) error: String,
    pub(super) again_at: Timestamp,
    pub(super) cause: Cause,
}

/// Drafts what becomes of a failed turn (section 4). What a wait collected is pending again,
/// whatever becomes of the rest (S3).
pub(super) fn fail(
    state: &State,
    draft: &mut Draft,
    row: &Row,
    failed: Failed,
) -> Result<TurnEnd, OpError> {
    let Failed { actor, turn, failure, class, error, again_at, cause } = failed;
    let Some(run) = &row.run else {
        return Err(OpError::StaleToken);
    };
    let held = |open: &&Open| open.turn == Some(turn) && open.trigger != Trigger::Wait;
    let charges = row.open.iter().find(held).map_or_else(Charges::default, |open| open.charges);
    let failed_turn =
        |charges| TurnFailed { actor, turn, failure, error: error.clone(), charges, again_at };
    match judge(run.kind, failure, charges) {
        Verdict::Again(charges) => {
            release_collected(draft, actor, row, turn);
            draft.push(failed_turn(charges));
            Ok(TurnEnd::Continues)
        }
        Verdict::End => {
            let ending = Ending::new(Outcome::Failed { class, error }).failing(turn);
            end_run(state, draft, actor, row, ending).map(TurnEnd::Ended)
        }
        Verdict::Interrupt => {
            let ending = Ending::new(Outcome::Interrupted { cause });
            end_run(state, draft, actor, row, ending).map(TurnEnd::Ended)
        }
        Verdict::Dead => {
            release_collected(draft, actor, row, turn);
            draft.push(failed_turn(charges));
            let messages: Vec<Seq> = row.open.iter().filter(held).flat_map(messages).collect();
            let overflow = failure == TurnFailure::Overflow;
            let reason =
                if overflow { DeadReason::Overflow } else { DeadReason::Poison(error.clone()) };
            if !messages.is_empty() {
                draft.push(Dead { actor, messages, reason });
            }
            if row.open.iter().any(|open| open.turn != Some(turn)) {
                return Ok(TurnEnd::Continues);
            }
            let ending = Ending::new(Outcome::Failed { class, error }).after_turn(turn);
            end_run(state, draft, actor, row, ending).map(TurnEnd::Ended)
        }
    }
}

/// What a wait collected that has not returned yet is pending again: an answer settles only what the
/// turn was given (P2).
/// Says whether there was any.
fn release_unreturned(state: &State, draft: &mut Draft, row: &Row, token: Token) -> bool {
    let waits = state.waits.get(&token.actor).map_or(&[][..], Vec::as_slice);
    let about = |wait: &Wait| (wait.turn == token.turn).then_some((wait.target, wait.run));
    let waited: Vec<_> = waits.iter().filter_map(about).collect();
    let unreturned = |open: &&Open| {
        let told = |about: (Number, Seq)| waited.contains(&about);
        open.trigger == Trigger::Wait
            && open.mail.iter().any(|one| one.mail.about.is_some_and(told))
    };
    let messages: Vec<Seq> = row.open.iter().filter(unreturned).flat_map(messages).collect();
    let any = !messages.is_empty();
    if any {
        draft.push(Released { actor: token.actor, messages });
    }
    any
}

fn release_collected(draft: &mut Draft, actor: Number, row: &Row, turn: Seq) {
    let collected = |open: &&Open| open.turn == Some(turn) && open.trigger == Trigger::Wait;
    let messages: Vec<Seq> = row.open.iter().filter(collected).flat_map(messages).collect();
    if !messages.is_empty() {
        draft.push(Released { actor, messages });
    }
}

/// The messages of an injection.
pub(super) fn messages(open: &Open) -> impl Iterator<Item = Seq> + '_ {
    open.mail.iter().map(|offered| offered.mail.seq())
}
