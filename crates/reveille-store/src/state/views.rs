//! What a row says to the rules: what may wake, what may be let in, what falls due (P5, W3, W7, W8).

use std::collections::BTreeSet;

use reveille_core::compose::{Item, Pick};
use reveille_core::limits::CONTINUATIONS;
use reveille_core::need::Standing;
use reveille_core::window::Waiting;
use reveille_core::{Delivery, Kind, NoticeState, Seq, Timestamp};

use super::row::{Counted, Group, Mail, Open, Row};
use crate::record::{GroupPolicy, HoldReason, Tells};

impl Mail {
    fn is_due(&self, now: Timestamp) -> bool {
        self.at <= now
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Whether it may go into an injection at all.
    fn is_deliverable(&self, now: Timestamp) -> bool {
        self.is_due(now) && !self.is_expired(now)
    }

    fn waiting(&self) -> Waiting {
        Waiting { first: self.at, last: self.at, urgent: self.urgent, human: self.human }
    }
}

impl Group {
    /// Whether notices of its members may wake: from the commit that meets the policy on.
    #[must_use]
    pub fn is_met(&self) -> bool {
        let well = self.members.iter().filter(|member| member.ended == Some(true)).count();
        let open = self.members.iter().filter(|member| member.ended.is_none()).count();
        // Enough have ended well, or can no longer.
        let enough = |needed: usize| well >= needed || well + open < needed;
        match self.policy {
            GroupPolicy::Each => true,
            GroupPolicy::Any => enough(1),
            GroupPolicy::All => open == 0,
            GroupPolicy::Quorum(needed) => enough(needed as usize),
        }
    }
}

impl Row {
    /// All unread mail: pending and offered.
    pub fn unread(&self) -> impl Iterator<Item = &Mail> {
        let offered = self.open.iter().flat_map(|open| &open.mail).map(|offered| &offered.mail);
        self.pending.iter().chain(offered)
    }

    pub(crate) fn counted(&self) -> Counted {
        Counted {
            unread: u64::from(self.unread_count),
            bytes: self.bytes,
            open_run: self.run.is_some(),
        }
    }

    /// Whether anything may ever fall due here without somebody calling: only such rows are looked at
    /// by a start and by the audit.
    pub(crate) fn is_watched(&self) -> bool {
        !self.pending.is_empty()
            || !self.open.is_empty()
            || self.run.is_some()
            || !self.schedules.is_empty()
            || !self.questions.is_empty()
            || !self.dead.is_empty()
    }

    /// Whether the open run is a task that this message began: it goes with its run, not before it.
    pub(crate) fn begins_run(&self, message: Seq) -> bool {
        self.run.as_ref().is_some_and(|run| run.first == Some(message))
    }

    /// Whether nothing is injected, whatever waits.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.stopped.is_some() || !self.holds.is_empty() || !self.questions.is_empty()
    }

    /// Whether this pending message may wake at `now` (P5): due, not expired, not passive, after the
    /// wake floor, allowed by the policy of its group and the cap on continuations. Notices do not
    /// wake an actor whose own run was cut off (S2).
    #[must_use]
    pub fn may_wake(&self, mail: &Mail, now: Timestamp) -> bool {
        self.may_wake_after(mail, now, self.continuations)
    }

    /// The same after so many turns in a row that only continuations caused.
    fn may_wake_after(&self, mail: &Mail, now: Timestamp, continuations: u32) -> bool {
        let below_floor = mail.seq() <= self.floor && mail.at <= self.floor_at;
        let interrupted = self.run.is_none()
            && self.ended.as_ref().is_some_and(|ended| ended.state == NoticeState::Interrupted);
        let group = mail.group.and_then(|id| self.groups.iter().find(|group| group.id == id));
        mail.is_deliverable(now)
            && mail.delivery != Delivery::Passive
            && !below_floor
            && !(interrupted && mail.item.kind == Kind::Notice)
            && !(mail.item.kind == Kind::Continuation && continuations >= CONTINUATIONS)
            && group.is_none_or(Group::is_met)
    }

    /// The mail that may wake.
    #[must_use]
    pub fn wake_worthy(&self, now: Timestamp) -> Option<Waiting> {
        let worthy = self.pending.iter().filter(|mail| self.may_wake(mail, now));
        worthy.map(Mail::waiting).reduce(Waiting::and)
    }

    /// Whether any mail may wake after so many turns in a row that only continuations caused.
    pub(crate) fn goes_on_after(&self, now: Timestamp, continuations: u32) -> bool {
        self.pending.iter().any(|mail| self.may_wake_after(mail, now, continuations))
    }

    /// How many turns in a row only continuations have caused, with one that settles these
    /// injections. What it accepted before was counted then.
    pub(crate) fn continued<'a>(
        &self,
        settled: impl Iterator<Item = &'a Open>,
        changed: bool,
    ) -> u32 {
        let mut mail = settled.flat_map(|open| &open.mail).peekable();
        let held = mail.peek().is_some();
        let other = mail.any(|offered| offered.mail.item.kind != Kind::Continuation);
        if changed || other { 0 } else { self.continuations + u32::from(held) }
    }

    /// What an injection may be made of: everything that is due, passive mail included (W7).
    pub(crate) fn deliverable(&self, now: Timestamp) -> impl Iterator<Item = Item> + '_ {
        self.pending.iter().filter(move |mail| mail.is_deliverable(now)).map(|mail| mail.item)
    }

    /// The injections that some of these messages were moved out of, in their order.
    pub(crate) fn superseded_by(&self, picks: &[Pick]) -> Vec<Seq> {
        if self.pending.iter().all(|mail| mail.moved.is_none()) {
            return Vec::new();
        }
        let is_picked = |mail: &&Mail| picks.iter().any(|pick| pick.seq == mail.seq());
        let moved = self.pending.iter().filter(is_picked).filter_map(|mail| mail.moved);
        moved.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What a safe point lets in: all steering mail, and earlier mail of the same senders (W3).
    pub(crate) fn steering(&self, now: Timestamp, auto: bool) -> Vec<Item> {
        let steers = |mail: &&Mail| {
            let wants =
                mail.delivery == Delivery::Steer || (auto && mail.delivery == Delivery::Auto);
            wants && self.may_wake(mail, now)
        };
        let steering: Vec<&Mail> = self.pending.iter().filter(steers).collect();
        let goes = |mail: &&Mail| {
            let with = |other: &&Mail| {
                other.seq() == mail.seq()
                    || (other.sender == mail.sender && other.seq() > mail.seq())
            };
            mail.is_deliverable(now) && steering.iter().any(with)
        };
        self.pending.iter().filter(goes).map(|mail| mail.item).collect()
    }

    /// Whether mail wants the turn under way to end (W3). While that waits for an answer, only a person
    /// may end it (section 10).
    #[must_use]
    pub fn wants_interrupt(&self, now: Timestamp) -> bool {
        let interrupts = |mail: &Mail| {
            let may = mail.human || self.questions.is_empty();
            may && mail.delivery == Delivery::Interrupt && self.may_wake(mail, now)
        };
        self.pending.iter().any(interrupts)
    }

    /// Pending mail that has expired.
    pub(crate) fn expired(&self, now: Timestamp) -> Vec<Seq> {
        self.pending.iter().filter(|mail| mail.is_expired(now)).map(Mail::seq).collect()
    }

    /// Whether something is to be done for this row that no turn does: mail that expired, schedules
    /// and questions whose time has come.
    #[must_use]
    pub fn has_chores(&self, now: Timestamp) -> bool {
        self.pending.iter().any(|mail| mail.is_expired(now))
            || self.schedules.iter().any(|schedule| schedule.due <= now)
            || self.questions.iter().any(|question| question.until.is_some_and(|at| at <= now))
    }

    /// The next moment after `now` at which something falls due by itself.
    #[must_use]
    pub fn next_moment(&self, now: Timestamp) -> Option<Timestamp> {
        let mail = self.pending.iter().flat_map(|mail| [Some(mail.at), mail.expires_at]).flatten();
        let schedules = self.schedules.iter().map(|schedule| schedule.due);
        let questions = self.questions.iter().filter_map(|question| question.until);
        mail.chain(schedules).chain(questions).filter(|at| *at > now).min()
    }

    /// What the rule of wakes needs to know; what holds an actor in memory only is not the store's
    /// to say.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> Standing {
        Standing {
            in_turn: self.turn.is_some(),
            held: self.is_held(),
            again_at: (!self.open.is_empty()).then_some(self.again_at),
            queued: self.run.as_ref().is_some_and(|run| !run.begun),
            mail: self.wake_worthy(now),
            claimed_at: self.claimed_at,
        }
    }

    /// The hold that an alert put on the actor.
    pub(crate) fn alert_hold(&self, alert: Seq) -> Option<Seq> {
        let by = |hold: &&super::row::Hold| hold.reason == HoldReason::Alert(alert);
        self.holds.iter().find(by).map(|hold| hold.id)
    }

    /// Whether a message is unread, dead, or awaits acknowledgement here.
    pub(crate) fn keeps(&self, message: Seq) -> bool {
        self.pending.binary_search_by_key(&message, Mail::seq).is_ok()
            || self.open.iter().flat_map(|open| &open.mail).any(|one| one.mail.seq() == message)
            || self.dead.iter().any(|dead| dead.seq == message)
            || self.unacknowledged.iter().any(|due| due.seq == message)
    }

    /// The records that this row still leads to: they must not leave the store.
    pub(crate) fn kept(&self) -> impl Iterator<Item = Seq> + '_ {
        let outcome = self.ended.iter().map(|ended| ended.outcome);
        let dead = self.dead.iter().flat_map(|dead| [dead.seq, dead.why]);
        let told = |tells: Option<Tells>| tells.and_then(|tells| tells.outcome);
        let unread = self.unread().flat_map(move |mail| [Some(mail.seq()), told(mail.tells)]);
        let unread = unread.flatten();
        let dead_tell = self.dead.iter().filter_map(move |dead| told(dead.tells));
        let due = self.unacknowledged.iter().map(|due| due.seq);
        unread.chain(outcome).chain(dead).chain(dead_tell).chain(due)
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::GroupMember;
    use super::*;

    fn group(policy: GroupPolicy, ended: &[Option<bool>]) -> bool {
        let member = |ended: &Option<bool>| GroupMember { actor: 1, run: Seq(1), ended: *ended };
        Group { id: Seq(1), policy, members: ended.iter().map(member).collect() }.is_met()
    }

    #[test]
    fn a_group_is_met_by_enough_good_ends_or_when_they_are_out_of_reach() {
        let (good, bad, open) = (Some(true), Some(false), None);
        assert!(group(GroupPolicy::Each, &[open]));
        assert!(!group(GroupPolicy::Any, &[bad, open]));
        assert!(group(GroupPolicy::Any, &[good, open]));
        assert!(group(GroupPolicy::Any, &[bad, bad]));
        assert!(!group(GroupPolicy::All, &[good, bad, open]));
        assert!(group(GroupPolicy::All, &[good, bad]));
        assert!(!group(GroupPolicy::Quorum(2), &[good, bad, open]));
        assert!(group(GroupPolicy::Quorum(2), &[good, good, open]));
        assert!(group(GroupPolicy::Quorum(2), &[good, bad, bad]));
    }
}
