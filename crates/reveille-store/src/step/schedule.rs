//! Schedules (section 3): messages that are sent at a time, or again and again.

use std::time::Duration;

use reveille_core::limits::{LABELS, SCHEDULES};
use reveille_core::message::label;
use reveille_core::{Address, Caller, Kind, OpError, Rank, Text, Timestamp};

use super::prepare::{Post, Prepared, To, merge_hash};
use super::send::{authority, fill_in, place};
use super::{Draft, Step, known};
use crate::record::{Number, Scheduled, Ticked};
use crate::state::State;
use crate::state::row::{Row, Schedule as Entry};

/// The labels of a tick that is late.
const LATE: &str = "late";
const MISSED: &str = "missed";

/// When a schedule is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Once, at this moment.
    At(Timestamp),
    /// Again and again; at least a second.
    Every(Duration),
}

/// Declares a schedule. Declaring it again changes what is sent and keeps the time at which it is due
/// next; another rhythm, or another moment, begins anew, and a moment that was sent is not sent again.
/// Whoever declares it may send as much himself.
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
        let latest = Some((Duration::MAX, u64::MAX));
        for message in [None, latest].map(|late| reminder(&key, &by, &text, late)) {
            authority(state, draft, &[actor], &message)?;
            message.shape?;
        }
        let there = row.schedules.iter().find(|one| one.key == key);
        if there.is_none() {
            OpError::at_most("schedules", row.schedules.len() + 1, SCHEDULES)?;
        }
        let (fresh, every) = match when {
            When::At(at) if row.fired.iter().any(|one| one.key == key && one.due == at) => {
                return Ok(at);
            }
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
            draft.push(Ticked { actor, key: self.key, next: None, sent: false });
        }
        Ok(there)
    }
}

/// Sends what is due. Ticks that were missed become one, which says how late it is; one that was not
/// read yet is replaced by the next, so that nobody's mailbox fills with them.
pub(super) fn tick(state: &State, draft: &mut Draft, (actor, row): (Number, &Row), now: Timestamp) {
    for one in row.schedules.iter().filter(|one| one.due <= now) {
        let late = now.since(one.due);
        let period = one.every.map(Duration::from_millis);
        let missed = period.map_or(0, |every| late.as_millis() / every.as_millis().max(1));
        let missed = u64::try_from(missed).unwrap_or(u64::MAX);
        let told = (late >= Duration::from_secs(1)).then_some((late, missed));
        match reminder(&one.key, &one.by, &one.text, told).to(vec![actor]) {
            Ok(mut sent) => {
                fill_in(state, &mut sent);
                place(state, draft, sent);
            }
            // What was declared was checked; nothing else of this actor may wait for it.
            Err(error) => tracing::error!(%error, key = one.key, "a schedule cannot be sent"),
        }
        let next = one.every.map(|every| {
            let spans = every.saturating_mul(missed.saturating_add(1));
            one.due.after(Duration::from_millis(spans))
        });
        draft.push(Ticked { actor, key: one.key.clone(), next, sent: true });
    }
}

/// The message of a tick, from whoever declared it. A late one says by how much, and how many ticks
/// were missed.
fn reminder(key: &str, by: &Caller, text: &Text, late: Option<(Duration, u64)>) -> Prepared {
    let mut text = text.clone();
    if let Some((late, missed)) = late {
        text.labels.retain(|(name, _)| name != LATE && name != MISSED);
        text.labels.truncate(LABELS - 2);
        text.labels.push((LATE.to_owned(), format!("{}s", late.as_secs())));
        text.labels.push((MISSED.to_owned(), missed.to_string()));
    }
    let urgent = Some(text.kind == Kind::Alert);
    let post = Post { urgent, ..Post::new(text) };
    let mut prepared = Prepared::new(by.clone(), post, &To::Actors(Vec::new()));
    prepared.sent.rank = Rank::Reminder;
    // No merge key of a caller's own has a line break.
    prepared.sent.merge = merge_hash(&format!("schedule\n{key}"));
    prepared
}
