//! How a run ends (section 7, P6).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::limits::{ERROR_BYTES, LINE_CHARS, RESULT_BYTES};
use crate::message::Caller;

/// What a run says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Status {
    /// It did what was asked.
    Success,
    /// It did a part.
    Partial,
    /// It did not do it.
    Failed,
    /// It cannot go on without something from outside.
    Blocked,
    /// It said nothing.
    Unreported,
    /// It said something else.
    Unrecognised(String),
}

impl Status {
    /// Reads the word that a run reports; case does not matter.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word.trim().to_ascii_lowercase().as_str() {
            "success" => Self::Success,
            "partial" => Self::Partial,
            "failed" => Self::Failed,
            "blocked" => Self::Blocked,
            "" => Self::Unreported,
            _ => Self::Unrecognised(word.trim().chars().take(64).collect()),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Unreported => "unreported",
            Self::Unrecognised(raw) => raw,
        })
    }
}

/// What made a run fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureClass {
    /// The agent says that trying again would not help.
    Permanent,
    /// Trying again did not help, as often as it is allowed.
    Transient,
    /// What was handed over was more than the agent can take.
    Overflow,
    /// The agent's code panicked.
    Panic,
    /// The agent could not be made or its program not be started.
    DidNotStart,
    /// The program ended with this code.
    Exit(i32),
    /// The program was ended by this signal, which was not ours.
    Signal(i32),
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permanent => f.write_str("permanent"),
            Self::Transient => f.write_str("transient"),
            Self::Overflow => f.write_str("overflow"),
            Self::Panic => f.write_str("panic"),
            Self::DidNotStart => f.write_str("did_not_start"),
            Self::Exit(code) => write!(f, "exit:{code}"),
            Self::Signal(signal) => write!(f, "signal:{signal}"),
        }
    }
}

/// What cut a run off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// The process of the runtime died.
    Crash,
    /// The runtime was shut down.
    Shutdown,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crash => "crash",
            Self::Shutdown => "shutdown",
        })
    }
}

/// How a run ended: exactly one per run, written once (P6).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// The agent finished.
    Completed {
        /// What it says of its success.
        status: Status,
        /// One line of its own.
        summary: Option<String>,
        /// Its answer, at most 1 MiB.
        result: String,
    },
    /// The agent could not go on.
    Failed {
        /// What kind of failure.
        class: FailureClass,
        /// What it said.
        error: String,
    },
    /// Somebody ended it.
    Cancelled {
        /// Who.
        by: Caller,
        /// Why.
        reason: String,
    },
    /// It was cut off.
    Interrupted {
        /// By what.
        cause: Cause,
    },
}

impl Outcome {
    /// Checks every field against its limit.
    ///
    /// # Errors
    ///
    /// `too_large`, naming the field: a result above 1 MiB, a summary, reason or reported status
    /// above 200 characters, an error above 4 KiB.
    pub fn check(&self) -> Result<(), OpError> {
        let line = |field, text: &str| OpError::at_most(field, text.chars().count(), LINE_CHARS);
        match self {
            Self::Completed { status, summary, result } => {
                if let Status::Unrecognised(raw) = status {
                    line("status characters", raw)?;
                }
                line("summary characters", summary.as_deref().unwrap_or(""))?;
                OpError::at_most("result bytes", result.len(), RESULT_BYTES)
            }
            Self::Failed { error, .. } => OpError::at_most("error bytes", error.len(), ERROR_BYTES),
            Self::Cancelled { reason, .. } => line("reason characters", reason),
            Self::Interrupted { .. } => Ok(()),
        }
    }

    /// Whether the run ended well enough to count for the policy of a group (W8): completed as
    /// success, in part, or without a report.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        matches!(
            self,
            Self::Completed { status: Status::Success | Status::Partial | Status::Unreported, .. }
        )
    }

    /// The machine-readable name of the state that the run ended in.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
            Self::Cancelled { .. } => "cancelled",
            Self::Interrupted { .. } => "interrupted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reported_status_is_read_whatever_its_case_and_an_unknown_word_is_kept() {
        assert_eq!(Status::parse(" SUCCESS "), Status::Success);
        assert_eq!(Status::parse(""), Status::Unreported);
        assert_eq!(Status::parse("Great"), Status::Unrecognised("Great".into()));
    }
}
