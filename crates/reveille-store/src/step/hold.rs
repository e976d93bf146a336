//! Holds, and starting again what was stopped (section 1, W4, W9).

use reveille_core::limits::HOLDS;
use reveille_core::{Address, Caller, OpError, Seq};

use super::{Draft, Step, known};
use crate::record::{Held, HoldReason, Number, Resumed, Unheld};
use crate::state::State;
use crate::state::row::Row;

/// Holds an actor: nothing is injected until it is released. A turn under way goes on.
#[derive(Debug)]
pub struct Hold {
    /// Who.
    pub actor: Address,
    /// Why.
    pub reason: HoldReason,
    /// What is said about it, at most 200 characters.
    pub note: String,
    /// By whom.
    pub by: Caller,
}

impl Step for Hold {
    type Answer = Seq;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Seq, OpError> {
        let Self { actor, reason, note, by } = self;
        let (actor, row) = known(state, &actor)?;
        OpError::at_most("note characters", note.chars().count(), 200)?;
        OpError::at_most("holds", row.holds.len() + 1, HOLDS)?;
        // The same hold once: declaring it again changes nothing.
        if let Some(there) = row.holds.iter().find(|hold| hold.reason == reason) {
            return Ok(there.id);
        }
        Ok(draft.push(Held { actor, reason, note, by }))
    }
}

/// Releases holds of an actor; answers how many there were.
#[derive(Debug)]
pub struct Release {
    /// Whose.
    pub actor: Address,
    /// Only this one, or all that somebody declared; questions and alerts have ends of their own.
    pub hold: Option<Seq>,
    /// Who says so.
    pub by: Caller,
}

impl Step for Release {
    type Answer = usize;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<usize, OpError> {
        let Self { actor, hold, by } = self;
        let (actor, row) = known(state, &actor)?;
        let declared = |reason: &HoldReason| !matches!(reason, HoldReason::Alert(_));
        let wanted = |held: &&crate::state::row::Hold| {
            hold.map_or_else(|| declared(&held.reason), |hold| held.id == hold)
        };
        let found: Vec<Seq> = row.holds.iter().filter(wanted).map(|held| held.id).collect();
        for &hold in &found {
            draft.push(Unheld { actor, hold, by: by.clone() });
        }
        Ok(found.len())
    }
}

/// Ends the hold that an alert put on an actor, if it did: the alert was acknowledged, or waits no more.
pub(super) fn end_alert(draft: &mut Draft, (actor, row): (Number, &Row), alert: Seq, by: &Caller) {
    if let Some(hold) = row.alert_hold(alert) {
        draft.push(Unheld { actor, hold, by: by.clone() });
    }
}

/// Lets an actor that was stopped start again; answers whether it was.
#[derive(Debug)]
pub struct Resume {
    /// Who.
    pub actor: Address,
    /// Who says so.
    pub by: Caller,
}

impl Step for Resume {
    type Answer = bool;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<bool, OpError> {
        let (actor, row) = known(state, &self.actor)?;
        let was = row.stopped.is_some();
        if was {
            draft.push(Resumed { actor, by: self.by });
        }
        Ok(was)
    }
}
