//! Windows: how long reasons to wake are gathered before one injection (W1, W2, W4, W10).
//!
//! A window is not a thing that is kept. It is a function of the mail that waits: when the first
//! and the latest of it were committed, and whether any of it is urgent. So a window that opens at
//! rest (W1) and one that opens after a turn, a hold or a start (W4) are the same computation, a
//! lost timer loses nothing (P5), and closing without injection (W10) needs no bookkeeping.

use std::time::Duration;

use crate::limits::{QUIET, WINDOW_MAX};
use crate::time::Timestamp;

/// How long mail is gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSettings {
    /// How long after the latest mail the window closes; zero: with the commit.
    pub quiet: Duration,
    /// How long after the first mail it closes at the latest.
    pub max: Duration,
}

impl Default for WindowSettings {
    fn default() -> Self {
        Self { quiet: QUIET, max: WINDOW_MAX }
    }
}

/// The mail that waits and may wake: what a window is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// When the first of it was committed.
    pub first: Timestamp,
    /// When the latest of it was committed.
    pub last: Timestamp,
    /// Whether any of it closes the window at once.
    pub urgent: bool,
}

impl Waiting {
    /// The same with one more message.
    #[must_use]
    pub fn with(earlier: Option<Self>, at: Timestamp, urgent: bool) -> Self {
        earlier.map_or(Self { first: at, last: at, urgent }, |mail| Self {
            first: mail.first.min(at),
            last: mail.last.max(at),
            urgent: mail.urgent || urgent,
        })
    }
}

/// When the window over this mail closes: `quiet` after the latest, at most `max` after the first,
/// at once when any is urgent.
///
/// ```
/// use reveille_core::Timestamp;
/// use reveille_core::window::{closes_at, Waiting, WindowSettings};
///
/// let at = Timestamp::from_millis;
/// let mail = Waiting { first: at(1_000), last: at(1_950), urgent: false };
/// assert_eq!(closes_at(&mail, WindowSettings::default()), at(2_000));
/// ```
#[must_use]
pub fn closes_at(mail: &Waiting, settings: WindowSettings) -> Timestamp {
    if mail.urgent {
        return mail.first;
    }
    mail.last.after(settings.quiet).min(mail.first.after(settings.max))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SETTINGS: WindowSettings =
        WindowSettings { quiet: Duration::from_millis(200), max: Duration::from_secs(1) };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn gathered(commits: &[(u64, bool)]) -> Waiting {
        commits
            .iter()
            .fold(None, |mail, &(millis, urgent)| Some(Waiting::with(mail, at(millis), urgent)))
            .unwrap()
    }

    #[test]
    fn a_single_message_waits_for_quiet() {
        assert_eq!(closes_at(&gathered(&[(50, false)]), SETTINGS), at(250));
    }

    #[test]
    fn each_message_pushes_the_end_back_but_never_beyond_max() {
        let steady: Vec<_> = (0..100).map(|n| (n * 50, false)).collect();
        assert_eq!(closes_at(&gathered(&steady), SETTINGS), at(1_000));
    }

    #[test]
    fn urgent_mail_closes_at_once() {
        assert_eq!(closes_at(&gathered(&[(0, false), (50, true)]), SETTINGS), at(0));
    }

    #[test]
    fn without_quiet_the_window_closes_with_the_commit() {
        let settings = WindowSettings { quiet: Duration::ZERO, ..SETTINGS };
        assert_eq!(closes_at(&gathered(&[(70, false)]), settings), at(70));
    }

    proptest! {
        #[test]
        fn a_window_closes_between_the_first_commit_and_max_after_it(
            commits in prop::collection::vec((0u64..5_000, any::<bool>()), 1..50)
        ) {
            let mail = gathered(&commits);
            let first = commits.iter().map(|&(millis, _)| millis).min().unwrap();
            let closes = closes_at(&mail, SETTINGS);
            prop_assert!(at(first) <= closes && closes <= at(first + 1_000));
        }
    }
}
