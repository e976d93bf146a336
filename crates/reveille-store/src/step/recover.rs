//! Recovery: what an earlier start of the runtime left under way (section 12, P12).
//!
//! One commit, children before parents: the new incarnation makes every earlier token stale, and
//! each turn that was under way is a lost turn, treated as section 4 says: a task run ends
//! `interrupted` and is told of, a mail run's injection is offered again. Doing it twice changes
//! nothing but the incarnation, because afterwards no turn is under way.

use reveille_core::failure::{RunKind, TurnFailure};
use reveille_core::{Address, Cause, FailureClass, OpError};

use super::turn::{Failed, TurnEnd, fail};
use super::{Draft, Step};
use crate::record::{Number, Opened};
use crate::state::State;

/// Reconciles the store with the fact that nothing is running.
#[derive(Debug)]
pub struct Recover;

/// What recovery found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovered {
    /// The new incarnation.
    pub incarnation: u64,
    /// Runs that ended `interrupted`.
    pub interrupted: Vec<Address>,
    /// Actors whose mail is offered again.
    pub again: Vec<Address>,
    /// Workers whose task had not begun.
    pub queued: Vec<Address>,
}

impl Step for Recover {
    type Answer = Recovered;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Recovered, OpError> {
        let incarnation = state.incarnation() + 1;
        draft.push(Opened { incarnation });
        draft.recovering = true;
        let mut found = Recovered { incarnation, ..Recovered::default() };
        // A death of the process is laid at the door of a turn that ran alone.
        let alone = state.rows().iter().filter(|row| row.turn.is_some()).count() == 1;
        for (actor, row) in (0..).zip(state.rows()).collect::<Vec<_>>().into_iter().rev() {
            let actor: Number = actor;
            if row.standing().queued {
                found.queued.push(row.address.clone());
            }
            let Some((turn, run)) = row.turn.zip(row.run.as_ref()) else {
                continue;
            };
            let failed = Failed {
                actor,
                turn,
                failure: TurnFailure::Lost { charged: alone && run.kind == RunKind::Mail },
                class: FailureClass::Transient,
                error: "the process of the runtime died".into(),
                again_at: draft.at(),
                cause: Cause::Crash,
            };
            match fail(state, draft, row, failed)? {
                TurnEnd::Continues => found.again.push(row.address.clone()),
                TurnEnd::Ended(_) => found.interrupted.push(row.address.clone()),
            }
        }
        Ok(found)
    }
}
