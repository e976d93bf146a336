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
    /// How long after the latest injection it stays open at the least, unless a person wrote (W4).
    pub min_gap: Duration,
}

impl Default for WindowSettings {
    fn default() -> Self {
        Self { quiet: QUIET, max: WINDOW_MAX, min_gap: Duration::ZERO }
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
    /// Whether a person wrote any of it.
    pub human: bool,
}

impl Waiting {
    /// This mail and that.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            urgent: self.urgent || other.urgent,
            human: self.human || other.human,
        }
    }
}

/// When the window over this mail closes: `quiet` after the latest, at most `max` after the first,
/// at once when any is urgent. Whatever [`WindowSettings::min_gap`] adds is not in this.
///
/// ```
/// use reveille_core::Timestamp;
/// use reveille_core::window::{closes_at, Waiting, WindowSettings};
///
/// let at = Timestamp::from_millis;
/// let mail = Waiting { first: at(1_000), last: at(1_950), urgent: false, human: false };
/// assert_eq!(closes_at(&mail, WindowSettings::default()), at(2_000));
/// ```
#[must_use]
pub fn closes_at(mail: &Waiting, settings: WindowSettings) -> Timestamp {
    if mail.urgent {
        return mail.first;
    }
    mail.last.after(settings.quiet).min(mail.first.after(settings.max))
}

/// The same for an actor whose latest injection was claimed at `claimed`: the window stays open
/// `min_gap` beyond that, unless a person wrote (W4).
#[must_use]
pub fn opens_turn_at(mail: &Waiting, claimed: Timestamp, settings: WindowSettings) -> Timestamp {
    let closes = closes_at(mail, settings);
    if mail.human { closes } else { closes.max(claimed.after(settings.min_gap)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SETTINGS: WindowSettings = WindowSettings {
        quiet: Duration::from_millis(200),
        max: Duration::from_secs(1),
        min_gap: Duration::ZERO,
    };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn one(millis: u64, urgent: bool) -> Waiting {
        Waiting { first: at(millis), last: at(millis), urgent, human: false }
    }

    fn gathered(commits: &[(u64, bool)]) -> Waiting {
        commits.iter().map(|&(millis, urgent)| one(millis, urgent)).reduce(Waiting::and).unwrap()
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

    #[test]
    fn a_gap_between_injections_is_kept_for_everybody_but_people() {
        let settings = WindowSettings { min_gap: Duration::from_secs(10), ..SETTINGS };
        let mail = one(5_000, true);
        assert_eq!(opens_turn_at(&mail, at(4_000), settings), at(14_000));
        assert_eq!(opens_turn_at(&mail, at(4_000), SETTINGS), at(5_000));
        let human = Waiting { human: true, ..mail };
        assert_eq!(opens_turn_at(&human, at(4_000), settings), at(5_000));
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
