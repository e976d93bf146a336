//! A row: everything that is promised about one actor, as absolute values.
//!
//! What is in a row is written to the store only by checkpoints; between them the log carries the
//! changes. The changes themselves are in `super::moves`.

use std::collections::VecDeque;

use reveille_core::compose::Item;
use reveille_core::failure::{Charges, RunKind};
use reveille_core::id::Stamp;
use reveille_core::need::Standing;
use reveille_core::window::Waiting;
use reveille_core::{
    Address, AgentName, InjectionId, Kind, NoticeState, RunId, Seq, SessionId, Timestamp, Trigger,
};
use serde::{Deserialize, Serialize};

use crate::record::{Created, Number, Sent};

/// What is kept in memory of an unread message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// What composition needs of it.
    pub item: Item,
    /// When it was committed.
    pub at: Timestamp,
    /// Bytes that count against the mailbox.
    pub bytes: u32,
    /// Whether it closes a window at once.
    pub urgent: bool,
    /// The run that a notice tells of.
    pub about: Option<(Number, Seq)>,
    /// What it has been through in injections that were released.
    pub charges: Charges,
}

impl Mail {
    pub(super) fn new(seq: Seq, at: Timestamp, sent: &Sent) -> Self {
        let Sent { rank, kind, cost, cut_cost, bytes, urgent, about, .. } = *sent;
        let item = Item { seq, rank, kind, cost, cut_cost };
        Self { item, at, bytes, urgent, about, charges: Charges::default() }
    }

    /// The number of the message's record.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        self.item.seq
    }
}

/// A message in an open injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedMail {
    /// The message.
    pub mail: Mail,
    /// Whether its text is cut.
    pub cut: bool,
}

/// An open injection: handed to a turn, or waiting to be offered again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// Which.
    pub id: InjectionId,
    /// Why it was made.
    pub trigger: Trigger,
    /// Attempts so far, from 1.
    pub attempt: u32,
    /// What it has been through.
    pub charges: Charges,
    /// The turn that holds it.
    pub turn: Option<Seq>,
    /// Whether the latest turn that held it was lost: the agent may have it.
    pub lost: bool,
    /// Its mail, as arranged.
    pub mail: Vec<OfferedMail>,
}

/// A run without an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Which.
    pub id: RunId,
    /// What began it.
    pub kind: RunKind,
    /// The first message of a task run.
    pub first: Option<Seq>,
    /// The task it was given.
    pub task_id: Option<String>,
    /// Whether it has had a turn.
    pub begun: bool,
    /// When it was queued, or began.
    pub since: Timestamp,
}

/// A run with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Which.
    pub id: RunId,
    /// The record that holds the outcome.
    pub outcome: Seq,
    /// How it ended.
    pub state: NoticeState,
}

/// A message that cannot be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadMail {
    /// Which.
    pub seq: Seq,
    /// The record that says why.
    pub why: Seq,
}

/// What other rows' limits count of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counted {
    pub(crate) unread: u64,
    pub(crate) open_run: bool,
}

/// Everything that is promised about one actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The latest record that this row, as loaded from a checkpoint, is complete with.
    pub(crate) as_of: Seq,
    /// Where mail for it goes.
    pub address: Address,
    /// What people call its session; of a main actor.
    pub title: Option<String>,
    /// The agent that runs its turns.
    pub agent: Option<AgentName>,
    /// Whose worker it is.
    pub parent: Option<Number>,
    /// The spawner's own name for it.
    pub key: Option<String>,
    /// When it was made.
    pub created: Timestamp,
    /// Its open run.
    pub run: Option<Run>,
    /// Its latest run with an outcome.
    pub ended: Option<Ended>,
    /// The wake floor: mail before it wakes nobody.
    pub floor: Seq,
    /// The turn under way.
    pub turn: Option<Seq>,
    /// When open injections may be offered again.
    pub again_at: Timestamp,
    /// Unread mail that no injection holds, in commit order.
    pub pending: VecDeque<Mail>,
    /// Open injections, oldest first.
    pub open: Vec<Open>,
    /// Mail that cannot be delivered.
    pub dead: Vec<DeadMail>,
    /// The open run whose silence was told of.
    pub stalled: Option<Seq>,
    /// Bytes of all unread mail.
    pub bytes: u64,
}

impl Row {
    pub(super) fn new(seq: Seq, stamp: Stamp, created: &Created) -> Self {
        let session = created.session.unwrap_or_else(|| SessionId::new(seq, stamp));
        Self {
            as_of: Seq::ZERO,
            address: Address::new(session, created.name.clone()),
            title: created.title.clone(),
            agent: created.agent.clone(),
            parent: created.parent,
            key: created.key.clone(),
            created: stamp.at,
            run: None,
            ended: None,
            floor: Seq::ZERO,
            turn: None,
            again_at: Timestamp::default(),
            pending: VecDeque::new(),
            open: Vec::new(),
            dead: Vec::new(),
            stalled: None,
            bytes: 0,
        }
    }

    /// All unread mail: pending and offered.
    pub fn unread(&self) -> impl Iterator<Item = &Mail> {
        let offered = self.open.iter().flat_map(|open| &open.mail).map(|offered| &offered.mail);
        self.pending.iter().chain(offered)
    }

    pub(crate) fn counted(&self) -> Counted {
        Counted { unread: self.unread().count() as u64, open_run: self.run.is_some() }
    }

    /// The mail that may wake: pending, and committed after the wake floor (P5). Notices do not
    /// wake an actor whose own run was cut off (S2).
    #[must_use]
    pub fn wake_worthy(&self) -> Option<Waiting> {
        let interrupted = self.run.is_none()
            && self.ended.as_ref().is_some_and(|ended| ended.state == NoticeState::Interrupted);
        self.pending
            .iter()
            .filter(|mail| mail.seq() > self.floor)
            .filter(|mail| !(interrupted && mail.item.kind == Kind::Notice))
            .fold(None, |waiting, mail| Some(Waiting::with(waiting, mail.at, mail.urgent)))
    }

    /// What the rule of wakes needs to know; whether the actor is held is not the store's to say.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing {
            in_turn: self.turn.is_some(),
            held: false,
            again_at: (!self.open.is_empty()).then_some(self.again_at),
            queued: self.run.as_ref().is_some_and(|run| !run.begun),
            mail: self.wake_worthy(),
        }
    }

    /// The records that this row still leads to: they must not leave the store.
    pub(crate) fn kept(&self) -> impl Iterator<Item = Seq> + '_ {
        let outcome = self.ended.iter().map(|ended| ended.outcome);
        let dead = self.dead.iter().flat_map(|dead| [dead.seq, dead.why]);
        self.unread().map(Mail::seq).chain(outcome).chain(dead)
    }
}
