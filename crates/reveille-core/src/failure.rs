//! A turn that did not end with an answer: what becomes of its mail and of its run (section 4).
//!
//! Decides only; the store writes what is decided in one commit, the runtime waits out the back-off.
//! Every injection that a turn held is judged by itself, with what its messages have been through.

use serde::{Deserialize, Serialize};

use crate::limits::{ATTEMPTS, DEATHS};

/// How a turn failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TurnFailure {
    /// The agent cannot be reached: host away, provider down, rate limit.
    Unavailable,
    /// It may work the next time.
    Transient,
    /// It will not work the next time.
    Permanent,
    /// The injection is more than the agent can take.
    Overflow,
    /// The agent's code panicked.
    Panic,
    /// The turn ended without a report: its process or ours died.
    Lost {
        /// Whether the death can be laid at this turn's door.
        charged: bool,
    },
    /// Somebody's message ended the turn (W3).
    Interrupted,
}

/// What began a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RunKind {
    /// A spawn: never silently run twice.
    Task,
    /// Mail: offered again until it is settled or dead.
    Mail,
}

/// What a turn's injections have been through, this failure not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Charges {
    /// Attempts that count.
    pub attempts: u32,
    /// Deaths of the process that count.
    pub deaths: u32,
}

impl Charges {
    /// Whether one more failure is the end of a message: then it is offered by itself, so that it
    /// takes no neighbour with it.
    #[must_use]
    pub const fn allow_one_more(self) -> bool {
        self.attempts + 1 >= ATTEMPTS || self.deaths + 1 >= DEATHS
    }
}

/// What becomes of the turn's injections and of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same injections are offered again, after a back-off.
    Again(Charges),
    /// The run ends; its mail is settled.
    End,
    /// The run is cut off; a task run's first message is settled, other mail is released.
    Interrupt,
    /// Each message is offered by itself: the next attempt is the last (poison is isolated).
    Split(Charges),
    /// Each half of the messages is offered by itself: together they are too much.
    Halve,
    /// The message is dead, and the run ends when nothing of it is left.
    Dead,
    /// Its mail goes into another injection.
    Move,
}

/// Says what becomes of an injection of so many messages when its turn failed. A task run goes by
/// the injection that it began with.
#[must_use]
pub const fn judge(
    kind: RunKind,
    failure: TurnFailure,
    before: Charges,
    messages: usize,
) -> Verdict {
    let charged = Charges { attempts: before.attempts + 1, ..before };
    let many = messages > 1;
    match (kind, failure) {
        (_, TurnFailure::Interrupted) => Verdict::Move,
        (_, TurnFailure::Unavailable) => Verdict::Again(before),
        (_, TurnFailure::Permanent)
        | (RunKind::Task, TurnFailure::Panic | TurnFailure::Overflow) => Verdict::End,
        (RunKind::Task, TurnFailure::Lost { .. }) => Verdict::Interrupt,
        (RunKind::Task, TurnFailure::Transient) if charged.attempts >= ATTEMPTS => Verdict::End,
        (RunKind::Mail, TurnFailure::Overflow) if many => Verdict::Halve,
        (RunKind::Mail, TurnFailure::Overflow) => Verdict::Dead,
        (RunKind::Mail, TurnFailure::Lost { charged: false }) => Verdict::Again(before),
        (RunKind::Mail, TurnFailure::Lost { charged: true }) => {
            let after = Charges { deaths: before.deaths + 1, ..before };
            if many && after.deaths + 1 >= DEATHS {
                Verdict::Split(after)
            } else if after.deaths >= DEATHS {
                Verdict::Dead
            } else {
                Verdict::Again(after)
            }
        }
        (RunKind::Mail, TurnFailure::Transient | TurnFailure::Panic)
            if many && charged.attempts + 1 >= ATTEMPTS =>
        {
            Verdict::Split(charged)
        }
        (RunKind::Mail, TurnFailure::Transient | TurnFailure::Panic)
            if charged.attempts >= ATTEMPTS =>
        {
            Verdict::Dead
        }
        (_, TurnFailure::Transient | TurnFailure::Panic) => Verdict::Again(charged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(kind: RunKind, failure: TurnFailure, limit: u32) -> (u32, Verdict) {
        let mut charges = Charges::default();
        for n in 1..=limit {
            match judge(kind, failure, charges, 1) {
                Verdict::Again(after) => charges = after,
                end => return (n, end),
            }
        }
        (limit, Verdict::Again(charges))
    }

    #[test]
    fn an_unavailable_agent_is_waited_for_without_end_and_without_charge() {
        for kind in [RunKind::Task, RunKind::Mail] {
            let (_, verdict) = times(kind, TurnFailure::Unavailable, 10_000);
            assert_eq!(verdict, Verdict::Again(Charges::default()));
        }
    }

    #[test]
    fn mail_is_dead_after_the_fifth_charged_attempt() {
        assert_eq!(times(RunKind::Mail, TurnFailure::Transient, 10), (5, Verdict::Dead));
        assert_eq!(times(RunKind::Mail, TurnFailure::Panic, 10), (5, Verdict::Dead));
    }

    #[test]
    fn a_task_is_never_run_again_after_anything_worse_than_a_transient_error() {
        assert_eq!(times(RunKind::Task, TurnFailure::Transient, 10), (5, Verdict::End));
        assert_eq!(times(RunKind::Task, TurnFailure::Panic, 10), (1, Verdict::End));
        assert_eq!(times(RunKind::Task, TurnFailure::Overflow, 10), (1, Verdict::End));
        let lost = TurnFailure::Lost { charged: false };
        assert_eq!(times(RunKind::Task, lost, 10), (1, Verdict::Interrupt));
    }

    #[test]
    fn the_last_attempt_at_several_messages_is_made_message_by_message() {
        let before = Charges { attempts: 3, deaths: 0 };
        let after = Charges { attempts: 4, deaths: 0 };
        assert_eq!(judge(RunKind::Mail, TurnFailure::Panic, before, 10), Verdict::Split(after));
        assert_eq!(judge(RunKind::Mail, TurnFailure::Panic, after, 1), Verdict::Dead);
        let early = Charges { attempts: 2, deaths: 0 };
        assert_eq!(judge(RunKind::Mail, TurnFailure::Panic, early, 10), Verdict::Again(before));
        let died = TurnFailure::Lost { charged: true };
        let (once, twice) =
            (Charges { attempts: 0, deaths: 1 }, Charges { attempts: 0, deaths: 2 });
        assert_eq!(judge(RunKind::Mail, died, once, 2), Verdict::Split(twice));
        assert_eq!(judge(RunKind::Mail, died, twice, 1), Verdict::Dead);
    }

    #[test]
    fn what_is_too_much_is_halved_until_it_is_one_message() {
        let none = Charges::default();
        assert_eq!(judge(RunKind::Mail, TurnFailure::Overflow, none, 2), Verdict::Halve);
        assert_eq!(judge(RunKind::Mail, TurnFailure::Overflow, none, 1), Verdict::Dead);
    }

    #[test]
    fn a_death_counts_only_for_the_turn_that_may_have_caused_it() {
        let innocent = TurnFailure::Lost { charged: false };
        assert_eq!(times(RunKind::Mail, innocent, 100).1, Verdict::Again(Charges::default()));
        let guilty = TurnFailure::Lost { charged: true };
        assert_eq!(times(RunKind::Mail, guilty, 10), (3, Verdict::Dead));
    }
}
