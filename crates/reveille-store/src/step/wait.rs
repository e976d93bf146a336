//! Waits inside a turn, which collect (S3), and are refused when they would close a cycle (S4).
//!
//! A wait is memory only. Registering one makes the commit of the outcome hand over its notice; a
//! turn that ends, however it ends, takes its waits with it.

use reveille_core::{Address, OpError, RunId, Seq, Trigger};

use super::run::collect;
use super::turn::messages;
use super::{Draft, Step, Token, fresh, known};
use crate::record::{Number, Released};
use crate::state::State;
use crate::state::row::{Ended, Mail, Row};

/// Waits for the latest run of an actor, and collects its notice if it is addressed to the waiter.
#[derive(Debug)]
pub struct WaitFor {
    /// The token of the turn that waits.
    pub token: Token,
    /// Whom it waits for.
    pub target: Address,
}

/// What a wait found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitAnswer {
    /// The run has an outcome; its notice is collected if it was pending for the waiter.
    Ended(Ended),
    /// The run is open; whoever asked is registered, to be asked again when it ends.
    Open {
        /// The number of the target.
        target: Number,
        /// The run.
        run: RunId,
    },
    /// The actor has never had a run.
    NoRun,
}

impl Step for WaitFor {
    type Answer = WaitAnswer;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<WaitAnswer, OpError> {
        let row = fresh(state, self.token)?;
        let (target, target_row) = known(state, &self.target)?;
        if let Some(run) = &target_row.run {
            if target == self.token.actor || waits_for(state, target, self.token.actor) {
                return Err(OpError::WouldDeadlock { address: self.target });
            }
            return Ok(WaitAnswer::Open { target, run: run.id });
        }
        let Some(ended) = target_row.ended.clone() else { return Ok(WaitAnswer::NoRun) };
        let about = Some((target, ended.id.seq()));
        let told = |mail: &&Mail| mail.about == about && mail.item.rank == reveille_core::Rank::RunNotice;
        if let Some(notice) = row.pending.iter().find(told) {
            collect(draft, self.token.actor, row, notice.seq());
        }
        Ok(WaitAnswer::Ended(ended))
    }
}

/// Whether `from`, over its own waits and those of whom it waits for, waits for `to`.
fn waits_for(state: &State, from: Number, to: Number) -> bool {
    let (mut seen, mut next) = (vec![from], vec![from]);
    while let Some(actor) = next.pop() {
        let turn = state.row(actor).and_then(|row| row.turn);
        let waits = state.waits.get(&actor).map_or(&[][..], Vec::as_slice);
        for wait in waits.iter().filter(|wait| Some(wait.turn) == turn) {
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

/// Puts back what a wait collected and did not return.
#[derive(Debug)]
pub struct GiveBack {
    /// The token of the turn that waited.
    pub token: Token,
    /// Whom it waited for.
    pub target: Address,
}

impl Step for GiveBack {
    type Answer = ();

    fn decide(self, state: &State, draft: &mut Draft) -> Result<(), OpError> {
        let row = fresh(state, self.token)?;
        let (target, _) = known(state, &self.target)?;
        let messages = collected(row, self.token.turn, target);
        if !messages.is_empty() {
            draft.push(Released { actor: self.token.actor, messages });
        }
        Ok(())
    }
}

fn collected(row: &Row, turn: Seq, target: Number) -> Vec<Seq> {
    row.open
        .iter()
        .filter(|open| open.turn == Some(turn) && open.trigger == Trigger::Wait)
        .filter(|open| {
            open.mail.iter().any(|offered| {
                offered.mail.about.is_some_and(|(about, _)| about == target)
            })
        })
        .flat_map(messages)
        .collect()
}
