//! Mail beyond sending it: receipts, marks, retracting, dead mail, what awaits acknowledgement.

use reveille_core::{
    Address, Caller, Content, MessageId, OpError, QuestionId, Seq, Text, Timestamp,
};
use reveille_store::Reading;
use reveille_store::codec;
use reveille_store::record::{Answer, Mark, Number, Record, Sent};
use reveille_store::state::Marks;
use reveille_store::step::Token;
use reveille_store::step::dead::{DropDead, Redrive};
use reveille_store::step::mark::{MarkedMail, Retract};
use reveille_store::step::send::{Accepted, Post, Prepared, To};
use reveille_store::whereabouts::{MailState, whereabouts};

use crate::hub::{Hub, Waited};
use crate::ops;
use crate::runtime::Runtime;

/// A message as it was stored, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageView {
    /// Which.
    pub id: MessageId,
    /// Who sent it.
    pub from: Caller,
    /// What it carries.
    pub content: Content,
    /// Where it is, in each mailbox.
    pub places: Vec<Place>,
}

/// Where a message is in one mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Whose mailbox.
    pub address: Address,
    /// Where it is.
    pub state: MailState,
    /// When its receiver acknowledged and archived it.
    pub marks: Marks,
}

/// A dead message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadView {
    /// Whose mailbox it was in.
    pub address: Address,
    /// Which.
    pub id: MessageId,
    /// Since when.
    pub at: Timestamp,
    /// Why.
    pub reason: reveille_core::DeadReason,
    /// Who sent it. `None` when it cannot be read.
    pub from: Option<Caller>,
}

/// A message that was read and awaits acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueView {
    /// Whose mailbox.
    pub address: Address,
    /// Which.
    pub id: MessageId,
    /// What it is.
    pub kind: reveille_core::Kind,
    /// Since when.
    pub since: Timestamp,
}

impl Runtime {
    /// Waits until it is settled what becomes of a message: for each recipient how it was settled, or
    /// that it is dead. Can be asked at any time, also after a restart, as long as the history tells.
    ///
    /// # Errors
    ///
    /// `unknown_id`; `shutting_down` when the runtime stops: the mail stays pending then.
    pub async fn receipt(&self, message: MessageId) -> Result<Vec<(Address, MailState)>, OpError> {
        let sent = ops::message(&self.hub, message).await?;
        loop {
            let told = self.hub.next(Waited::Fate(message.seq()));
            let places = places(&self.hub, message, &sent).await?;
            if places.iter().all(|place| place.state.is_final()) {
                return Ok(places.into_iter().map(|place| (place.address, place.state)).collect());
            }
            if told.await.is_err() {
                return Err(OpError::ShuttingDown);
            }
        }
    }

    /// A message as it was stored, whole, and where it is.
    ///
    /// # Errors
    ///
    /// `unknown_id` when there is none, or it has left the store.
    pub async fn message(&self, message: MessageId) -> Result<MessageView, OpError> {
        let sent = ops::message(&self.hub, message).await?;
        let places = places(&self.hub, message, &sent).await?;
        Ok(MessageView { id: message, content: content(&sent)?, from: sent.from, places })
    }

    /// Acknowledges mail for its receiver, in the name of somebody whom the host has identified.
    /// Pending mail is settled by that; twice answers the same.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `unknown_id`, `forbidden`.
    pub async fn ack(
        &self,
        by: Caller,
        receiver: Address,
        message: MessageId,
    ) -> Result<MarkedMail, OpError> {
        ops::mark(&self.hub, by, receiver, message, Mark::Acknowledged, None).await
    }

    /// Archives mail for its receiver.
    ///
    /// # Errors
    ///
    /// As [`Runtime::ack`].
    pub async fn archive(
        &self,
        by: Caller,
        receiver: Address,
        message: MessageId,
    ) -> Result<MarkedMail, OpError> {
        ops::mark(&self.hub, by, receiver, message, Mark::Archived, None).await
    }

    /// Takes a message back from those who have not got it yet; says where it is for each.
    ///
    /// # Errors
    ///
    /// `unknown_id`; `forbidden` when somebody else sent it.
    pub async fn retract(
        &self,
        by: Caller,
        message: MessageId,
    ) -> Result<Vec<(Address, MailState)>, OpError> {
        retract(&self.hub, by, message, None).await
    }

    /// Mail that was read and awaits acknowledgement, oldest first for each mailbox.
    ///
    /// # Errors
    ///
    /// `storage_failed`.
    pub async fn unacknowledged(&self) -> Result<Vec<DueView>, OpError> {
        let found = self.hub.store.look(|state| {
            let due = |row: &reveille_store::state::row::Row| {
                let address = row.address.clone();
                let due = row.unacknowledged.clone();
                due.into_iter().map(move |due| (address.clone(), due))
            };
            state.rows().iter().flat_map(due).collect::<Vec<_>>()
        });
        let found = found.await?;
        let ids = ids(&self.hub, found.iter().map(|(_, due)| due.seq).collect()).await?;
        let view = |((address, due), id): ((Address, _), Option<(MessageId, Sent)>)| {
            let due: reveille_store::state::row::Unacknowledged = due;
            Some(DueView { address, id: id?.0, kind: due.kind, since: due.since })
        };
        Ok(found.into_iter().zip(ids).filter_map(view).collect())
    }

    /// Dead mail, of one actor or of all, at most `limit`, oldest first for each mailbox.
    ///
    /// # Errors
    ///
    /// `storage_failed`.
    pub async fn dead(
        &self,
        address: Option<Address>,
        limit: usize,
    ) -> Result<Vec<DeadView>, OpError> {
        let found = self.hub.store.look(move |state| {
            let wanted = |row: &&reveille_store::state::row::Row| {
                address.as_ref().is_none_or(|address| row.address == *address)
            };
            let dead = |row: &reveille_store::state::row::Row| {
                let address = row.address.clone();
                row.dead.clone().into_iter().map(move |dead| (address.clone(), dead))
            };
            let rows = state.rows().iter().filter(wanted);
            rows.flat_map(dead).take(limit).collect::<Vec<_>>()
        });
        let found = found.await?;
        let seqs = found.iter().map(|(_, dead)| dead.seq).collect();
        let messages = ops::readings(&self.hub, seqs).await?;
        let reasons = found.iter().map(|(_, dead)| dead.why).collect();
        let reasons = ops::records(&self.hub, reasons).await?;
        let mut views = Vec::with_capacity(found.len());
        for (((address, dead), message), reason) in found.into_iter().zip(messages).zip(reasons) {
            let (id, from) = match message {
                Reading::Found(stamp, Record::Sent(sent)) => {
                    (MessageId::new(dead.seq, stamp), Some(sent.from))
                }
                Reading::Damaged(_) => (dead.id, None),
                Reading::Found(..) | Reading::Gone => continue,
            };
            if let Some((_, Record::Dead(why))) = reason {
                let reason = why.reason;
                views.push(DeadView { address, id, at: dead.at, reason, from });
            }
        }
        Ok(views)
    }

    /// Sends a dead message, or one that its agent failed on, anew. The new one names it.
    ///
    /// # Errors
    ///
    /// `unknown_id`, `invalid` when it is neither, and what [`Runtime::send`] refuses.
    pub async fn redrive(
        &self,
        by: Caller,
        receiver: Address,
        message: MessageId,
    ) -> Result<Accepted, OpError> {
        let sent = ops::message(&self.hub, message).await?;
        let Content::Text(text) = content(&sent)? else {
            return Err(OpError::invalid("message", "a notice", "a message that somebody sent"));
        };
        let text = Text { redrives: Some(message), ..text };
        let to = To::Actors(vec![receiver.clone()]);
        // In the name of the first sender: whoever answers it answers that one.
        let from = if sent.kind.is_reserved() { by } else { sent.from };
        let anew = Prepared::new(from, Post::new(text), &to);
        self.hub.store.run(Redrive { actor: receiver, message, anew }).await
    }

    /// Removes a dead message for good.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `unknown_id`.
    pub async fn drop_dead(
        &self,
        by: Caller,
        receiver: Address,
        message: MessageId,
    ) -> Result<(), OpError> {
        self.hub.store.run(DropDead { actor: receiver, message, by }).await
    }
}

fn content(sent: &Sent) -> Result<Content, OpError> {
    codec::decode(&sent.content)
        .map_err(|error| OpError::StorageFailed { reason: error.to_string() })
}

/// The messages with these numbers and their ids.
async fn ids(hub: &Hub, seqs: Vec<Seq>) -> Result<Vec<Option<(MessageId, Sent)>>, OpError> {
    let found = ops::records(hub, seqs.clone()).await?;
    let message = |(seq, found): (Seq, Option<_>)| match found {
        Some((stamp, Record::Sent(sent))) => Some((MessageId::new(seq, stamp), sent)),
        _ => None,
    };
    Ok(seqs.into_iter().zip(found).map(message).collect())
}

async fn places(hub: &Hub, id: MessageId, sent: &Sent) -> Result<Vec<Place>, OpError> {
    let (to, now, seq) = (sent.to.clone(), hub.clock.now(), id.seq());
    let places = hub.store.look(move |state| {
        let place = |number: Number| {
            let address = state.row(number)?.address.clone();
            let marks = state.marks(seq, number);
            Some(Place { address, state: whereabouts(state, seq, number, now), marks })
        };
        to.into_iter().filter_map(place).collect()
    });
    places.await
}

/// Takes a message back in the name of `by`.
pub(crate) async fn retract(
    hub: &Hub,
    by: Caller,
    message: MessageId,
    token: Option<Token>,
) -> Result<Vec<(Address, MailState)>, OpError> {
    let Sent { to, from, .. } = ops::message(hub, message).await?;
    hub.store.run(Retract { message, to, from, by, token }).await
}

/// The answer to a question, once there is one.
///
/// # Errors
///
/// `stale_token` when the question is gone without an answer that is known.
pub(crate) async fn answer_of(
    hub: &Hub,
    asker: Number,
    question: QuestionId,
) -> Result<Option<Answer>, OpError> {
    let seq = question.seq();
    let found = hub.store.look(move |state| {
        let row = state.row(asker)?;
        let open = row.questions.iter().any(|open| open.id.seq() == seq);
        Some((open, state.answer_to(seq)))
    });
    match found.await? {
        Some((_, Some(answer))) => Ok(Some(answer)),
        Some((true, None)) => Ok(None),
        Some((false, None)) | None => Err(OpError::StaleToken),
    }
}
