//! Shapes of format 1, and what they are called today.
//!
//! Records of an older version are read for ever: the log keeps what was written. Rows are written
//! anew by [`crate::migrate`], which alone reads the old ones. Nothing here is ever written.

use reveille_core::compose::{Item, Pick};
use reveille_core::failure::{Charges, RunKind, TurnFailure};
use reveille_core::id::Stamp;
use reveille_core::{
    Address, AgentName, Caller, Content, InjectionId, Kind, MessageId, Notice, NoticeState, Rank,
    RunId, Seq, Text as NewText, Timestamp, Trigger,
};
use serde::{Deserialize, Serialize};

use crate::codec::{self, CodecError};
use crate::record::{self, Number, Sender, Tells};
use crate::state::row;

#[derive(Serialize, Deserialize)]
struct Text {
    subject: Option<String>,
    summary: Option<String>,
    body: String,
    task_id: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct OldNotice {
    about: Address,
    run: RunId,
    state: NoticeState,
    task_id: Option<String>,
    summary: Option<String>,
    head: String,
    whole_bytes: u64,
}

#[derive(Serialize, Deserialize)]
enum OldContent {
    Text(Text),
    Notice(OldNotice),
}

impl OldContent {
    fn upgrade(self) -> Content {
        match self {
            Self::Text(Text { subject, summary, body, task_id }) => {
                Content::Text(NewText { subject, summary, task_id, ..NewText::new(body) })
            }
            Self::Notice(OldNotice { about, run, state, task_id, summary, head, whole_bytes }) => {
                let run = Some(run);
                let (message, about) = (None, about);
                Content::Notice(Notice {
                    about,
                    run,
                    message,
                    state,
                    task_id,
                    summary,
                    head,
                    whole_bytes,
                })
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Sent {
    from: Caller,
    to: Vec<Number>,
    kind: Kind,
    rank: Rank,
    urgent: bool,
    about: Option<(Number, Seq)>,
    cost: u32,
    cut_cost: u32,
    bytes: u32,
    #[serde(with = "serde_bytes")]
    content: Vec<u8>,
}

impl Sent {
    /// Who sent it is not in the old shape as a number: such mail has no sender that rules know.
    pub(crate) fn upgrade(self) -> Result<record::Sent, CodecError> {
        let content: OldContent = codec::decode(&self.content)?;
        let tells = |(actor, run)| Tells { actor, run, outcome: None };
        Ok(record::Sent {
            from: self.from,
            sender: Sender::Runtime,
            to: self.to,
            kind: self.kind,
            rank: self.rank,
            urgent: self.urgent,
            delivery: reveille_core::Delivery::Auto,
            hops: 0,
            not_before: None,
            expires_at: None,
            merge: 0,
            since: None,
            key: None,
            tells: self.about.map(tells),
            task_id: None,
            cost: self.cost,
            cut_cost: self.cut_cost,
            bytes: self.bytes,
            content: codec::encode(&content.upgrade())?,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Claimed {
    actor: Number,
    run: Option<Seq>,
    turn: Option<Seq>,
    trigger: Trigger,
    picks: Vec<Pick>,
}

impl Claimed {
    #[allow(clippy::unnecessary_wraps)] // one shape for all upgrades
    pub(crate) fn upgrade(self) -> Result<record::Claimed, CodecError> {
        let Self { actor, run, turn, trigger, picks } = self;
        Ok(record::Claimed { actor, run, turn, trigger, picks, names: Vec::new() })
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Offered {
    actor: Number,
    injection: Seq,
    attempt: u32,
}

impl Offered {
    #[allow(clippy::unnecessary_wraps)] // one shape for all upgrades
    pub(crate) fn upgrade(self) -> Result<record::Offered, CodecError> {
        let Self { actor, injection, attempt } = self;
        Ok(record::Offered { actor, injection, attempt, turn: None })
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct TurnEnded {
    actor: Number,
    turn: Seq,
}

impl TurnEnded {
    /// What it settled is not in the old shape: receipts of such mail say no more than that.
    #[allow(clippy::unnecessary_wraps)] // one shape for all upgrades
    pub(crate) fn upgrade(self) -> Result<record::TurnEnded, CodecError> {
        let Self { actor, turn } = self;
        Ok(record::TurnEnded { actor, turn, changed: true, settled: Vec::new() })
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct TurnFailed {
    actor: Number,
    turn: Seq,
    failure: TurnFailure,
    error: String,
    charges: Charges,
    again_at: Timestamp,
}

impl TurnFailed {
    /// The old shape has the charges of all that the turn held, named by no injection: [`Seq::ZERO`]
    /// stands for all of them.
    #[allow(clippy::unnecessary_wraps)] // one shape for all upgrades
    pub(crate) fn upgrade(self) -> Result<record::TurnFailed, CodecError> {
        let Self { actor, turn, failure, error, charges, again_at } = self;
        let charged = vec![(Seq::ZERO, charges)];
        Ok(record::TurnFailed { actor, turn, failure, error, charged, again_at })
    }
}

#[derive(Serialize, Deserialize)]
struct Mail {
    item: Item,
    at: Timestamp,
    bytes: u32,
    urgent: bool,
    about: Option<(Number, Seq)>,
    charges: Charges,
}

impl Mail {
    fn upgrade(self) -> row::Mail {
        let tells = self.about.map(|(actor, run)| Tells { actor, run, outcome: None });
        row::Mail {
            item: self.item,
            at: self.at,
            bytes: self.bytes,
            urgent: self.urgent,
            tells,
            charges: self.charges,
            ..row::Mail::bare(self.item)
        }
    }
}

#[derive(Serialize, Deserialize)]
struct OfferedMail {
    mail: Mail,
    cut: bool,
}

#[derive(Serialize, Deserialize)]
struct Open {
    id: InjectionId,
    trigger: Trigger,
    attempt: u32,
    charges: Charges,
    turn: Option<Seq>,
    lost: bool,
    mail: Vec<OfferedMail>,
}

impl Open {
    fn upgrade(self) -> row::Open {
        let mail = |OfferedMail { mail, cut }| row::OfferedMail { mail: mail.upgrade(), cut };
        row::Open {
            id: self.id,
            trigger: self.trigger,
            attempt: self.attempt,
            charges: self.charges,
            turn: self.turn,
            lost: self.lost,
            names: Vec::new(),
            mail: self.mail.into_iter().map(mail).collect(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Run {
    id: RunId,
    kind: RunKind,
    first: Option<Seq>,
    task_id: Option<String>,
    begun: bool,
    since: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct DeadMail {
    seq: Seq,
    why: Seq,
}

/// A row of format 1.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    as_of: Seq,
    address: Address,
    title: Option<String>,
    agent: Option<AgentName>,
    parent: Option<Number>,
    key: Option<String>,
    created: Timestamp,
    run: Option<Run>,
    ended: Option<row::Ended>,
    floor: Seq,
    turn: Option<Seq>,
    again_at: Timestamp,
    pending: Vec<Mail>,
    open: Vec<Open>,
    dead: Vec<DeadMail>,
    stalled: Option<Seq>,
    bytes: u64,
}

impl Row {
    /// The same row as it is kept today; `at` stands for moments that were not kept.
    pub(crate) fn upgrade(self, at: Timestamp) -> row::Row {
        let run = |run: Run| row::Run {
            id: run.id,
            kind: run.kind,
            first: run.first,
            task_id: run.task_id,
            begun: run.begun,
            since: run.since,
            hops: 0,
            requesters: Vec::new(),
            turns: 0,
        };
        // Format 1 does not keep what an id needs beside the number.
        let id = |seq| MessageId::new(seq, Stamp { at: Timestamp::default(), salt: 0 });
        let dead = |DeadMail { seq, why }: DeadMail| row::DeadMail {
            seq,
            id: id(seq),
            why,
            at,
            tells: None,
        };
        let mut new = row::Row {
            as_of: self.as_of,
            title: self.title,
            agent: self.agent,
            parent: self.parent,
            key: self.key,
            run: self.run.map(run),
            ended: self.ended,
            floor: self.floor,
            floor_at: if self.floor == Seq::ZERO { Timestamp::default() } else { at },
            turn: self.turn,
            again_at: self.again_at,
            pending: self.pending.into_iter().map(Mail::upgrade).collect(),
            open: self.open.into_iter().map(Open::upgrade).collect(),
            dead: self.dead.into_iter().map(dead).collect(),
            stalled: self.stalled,
            bytes: self.bytes,
            ..row::Row::bare(self.address, self.created)
        };
        new.unread_count = u32::try_from(new.unread().count()).unwrap_or(u32::MAX);
        new
    }
}
