//! Injections: one batch of mail handed to an agent (P3, P4).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::id::{InjectionId, MessageId, RunId, Seq};
use crate::message::{Caller, Content};
use crate::render::Style;
use crate::time::Timestamp;

/// Why an injection was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Trigger {
    /// A window closed (W1, W4).
    Window,
    /// A run that was spawned begins with its first message.
    Task,
    /// A wait inside a turn collected a notice (S3).
    Wait,
    /// A turn let mail in at a safe point (W3).
    SafePoint,
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Window => "window",
            Self::Task => "task",
            Self::Wait => "wait",
            Self::SafePoint => "safe_point",
        })
    }
}

/// One message within an injection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which message.
    pub id: MessageId,
    /// Who sent it; for a notice, the actor it tells of.
    pub from: Caller,
    /// When it was committed.
    pub sent: Timestamp,
    /// What it carries, whole.
    pub content: Content,
    /// Whether its text is cut to fit (W6).
    pub cut: bool,
}

/// One batch of mail handed to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The same through all attempts (P4).
    pub id: InjectionId,
    /// Whose mail it is.
    pub actor: Address,
    /// The run that it begins or continues.
    pub run: RunId,
    /// Why it was made.
    pub trigger: Trigger,
    /// From 1; above 1 when it is offered again.
    pub attempt: u32,
    /// The injections that this one takes the place of: they were split, superseded or released.
    pub names: Vec<InjectionId>,
    /// How its text is written.
    pub style: Style,
    /// When this attempt was committed; ages count up to it.
    pub at: Timestamp,
    /// The mail, by rank and then in commit order (W5).
    pub entries: Vec<Entry>,
}

impl Injection {
    /// Its text, in its style (section 6).
    #[must_use]
    pub fn text(&self) -> String {
        crate::render::text(self)
    }

    /// The number of its window: grows for each actor, and with the address is a key (P3).
    #[must_use]
    pub const fn window(&self) -> Seq {
        self.id.seq()
    }
}
