//! What an actor needs now: one question, asked at every start, turn end, timer and audit (P5, W4).
//!
//! Nobody remembers to wake an actor. Whoever thinks that something may have changed asks this
//! function with what the store says, and does what it answers. Asking too often changes nothing;
//! asking late only delays.

use crate::time::Timestamp;
use crate::window::{Waiting, WindowSettings, opens_turn_at};

/// What the store says of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// A turn is under way.
    pub in_turn: bool,
    /// A reason not to inject: stopped, retired, no agent registered, shutting down.
    pub held: bool,
    /// An injection is open without a turn, and may be offered again from this moment on.
    pub again_at: Option<Timestamp>,
    /// A task run was admitted and has not begun.
    pub queued: bool,
    /// The wake-worthy mail.
    pub mail: Option<Waiting>,
    /// When the latest injection was claimed.
    pub claimed_at: Timestamp,
}

/// Why a turn starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The open injections are offered again.
    Again,
    /// A task run begins.
    Task,
    /// A window closed.
    Window,
}

/// What an actor needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing until something changes.
    Nothing,
    /// To be asked again at this moment.
    Look(Timestamp),
    /// A turn.
    Turn(Start),
}

/// Says what an actor needs at `now`.
///
/// An open injection comes before newer mail (P4, P8) and keeps every window shut (P3).
#[must_use]
pub fn need(standing: &Standing, now: Timestamp, windows: WindowSettings) -> Need {
    if standing.in_turn || standing.held {
        return Need::Nothing;
    }
    let (due, start) = if let Some(again_at) = standing.again_at {
        (again_at, Start::Again)
    } else if standing.queued {
        (now, Start::Task)
    } else if let Some(mail) = &standing.mail {
        (opens_turn_at(mail, standing.claimed_at, windows), Start::Window)
    } else {
        return Need::Nothing;
    };
    if due <= now { Need::Turn(start) } else { Need::Look(due) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn mail(millis: u64) -> Option<Waiting> {
        Some(Waiting { first: at(millis), last: at(millis), urgent: false, human: false })
    }

    fn ask(standing: Standing, now: u64) -> Need {
        need(&standing, at(now), WindowSettings::default())
    }

    #[test]
    fn an_actor_without_anything_needs_nothing() {
        assert_eq!(ask(Standing::default(), 0), Need::Nothing);
    }

    #[test]
    fn mail_opens_a_window_and_its_end_starts_a_turn() {
        let standing = Standing { mail: mail(100), ..Standing::default() };
        assert_eq!(ask(standing, 100), Need::Look(at(300)));
        assert_eq!(ask(standing, 300), Need::Turn(Start::Window));
    }

    #[test]
    fn what_waited_long_goes_at_once() {
        let standing = Standing { mail: mail(100), ..Standing::default() };
        assert_eq!(ask(standing, 90_000), Need::Turn(Start::Window));
    }

    #[test]
    fn a_running_turn_and_a_hold_shut_every_window() {
        for (in_turn, held) in [(true, false), (false, true)] {
            let standing = Standing {
                in_turn,
                held,
                queued: true,
                again_at: Some(at(0)),
                mail: mail(0),
                ..Standing::default()
            };
            assert_eq!(ask(standing, 90_000), Need::Nothing);
        }
    }

    #[test]
    fn an_open_injection_precedes_a_task_and_newer_mail_even_while_it_backs_off() {
        let standing = Standing {
            again_at: Some(at(500)),
            queued: true,
            mail: mail(0),
            ..Standing::default()
        };
        assert_eq!(ask(standing, 499), Need::Look(at(500)));
        assert_eq!(ask(standing, 500), Need::Turn(Start::Again));
    }
}
