//! Settings of a runtime, with the contract's defaults, and what contradicts what (L6).

use std::sync::Arc;
use std::time::Duration;

use reveille_core::compose::InjectionLimits;
use reveille_core::limits::{
    ABORT_GRACE, BACKOFF_MAX, BACKOFF_MIN, SHUTDOWN_GRACE, SLOTS, STALL_AFTER,
};
use reveille_core::window::WindowSettings;
use reveille_store::step::Limits;

use crate::clock::Clock;

/// Settings of a runtime.
///
/// ```
/// use std::time::Duration;
///
/// let mut config = reveille::Config::default();
/// config.window.quiet = Duration::from_secs(5);
/// let error = config.check().unwrap_err();
/// assert_eq!(error.to_string(), "window.quiet (5s) must not be above window.max (1s)");
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    /// How long mail is gathered before an injection.
    pub window: WindowSettings,
    /// Turns of one agent that compute at the same time; 0 means as many as there are.
    pub slots: usize,
    /// Limits of mailboxes, injections and trees.
    pub limits: Limits,
    /// No progress for this long is a stall, unless the agent's own setting says otherwise.
    pub stall_after: Duration,
    /// How long running turns have when the runtime shuts down.
    pub shutdown_grace: Duration,
    /// How long a turn that was cut may take to return before it counts as abandoned.
    pub abort_grace: Duration,
    /// The first and the longest delay before something that failed is offered again.
    pub backoff: (Duration, Duration),
    /// Where the jitter of back-offs begins, for runs that can be repeated.
    pub jitter_seed: Option<u64>,
    /// The clock; `None` is this machine's.
    pub clock: Option<Arc<Clock>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            window: WindowSettings::default(),
            slots: SLOTS,
            limits: Limits::default(),
            stall_after: STALL_AFTER,
            shutdown_grace: SHUTDOWN_GRACE,
            abort_grace: ABORT_GRACE,
            backoff: (BACKOFF_MIN, BACKOFF_MAX),
            jitter_seed: None,
            clock: None,
        }
    }
}

/// Settings that contradict each other, or one that is outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl Config {
    /// Checks the settings against each other and their ranges.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], naming the settings and their values.
    pub fn check(&self) -> Result<(), ConfigError> {
        let not_above = |low: (&str, Duration), high: (&str, Duration)| {
            if low.1 <= high.1 {
                return Ok(());
            }
            let ((low, is), (high, limit)) = (low, high);
            Err(ConfigError(format!("{low} ({is:?}) must not be above {high} ({limit:?})")))
        };
        let hour = ("an hour", Duration::from_secs(3600));
        not_above(("window.quiet", self.window.quiet), ("window.max", self.window.max))?;
        not_above(("window.max", self.window.max), hour)?;
        not_above(("backoff.min", self.backoff.0), ("backoff.max", self.backoff.1))?;
        not_above(("one millisecond", Duration::from_millis(1)), ("backoff.min", self.backoff.0))?;
        not_above(
            ("one millisecond", Duration::from_millis(1)),
            ("stall_after", self.stall_after),
        )?;
        let (bytes, least) = (self.limits.injection.bytes, InjectionLimits::default().bytes);
        if bytes < least {
            let what = format!("limits.injection.bytes is {bytes}, allowed is at least {least}");
            return Err(ConfigError(what));
        }
        let messages = self.limits.injection.messages;
        if !(1..=1000).contains(&messages) {
            let what = format!("limits.injection.messages is {messages}, allowed is 1 to 1000");
            return Err(ConfigError(what));
        }
        Ok(())
    }
}
