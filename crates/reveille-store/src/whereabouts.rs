//! Where a message is: pending, offered, settled or dead, for each of its recipients (P2).

use std::fmt;

use reveille_core::{Seq, Timestamp};

use crate::record::{Number, Settlement};
use crate::state::{End, State};

/// Where a message is, in one mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailState {
    /// It waits.
    Pending,
    /// It waits for its time.
    Delayed,
    /// It is in an open injection.
    Offered {
        /// Which.
        injection: Seq,
    },
    /// An agent has it.
    Injected {
        /// In which injection.
        injection: Seq,
    },
    /// A wait inside a turn returned it (S3).
    Collected {
        /// In which injection.
        injection: Seq,
    },
    /// Something else settled it.
    Settled {
        /// What.
        how: Settlement,
        /// The injection that it was in, if any.
        injection: Option<Seq>,
    },
    /// It cannot be delivered.
    Dead,
    /// It was dead and has been removed.
    Dropped,
    /// It is not in this mailbox, or what became of it has left the history.
    Unknown,
}

impl MailState {
    /// Its word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delayed => "delayed",
            Self::Offered { .. } => "offered",
            Self::Injected { .. } => "injected",
            Self::Collected { .. } => "collected",
            Self::Settled { how, .. } => how.name(),
            Self::Dead => "dead",
            Self::Dropped => "dropped",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it stays like that: a receipt can be given.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        !matches!(self, Self::Pending | Self::Delayed | Self::Offered { .. })
    }
}

impl fmt::Display for MailState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Settlement {
    /// Its word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunEnded => "run_ended",
            Self::Failed => "failed",
            Self::Displaced => "displaced",
            Self::Retracted => "retracted",
            Self::Acknowledged => "acknowledged",
            Self::Contained => "contained",
            Self::Accepted => "accepted",
        }
    }
}

/// Says where a message is in a mailbox at `now`.
#[must_use]
pub fn whereabouts(state: &State, message: Seq, actor: Number, now: Timestamp) -> MailState {
    let Some(row) = state.row(actor) else {
        return MailState::Unknown;
    };
    if let Ok(index) = row.pending.binary_search_by_key(&message, |mail| mail.seq()) {
        let due = row.pending.get(index).is_none_or(|mail| mail.at <= now);
        return if due { MailState::Pending } else { MailState::Delayed };
    }
    for open in &row.open {
        if open.mail.iter().any(|offered| offered.mail.seq() == message) {
            return MailState::Offered { injection: open.id.seq() };
        }
    }
    if row.dead.iter().any(|dead| dead.seq == message) {
        return MailState::Dead;
    }
    let Some(fate) = state.fate(message, actor) else {
        return MailState::Unknown;
    };
    match (fate.end, fate.injection) {
        (End::Injected, Some(injection)) => MailState::Injected { injection },
        (End::Collected, Some(injection)) => MailState::Collected { injection },
        (End::Settled(how), injection) => MailState::Settled { how, injection },
        (End::Dropped, _) => MailState::Dropped,
        (End::Dead, _) => MailState::Dead,
        (End::Injected | End::Collected, None) => MailState::Unknown,
    }
}
