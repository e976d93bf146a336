//! Moments, as the store stamps them.
//!
//! A [`Timestamp`] is milliseconds of Unix time and is always an argument of the rules: this crate
//! reads no clock. The runtime's clock never goes back (its module says how), so a later commit
//! never has an earlier timestamp.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::error::OpError;

/// Milliseconds since the Unix epoch, UTC.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The latest moment that an id and RFC 3339 can both hold (the end of the year 9999).
    pub const MAX: Self = Self(253_402_300_799_999);

    /// From milliseconds of Unix time; beyond [`Timestamp::MAX`] it stays there.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        if millis > Self::MAX.0 { Self::MAX } else { Self(millis) }
    }

    /// Milliseconds of Unix time.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// This moment and a span after it.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self::from_millis(self.0.saturating_add(millis(span)))
    }

    /// How long ago `earlier` was at this moment; zero when it is still to come.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// A span in whole milliseconds, at most `u64::MAX` of them.
fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// RFC 3339, in UTC.
impl FromStr for Timestamp {
    type Err = OpError;

    fn from_str(text: &str) -> Result<Self, OpError> {
        let wrong = || OpError::invalid("time", text, "RFC 3339 in UTC, like 2026-10-01T08:30:00Z");
        let moment = humantime::parse_rfc3339(text).map_err(|_| wrong())?;
        let since = moment.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| wrong())?;
        Ok(Self::from_millis(millis(since)))
    }
}

/// RFC 3339 in UTC with milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_millis(self.0);
        humantime::format_rfc3339_millis(moment).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_rfc_3339_with_milliseconds() {
        assert_eq!(Timestamp::from_millis(1_500).to_string(), "1970-01-01T00:00:01.500Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_moment_is_read_back_and_one_without_a_zone_is_refused() {
        let moment = Timestamp::from_millis(1_796_000_000_123);
        assert_eq!(moment.to_string().parse::<Timestamp>().unwrap(), moment);
        for wrong in ["tomorrow", "2026-10-01", "2026-10-01T08:30:00+02:00", ""] {
            let error = wrong.parse::<Timestamp>().unwrap_err();
            assert!(error.to_string().contains("RFC 3339"), "{error}");
        }
    }

    #[test]
    fn arithmetic_at_the_edge_stays_at_the_edge() {
        assert_eq!(Timestamp::MAX.after(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::from_millis(u64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::from_millis(1).since(Timestamp::from_millis(5)), Duration::ZERO);
    }
}
