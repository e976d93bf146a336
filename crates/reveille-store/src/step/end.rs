//! How a turn ends: with an answer, without one, or by mail that interrupts it (section 4; P4, P6).

use reveille_core::failure::{Charges, TurnFailure, Verdict, judge};
use reveille_core::limits::{CONTINUATIONS, RELATED};
use reveille_core::{
    Caller, Cause, DeadReason, FailureClass, InjectionId, Kind, Notice, OpError, Outcome, Seq,
    Status, Text, Timestamp, Trigger,
};

use super::prepare::{Post, Prepared, To};
use super::question::cancel_questions;
use super::run::{EndedRun, Ending, end_run};
use super::{Draft, Step, Token, fresh};
use crate::record::{
    Batch, Dead, Number, Released, Sender, Settled, Settlement, Split, Taken, TurnEnded, TurnFailed,
};
use crate::state::row::{Mail, Open, Row};
use crate::state::{State, Wait};

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
    /// Whether it changed anything: what goes on without changes is ended some time (W9).
    pub changed: bool,
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
        let Report { status, summary, result, changed, next } = report;
        let outcome = Outcome::Completed { status, summary, result };
        outcome.check()?;
        cancel_questions(state, draft, actor, row);
        let released = release_unreturned(state, draft, row, self.token);
        let held = row.open.iter().filter(|open| open.turn == Some(turn));
        let left = |open: &&Open| open.mail.iter().any(|one| !released.contains(&one.mail.seq()));
        let settled: Vec<&Open> = held.filter(left).collect();
        let continuations = row.continued(settled.iter().copied(), changed);
        let settled = settled.into_iter().map(batch).collect();
        draft.push(TurnEnded { actor, turn, changed, settled });
        let others = row.open.iter().any(|open| open.turn != Some(turn));
        let continues = others
            || !released.is_empty()
            || row.goes_on_after(draft.at(), continuations)
            || state.counters.open_children(actor) > 0;
        if continues && next != Next::Finish {
            return Ok(TurnEnd::Continues);
        }
        let ending = Ending::new(outcome).after_turn(turn);
        end_run(state, draft, actor, row, ending).map(TurnEnd::Ended)
    }
}

fn batch(open: &Open) -> Batch {
    let collected = open.trigger == Trigger::Wait;
    Batch { injection: open.id.seq(), collected, messages: messages(open).collect() }
}

/// Settles an injection before its turn ends: the agent has it in a durable transcript of its own.
/// Accepting again changes nothing.
#[derive(Debug)]
pub struct Accept {
    /// The turn that holds it.
    pub token: Token,
    /// Which.
    pub injection: InjectionId,
}

impl Step for Accept {
    type Answer = ();

    fn decide(self, state: &State, draft: &mut Draft) -> Result<(), OpError> {
        let row = fresh(state, self.token)?;
        if row.accepted.contains(&self.injection) {
            return Ok(());
        }
        let held = |open: &&Open| open.id == self.injection && open.turn == row.turn;
        let open = row.open.iter().find(held);
        let open = open.ok_or_else(|| OpError::UnknownId { id: self.injection.to_string() })?;
        draft.push(taken(self.token.actor, open, Settlement::Accepted));
        Ok(())
    }
}

fn taken(actor: Number, open: &Open, how: Settlement) -> Taken {
    Taken { actor, injection: open.id.seq(), messages: messages(open).collect(), how }
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
    let Some(run) = &row.run else {
        return Err(OpError::StaleToken);
    };
    cancel_questions(state, draft, failed.actor, row);
    let is_held = |open: &&Open| open.turn == Some(failed.turn) && open.trigger != Trigger::Wait;
    let verdict = |charges, messages| judge(run.kind, failed.failure, charges, messages);
    let verdicts: Vec<(&Open, Verdict)> = row
        .open
        .iter()
        .filter(is_held)
        .map(|open| (open, verdict(open.charges, open.mail.len())))
        .collect();
    // A turn that has accepted all it was given is judged as if it held a message of its own.
    let opening = verdicts.first().map_or_else(|| verdict(Charges::default(), 1), |first| first.1);
    match opening {
        Verdict::End => {
            let outcome = Outcome::Failed { class: failed.class, error: failed.error.clone() };
            let ending = Ending::new(outcome).failing(failed.turn);
            return end_run(state, draft, failed.actor, row, ending).map(TurnEnd::Ended);
        }
        Verdict::Interrupt => {
            let ending = Ending::new(Outcome::Interrupted { cause: failed.cause });
            return end_run(state, draft, failed.actor, row, ending).map(TurnEnd::Ended);
        }
        _ => {}
    }
    release_collected(draft, failed.actor, row, failed.turn);
    write_failure(draft, &failed, &verdicts);
    let mut goes_on = row.open.iter().any(|open| open.turn != Some(failed.turn));
    for (open, verdict) in &verdicts {
        goes_on |= after(state, draft, row, &failed, (open, *verdict))?;
    }
    // An agent that accepts and is lost, over and over again, is given up some time (W9).
    if !row.accepted.is_empty() && row.continuations < CONTINUATIONS {
        let mut sent = continuation(failed.actor, run.hops, &row.accepted)?;
        sent.not_before = Some(failed.again_at).filter(|at| *at > draft.at());
        draft.push(sent);
        goes_on = true;
    }
    if goes_on {
        return Ok(TurnEnd::Continues);
    }
    let outcome = Outcome::Failed { class: failed.class, error: failed.error.clone() };
    let ending = Ending::new(outcome).after_turn(failed.turn);
    end_run(state, draft, failed.actor, row, ending).map(TurnEnd::Ended)
}

fn write_failure(draft: &mut Draft, failed: &Failed, verdicts: &[(&Open, Verdict)]) {
    let charged = |(open, verdict): &(&Open, Verdict)| match verdict {
        Verdict::Again(charges) | Verdict::Split(charges) => Some((open.id.seq(), *charges)),
        _ => None,
    };
    draft.push(TurnFailed {
        actor: failed.actor,
        turn: failed.turn,
        failure: failed.failure,
        error: failed.error.clone(),
        charged: verdicts.iter().filter_map(charged).collect(),
        again_at: failed.again_at,
    });
}

/// Drafts what becomes of one injection that a failed turn held; says whether the run goes on by it.
fn after(
    state: &State,
    draft: &mut Draft,
    row: &Row,
    failed: &Failed,
    (open, verdict): (&Open, Verdict),
) -> Result<bool, OpError> {
    let (actor, injection) = (failed.actor, open.id.seq());
    let all: Vec<Seq> = messages(open).collect();
    let part = |messages: &[Seq], charges| Split {
        actor,
        injection,
        messages: messages.to_vec(),
        charges,
    };
    match verdict {
        Verdict::Again(_) => {}
        Verdict::Split(charges) => {
            for message in &all {
                draft.push(part(std::slice::from_ref(message), charges));
            }
        }
        Verdict::Halve => {
            // Parts keep commit order among themselves, as the whole did.
            let (first, second) = all.split_at(all.len() / 2);
            draft.push(part(first, open.charges));
            draft.push(part(second, open.charges));
        }
        Verdict::Move => {
            draft.push(Released { actor, messages: all });
        }
        Verdict::Dead | Verdict::End | Verdict::Interrupt => {
            let reason = if failed.failure == TurnFailure::Overflow {
                DeadReason::Overflow
            } else {
                DeadReason::Poison(failed.error.clone())
            };
            draft.push(Dead { actor, messages: all, reason: reason.clone() });
            let mail: Vec<&Mail> = open.mail.iter().map(|offered| &offered.mail).collect();
            tell_senders(state, draft, (actor, row), &mail, &reason)?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// Tells those who sent dead mail, once each (section 4).
pub(super) fn tell_senders(
    state: &State,
    draft: &mut Draft,
    (actor, row): (Number, &Row),
    dead: &[&Mail],
    reason: &DeadReason,
) -> Result<(), OpError> {
    for mail in dead.iter().filter(|mail| mail.item.kind != Kind::Notice) {
        let Sender::Actor(sender) = mail.sender else { continue };
        if sender != actor && state.row(sender).is_some() {
            let about = row.address.clone();
            let notice = Notice::of_dead(about.clone(), mail.id, reason.name(), reason.detail());
            let hops = mail.hops.saturating_sub(1);
            let mut sent = Prepared::notice((actor, about), notice, hops, None)?;
            sent.to = vec![sender];
            draft.push(sent);
        }
    }
    Ok(())
}

/// The message that lets a run go on whose agent had accepted its mail before the turn was lost.
fn continuation(
    actor: Number,
    hops: u8,
    accepted: &[InjectionId],
) -> Result<crate::record::Sent, OpError> {
    let names: Vec<String> = accepted.iter().take(RELATED).map(ToString::to_string).collect();
    let others = match accepted.len().saturating_sub(RELATED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let mut text = Text::new(format!(
        "Go on with what you have of {}{others}: the turn that accepted it was cut off.",
        names.join(", ")
    ));
    text.kind = Kind::Continuation;
    text.related = names;
    let prepared = Prepared::new(Caller::System, Post::new(text), &To::Actors(Vec::new()));
    let mut sent = prepared.to(vec![actor])?;
    sent.hops = hops;
    Ok(sent)
}

/// What a wait collected that has not returned yet is pending again: an answer settles only what the
/// turn was given (P2). Says which messages those are.
fn release_unreturned(state: &State, draft: &mut Draft, row: &Row, token: Token) -> Vec<Seq> {
    let waits = state.waits.get(&token.actor).map_or(&[][..], Vec::as_slice);
    let about = |wait: &Wait| (wait.turn == token.turn).then_some((wait.target, wait.run));
    let waited: Vec<_> = waits.iter().filter_map(about).collect();
    let unreturned = |open: &&Open| {
        open.trigger == Trigger::Wait
            && open.mail.iter().any(|one| tells_one_of(&one.mail, &waited))
    };
    let messages: Vec<Seq> = row.open.iter().filter(unreturned).flat_map(messages).collect();
    if !messages.is_empty() {
        draft.push(Released { actor: token.actor, messages: messages.clone() });
    }
    messages
}

fn tells_one_of(mail: &Mail, runs: &[(Number, Seq)]) -> bool {
    mail.tells.is_some_and(|tells| runs.contains(&(tells.actor, tells.run)))
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

/// Settles mail of a turn that was cut, because its agent has it: it was asked afterwards. Mail that
/// was given to another turn meanwhile stays with that.
#[derive(Debug)]
pub struct Contained {
    /// Whose mail.
    pub actor: Number,
    /// The messages of the injections that the agent has.
    pub messages: Vec<Seq>,
}

impl Step for Contained {
    type Answer = ();

    fn decide(self, state: &State, draft: &mut Draft) -> Result<(), OpError> {
        let Self { actor, messages } = self;
        let pending = |seq: &Seq| {
            state.row(actor).is_some_and(|row| row.pending.iter().any(|mail| mail.seq() == *seq))
        };
        let messages: Vec<Seq> = messages.into_iter().filter(pending).collect();
        if !messages.is_empty() {
            draft.push(Settled { actor, messages, how: Settlement::Contained });
        }
        Ok(())
    }
}
