//! Episodes of silence: told once each, and remembered over a restart (L1).

use reveille_core::{Notice, OpError};

use super::prepare::Prepared;
use super::{Draft, Step, Token, fresh};
use crate::record::{Rearmed, Stalled, Tells};
use crate::state::State;

/// Tells that a turn is silent. Answers whether this was news.
#[derive(Debug)]
pub struct TellStall {
    /// The silent turn's token.
    pub token: Token,
    /// For how long nothing was heard, in seconds.
    pub quiet_s: u64,
    /// What was seen last.
    pub evidence: String,
}

impl Step for TellStall {
    type Answer = bool;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<bool, OpError> {
        let row = fresh(state, self.token)?;
        let Some(run) = row.run.as_ref().filter(|_| row.stalled.is_none()) else {
            return Ok(false);
        };
        let actor = self.token.actor;
        draft.push(Stalled { actor, run: run.id.seq() });
        if let Some(parent) = row.parent {
            let notice =
                Notice::of_stall(row.address.clone(), run.id, self.quiet_s, &self.evidence);
            let tells = Tells { actor, run: run.id.seq(), outcome: None };
            let from = (actor, row.address.clone());
            let hops = run.hops.saturating_sub(1);
            let mut sent = Prepared::notice(from, notice, hops, Some(tells))?;
            sent.to = vec![parent];
            draft.push(sent);
        }
        Ok(true)
    }
}

/// Notes that progress came after a silence that was told: the next one is new.
#[derive(Debug)]
pub struct NoteProgress {
    /// The turn's token.
    pub token: Token,
}

impl Step for NoteProgress {
    type Answer = ();

    fn decide(self, state: &State, draft: &mut Draft) -> Result<(), OpError> {
        let row = fresh(state, self.token)?;
        if let Some(run) = row.stalled {
            draft.push(Rearmed { actor: self.token.actor, run });
        }
        Ok(())
    }
}
