//! Schedules (section 3): messages that are sent at a time, or again and again.

use std::time::Duration;

use reveille_core::limits::SCHEDULES;
use reveille_core::message::label;
use reveille_core::{Address, Caller, OpError, Rank, Text, Timestamp};

use super::prepare::{Post, Prepared, To};
use super::{Draft, Step, known};
use crate::record::{Number, Scheduled, Ticked};
use crate::state::State;
use crate::state::row::{Row, Schedule as Entry};

/// When a schedule is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Once, at this moment.
    At(Timestamp),
    /// Again and again; at least a second.
    Every(Duration),
}

/// Declares a schedule. Declaring it again changes what is sent and how often, and keeps the time at
/// which it is due next.
#[derive(Debug)]
pub struct Schedule {
    /// To whom.
    pub actor: Address,
    /// What it is called.
    pub key: String,
    /// When.
    pub when: When,
    /// What is sent.
    pub text: Text,
    /// Who declares it.
    pub by: Caller,
}

impl Step for Schedule {
    type Answer = Timestamp;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Timestamp, OpError> {
        let Self { actor, key, when, text, by } = self;
        let (actor, row) = known(state, &actor)?;
        label("schedule key", &key)?;
        text.check()?;
        let there = row.schedules.iter().find(|one| one.key == key);
        if there.is_none() {
            OpError::at_most("schedules", row.schedules.len() + 1, SCHEDULES)?;
        }
        let (fresh, every) = match when {
            When::At(at) => (at, None),
            When::Every(span) if span >= Duration::from_secs(1) => {
                let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
                (draft.at().after(span), Some(millis))
            }
            When::Every(span) => {
                let value = format!("{span:?}");
                return Err(OpError::invalid("every", &value, "at least a second"));
            }
        };
        let same_rhythm = there.filter(|one| one.every == every && every.is_some());
        let due = same_rhythm.map_or(fresh, |one| one.due);
        let says_the_same = |one: &&Entry| (one.due, &one.text) == (due, &text);
        if there.filter(|one| one.every == every).is_some_and(|one| says_the_same(&one)) {
            return Ok(due);
        }
        draft.push(Scheduled { actor, key, due, every, by, text });
        Ok(due)
    }
}

/// Cancels a schedule; answers whether there was one.
#[derive(Debug)]
pub struct Unschedule {
    /// Whose.
    pub actor: Address,
    /// Which.
    pub key: String,
}

impl Step for Unschedule {
    type Answer = bool;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<bool, OpError> {
        let (actor, row) = known(state, &self.actor)?;
        let there = row.schedules.iter().any(|one| one.key == self.key);
        if there {
            draft.push(Ticked { actor, key: self.key, next: None });
        }
        Ok(there)
    }
}

/// Sends what is due. Ticks that were missed become one, which says how late it is.
pub(super) fn tick(
    draft: &mut Draft,
    (actor, row): (Number, &Row),
    now: Timestamp,
) -> Result<(), OpError> {
    for one in row.schedules.iter().filter(|one| one.due <= now) {
        let late = now.since(one.due);
        let period = one.every.map(Duration::from_millis);
        let missed = period.map_or(0, |every| late.as_millis() / every.as_millis().max(1));
        let missed = u64::try_from(missed).unwrap_or(u64::MAX);
        let mut text = one.text.clone();
        if late >= Duration::from_secs(1) {
            text.labels.truncate(reveille_core::limits::LABELS - 2);
            text.labels.push(("late".to_owned(), format!("{}s", late.as_secs())));
            text.labels.push(("missed".to_owned(), missed.to_string()));
        }
        let post = Post { rank: Some(Rank::Reminder), ..Post::new(text) };
        let sent = Prepared::new(Caller::System, post, &To::Actors(Vec::new()));
        let sent = sent.to(vec![actor])?;
        draft.push(sent);
        let next = one.every.map(|every| {
            let spans = every.saturating_mul(missed.saturating_add(1));
            one.due.after(Duration::from_millis(spans))
        });
        draft.push(Ticked { actor, key: one.key.clone(), next });
    }
    Ok(())
}
