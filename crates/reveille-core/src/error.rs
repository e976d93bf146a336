//! Refusals: one name everywhere, and what to do about it.
//!
//! An operation that is refused answers an [`OpError`]. Its [`Code`] is the same word in Rust, in
//! JSON and in a problem document. Except for [`OpError::OutcomeUnknown`], an error means that
//! nothing was stored (P1).

use std::fmt;

use crate::address::Address;
use crate::id::QuestionId;

/// The stable name of a refusal, with its HTTP status and its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code {
    /// The word.
    pub name: &'static str,
    /// The HTTP status of a response that carries it.
    pub http: u16,
    /// The exit code of a command that ends with it.
    pub exit: u8,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Why an operation was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// A field has a value outside its rule.
    #[error("{field} is {value:?}, allowed is {limit}")]
    Invalid {
        /// Which field.
        field: &'static str,
        /// What it was, shortened.
        value: String,
        /// What is allowed.
        limit: String,
    },
    /// A field has more bytes, characters or items than allowed.
    #[error("{field} has {size}, at most {limit} are allowed")]
    TooLarge {
        /// Which field, with its unit.
        field: &'static str,
        /// How many it has.
        size: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// No actor has this address, so the whole message is refused.
    #[error("no actor has the address {}", list(.addresses))]
    UnknownRecipient {
        /// The addresses that nobody has.
        addresses: Vec<Address>,
    },
    /// No actor has this address.
    #[error("no actor has the address {address}")]
    UnknownActor {
        /// The address.
        address: Address,
    },
    /// The store knows no such thing.
    #[error("{id} is unknown")]
    UnknownId {
        /// The id as given.
        id: String,
    },
    /// The caller may not do this (P11).
    #[error("{caller} may not {what}")]
    Forbidden {
        /// Who asked.
        caller: String,
        /// What was asked, as a verb.
        what: &'static str,
    },
    /// The actor is retired; its name is never used again.
    #[error("{address} is retired")]
    Gone {
        /// Whose mailbox is closed.
        address: Address,
    },
    /// A recipient has too much unread mail, so the whole message is refused.
    #[error(
        "the mailbox of {} is full: {value} {field} with this message, at most {limit}",
        list(.addresses)
    )]
    MailboxFull {
        /// Whose mailboxes: all that have no room.
        addresses: Vec<Address>,
        /// What there is too much of in the first of them: `messages`, `bytes` or
        /// `unacknowledged messages`.
        field: &'static str,
        /// How much there would be in the first of them.
        value: u64,
        /// How much is allowed.
        limit: u64,
    },
    /// The whole store has too much unread mail.
    #[error("the store is full: {value} {field} with this message, at most {limit}")]
    StoreFull {
        /// What there is too much of.
        field: &'static str,
        /// How much there would be.
        value: u64,
        /// How much is allowed.
        limit: u64,
    },
    /// A budget would be exceeded (S5).
    #[error("refused by the budget {budget}: {value} with this one, at most {limit}")]
    Refused {
        /// The name of the budget.
        budget: &'static str,
        /// What it would become.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// The same key was used for another call (section 3).
    #[error("the key {key:?} was used for another call, which answered {first}")]
    IdempotencyConflict {
        /// The key.
        key: String,
        /// What the first call answered.
        first: String,
    },
    /// A receiver is busy and the message asked to be refused then (W3).
    #[error("{} is busy", list(.addresses))]
    Busy {
        /// Whose turn is under way: all of them.
        addresses: Vec<Address>,
    },
    /// The message has been passed on too often (section 3).
    #[error("passed on {hops} times, at most {limit} are allowed")]
    HopLimit {
        /// How often, with this one.
        hops: u8,
        /// The limit.
        limit: u8,
    },
    /// Somebody in the way of this wait waits for an answer of this actor (S4).
    #[error("{address} asks this actor {question} and waits for the answer")]
    Asking {
        /// Who asks.
        address: Address,
        /// What is to be answered first.
        question: QuestionId,
    },
    /// The turn that asks has ended, or belongs to an earlier incarnation (P9).
    #[error("the turn has ended, or was cancelled, or belongs to an earlier start of the runtime")]
    StaleToken,
    /// The wait would close a cycle (S4).
    #[error("waiting for {address} would never end: it waits, over others, for this actor")]
    WouldDeadlock {
        /// Who was to be waited for.
        address: Address,
    },
    /// The call did not finish within its limit.
    #[error("not finished within {limit_ms} ms")]
    TimedOut {
        /// The limit in milliseconds.
        limit_ms: u64,
    },
    /// The commit failed: whether it reached the disk will be seen at the next start.
    #[error(
        "the commit failed; whether it reached the disk is seen when the store is opened again"
    )]
    OutcomeUnknown,
    /// The store failed earlier and takes nothing more until it is opened again.
    #[error("the store failed: {reason}")]
    StorageFailed {
        /// What the storage said.
        reason: String,
    },
    /// The runtime is shutting down.
    #[error("the runtime is shutting down")]
    ShuttingDown,
}

fn list(addresses: &[Address]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl OpError {
    /// A field whose value is outside its rule; a long value is shortened for the message.
    #[must_use]
    pub fn invalid(field: &'static str, value: &str, limit: impl Into<String>) -> Self {
        Self::Invalid { field, value: value.chars().take(80).collect(), limit: limit.into() }
    }

    /// Refuses more than `limit` of something.
    ///
    /// # Errors
    ///
    /// `too_large` when `size` is above `limit`.
    pub fn at_most(field: &'static str, size: usize, limit: usize) -> Result<(), Self> {
        if size <= limit {
            Ok(())
        } else {
            Err(Self::TooLarge { field, size: size as u64, limit: limit as u64 })
        }
    }

    /// The stable name, HTTP status and exit code.
    #[must_use]
    pub const fn code(&self) -> Code {
        let (name, http, exit) = match self {
            Self::Invalid { .. } => ("invalid", 422, 2),
            Self::TooLarge { .. } => ("too_large", 413, 4),
            Self::UnknownRecipient { .. } => ("unknown_recipient", 404, 3),
            Self::UnknownActor { .. } => ("unknown_actor", 404, 3),
            Self::UnknownId { .. } => ("unknown_id", 404, 3),
            Self::Forbidden { .. } => ("forbidden", 403, 4),
            Self::Gone { .. } => ("gone", 410, 4),
            Self::MailboxFull { .. } => ("mailbox_full", 429, 4),
            Self::StoreFull { .. } => ("store_full", 429, 4),
            Self::Refused { .. } => ("refused", 429, 4),
            Self::IdempotencyConflict { .. } => ("idempotency_conflict", 409, 4),
            Self::Busy { .. } => ("busy", 409, 4),
            Self::HopLimit { .. } => ("hop_limit", 422, 4),
            Self::Asking { .. } => ("asking", 409, 4),
            Self::StaleToken => ("stale_token", 409, 4),
            Self::WouldDeadlock { .. } => ("would_deadlock", 409, 4),
            Self::TimedOut { .. } => ("timed_out", 504, 6),
            Self::OutcomeUnknown => ("outcome_unknown", 503, 5),
            Self::StorageFailed { .. } => ("storage_failed", 503, 5),
            Self::ShuttingDown => ("shutting_down", 503, 5),
        };
        Code { name, http, exit }
    }

    /// Whether the same call may succeed later without anybody changing it.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::MailboxFull { .. }
                | Self::Busy { .. }
                | Self::StoreFull { .. }
                | Self::Refused { .. }
                | Self::TimedOut { .. }
                | Self::OutcomeUnknown
                | Self::StorageFailed { .. }
                | Self::ShuttingDown
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_field_value_and_limit() {
        let error = OpError::at_most("body bytes", 9, 8).unwrap_err();
        assert_eq!(error.to_string(), "body bytes has 9, at most 8 are allowed");
        assert_eq!(error.code().name, "too_large");
        assert!(OpError::at_most("body bytes", 8, 8).is_ok());
    }

    #[test]
    fn a_hostile_value_does_not_fill_the_message() {
        let error = OpError::invalid("actor name", &"x".repeat(100_000), "less");
        assert!(error.to_string().len() < 200);
    }
}
