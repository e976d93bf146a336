//! Acknowledging, archiving and retracting mail (section 3): once each, whoever asks how often.

use reveille_core::{Address, Caller, MessageId, OpError};

use super::hold::end_alert;
use super::{Draft, Step, Token, fresh, known};
use crate::record::{Mark, Marked, Number, Settled, Settlement};
use crate::state::{Marks, State};
use crate::whereabouts::{MailState, whereabouts};

/// Marks a message in one mailbox. One that is pending is settled by that: it wakes nobody any more;
/// the first message of a task stays with its run.
#[derive(Debug)]
pub struct MarkMail {
    /// Whose mail.
    pub actor: Address,
    /// Which message.
    pub message: MessageId,
    /// How far it has come.
    pub mark: Mark,
    /// Who says so: the receiver, a person, or the host.
    pub by: Caller,
    /// The receiver's turn, if it is its own doing (P9).
    pub token: Option<Token>,
}

/// What a mark did, now or the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkedMail {
    /// Where the message is.
    pub state: MailState,
    /// When it was acknowledged and archived.
    pub marks: Marks,
    /// Whether this call changed anything.
    pub news: bool,
}

impl Step for MarkMail {
    type Answer = MarkedMail;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<MarkedMail, OpError> {
        let Self { actor: address, message, mark, by, token } = self;
        token.map_or(Ok(()), |token| fresh(state, token).map(drop))?;
        let (actor, row) = known(state, &address)?;
        if matches!(&by, Caller::Actor(caller) if *caller != address) {
            let what = "mark mail of another actor";
            return Err(OpError::Forbidden { caller: by.to_string(), what });
        }
        let seq = message.seq();
        let place = whereabouts(state, seq, actor, draft.at());
        let due = row.unacknowledged.iter().any(|due| due.seq == seq);
        if place == MailState::Unknown && !due {
            return Err(OpError::UnknownId { id: message.to_string() });
        }
        let mut marks = state.marks(seq, actor);
        let done = match mark {
            Mark::Acknowledged => marks.acknowledged.is_some() || marks.archived.is_some(),
            Mark::Archived => marks.archived.is_some(),
        };
        if done {
            return Ok(MarkedMail { state: place, marks, news: false });
        }
        let waits = matches!(place, MailState::Pending | MailState::Delayed);
        let settles = waits && !row.begins_run(seq);
        end_alert(draft, (actor, row), seq, &by);
        draft.push(Marked { actor, message: seq, mark, settles, by });
        match mark {
            Mark::Acknowledged => marks.acknowledged = Some(draft.at()),
            Mark::Archived => marks.archived = Some(draft.at()),
        }
        let how = Settlement::Acknowledged;
        let settled = MailState::Settled { how, injection: None };
        Ok(MarkedMail { state: if settles { settled } else { place }, marks, news: true })
    }
}

/// Takes a message back from those who have not got it yet; its sender's to do.
#[derive(Debug)]
pub struct Retract {
    /// Which message.
    pub message: MessageId,
    /// Whose mailboxes it was sent to.
    pub to: Vec<Number>,
    /// Who sent it, as its record says.
    pub from: Caller,
    /// Who asks.
    pub by: Caller,
    /// The sender's turn, if it is an actor (P9).
    pub token: Option<Token>,
}

impl Step for Retract {
    type Answer = Vec<(Address, MailState)>;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Self::Answer, OpError> {
        let Self { message, to, from, by, token } = self;
        token.map_or(Ok(()), |token| fresh(state, token).map(drop))?;
        if from != by {
            let what = "retract a message of somebody else";
            return Err(OpError::Forbidden { caller: by.to_string(), what });
        }
        let seq = message.seq();
        let mut answers = Vec::with_capacity(to.len());
        for (actor, row) in to.iter().filter_map(|&n| state.row(n).map(|row| (n, row))) {
            let mut place = whereabouts(state, seq, actor, draft.at());
            let waits = matches!(place, MailState::Pending | MailState::Delayed);
            if waits && !row.begins_run(seq) {
                end_alert(draft, (actor, row), seq, &by);
                let how = Settlement::Retracted;
                draft.push(Settled { actor, messages: vec![seq], how });
                place = MailState::Settled { how, injection: None };
            }
            answers.push((row.address.clone(), place));
        }
        Ok(answers)
    }
}
