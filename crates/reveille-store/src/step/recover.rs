//! Recovery: what an earlier start of the runtime left under way (section 12, P12).
//!
//! One commit, children before parents: the new incarnation makes every earlier token stale, and
//! each turn that was under way is a lost turn, treated as section 4 says: a task run ends
//! `interrupted` and is told of, a mail run's injection is offered again. Doing it twice changes
//! nothing but the incarnation, because afterwards no turn is under way.

use reveille_core::failure::{RunKind, TurnFailure};
use reveille_core::limits::SHORT_LIFE;
use reveille_core::{Address, Cause, FailureClass, OpError, Seq};

use super::end::{Failed, TurnEnd, fail};
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
    /// Whether a turn is suspected of having killed the process: then turns that were open start one
    /// by one.
    pub one_by_one: bool,
}

/// The turn at whose door the death of the process is laid (section 4): one that ran alone, or the
/// latest one of a process that lived less than a minute.
fn guilty(state: &State) -> Option<Seq> {
    let turns: Vec<Seq> = state.watched().filter_map(|(_, row)| row.turn).collect();
    let short = state.at().since(state.opened_at()) < SHORT_LIFE;
    if turns.len() == 1 || short { turns.into_iter().max() } else { None }
}

impl Step for Recover {
    type Answer = Recovered;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Recovered, OpError> {
        let incarnation = state.incarnation() + 1;
        draft.push(Opened { incarnation });
        draft.recovering = true;
        let mut found = Recovered { incarnation, ..Recovered::default() };
        let guilty = guilty(state);
        found.one_by_one = guilty.is_some();
        for (actor, row) in (0..).zip(state.rows()).collect::<Vec<_>>().into_iter().rev() {
            let actor: Number = actor;
            if row.standing(draft.at()).queued {
                found.queued.push(row.address.clone());
            }
            let Some((turn, run)) = row.turn.zip(row.run.as_ref()) else {
                continue;
            };
            let failed = Failed {
                actor,
                turn,
                failure: TurnFailure::Lost {
                    charged: guilty == Some(turn) && run.kind == RunKind::Mail,
                },
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
