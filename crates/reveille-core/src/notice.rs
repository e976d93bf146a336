//! Notices: mail by which the runtime tells how a run ended or that it stalled (sections 3 and 6).
//!
//! A notice carries a machine-readable state that equals the stored one, at most 2 KiB of the
//! result, and a first line with one of the endings that the contract lists. The whole result stays
//! with its run.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::id::{MessageId, RunId};
use crate::limits::{LINE_CHARS, NOTICE_CUT_BYTES, NOTICE_RESULT_BYTES};
use crate::outcome::{FailureClass, Outcome, Status};

/// What a notice tells.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NoticeState {
    /// The run finished, and said this of itself.
    Completed(Status),
    /// The run failed.
    Failed(FailureClass),
    /// Somebody ended it.
    Cancelled,
    /// It was cut off.
    Interrupted,
    /// It seems to stand still.
    Stalled {
        /// For how long nothing was heard, in seconds.
        quiet_s: u64,
    },
    /// A message could not be delivered, for this reason: the name of a [`crate::dead::DeadReason`].
    Undelivered(String),
}

impl NoticeState {
    /// The machine-readable name, equal to [`Outcome::state`] for ends.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Stalled { .. } => "stalled",
            Self::Undelivered(_) => "undelivered",
        }
    }

    /// Whether this tells the end of a run.
    #[must_use]
    pub const fn is_end(&self) -> bool {
        !matches!(self, Self::Stalled { .. } | Self::Undelivered(_))
    }

    /// Whether this tells how a run that goes on stands.
    #[must_use]
    pub const fn is_liveness(&self) -> bool {
        matches!(self, Self::Stalled { .. })
    }

    /// What the first line says. Only a run that reported success or a part of it is called
    /// completed.
    fn ending(&self) -> String {
        match self {
            Self::Completed(Status::Success | Status::Partial) => "completed.".into(),
            Self::Completed(status @ (Status::Failed | Status::Blocked)) => {
                format!("finished (status: {status}).")
            }
            Self::Completed(Status::Unreported | Status::Unrecognised(_)) => {
                "ended (status not reported).".into()
            }
            Self::Failed(FailureClass::DidNotStart) => "did not start.".into(),
            Self::Failed(_) => "failed.".into(),
            Self::Cancelled => "was cancelled.".into(),
            Self::Interrupted => "was interrupted.".into(),
            Self::Stalled { quiet_s } => format!("appears stalled (no activity for {quiet_s}s)."),
            Self::Undelivered(reason) => format!("did not get a message ({reason})."),
        }
    }
}

/// What the runtime tells of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The actor it tells of.
    pub about: Address,
    /// The run, if it tells of one.
    pub run: Option<RunId>,
    /// The message, if it tells of one.
    pub message: Option<MessageId>,
    /// How it stands.
    pub state: NoticeState,
    /// The task that the run was given.
    pub task_id: Option<String>,
    /// What the run says of itself in a line, or why it ended.
    pub summary: Option<String>,
    /// The beginning of the result or of the error, at most 2 KiB.
    pub head: String,
    /// How many bytes the result or error has as a whole.
    pub whole_bytes: u64,
}

impl Notice {
    /// The notice of a run's end.
    #[must_use]
    pub fn of_end(about: Address, run: RunId, task_id: Option<String>, outcome: &Outcome) -> Self {
        let (state, summary, text): (_, Option<&str>, &str) = match outcome {
            Outcome::Completed { status, summary, result } => {
                (NoticeState::Completed(status.clone()), summary.as_deref(), result)
            }
            Outcome::Failed { class, error } => (NoticeState::Failed(*class), None, error),
            Outcome::Cancelled { reason, .. } => (NoticeState::Cancelled, Some(reason), ""),
            Outcome::Interrupted { .. } => (NoticeState::Interrupted, None, ""),
        };
        Self {
            about,
            run: Some(run),
            message: None,
            state,
            task_id,
            summary: summary.map(|line| line.chars().take(LINE_CHARS).collect()),
            head: head(text, NOTICE_RESULT_BYTES).to_owned(),
            whole_bytes: text.len() as u64,
        }
    }

    /// The notice that a run seems to stand still; `evidence` says what was seen last.
    #[must_use]
    pub fn of_stall(about: Address, run: RunId, quiet_s: u64, evidence: &str) -> Self {
        Self {
            about,
            run: Some(run),
            message: None,
            state: NoticeState::Stalled { quiet_s },
            task_id: None,
            summary: Some(evidence.chars().take(LINE_CHARS).collect()),
            head: String::new(),
            whole_bytes: 0,
        }
    }

    /// The notice that a message to `about` is dead; `error` is what was said last.
    #[must_use]
    pub fn of_dead(about: Address, message: MessageId, reason: &str, error: &str) -> Self {
        Self {
            about,
            run: None,
            message: Some(message),
            state: NoticeState::Undelivered(reason.to_owned()),
            task_id: None,
            summary: Some(format!("{message} is kept as dead mail")),
            head: head(error, NOTICE_RESULT_BYTES).to_owned(),
            whole_bytes: error.len() as u64,
        }
    }

    /// The notice as text. When `cut`, little more than the state line and the head (W6).
    #[must_use]
    pub fn text(&self, cut: bool) -> String {
        let mut text = format!("{} {}", self.about, self.state.ending());
        if let Some(summary) = &self.summary {
            let _ = write!(text, "\n{summary}");
        }
        let shown = if cut { head(&self.head, NOTICE_CUT_BYTES) } else { &self.head };
        if !shown.is_empty() {
            let _ = write!(text, "\n\n{shown}");
        }
        if (shown.len() as u64) < self.whole_bytes {
            let (shown, whole) = (shown.len(), self.whole_bytes);
            let _ = write!(text, "\n[the first {shown} of {whole} bytes");
            let _ = match (self.run, self.message) {
                (Some(run), _) => write!(text, "; the rest is kept with {run}]"),
                (None, Some(message)) => write!(text, "; the rest is kept with {message}]"),
                (None, None) => write!(text, "]"),
            };
        }
        text
    }
}

/// The longest beginning of `text` of at most `limit` bytes that does not cut a character.
#[must_use]
pub fn head(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::ActorName;
    use crate::id::{Seq, SessionId, Stamp};
    use crate::time::Timestamp;

    fn notice(outcome: &Outcome) -> Notice {
        let stamp = Stamp { at: Timestamp::from_millis(1), salt: 0 };
        let about = Address::new(SessionId::new(Seq(1), stamp), ActorName::main());
        Notice::of_end(about, RunId::new(Seq(2), stamp), None, outcome)
    }

    fn completed(status: &str, result: &str) -> Outcome {
        Outcome::Completed { status: Status::parse(status), summary: None, result: result.into() }
    }

    #[test]
    fn only_a_run_that_reported_success_or_a_part_is_called_completed() {
        for (status, ending) in [
            ("success", "completed."),
            ("partial", "completed."),
            ("failed", "finished (status: failed)."),
            ("blocked", "finished (status: blocked)."),
            ("", "ended (status not reported)."),
            ("fine", "ended (status not reported)."),
        ] {
            let text = notice(&completed(status, "")).text(false);
            assert!(text.lines().next().unwrap().ends_with(ending), "{status}: {text}");
        }
    }

    #[test]
    fn a_long_result_is_cut_at_a_character_and_says_where_the_rest_is() {
        let notice = notice(&completed("success", &"é".repeat(3_000)));
        assert_eq!(notice.head.len(), NOTICE_RESULT_BYTES);
        let text = notice.text(false);
        assert!(
            text.contains("[the first 2048 of 6000 bytes; the rest is kept with run_"),
            "{text}"
        );
        assert!(notice.text(true).len() < text.len());
        assert_eq!(head("aé", 2), "a");
    }
}
