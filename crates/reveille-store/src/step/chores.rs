//! What falls due by itself: mail that expires, schedules, questions that nobody answered.
//!
//! Somebody has to come and do it; who comes too early, or twice, finds nothing to do (P5).

use reveille_core::{Caller, DeadReason, OpError};

use super::end::tell_senders;
use super::hold::end_alert;
use super::{Draft, Step, question, schedule};
use crate::record::{Dead, Number};
use crate::state::State;
use crate::state::row::Mail;

/// Does what is due for an actor; answers whether anything was.
#[derive(Debug)]
pub struct DoChores {
    /// Whose.
    pub actor: Number,
}

impl Step for DoChores {
    type Answer = bool;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<bool, OpError> {
        let now = draft.at();
        let Some(row) = state.row(self.actor).filter(|row| row.has_chores(now)) else {
            return Ok(false);
        };
        let expired = row.expired(now);
        if !expired.is_empty() {
            let is_it = |mail: &&Mail| expired.contains(&mail.seq());
            let mail: Vec<&Mail> = row.pending.iter().filter(is_it).collect();
            for &message in &expired {
                end_alert(draft, (self.actor, row), message, &Caller::System);
            }
            let (messages, reason) = (expired.clone(), DeadReason::Expired);
            draft.push(Dead { actor: self.actor, messages, reason: reason.clone() });
            tell_senders(state, draft, (self.actor, row), &mail, &reason)?;
        }
        schedule::tick(state, draft, (self.actor, row), now);
        question::time_out(state, draft, (self.actor, row), now);
        Ok(true)
    }
}
