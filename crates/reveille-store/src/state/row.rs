//! A row: everything that is promised about one actor, as absolute values.
//!
//! What is in a row is written to the store only by checkpoints; between them the log carries the
//! changes. The changes themselves are in `super::moves` and `super::people`; what a row says to the
//! rules is in `super::views`.

use std::collections::VecDeque;

use reveille_core::compose::Item;
use reveille_core::failure::{Charges, RunKind};
use reveille_core::id::Stamp;
use reveille_core::{
    Address, AgentName, Caller, Delivery, InjectionId, Kind, MessageId, NoticeState, QuestionId,
    RunId, Seq, SessionId, TeamId, Text, Timestamp, Trigger,
};
use serde::{Deserialize, Serialize};

use crate::record::{Created, GroupPolicy, HoldReason, Number, Sender, Sent, Tells};

/// What is kept in memory of an unread message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// What composition needs of it.
    pub item: Item,
    /// Its id.
    pub id: MessageId,
    /// Since when windows and audit count it: its commit, its due time if it was delayed, or that of
    /// the message that it displaced.
    pub at: Timestamp,
    /// When it is dead unless it was offered.
    pub expires_at: Option<Timestamp>,
    /// Bytes that count against the mailbox.
    pub bytes: u32,
    /// Whether it closes a window at once.
    pub urgent: bool,
    /// Whether a person wrote it.
    pub human: bool,
    /// How it wants to be delivered.
    pub delivery: Delivery,
    /// How often it has been passed on.
    pub hops: u8,
    /// Who sent it.
    pub sender: Sender,
    /// The hash of its merge key; 0 is none.
    pub merge: u64,
    /// What a notice tells of.
    pub tells: Option<Tells>,
    /// The group whose policy it goes by (W8).
    pub group: Option<Seq>,
    /// What it has been through in injections that were released or split.
    pub charges: Charges,
    /// Whether its receiver acknowledged it before it was read: then nothing is due.
    pub acknowledged: bool,
    /// The injection that it was moved out of by mail that interrupted: the one that it goes into
    /// takes the place of that (W3).
    pub moved: Option<Seq>,
}

impl Mail {
    pub(super) fn new(id: MessageId, at: Timestamp, sent: &Sent) -> Self {
        let Sent { rank, kind, cost, cut_cost, .. } = *sent;
        Self {
            at: sent.not_before.map_or(at, |due| due.max(at)),
            expires_at: sent.expires_at,
            bytes: sent.bytes,
            urgent: sent.urgent,
            human: sent.from.is_human(),
            delivery: sent.delivery,
            hops: sent.hops,
            sender: sent.sender,
            merge: sent.merge,
            tells: sent.tells,
            id,
            ..Self::bare(Item { seq: id.seq(), rank, kind, cost, cut_cost })
        }
    }

    /// Mail of which nothing is known but what composition needs.
    pub(crate) fn bare(item: Item) -> Self {
        Self {
            item,
            // Stores of format 1 do not keep what an id needs beside the number.
            id: MessageId::new(item.seq, Stamp { at: Timestamp::default(), salt: 0 }),
            at: Timestamp::default(),
            expires_at: None,
            bytes: 0,
            urgent: false,
            human: false,
            delivery: Delivery::Auto,
            hops: 0,
            sender: Sender::Runtime,
            merge: 0,
            tells: None,
            group: None,
            charges: Charges::default(),
            acknowledged: false,
            moved: None,
        }
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
    /// Attempts so far; 0 for a part of a split one that was not offered yet.
    pub attempt: u32,
    /// What it has been through.
    pub charges: Charges,
    /// The turn that holds it.
    pub turn: Option<Seq>,
    /// Whether the latest turn that held it was lost: the agent may have it.
    pub lost: bool,
    /// The injections that it takes the place of.
    pub names: Vec<Seq>,
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
    /// How often the message that began it had been passed on.
    pub hops: u8,
    /// Who sent a request that was settled in it (S2).
    pub requesters: Vec<Number>,
    /// Turns so far.
    pub turns: u32,
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
    /// Its id.
    pub id: MessageId,
    /// The record that says why.
    pub why: Seq,
    /// Since when.
    pub at: Timestamp,
    /// What a notice tells of: its outcome is kept with it.
    pub tells: Option<Tells>,
}

/// A message that was handed over and awaits acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unacknowledged {
    /// Which.
    pub seq: Seq,
    /// What it is.
    pub kind: Kind,
    /// Since when it was read.
    pub since: Timestamp,
}

/// A declared reason not to inject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The record that made it.
    pub id: Seq,
    /// Why.
    pub reason: HoldReason,
    /// What was said.
    pub note: String,
    /// Since when.
    pub since: Timestamp,
}

/// A question without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// Which.
    pub id: QuestionId,
    /// The turn that asks.
    pub turn: Seq,
    /// Who is asked; `None` is a person.
    pub asked: Option<Number>,
    /// The tool that a permission is asked for.
    pub tool: Option<String>,
    /// What may be answered.
    pub options: Vec<String>,
    /// The message that tells the asked actor.
    pub request: Option<Seq>,
    /// When it is denied.
    pub until: Option<Timestamp>,
    /// Since when it waits.
    pub since: Timestamp,
}

/// A worker of a group, and how its first run ended: whether it counts for the quorum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMember {
    /// The worker.
    pub actor: Number,
    /// Its first run.
    pub run: Seq,
    /// Whether that ended well; `None` while it is open.
    pub ended: Option<bool>,
}

/// Workers that were started together (W8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The record that made it.
    pub id: Seq,
    /// When notices may wake.
    pub policy: GroupPolicy,
    /// Its workers.
    pub members: Vec<GroupMember>,
}

/// A member of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Who.
    pub actor: Number,
    /// As what.
    pub role: String,
    /// Since when.
    pub joined_at: Timestamp,
}

/// A team that an actor leads (section 11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Team {
    /// Which.
    pub id: TeamId,
    /// What people call it.
    pub name: String,
    /// Its members, the lead first.
    pub members: Vec<Member>,
}

/// A task that an unread message hands over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOver {
    /// Which message.
    pub seq: Seq,
    /// Which task.
    pub task_id: String,
}

/// A message that is to be sent at a time (section 3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// What it is called.
    pub key: String,
    /// When it is due next.
    pub due: Timestamp,
    /// Milliseconds between ticks; `None` is once.
    pub every: Option<u64>,
    /// Who declared it.
    pub by: Caller,
    /// What is sent.
    pub text: Text,
}

/// A single moment whose message was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    /// What its schedule was called.
    pub key: String,
    /// When it was due.
    pub due: Timestamp,
}

/// What other rows' limits count of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counted {
    pub(crate) unread: u64,
    pub(crate) bytes: u64,
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
    /// When the floor was raised: delayed mail counts as committed at its due time.
    pub floor_at: Timestamp,
    /// The turn under way.
    pub turn: Option<Seq>,
    /// The highest hop count among the mail of the turn under way.
    pub hops: u8,
    /// Injections that the turn under way has accepted.
    pub accepted: Vec<InjectionId>,
    /// When open injections may be offered again.
    pub again_at: Timestamp,
    /// When the latest injection was claimed.
    pub claimed_at: Timestamp,
    /// Turns in a row that only continuations caused and that changed nothing (W9).
    pub continuations: u32,
    /// Unread mail that no injection holds, in commit order.
    pub pending: VecDeque<Mail>,
    /// Open injections, oldest first.
    pub open: Vec<Open>,
    /// Mail that cannot be delivered.
    pub dead: Vec<DeadMail>,
    /// Mail that was read and awaits acknowledgement.
    pub unacknowledged: Vec<Unacknowledged>,
    /// The open run whose silence was told of.
    pub stalled: Option<Seq>,
    /// Bytes of all unread mail.
    pub bytes: u64,
    /// How many unread messages there are.
    pub unread_count: u32,
    /// Who stopped it.
    pub stopped: Option<Caller>,
    /// Why nothing is injected.
    pub holds: Vec<Hold>,
    /// Its questions without an answer.
    pub questions: Vec<OpenQuestion>,
    /// Tools that were approved for ever; of the actor at the top of a tree.
    pub grants: Vec<String>,
    /// The groups of workers that it started.
    pub groups: Vec<Group>,
    /// The teams that it leads.
    pub teams: Vec<Team>,
    /// What is to be sent to it, and when.
    pub schedules: Vec<Schedule>,
    /// Single moments that were sent, so that declaring one again sends nothing; the latest ones.
    pub fired: Vec<Fired>,
    /// The tasks that unread handoffs hand over.
    pub handoffs: Vec<HandedOver>,
}

impl Row {
    pub(super) fn new(seq: Seq, stamp: Stamp, created: &Created) -> Self {
        let session = created.session.unwrap_or_else(|| SessionId::new(seq, stamp));
        Self {
            title: created.title.clone(),
            agent: created.agent.clone(),
            parent: created.parent,
            key: created.key.clone(),
            ..Self::bare(Address::new(session, created.name.clone()), stamp.at)
        }
    }

    /// An actor that nothing has happened to.
    pub(crate) fn bare(address: Address, created: Timestamp) -> Self {
        Self {
            as_of: Seq::ZERO,
            address,
            title: None,
            agent: None,
            parent: None,
            key: None,
            created,
            run: None,
            ended: None,
            floor: Seq::ZERO,
            floor_at: Timestamp::default(),
            turn: None,
            hops: 0,
            accepted: Vec::new(),
            again_at: Timestamp::default(),
            claimed_at: Timestamp::default(),
            continuations: 0,
            pending: VecDeque::new(),
            open: Vec::new(),
            dead: Vec::new(),
            unacknowledged: Vec::new(),
            stalled: None,
            bytes: 0,
            unread_count: 0,
            stopped: None,
            holds: Vec::new(),
            questions: Vec::new(),
            grants: Vec::new(),
            groups: Vec::new(),
            teams: Vec::new(),
            schedules: Vec::new(),
            fired: Vec::new(),
            handoffs: Vec::new(),
        }
    }
}
