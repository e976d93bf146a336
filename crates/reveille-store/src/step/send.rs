//! Sending: section 3, P1, P10, P11.
//!
//! Preparing a message (its shape, the size of its rendering, its encoding) is done by the caller,
//! once; deciding, by the one writer, only looks at counts.

use reveille_core::limits::{ENVELOPE_BYTES, RECIPIENTS};
use reveille_core::message::Content;
use reveille_core::{Address, Caller, MessageId, OpError, Text, render};

use super::{Draft, Step, Token, fresh, known};
use crate::codec;
use crate::record::{Number, Sent};
use crate::state::State;

/// A message that is ready to be stored.
#[derive(Debug)]
pub struct Prepared(Sent);

impl Prepared {
    /// Checks and encodes a text.
    ///
    /// # Errors
    ///
    /// `invalid` or `too_large`, naming the field.
    pub fn text(from: Caller, text: Text, urgent: bool) -> Result<Self, OpError> {
        text.check()?;
        let bytes = text.bytes();
        let prepared = Self::new(from, &Content::Text(text), urgent, bytes)?;
        OpError::at_most("envelope bytes", prepared.1 as usize, ENVELOPE_BYTES)?;
        Ok(prepared.0)
    }

    /// Encodes a notice; it passes the limits of mailboxes.
    pub(crate) fn notice(
        from: Address,
        content: &Content,
        about: (Number, reveille_core::Seq),
    ) -> Result<Self, OpError> {
        let (mut prepared, _) = Self::new(Caller::Actor(from), content, false, 0)?;
        prepared.0.about = Some(about);
        Ok(prepared)
    }

    fn new(
        from: Caller,
        content: &Content,
        urgent: bool,
        bytes: u64,
    ) -> Result<(Self, u32), OpError> {
        let costs = render::costs(&from, content);
        let encoded = codec::encode(content)
            .map_err(|error| OpError::invalid("message", &error.to_string(), "encodable"))?;
        let sent = Sent {
            from,
            to: Vec::new(),
            kind: content.kind(),
            rank: content.rank(),
            urgent,
            about: None,
            cost: costs.whole,
            cut_cost: costs.cut,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            content: encoded,
        };
        Ok((Self(sent), costs.envelope))
    }

    /// The record for these mailboxes.
    pub(crate) fn to(mut self, to: Vec<Number>) -> Sent {
        self.0.to = to;
        self.0
    }
}

/// Sends a message to every one of its recipients, or to none.
#[derive(Debug)]
pub struct Send {
    /// Whose mailboxes; an address that stands there twice counts once.
    pub to: Vec<Address>,
    /// The message.
    pub message: Prepared,
    /// The turn that sends it; it must be under way (P9).
    pub token: Option<Token>,
}

impl Step for Send {
    type Answer = MessageId;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<MessageId, OpError> {
        let Self { to, message, token } = self;
        token.map_or(Ok(()), |token| fresh(state, token).map(drop))?;
        OpError::at_most("recipients", to.len(), RECIPIENTS)?;
        if to.is_empty() {
            return Err(OpError::invalid("to", "", "at least one address"));
        }
        let mut numbers = Vec::with_capacity(to.len());
        let mut unknown = Vec::new();
        for address in to {
            match known(state, &address) {
                Ok((number, _)) if numbers.contains(&number) => {}
                Ok((number, _)) => numbers.push(number),
                Err(_) => unknown.push(address),
            }
        }
        if !unknown.is_empty() {
            return Err(OpError::UnknownRecipient { addresses: unknown });
        }
        authority(state, &numbers, &message.0)?;
        numbers.iter().try_for_each(|&number| room(state, draft, number, &message.0))?;
        store_room(state, draft, numbers.len())?;
        let seq = draft.push(message.to(numbers));
        Ok(MessageId::new(seq, draft.stamp))
    }
}

/// Urgent mail needs a person, the host, or an ancestor of every recipient (section 3).
fn authority(state: &State, to: &[Number], message: &Sent) -> Result<(), OpError> {
    let Caller::Actor(sender) = &message.from else {
        return Ok(());
    };
    let above = |number: &Number| {
        let mut row = state.row(*number);
        while let Some(parent) = row.and_then(|row| row.parent).and_then(|up| state.row(up)) {
            if parent.address == *sender {
                return true;
            }
            row = Some(parent);
        }
        false
    };
    if message.urgent && !to.iter().all(above) {
        let what = "send urgent mail to an actor that is not below it";
        return Err(OpError::Forbidden { caller: sender.to_string(), what });
    }
    Ok(())
}

/// Refuses what a mailbox has no room for; offered mail counts as well.
fn room(state: &State, draft: &Draft, number: Number, message: &Sent) -> Result<(), OpError> {
    let Some(row) = state.row(number) else {
        return Ok(());
    };
    let full = |field, value, limit| {
        Err(OpError::MailboxFull { address: row.address.clone(), field, value, limit })
    };
    let (messages, bytes) = (row.unread().count() as u64 + 1, row.bytes + u64::from(message.bytes));
    let limits = &draft.limits;
    if messages > limits.unread_messages as u64 {
        return full("messages", messages, limits.unread_messages as u64);
    }
    if bytes > limits.unread_bytes {
        return full("bytes", bytes, limits.unread_bytes);
    }
    Ok(())
}

/// Refuses what the whole store has no room for.
pub(super) fn store_room(state: &State, draft: &Draft, more: usize) -> Result<(), OpError> {
    let (value, limit) = (state.counters.unread + more as u64, draft.limits.store_messages);
    if value > limit {
        return Err(OpError::StoreFull { field: "messages", value, limit });
    }
    Ok(())
}
