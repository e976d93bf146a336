//! Is a turn getting anywhere? (L1, L5; the declared waits of L2 as far as an agent declares them.)
//!
//! Progress is text, a tool's start or end, a report. That a process still answers is not progress.
//! All spans are of a monotonic clock and are given as [`Duration`]s since the same origin.

use std::time::Duration;

/// What is known of a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// When progress was last seen, or the turn began.
    pub progress: Duration,
    /// A declared wait: silence is in order until then.
    pub waiting_until: Option<Duration>,
    /// Whether this silence has been told already.
    pub told: bool,
}

/// What the watchdog does about a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing before this moment.
    Fine {
        /// When to look again.
        look_at: Duration,
    },
    /// Tell of the stall: once for each silence.
    Stalled {
        /// How long nothing was heard.
        quiet: Duration,
    },
    /// Progress came after a stall was told: the next silence is a new one.
    Rearmed,
    /// The stall has been told and goes on.
    StillStalled,
}

/// Says how a turn stands at `now`.
#[must_use]
pub fn judge(clocks: &Clocks, now: Duration, stall_after: Duration) -> Verdict {
    let since = clocks.waiting_until.map_or(clocks.progress, |until| clocks.progress.max(until));
    let due = since.saturating_add(stall_after);
    match (now < due, clocks.told) {
        (true, true) => Verdict::Rearmed,
        (true, false) => Verdict::Fine { look_at: due },
        (false, true) => Verdict::StillStalled,
        (false, false) => Verdict::Stalled { quiet: now.saturating_sub(clocks.progress) },
    }
}

/// Whether the watcher itself stood still so long that silence proves nothing (L5): then the clocks
/// of all it watches start anew.
#[must_use]
pub fn watcher_paused(planned: Duration, now: Duration) -> bool {
    now.saturating_sub(planned) > Duration::from_secs(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: Duration = Duration::from_secs(60);

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn quiet_since(seconds: u64) -> Clocks {
        Clocks { progress: s(seconds), waiting_until: None, told: false }
    }

    #[test]
    fn silence_is_told_once_and_progress_arms_it_again() {
        let mut clocks = quiet_since(10);
        assert_eq!(judge(&clocks, s(69), STALL), Verdict::Fine { look_at: s(70) });
        assert_eq!(judge(&clocks, s(70), STALL), Verdict::Stalled { quiet: s(60) });
        clocks.told = true;
        assert_eq!(judge(&clocks, s(500), STALL), Verdict::StillStalled);
        clocks.progress = s(490);
        assert_eq!(judge(&clocks, s(500), STALL), Verdict::Rearmed);
    }

    #[test]
    fn a_declared_wait_is_not_silence() {
        let clocks = Clocks { waiting_until: Some(s(900)), ..quiet_since(0) };
        assert_eq!(judge(&clocks, s(300), STALL), Verdict::Fine { look_at: s(960) });
        assert_eq!(judge(&clocks, s(960), STALL), Verdict::Stalled { quiet: s(960) });
    }

    #[test]
    fn the_pause_of_the_watcher_is_its_own() {
        assert!(!watcher_paused(s(10), s(10) + Duration::from_millis(900)));
        assert!(watcher_paused(s(10), s(3_600)));
    }
}
