//! Turns: claiming mail, offering it again, and letting mail in at safe points (section 4, section
//! 5; P3, P4, P5, P9). How a turn ends is in [`super::end`].

use reveille_core::compose::{InjectionLimits, Item, Pick, compose};
use reveille_core::limits::INJECTION_NAME_BYTES;
use reveille_core::need::{Need, Start, need};
use reveille_core::window::WindowSettings;
use reveille_core::{InjectionId, OpError, RunId, Seq, Timestamp, Trigger};

use super::{Draft, Step, Token, fresh};
use crate::record::{Claimed, Number, Offered};
use crate::state::State;
use crate::state::row::{Open, Row};

/// A turn that was opened, and the injection it begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What the turn must show to act.
    pub token: Token,
    /// The injection.
    pub injection: InjectionId,
    /// The run that it begins or continues.
    pub run: RunId,
    /// Why it was made.
    pub trigger: Trigger,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The injections that it takes the place of.
    pub names: Vec<Seq>,
    /// Whether the attempt before it was lost, so that the agent may have the injection already.
    pub lost: bool,
    /// Whether a silence of the run was told, and nothing was heard since (L1).
    pub stalled: bool,
    /// When the attempt was committed.
    pub at: Timestamp,
    /// Its messages, as arranged.
    pub picks: Vec<Pick>,
}

/// Chooses the mail of an injection, and the injections that it takes the place of: those that some of
/// the mail was moved out of. Their names take room as well (W6).
fn pick(row: &Row, mail: &[Item], limits: InjectionLimits) -> (Vec<Pick>, Vec<Seq>) {
    let mut reserved = 0;
    loop {
        let bytes = limits.bytes.saturating_sub(reserved);
        let picks = compose(mail.iter().copied(), InjectionLimits { bytes, ..limits });
        let names = row.superseded_by(&picks);
        let needed = names.len() * INJECTION_NAME_BYTES;
        if needed <= reserved {
            return (picks, names);
        }
        reserved = needed;
    }
}

/// Opens a turn with the mail that waits, when the actor needs one (P5): a task is queued, or a
/// window over mail that may wake is closed. Answers `None` when it does not: a stale wake (W2), or
/// one that came too early because mail came after it was decided.
#[derive(Debug)]
pub struct ClaimMail {
    /// Whose mail.
    pub actor: Number,
    /// How long its mail is gathered.
    pub windows: WindowSettings,
}

impl Step for ClaimMail {
    type Answer = Option<Claim>;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Option<Claim>, OpError> {
        let Some(row) = state.row(self.actor) else {
            return Ok(None);
        };
        let trigger = match need(&row.standing(draft.at()), draft.at(), self.windows) {
            Need::Turn(Start::Task) => Trigger::Task,
            Need::Turn(Start::Window) => Trigger::Window,
            Need::Turn(Start::Again) | Need::Look(_) | Need::Nothing => return Ok(None),
        };
        let mail: Vec<Item> = row.deliverable(draft.at()).collect();
        let (picks, names) = pick(row, &mail, draft.limits.injection);
        if picks.is_empty() {
            return Ok(None);
        }
        let run = row.run.as_ref().map(|run| run.id);
        let seq = draft.push(Claimed {
            actor: self.actor,
            run: run.map(RunId::seq),
            turn: None,
            trigger,
            picks: picks.clone(),
            names: names.clone(),
        });
        Ok(Some(Claim {
            token: Token { incarnation: state.incarnation(), actor: self.actor, turn: seq },
            injection: InjectionId::new(seq, draft.stamp),
            run: run.unwrap_or_else(|| RunId::new(seq, draft.stamp)),
            trigger,
            attempt: 1,
            names,
            lost: false,
            stalled: row.stalled.is_some(),
            at: draft.at(),
            picks,
        }))
    }
}

/// Opens a turn with the oldest open injection, once its back-off is over (P4).
#[derive(Debug)]
pub struct OfferAgain {
    /// Whose injection.
    pub actor: Number,
}

impl Step for OfferAgain {
    type Answer = Option<Claim>;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Option<Claim>, OpError> {
        let Some(row) = state.row(self.actor) else {
            return Ok(None);
        };
        let due = row.turn.is_none() && row.again_at <= draft.at() && !row.is_held();
        let Some((open, run)) = row.open.first().zip(row.run.as_ref()).filter(|_| due) else {
            return Ok(None);
        };
        Ok(Some(offer(state, draft, self.actor, row, (open, run.id), None)))
    }
}

/// Offers an open injection: in a turn of its own, or in the turn under way.
fn offer(
    state: &State,
    draft: &mut Draft,
    actor: Number,
    row: &Row,
    (open, run): (&Open, RunId),
    turn: Option<Seq>,
) -> Claim {
    let (attempt, injection) = (open.attempt + 1, open.id.seq());
    let seq = draft.push(Offered { actor, injection, attempt, turn });
    let picks = open.mail.iter().map(|mail| Pick { seq: mail.mail.seq(), cut: mail.cut });
    Claim {
        token: Token { incarnation: state.incarnation(), actor, turn: turn.unwrap_or(seq) },
        injection: open.id,
        run,
        trigger: open.trigger,
        attempt,
        names: open.names.clone(),
        lost: open.lost,
        stalled: row.stalled.is_some(),
        at: draft.at(),
        picks: picks.collect(),
    }
}

/// Lets mail into a turn under way (W3): an injection that is open since an earlier turn, the oldest
/// first, else all steering mail and earlier mail of its senders. An injection whose next attempt is
/// its last has a turn of its own. Answers `None` when there is none, or while the actor is held.
#[derive(Debug)]
pub struct SafePoint {
    /// The turn.
    pub token: Token,
    /// Whether mail that leaves it to the receiver is let in.
    pub steer: bool,
}

impl Step for SafePoint {
    type Answer = Option<Claim>;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Option<Claim>, OpError> {
        let row = fresh(state, self.token)?;
        let Token { actor, turn, .. } = self.token;
        let Some(run) = row.run.as_ref().filter(|_| !row.is_held()) else {
            return Ok(None);
        };
        let waits = |open: &&Open| open.turn.is_none() && !open.charges.allow_one_more();
        if let Some(open) = row.open.iter().find(waits) {
            return Ok(Some(offer(state, draft, actor, row, (open, run.id), Some(turn))));
        }
        let mail = row.steering(draft.at(), self.steer);
        let (picks, names) = pick(row, &mail, draft.limits.injection);
        if picks.is_empty() {
            return Ok(None);
        }
        let seq = draft.push(Claimed {
            actor,
            run: Some(run.id.seq()),
            turn: Some(turn),
            trigger: Trigger::SafePoint,
            picks: picks.clone(),
            names: names.clone(),
        });
        Ok(Some(Claim {
            token: self.token,
            injection: InjectionId::new(seq, draft.stamp),
            run: run.id,
            trigger: Trigger::SafePoint,
            attempt: 1,
            names,
            lost: false,
            stalled: row.stalled.is_some(),
            at: draft.at(),
            picks,
        }))
    }
}
