//! Dead mail: what can never be delivered, and why. It is kept, readable, and can be sent anew (P2).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a message is dead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeadReason {
    /// Every attempt at it failed; the last error.
    Poison(String),
    /// It is more than the agent can take, by itself.
    Overflow,
    /// It was not delivered before it expired.
    Expired,
    /// What is stored of it cannot be read; the reason. Its bytes are kept.
    Damaged(String),
}

impl DeadReason {
    /// The machine-readable name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Poison(_) => "poison",
            Self::Overflow => "overflow",
            Self::Expired => "expired",
            Self::Damaged(_) => "damaged",
        }
    }

    /// What was said, if anything.
    #[must_use]
    pub fn detail(&self) -> &str {
        match self {
            Self::Poison(error) | Self::Damaged(error) => error,
            Self::Overflow | Self::Expired => "",
        }
    }
}

impl fmt::Display for DeadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if self.detail().is_empty() { Ok(()) } else { write!(f, ": {}", self.detail()) }
    }
}
