//! Preparing a message: its shape, the size of its rendering, its encoding, the hashes of its keys.
//!
//! Done by the caller, once, before the one writer sees it; what is wrong with the shape is kept and
//! told by the step, at its place in the order of checks (section 3).

use reveille_core::limits::{ENVELOPE_BYTES, LISTS_BYTES};
use reveille_core::message::label;
use reveille_core::render::Costs;
use reveille_core::{
    Address, Caller, Content, Delivery, Kind, Notice, OpError, Rank, Seq, TeamId, Text, Timestamp,
    render,
};
use serde::Serialize;

use crate::codec;
use crate::record::{CallKey, Number, Sender, Sent, Tells};

/// A message as it is handed in: its text, and how it is to be delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Post {
    /// What it says.
    pub text: Text,
    /// Whether it closes a window at once; people's mail and alerts do unless this says otherwise.
    pub urgent: Option<bool>,
    /// How it wants to be delivered.
    pub delivery: Delivery,
    /// Whether it also starts an actor that was stopped; a person's mail only.
    pub resume: bool,
    /// An alert that holds its receiver until it is acknowledged.
    pub hold: bool,
    /// Takes the place of a pending message of the same sender with the same key.
    pub merge_key: Option<String>,
    /// Makes the call repeatable: the same call under the same key is done once.
    pub key: Option<String>,
    /// It wakes nobody before this moment.
    pub not_before: Option<Timestamp>,
    /// It is dead from this moment on, unless it was offered.
    pub expires_at: Option<Timestamp>,
    /// Its place within an injection; the runtime's and the host's to choose.
    pub rank: Option<Rank>,
}

impl Post {
    /// A message that wants nothing special.
    #[must_use]
    pub fn new(text: Text) -> Self {
        Self {
            text,
            urgent: None,
            delivery: Delivery::Auto,
            resume: false,
            hold: false,
            merge_key: None,
            key: None,
            not_before: None,
            expires_at: None,
            rank: None,
        }
    }

    fn check(&self) -> Result<(), OpError> {
        self.text.check()?;
        self.merge_key.as_deref().map_or(Ok(()), |key| label("merge_key", key))?;
        self.key.as_deref().map_or(Ok(()), |key| label("key", key))?;
        if self.hold && self.text.kind != Kind::Alert {
            return Err(OpError::invalid("hold", self.text.kind.name(), "an alert only"));
        }
        if let Some((begins, ends)) = self.not_before.zip(self.expires_at)
            && ends <= begins
        {
            let ends = ends.to_string();
            return Err(OpError::invalid("expires_at", &ends, format!("after {begins}")));
        }
        Ok(())
    }
}

/// Whom a message is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum To {
    /// These actors; one that stands there twice counts once.
    Actors(Vec<Address>),
    /// Every member of a team but the sender.
    Team(TeamId),
}

/// A message that is ready to be stored, or what is wrong with it.
#[derive(Debug)]
pub struct Prepared {
    pub(super) sent: Sent,
    pub(super) shape: Result<(), OpError>,
    pub(super) options: Options,
}

/// What a step needs to know beside the record.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) resume: bool,
    pub(super) hold: bool,
    /// Whether the caller chose what only the runtime and the host may choose.
    pub(super) chose_rank: bool,
    pub(super) key: Option<String>,
    pub(super) reply_to: Option<Seq>,
}

impl Prepared {
    /// Prepares a message of `from` to `to`. What is wrong with it is told by the step.
    #[must_use]
    pub fn new(from: Caller, post: Post, to: &To) -> Self {
        let shape = post.check();
        let key = post.key.as_deref().map(|key| call_key(&from, key, &(&post, to)));
        let kind = post.text.kind;
        let urgent = post.urgent.unwrap_or_else(|| from.is_human() || kind == Kind::Alert);
        let merge = post.merge_key.as_deref().map_or(0, merge_hash);
        let Post { text, delivery, resume, hold, not_before, expires_at, rank, .. } = post;
        let (bytes, reply_to) = (text.bytes(), text.reply_to.map(|id| id.seq()));
        let (mut prepared, costs) = Self::of(from, &Content::Text(text), shape);
        let within = OpError::at_most("envelope bytes", costs.envelope as usize, ENVELOPE_BYTES)
            .and_then(|()| OpError::at_most("list bytes", costs.lists as usize, LISTS_BYTES));
        prepared.shape = prepared.shape.and(within);
        prepared.sent.urgent = urgent;
        prepared.sent.delivery = delivery;
        prepared.sent.not_before = not_before;
        prepared.sent.expires_at = expires_at;
        prepared.sent.merge = merge;
        prepared.sent.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        prepared.sent.rank = rank.unwrap_or(prepared.sent.rank);
        prepared.sent.key = key;
        let chose_rank = rank.is_some();
        prepared.options = Options { resume, hold, chose_rank, key: post.key, reply_to };
        prepared
    }

    /// A plain text that wants nothing special.
    #[must_use]
    pub fn text(from: Caller, text: Text) -> Self {
        Self::new(from, Post::new(text), &To::Actors(Vec::new()))
    }

    /// A notice; it passes the limits of mailboxes.
    pub(crate) fn notice(
        from: (Number, Address),
        notice: Notice,
        hops: u8,
        tells: Option<Tells>,
    ) -> Result<Sent, OpError> {
        let (number, address) = from;
        let (prepared, _) = Self::of(Caller::Actor(address), &Content::Notice(notice), Ok(()));
        prepared.shape?;
        let sender = Sender::Actor(number);
        Ok(Sent { tells, hops, sender, ..prepared.sent })
    }

    fn of(from: Caller, content: &Content, shape: Result<(), OpError>) -> (Self, Costs) {
        let costs = render::costs(&from, content);
        let encoded = codec::encode(content)
            .map_err(|error| OpError::invalid("message", &error.to_string(), "encodable"));
        let (content_bytes, shape) = match (encoded, shape) {
            (Ok(bytes), shape) => (bytes, shape),
            (Err(error), shape) => (Vec::new(), shape.and(Err(error))),
        };
        let sent = Sent {
            sender: sender_hash(&from),
            from,
            to: Vec::new(),
            kind: content.kind(),
            rank: content.rank(),
            urgent: false,
            delivery: Delivery::Auto,
            hops: 0,
            not_before: None,
            expires_at: None,
            merge: 0,
            since: None,
            key: None,
            tells: None,
            task_id: handed_over(content),
            cost: costs.whole,
            cut_cost: costs.cut,
            bytes: 0,
            content: content_bytes,
        };
        (Self { sent, shape, options: Options::default() }, costs)
    }

    /// The record for these mailboxes.
    pub(crate) fn to(self, to: Vec<Number>) -> Result<Sent, OpError> {
        self.shape?;
        Ok(Sent { to, ..self.sent })
    }
}

/// The task that a handoff hands over.
fn handed_over(content: &Content) -> Option<String> {
    match content {
        Content::Text(text) if text.kind == Kind::Handoff => text.task_id.clone(),
        Content::Text(_) | Content::Notice(_) => None,
    }
}

/// Who sent it, for rules; an actor's number is filled in by the step.
fn sender_hash(from: &Caller) -> Sender {
    match from {
        Caller::Host => Sender::Host,
        Caller::System | Caller::Actor(_) => Sender::Runtime,
        Caller::Human(name) => Sender::Person(halves(blake3::hash(name.as_bytes())).0),
        Caller::Local => Sender::Person(0),
    }
}

/// The key of a call that may be repeated.
pub(crate) fn call_key(from: &Caller, key: &str, call: &impl Serialize) -> CallKey {
    let mut hasher = blake3::Hasher::new();
    // The sender's name cannot hold the separator: no two pairs of sender and key are one text.
    for part in [from.to_string().as_str(), "\n", key] {
        hasher.update(part.as_bytes());
    }
    let call = codec::encode(call).unwrap_or_default();
    CallKey { key: halves(hasher.finalize()), call: halves(blake3::hash(&call)).0 }
}

/// The hash of a merge key; never 0, which means none.
pub(super) fn merge_hash(key: &str) -> u64 {
    halves(blake3::hash(key.as_bytes())).0.max(1)
}

fn halves(hash: blake3::Hash) -> (u64, u64) {
    let mut words = hash
        .as_bytes()
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    (words.next().unwrap_or(0), words.next().unwrap_or(0))
}
