//! The steps: what can be asked of a store, one file for each theme.
//!
//! A step looks at the state, which includes everything already taken into the same commit, and
//! either refuses, with nothing changed, or drafts the records that are the step (P6: all in one
//! commit). It changes nothing itself: the engine applies what was drafted.

pub mod actors;
pub mod chores;
pub mod dead;
pub mod end;
pub mod hold;
pub mod mark;
mod prepare;
pub mod question;
pub mod recover;
pub mod run;
pub mod schedule;
pub mod send;
pub mod team;
pub mod turn;
pub mod wait;
pub mod watch;

use reveille_core::budget::Budgets;
use reveille_core::compose::InjectionLimits;
use reveille_core::id::Stamp;
use reveille_core::limits::{STORE_BYTES, STORE_MESSAGES, UNREAD_BYTES, UNREAD_MESSAGES};
use reveille_core::{Address, OpError, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use crate::record::{Number, Record};
use crate::state::State;
use crate::state::row::Row;

/// Whom an actor may write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Everybody.
    #[default]
    Any,
    /// Actors of its own tree.
    Tree,
}

/// The limits that a store keeps to; the defaults are the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Unread messages of one mailbox.
    pub unread_messages: usize,
    /// Unread bytes of one mailbox.
    pub unread_bytes: u64,
    /// Unread messages of the whole store.
    pub store_messages: u64,
    /// Unread bytes of the whole store.
    pub store_bytes: u64,
    /// Whom an actor may write to.
    pub reach: Reach,
    /// What one injection may hold.
    pub injection: InjectionLimits,
    /// What a tree of actors may hold.
    pub budgets: Budgets,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unread_messages: UNREAD_MESSAGES,
            unread_bytes: UNREAD_BYTES,
            store_messages: STORE_MESSAGES,
            store_bytes: STORE_BYTES,
            reach: Reach::Any,
            injection: InjectionLimits::default(),
            budgets: Budgets::default(),
        }
    }
}

/// What an execution must show to act: it is stale as soon as its turn is not the one under way, or
/// the store was opened anew (P9). The number of a turn is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The start of the store that the turn belongs to.
    pub incarnation: u64,
    /// Whose turn.
    pub actor: Number,
    /// Which.
    pub turn: Seq,
}

/// The records of a step while it is decided.
#[derive(Debug)]
pub struct Draft {
    next: Seq,
    pub(crate) stamp: Stamp,
    pub(crate) limits: Limits,
    /// Whether every turn of the state is over, whatever its rows say.
    pub(crate) recovering: bool,
    pub(crate) records: Vec<Record>,
}

impl Draft {
    /// A draft in memory that an earlier one has used.
    pub(crate) fn new(next: Seq, stamp: Stamp, limits: Limits, mut records: Vec<Record>) -> Self {
        records.clear();
        Self { next, stamp, limits, recovering: false, records }
    }

    /// When the commit was begun.
    pub(crate) const fn at(&self) -> Timestamp {
        self.stamp.at
    }

    /// The number that the record after the next `more` ones will have.
    pub(crate) const fn ahead(&self, more: u64) -> Seq {
        Seq(self.next.0 + more)
    }

    /// Adds a record and says its number.
    pub(crate) fn push(&mut self, record: impl Into<Record>) -> Seq {
        let seq = self.next;
        self.records.push(record.into());
        self.next = seq.next();
        seq
    }
}

/// A step.
pub trait Step: Send + 'static {
    /// What it answers.
    type Answer: Send + 'static;

    /// Refuses, or drafts the records.
    ///
    /// # Errors
    ///
    /// Why the step is refused; nothing of it is stored then (P1).
    fn decide(self, state: &State, draft: &mut Draft) -> Result<Self::Answer, OpError>;
}

/// The row of an address.
pub(crate) fn known<'a>(state: &'a State, address: &Address) -> Result<(Number, &'a Row), OpError> {
    state
        .find(address)
        .and_then(|number| state.row(number).map(|row| (number, row)))
        .ok_or_else(|| OpError::UnknownActor { address: address.clone() })
}

/// The row whose turn this token is for (P9).
pub(crate) fn fresh(state: &State, token: Token) -> Result<&Row, OpError> {
    state
        .row(token.actor)
        .filter(|row| row.turn == Some(token.turn) && state.incarnation() == token.incarnation)
        .ok_or(OpError::StaleToken)
}
