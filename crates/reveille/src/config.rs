//! Settings of a runtime, with the contract's defaults, and what contradicts what (L6).

use std::sync::Arc;
use std::time::Duration;

use reveille_core::compose::InjectionLimits;
use reveille_core::limits::{
    ABORT_GRACE, AUDIT_EVERY, BACKOFF_MAX, BACKOFF_MIN, CANCEL_GRACE, DEAD_AGE, QUESTION_LIMIT,
    SHUTDOWN_GRACE, SLOTS, STALL_AFTER, START_LIMIT, STARTING_PER_CORE,
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
    /// How long an agent has to answer a question before it counts as denied.
    pub question_limit: Duration,
    /// Turns that may be starting at the same time; 0 means as many as there are (W11).
    pub starting: usize,
    /// How long an agent may take to say whether it has an injection.
    pub ask_limit: Duration,
    /// How long a turn may be starting (W11).
    pub start_limit: Duration,
    /// How often overdue mail is looked for (P5).
    pub audit_every: Duration,
    /// How long dead mail is kept (section 13).
    pub dead_age: Duration,
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
            question_limit: QUESTION_LIMIT,
            starting: STARTING_PER_CORE * cores(),
            ask_limit: CANCEL_GRACE,
            start_limit: START_LIMIT,
            audit_every: AUDIT_EVERY,
            dead_age: DEAD_AGE,
            shutdown_grace: SHUTDOWN_GRACE,
            abort_grace: ABORT_GRACE,
            backoff: (BACKOFF_MIN, BACKOFF_MAX),
            jitter_seed: None,
            clock: None,
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
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
        let second = ("a second", Duration::from_secs(1));
        not_above(second, ("audit_every", self.audit_every))?;
        not_above(("audit_every", self.audit_every), hour)?;
        not_above(second, ("start_limit", self.start_limit))?;
        not_above(second, ("question_limit", self.question_limit))?;
        not_above(("window.min_gap", self.window.min_gap), hour)?;
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
