//! The runtime's clock: the only place that reads the wall clock (L5).
//!
//! A moment is the wall clock's when the runtime started, and from then on what a monotonic clock
//! has counted; when the wall clock is found to be more than a second ahead (the machine slept, or
//! it was set) the clock follows. When the wall clock is set back it does not follow: time as the
//! store sees it never goes back, so no window waits for an hour to come round again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reveille_core::Timestamp;
use tokio::time::Instant;

/// How far the wall clock must be ahead before it is followed.
const JUMP_MS: u64 = 1000;

/// Gives moments and spans.
#[derive(Debug)]
pub struct Clock {
    started: Timestamp,
    origin: Instant,
    /// Milliseconds that the wall clock ran ahead of the monotonic one.
    ahead: AtomicU64,
    follow_wall: bool,
}

impl Clock {
    /// The clock of this machine, not behind `latest`: what a store already holds is past.
    #[must_use]
    pub fn system_from(latest: Timestamp) -> Self {
        Self {
            started: wall().max(latest),
            origin: Instant::now(),
            ahead: AtomicU64::new(0),
            follow_wall: true,
        }
    }

    /// A clock that begins at `started` and goes with tokio's, which tests can pause.
    #[must_use]
    pub fn virtual_from(started: Timestamp) -> Self {
        Self { started, origin: Instant::now(), ahead: AtomicU64::new(0), follow_wall: false }
    }

    /// The moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let counted = self.started.after(self.elapsed());
        let mut ahead = self.ahead.load(Ordering::Relaxed);
        if self.follow_wall {
            let lead = wall().as_millis().saturating_sub(counted.as_millis());
            if lead > ahead + JUMP_MS {
                ahead = self.ahead.fetch_max(lead, Ordering::Relaxed).max(lead);
            }
        }
        counted.after(Duration::from_millis(ahead))
    }

    /// How long the clock has been running, monotonic.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }
}

#[allow(clippy::disallowed_methods)] // this is the module that may
fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_virtual_clock_goes_with_the_paused_one() {
        let clock = Clock::virtual_from(Timestamp::from_millis(5_000));
        tokio::time::advance(Duration::from_millis(250)).await;
        assert_eq!(clock.now(), Timestamp::from_millis(5_250));
        assert_eq!(clock.elapsed(), Duration::from_millis(250));
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_follows_a_wall_clock_that_is_ahead_and_none_that_is_behind() {
        let behind = Clock { follow_wall: true, ..Clock::virtual_from(Timestamp::from_millis(1)) };
        assert!(behind.now().as_millis() > 1_700_000_000_000);
        let ahead = Clock { follow_wall: true, ..Clock::virtual_from(Timestamp::MAX) };
        assert_eq!(ahead.now(), Timestamp::MAX);
    }
}
