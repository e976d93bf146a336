//! Dead mail: sent anew, dropped, or dropped because its time is over (section 4, section 13).

use reveille_core::{Address, Caller, MessageId, OpError, Seq, Timestamp};

use super::send::{Accepted, Prepared, Send, To};
use super::{Draft, Step, Token, fresh, known};
use crate::record::{Dead, Dropped, Settlement};
use crate::state::State;
use crate::whereabouts::{MailState, whereabouts};
use reveille_core::DeadReason;

/// Sends a dead message, or one that its agent failed on, anew: a message of its own that names it.
#[derive(Debug)]
pub struct Redrive {
    /// Whose mail.
    pub actor: Address,
    /// The message as it was.
    pub message: MessageId,
    /// The message as it is sent now.
    pub anew: Prepared,
}

impl Step for Redrive {
    type Answer = Accepted;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Accepted, OpError> {
        let (actor, _) = known(state, &self.actor)?;
        let place = whereabouts(state, self.message.seq(), actor, draft.at());
        let failed = MailState::Settled { how: Settlement::Failed, injection: None };
        if place != MailState::Dead && place != failed {
            return Err(OpError::invalid("message", place.name(), "dead or failed mail"));
        }
        let to = To::Actors(vec![self.actor]);
        Send { to, message: self.anew, token: None }.decide(state, draft)
    }
}

/// Removes a dead message for good.
#[derive(Debug)]
pub struct DropDead {
    /// Whose mail.
    pub actor: Address,
    /// Which message.
    pub message: MessageId,
    /// Who says so.
    pub by: Caller,
}

impl Step for DropDead {
    type Answer = ();

    fn decide(self, state: &State, draft: &mut Draft) -> Result<(), OpError> {
        let (actor, row) = known(state, &self.actor)?;
        let message = self.message.seq();
        if !row.dead.iter().any(|dead| dead.seq == message) {
            return Err(OpError::UnknownId { id: self.message.to_string() });
        }
        draft.push(Dropped { actor, message, by: self.by });
        Ok(())
    }
}

/// Removes mail that has been dead since before a moment; at most so many at a time.
#[derive(Debug)]
pub struct DropOld {
    /// What died before this goes.
    pub before: Timestamp,
    /// At most so many.
    pub limit: usize,
}

impl Step for DropOld {
    type Answer = usize;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<usize, OpError> {
        let mut dropped = 0;
        for (actor, row) in state.watched() {
            for dead in row.dead.iter().filter(|dead| dead.at < self.before) {
                if dropped == self.limit {
                    return Ok(dropped);
                }
                draft.push(Dropped { actor, message: dead.seq, by: Caller::System });
                dropped += 1;
            }
        }
        Ok(dropped)
    }
}

/// Buries messages of a turn that cannot be read: the rest of the mailbox goes on (P2). Those that the
/// turn does not hold, or not any more, are passed over.
#[derive(Debug)]
pub struct BuryDamaged {
    /// The turn that was to get them.
    pub token: Token,
    /// Which, and what is wrong with each.
    pub damaged: Vec<(Seq, String)>,
}

impl Step for BuryDamaged {
    type Answer = ();

    fn decide(self, state: &State, draft: &mut Draft) -> Result<(), OpError> {
        let row = fresh(state, self.token)?;
        let held = |seq: &Seq| {
            let mut held = row.open.iter().filter(|open| open.turn == row.turn);
            held.any(|open| open.mail.iter().any(|offered| offered.mail.seq() == *seq))
        };
        for (seq, what) in self.damaged.into_iter().filter(|(seq, _)| held(seq)) {
            let (messages, reason) = (vec![seq], DeadReason::Damaged(what));
            draft.push(Dead { actor: self.token.actor, messages, reason });
        }
        Ok(())
    }
}
