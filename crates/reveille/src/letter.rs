//! A message as callers write it: a builder over all its fields (section 3).

use reveille_core::{
    Address, ArtifactRef, Delivery, Kind, MessageId, Rank, Reference, TeamId, Text, Timestamp,
};
use reveille_store::step::send::{Post, To};

/// A message to be sent.
///
/// ```
/// # use reveille::{Address, Kind, Message};
/// # let lead: Address = "ses_01KB8F7ZQ3ZZZZ000000000001/main".parse()?;
/// let message = Message::new(lead, Kind::Request, "which tests fail?")
///     .subject("tests")
///     .correlation_id("build-17")
///     .label("colour", "red");
/// # Ok::<(), reveille::OpError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub(crate) to: To,
    pub(crate) post: Post,
}

impl Message {
    /// A plain text.
    #[must_use]
    pub fn text(to: Address, body: impl Into<String>) -> Self {
        Self { to: To::Actors(vec![to]), post: Post::new(Text::new(body)) }
    }

    /// A message of a kind.
    #[must_use]
    pub fn new(to: Address, kind: Kind, body: impl Into<String>) -> Self {
        Self::text(to, body).kind(kind)
    }

    /// A message to every member of a team but its sender.
    #[must_use]
    pub fn to_team(team: TeamId, body: impl Into<String>) -> Self {
        Self { to: To::Team(team), post: Post::new(Text::new(body)) }
    }

    /// One more recipient: all of them get it, or none. A team has its members.
    #[must_use]
    pub fn and_to(mut self, to: Address) -> Self {
        if let To::Actors(all) = &mut self.to {
            all.push(to);
        }
        self
    }

    /// What it is.
    #[must_use]
    pub const fn kind(mut self, kind: Kind) -> Self {
        self.post.text.kind = kind;
        self
    }

    /// A subject of at most 200 characters.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.post.text.subject = Some(subject.into());
        self
    }

    /// A summary of at most 200 characters.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.post.text.summary = Some(summary.into());
        self
    }

    /// The task that it belongs to.
    #[must_use]
    pub fn task_id(mut self, id: impl Into<String>) -> Self {
        self.post.text.task_id = Some(id.into());
        self
    }

    /// The mission that it belongs to.
    #[must_use]
    pub fn mission_id(mut self, id: impl Into<String>) -> Self {
        self.post.text.mission_id = Some(id.into());
        self
    }

    /// What ties it to other messages of one conversation.
    #[must_use]
    pub fn correlation_id(mut self, id: impl Into<String>) -> Self {
        self.post.text.correlation_id = Some(id.into());
        self
    }

    /// The message that it answers.
    #[must_use]
    pub const fn reply_to(mut self, message: MessageId) -> Self {
        self.post.text.reply_to = Some(message);
        self
    }

    /// One more id of something that it is about, at most 16.
    #[must_use]
    pub fn related(mut self, id: impl Into<String>) -> Self {
        self.post.text.related.push(id.into());
        self
    }

    /// One more pointer to something outside, at most 32.
    #[must_use]
    pub fn reference(mut self, uri: impl Into<String>, description: impl Into<String>) -> Self {
        let reference = Reference { uri: uri.into(), description: description.into() };
        self.post.text.references.push(reference);
        self
    }

    /// One more short pair, at most 16.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.post.text.labels.push((name.into(), value.into()));
        self
    }

    /// Content that is too large for a body.
    #[must_use]
    pub const fn artifact(mut self, artifact: ArtifactRef) -> Self {
        self.post.text.artifact = Some(artifact);
        self
    }

    /// The W3C traceparent that it belongs to.
    #[must_use]
    pub fn trace(mut self, traceparent: impl Into<String>) -> Self {
        self.post.text.trace = Some(traceparent.into());
        self
    }

    /// How it wants to be delivered while its receiver is busy.
    #[must_use]
    pub const fn delivery(mut self, delivery: Delivery) -> Self {
        self.post.delivery = delivery;
        self
    }

    /// Whether it closes the open window at once. People's mail does, unless it says otherwise.
    #[must_use]
    pub const fn urgent(mut self, urgent: bool) -> Self {
        self.post.urgent = Some(urgent);
        self
    }

    /// It also starts an actor that was stopped; a person's mail only.
    #[must_use]
    pub const fn resume(mut self) -> Self {
        self.post.resume = true;
        self
    }

    /// It holds its receiver until it is acknowledged; an alert only.
    #[must_use]
    pub const fn hold(mut self) -> Self {
        self.post.hold = true;
        self
    }

    /// It takes the place of a pending message of the same sender with the same key.
    #[must_use]
    pub fn merge_key(mut self, key: impl Into<String>) -> Self {
        self.post.merge_key = Some(key.into());
        self
    }

    /// The same call under the same key is done once, however often it is made.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.post.key = Some(key.into());
        self
    }

    /// It wakes nobody before this moment.
    #[must_use]
    pub const fn not_before(mut self, at: Timestamp) -> Self {
        self.post.not_before = Some(at);
        self
    }

    /// It is dead from this moment on, unless it was offered.
    #[must_use]
    pub const fn expires_at(mut self, at: Timestamp) -> Self {
        self.post.expires_at = Some(at);
        self
    }

    /// Its place within an injection; the host's to choose.
    #[must_use]
    pub const fn rank(mut self, rank: Rank) -> Self {
        self.post.rank = Some(rank);
        self
    }
}
