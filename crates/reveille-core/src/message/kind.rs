//! Kinds of messages with their duties, their ranks, and how they want to be delivered.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::OpError;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $field:literal: $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)*) => {
        $(#[$doc])*
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its word.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = OpError;

            fn from_str(word: &str) -> Result<Self, OpError> {
                let found = Self::ALL.iter().copied().find(|one| one.name() == word);
                found.ok_or_else(|| {
                    let words: Vec<&str> = Self::ALL.iter().map(|one| one.name()).collect();
                    OpError::invalid($field, word, words.join(", "))
                })
            }
        }
    };
}

words! {
    /// What a message is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    Kind, "kind":
    /// Plain text from a person, an agent or the host.
    Text = "text",
    /// The runtime or the host tells how something stands or ended.
    Notice = "notice",
    /// Something to know; nothing is due.
    Information = "information",
    /// The same, to many.
    Announcement = "announcement",
    /// To be acknowledged; the outcome of the run that it begins goes to its sender (S2).
    Request = "request",
    /// To be acknowledged; takes over its task.
    Handoff = "handoff",
    /// Opens a question (section 10).
    DecisionRequest = "decision_request",
    /// Urgent, to be acknowledged; may hold its receiver until then.
    Alert = "alert",
    /// Go on with what was begun; the runtime's and the host's.
    Continuation = "continuation",
    /// A worker asks for a permission; the runtime's and the host's.
    PermissionRequest = "permission_request",
    /// Asks a member of a team to end; answered by one of the two below.
    ShutdownRequest = "shutdown_request",
    /// The member ends.
    ShutdownApproved = "shutdown_approved",
    /// The member goes on.
    ShutdownRejected = "shutdown_rejected",
}

impl Kind {
    /// Whether its receiver is to acknowledge it.
    #[must_use]
    pub const fn is_due(self) -> bool {
        matches!(
            self,
            Self::Request
                | Self::Handoff
                | Self::DecisionRequest
                | Self::Alert
                | Self::PermissionRequest
                | Self::ShutdownRequest
        )
    }

    /// Whether only the runtime and the host may send it.
    #[must_use]
    pub const fn is_reserved(self) -> bool {
        matches!(self, Self::Continuation | Self::PermissionRequest | Self::Notice)
    }
}

words! {
    /// The place of a message within an injection (W5); only the runtime and the host choose one.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    Rank, "rank":
    /// How a run ended.
    RunNotice = "run_notice",
    /// What people and agents write.
    Mail = "mail",
    /// A run seems to stand still.
    LivenessNotice = "liveness_notice",
    /// Go on with what was begun.
    Continuation = "continuation",
    /// A workflow of the host ended.
    Summary = "summary",
    /// Something to remember, a schedule's tick for example.
    Reminder = "reminder",
}

words! {
    /// How a message wants to be delivered while its receiver is busy (W3, W7).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
    Delivery, "delivery":
    /// As the receiver's busy setting says.
    #[default]
    Auto = "auto",
    /// It waits until the turn ends.
    Queue = "queue",
    /// It is let in at the turn's next safe point.
    Steer = "steer",
    /// It ends the turn.
    Interrupt = "interrupt",
    /// It never wakes, and rides along.
    Passive = "passive",
    /// It is refused while the receiver is busy.
    RejectIfBusy = "reject_if_busy",
}

impl Delivery {
    /// Whether only a person, the host, an ancestor or the team's lead may choose it.
    #[must_use]
    pub const fn needs_authority(self) -> bool {
        matches!(self, Self::Steer | Self::Interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_and_another_names_those_that_are_allowed() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse::<Kind>().unwrap(), *kind);
        }
        for delivery in Delivery::ALL {
            assert_eq!(delivery.name().parse::<Delivery>().unwrap(), *delivery);
        }
        let error = "later".parse::<Delivery>().unwrap_err().to_string();
        assert!(error.contains("reject_if_busy") && error.contains("\"later\""), "{error}");
    }

    #[test]
    fn ranks_are_in_the_order_of_the_contract() {
        assert!(Rank::ALL.is_sorted());
        assert_eq!(Rank::RunNotice as u8, 0);
        assert_eq!(Rank::Reminder as u8, 5);
    }
}
