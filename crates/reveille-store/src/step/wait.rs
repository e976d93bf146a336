//! Waits inside a turn, which collect (S3), and are refused when they would close a cycle (S4).
//!
//! A wait is registered until it has returned: that is memory only. While it is, the commit of the
//! run's outcome hands over its notice, and what it collected is given back if the wait, or the
//! turn, ends without returning it. A turn that ends takes its waits with it.

use reveille_core::{Address, InjectionId, OpError, QuestionId, RunId, Seq, Trigger};

use super::end::messages;
use super::run::collect;
use super::{Draft, Step, Token, fresh, known};
use crate::record::{Number, Released};
use crate::state::row::{Ended, Mail, OpenQuestion, Row};
use crate::state::{State, Wait};

/// Waits for a run of an actor, and collects its notice if it is addressed to the waiter.
#[derive(Debug, Clone)]
pub struct WaitFor {
    /// The token of the turn that waits.
    pub token: Token,
    /// Tells the waits of this turn apart.
    pub id: u64,
    /// Whom it waits for.
    pub target: Address,
    /// Which run, once that is known; `None` is the latest.
    pub run: Option<RunId>,
}

/// What a wait found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitAnswer {
    /// The run has an outcome.
    Ended {
        /// Which run, and how it ended.
        ended: Ended,
        /// The injection that its notice was collected in, by this call.
        collected: Option<InjectionId>,
    },
    /// The run is open: to be asked again when it ends.
    Open(RunId),
    /// The actor has never had a run.
    NoRun,
    /// Somebody in the way waits for an answer of the waiter: that comes first (S4).
    Asking {
        /// Who asks.
        address: Address,
        /// What.
        question: QuestionId,
    },
}

impl Step for WaitFor {
    type Answer = WaitAnswer;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<WaitAnswer, OpError> {
        let row = fresh(state, self.token)?;
        let (target, target_row) = known(state, &self.target)?;
        let wanted = |id: RunId| self.run.is_none_or(|run| run == id);
        if let Some(run) = target_row.run.as_ref().filter(|run| wanted(run.id)) {
            if target == self.token.actor || waits_for(state, target, self.token.actor) {
                return Err(OpError::WouldDeadlock { address: self.target });
            }
            if let Some((asker, question)) = asks(state, target, self.token.actor) {
                let asks = question.request;
                let pending = row.pending.iter().map(Mail::seq).find(|seq| Some(*seq) == asks);
                pending.map(|request| collect(draft, self.token.actor, row, request));
                let (address, question) = (asker.address.clone(), question.id);
                return Ok(WaitAnswer::Asking { address, question });
            }
            return Ok(WaitAnswer::Open(run.id));
        }
        // A run that was followed by another one with an outcome is answered by that one.
        let Some(ended) = target_row.ended.clone() else {
            return Ok(WaitAnswer::NoRun);
        };
        let about = Some((target, ended.id.seq()));
        let told = |mail: &&Mail| {
            let tells = mail.tells.filter(|tells| tells.outcome.is_some());
            tells.map(|tells| (tells.actor, tells.run)) == about
        };
        let notice = row.pending.iter().find(told).map(Mail::seq);
        let collected = notice.map(|notice| collect(draft, self.token.actor, row, notice));
        Ok(WaitAnswer::Ended { ended, collected })
    }
}

impl WaitFor {
    /// Notes that the wait has not returned, if there is anything to give back or to wait for.
    pub(crate) fn register(&self, state: &mut State, answer: &WaitAnswer) {
        let run = match answer {
            WaitAnswer::Open(run) => run.seq(),
            WaitAnswer::Ended { ended, collected: Some(_) } => ended.id.seq(),
            WaitAnswer::Ended { .. } | WaitAnswer::NoRun | WaitAnswer::Asking { .. } => return,
        };
        let Some(target) = state.find(&self.target) else {
            return;
        };
        let Token { actor, turn, .. } = self.token;
        let waits = state.waits.entry(actor).or_default();
        waits.retain(|wait| wait.turn == turn && wait.id != self.id);
        waits.push(Wait { id: self.id, turn, target, run });
    }
}

/// Whether `from`, over its own waits and those of whom it waits for, waits for `to`.
fn waits_for(state: &State, from: Number, to: Number) -> bool {
    let (mut seen, mut next) = (vec![from], vec![from]);
    while let Some(actor) = next.pop() {
        let turn = state.row(actor).and_then(|row| row.turn);
        let waits = state.waits.get(&actor).map_or(&[][..], Vec::as_slice);
        for wait in waits.iter().filter(|wait| Some(wait.turn) == turn && is_open(state, wait)) {
            if wait.target == to {
                return true;
            }
            if !seen.contains(&wait.target) {
                seen.push(wait.target);
                next.push(wait.target);
            }
        }
    }
    false
}

/// Whoever, over waits from `from` on, waits for an answer of `to`.
fn asks(state: &State, from: Number, to: Number) -> Option<(&Row, &OpenQuestion)> {
    let (mut seen, mut next) = (vec![from], vec![from]);
    while let Some(actor) = next.pop() {
        let row = state.row(actor)?;
        if let Some(question) = row.questions.iter().find(|asked| asked.asked == Some(to)) {
            return Some((row, question));
        }
        let waits = state.waits.get(&actor).map_or(&[][..], Vec::as_slice);
        for wait in waits.iter().filter(|wait| Some(wait.turn) == row.turn && is_open(state, wait))
        {
            if !seen.contains(&wait.target) {
                seen.push(wait.target);
                next.push(wait.target);
            }
        }
    }
    None
}

fn is_open(state: &State, wait: &Wait) -> bool {
    let run = state.row(wait.target).and_then(|row| row.run.as_ref());
    run.is_some_and(|run| run.id.seq() == wait.run)
}

/// Ends a wait.
#[derive(Debug)]
pub struct StopWaiting {
    /// The token of the turn that waited.
    pub token: Token,
    /// Which of its waits.
    pub id: u64,
    /// Whether it returned what it waited for; otherwise what it collected is pending again.
    pub returned: bool,
}

impl StopWaiting {
    /// Takes the registration away. When the wait returned, what other waits of the turn for the
    /// same run collected is returned too.
    pub(crate) fn unregister(&self, state: &mut State) -> Option<Wait> {
        let Token { actor, turn, .. } = self.token;
        let waits = state.waits.get_mut(&actor)?;
        let mine = |wait: &Wait| wait.turn == turn && wait.id == self.id;
        let wait = waits.iter().copied().find(mine)?;
        let same = |other: &Wait| {
            let run = (other.turn, other.target, other.run) == (turn, wait.target, wait.run);
            mine(other) || (self.returned && run)
        };
        waits.retain(|other| !same(other));
        if waits.is_empty() {
            state.waits.remove(&actor);
        }
        let waited_for =
            |other: &Wait| (other.turn, other.target, other.run) == (turn, wait.target, wait.run);
        let shared = state.waits.get(&actor).is_some_and(|waits| waits.iter().any(waited_for));
        // What another wait of the turn still waits for is that one's to return.
        Some(wait).filter(|_| !self.returned && !shared)
    }
}

/// Puts back what a wait collected and did not return.
#[derive(Debug)]
pub(crate) struct GiveBack {
    pub(crate) token: Token,
    pub(crate) wait: Wait,
}

impl Step for GiveBack {
    type Answer = ();

    fn decide(self, state: &State, draft: &mut Draft) -> Result<(), OpError> {
        let row = fresh(state, self.token)?;
        let messages = collected(row, self.token.turn, (self.wait.target, self.wait.run));
        if !messages.is_empty() {
            draft.push(Released { actor: self.token.actor, messages });
        }
        Ok(())
    }
}

fn collected(row: &Row, turn: Seq, about: (Number, Seq)) -> Vec<Seq> {
    row.open
        .iter()
        .filter(|open| open.turn == Some(turn) && open.trigger == Trigger::Wait)
        .filter(|open| {
            open.mail.iter().any(|offered| {
                offered.mail.tells.is_some_and(|tells| (tells.actor, tells.run) == about)
            })
        })
        .flat_map(messages)
        .collect()
}
