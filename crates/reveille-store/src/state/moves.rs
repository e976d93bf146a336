//! How a row may change, and which promise a change would break.
//!
//! A message moves between pending, offered, settled and dead, and is in exactly one of them (P2).
//! An injection opens only when none is open, or within a turn by a wait (P3); its attempts count
//! up by one (P4). A turn ends once and is the one under way (P9). A run gets one outcome (P6).

use reveille_core::failure::{Charges, RunKind, TurnFailure};
use reveille_core::id::Stamp;
use reveille_core::{InjectionId, Kind, NoticeState, Outcome, RunId, Seq, Timestamp, Trigger};

use super::Broken;
use super::row::{DeadMail, Ended, HandedOver, Mail, OfferedMail, Open, Row, Run, Unacknowledged};
use crate::record::{
    Claimed, Marked, Offered, Queued, RunEnded, Sender, Sent, Split, Taken, TurnEnded, TurnFailed,
};

/// Refuses when a condition that a promise needs does not hold.
pub(super) fn must(
    holds: bool,
    promise: &'static str,
    what: impl FnOnce() -> String,
) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err((promise, what())) }
}

impl Row {
    /// Takes mail in; what it displaces is still here and leaves its time behind.
    pub(super) fn receive(&mut self, mut mail: Mail, sent: &Sent) -> Result<(), Broken> {
        let merges = sent.since.is_some();
        let last = self.pending.back().map(Mail::seq);
        must(last < Some(mail.seq()), "P8", || "mail is older than mail before it".into())?;
        if merges {
            let goes = |old: &&Mail| (old.merge, old.sender) == (mail.merge, mail.sender);
            let since = self.pending.iter().filter(goes).map(|old| old.at).min();
            mail.at = since.unwrap_or(mail.at);
        }
        mail.group = mail.tells.filter(|tells| tells.outcome.is_some()).and_then(|tells| {
            let of = |member: &super::row::GroupMember| {
                (member.actor, member.run) == (tells.actor, tells.run)
            };
            let group = self.groups.iter().find(|group| group.members.iter().any(of));
            group.map(|group| group.id)
        });
        if let Some(task_id) = sent.task_id.clone() {
            self.handoffs.push(HandedOver { seq: mail.seq(), task_id });
        }
        self.bytes += u64::from(mail.bytes);
        self.unread_count += 1;
        self.pending.push_back(mail);
        Ok(())
    }

    pub(super) fn queue(
        &mut self,
        id: RunId,
        queued: &Queued,
        at: Timestamp,
    ) -> Result<(), Broken> {
        must(self.run.is_none(), "P6", || "the actor has an open run".into())?;
        let first = self.pending.iter().find(|mail| mail.seq() == queued.first);
        let hops = first
            .map(|mail| mail.hops)
            .ok_or_else(|| ("P2", format!("the first message {} is not pending", queued.first)))?;
        self.run = Some(Run {
            id,
            kind: RunKind::Task,
            first: Some(queued.first),
            task_id: queued.task_id.clone(),
            begun: false,
            since: at,
            hops,
            requesters: Vec::new(),
            turns: 0,
        });
        Ok(())
    }

    pub(super) fn claim(
        &mut self,
        seq: Seq,
        stamp: Stamp,
        claimed: &Claimed,
    ) -> Result<(), Broken> {
        let run = self.run.as_ref().map(|run| run.id.seq());
        must(run == claimed.run, "P6", || format!("the open run is {run:?}"))?;
        must(!claimed.picks.is_empty(), "P3", || "an injection of nothing".into())?;
        match claimed.turn {
            None => {
                must(self.turn.is_none(), "P3", || "a turn is under way".into())?;
                must(self.open.is_empty(), "P3", || "an injection is open".into())?;
            }
            Some(turn) => {
                must(self.turn == Some(turn), "P9", || format!("turn {turn} is not under way"))?;
                let lets_in = matches!(claimed.trigger, Trigger::Wait | Trigger::SafePoint);
                must(lets_in, "P7", || "a turn was disturbed".into())?;
            }
        }
        let turn = claimed.turn.unwrap_or(seq);
        let mail: Vec<OfferedMail> = claimed
            .picks
            .iter()
            .map(|pick| {
                let mail = Mail { moved: None, ..self.take(pick.seq)? };
                Ok(OfferedMail { mail, cut: pick.cut })
            })
            .collect::<Result<_, _>>()?;
        let most = |charges: Charges, offered: &OfferedMail| Charges {
            attempts: charges.attempts.max(offered.mail.charges.attempts),
            deaths: charges.deaths.max(offered.mail.charges.deaths),
        };
        self.open.push(Open {
            id: InjectionId::new(seq, stamp),
            trigger: claimed.trigger,
            attempt: 1,
            charges: mail.iter().fold(Charges::default(), most),
            turn: Some(turn),
            lost: false,
            names: claimed.names.clone(),
            mail,
        });
        let hops = self.begin(turn, claimed.turn.is_none());
        if claimed.trigger != Trigger::Wait {
            self.claimed_at = stamp.at;
        }
        let task_id = self.handed_over(claimed);
        let mail_run = || Run {
            id: RunId::new(seq, stamp),
            kind: RunKind::Mail,
            first: None,
            task_id: None,
            begun: true,
            since: stamp.at,
            hops,
            requesters: Vec::new(),
            turns: 0,
        };
        let run = self.run.get_or_insert_with(mail_run);
        run.begun = true;
        run.task_id = run.task_id.take().or(task_id);
        run.turns += u32::from(claimed.turn.is_none());
        Ok(())
    }

    /// The task that the mail of an injection hands over.
    fn handed_over(&self, claimed: &Claimed) -> Option<String> {
        let is_picked =
            |handed: &&HandedOver| claimed.picks.iter().any(|pick| pick.seq == handed.seq);
        self.handoffs.iter().find(is_picked).map(|handed| handed.task_id.clone())
    }

    /// Notes the turn under way, and says how often the most travelled of its mail was passed on.
    fn begin(&mut self, turn: Seq, anew: bool) -> u8 {
        if anew {
            (self.turn, self.hops) = (Some(turn), 0);
            self.accepted.clear();
        }
        let held = self.open.iter().filter(|open| open.turn == Some(turn));
        let hops = held.flat_map(|open| &open.mail).map(|offered| offered.mail.hops).max();
        self.hops = self.hops.max(hops.unwrap_or(0));
        self.hops
    }

    pub(super) fn offer(&mut self, seq: Seq, offered: &Offered) -> Result<(), Broken> {
        must(self.turn == offered.turn, "P3", || format!("turn {:?} is under way", self.turn))?;
        let turn = offered.turn.unwrap_or(seq);
        let open = self
            .open
            .iter_mut()
            .find(|open| open.id.seq() == offered.injection)
            .ok_or_else(|| ("P4", format!("injection {} is not open", offered.injection)))?;
        let next = open.attempt + 1;
        must(offered.attempt == next, "P4", || format!("attempt {next} was expected"))?;
        must(open.turn.is_none(), "P4", || "a turn holds the injection".into())?;
        (open.attempt, open.turn) = (next, Some(turn));
        self.begin(turn, offered.turn.is_none());
        if let Some(run) = self.run.as_mut().filter(|_| offered.turn.is_none()) {
            run.turns += 1;
        }
        Ok(())
    }

    pub(super) fn end_turn(&mut self, ended: &TurnEnded, at: Timestamp) -> Result<(), Broken> {
        let turn = ended.turn;
        must(self.turn == Some(turn), "P9", || format!("turn {turn} is not under way"))?;
        // An answer is progress: the next silence is a new one.
        (self.turn, self.stalled) = (None, None);
        let held = |open: &Open| open.turn == Some(turn);
        let (settled, open): (Vec<Open>, Vec<Open>) =
            std::mem::take(&mut self.open).into_iter().partition(held);
        self.open = open;
        self.continuations = self.continued(settled.iter(), ended.changed);
        let mail = settled.iter().flat_map(|open| &open.mail);
        mail.for_each(|offered| self.read(&offered.mail, at));
        Ok(())
    }

    /// A message was handed over for good: it does not count any more, and may be due.
    fn read(&mut self, mail: &Mail, at: Timestamp) {
        self.uncount(mail);
        let kind = mail.item.kind;
        if kind.is_due() && !mail.acknowledged {
            self.unacknowledged.push(Unacknowledged { seq: mail.seq(), kind, since: at });
        }
        let requester = match mail.sender {
            Sender::Actor(actor) if kind == Kind::Request => actor,
            _ => return,
        };
        if let Some(run) = self.run.as_mut().filter(|run| !run.requesters.contains(&requester)) {
            run.requesters.push(requester);
        }
    }

    fn uncount(&mut self, mail: &Mail) {
        self.bytes = self.bytes.saturating_sub(u64::from(mail.bytes));
        self.unread_count = self.unread_count.saturating_sub(1);
        if mail.item.kind == Kind::Handoff {
            self.handoffs.retain(|handed| handed.seq != mail.seq());
        }
    }

    pub(super) fn fail_turn(&mut self, failed: &TurnFailed) -> Result<(), Broken> {
        let turn = failed.turn;
        must(self.turn == Some(turn), "P9", || format!("turn {turn} is not under way"))?;
        let lost = matches!(failed.failure, TurnFailure::Lost { .. });
        self.turn = None;
        self.again_at = failed.again_at;
        if !lost {
            self.stalled = None;
        }
        for open in self.open.iter_mut().filter(|open| open.turn == Some(turn)) {
            (open.turn, open.lost) = (None, lost);
            if failed.failure == TurnFailure::Interrupted {
                let from = Some(open.id.seq());
                open.mail.iter_mut().for_each(|offered| offered.mail.moved = from);
            }
            let of = |(injection, _): &&(Seq, Charges)| {
                *injection == open.id.seq() || *injection == Seq::ZERO
            };
            if let Some((_, charges)) = failed.charged.iter().find(of) {
                open.charges = *charges;
            }
        }
        Ok(())
    }

    /// A part of an open injection takes a place of its own before what is left of it.
    pub(super) fn split(&mut self, seq: Seq, stamp: Stamp, split: &Split) -> Result<(), Broken> {
        let index = self.open.iter().position(|open| open.id.seq() == split.injection);
        let index =
            index.ok_or_else(|| ("P4", format!("injection {} is not open", split.injection)))?;
        let Some(whole) = self.open.get_mut(index) else {
            return Ok(());
        };
        must(whole.turn.is_none(), "P7", || "a turn holds the injection".into())?;
        let is_part = |offered: &OfferedMail| split.messages.contains(&offered.mail.seq());
        let (part, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut whole.mail).into_iter().partition(is_part);
        must(!part.is_empty() && part.len() == split.messages.len(), "P2", || {
            "a part holds what the whole does not".into()
        })?;
        whole.mail = rest;
        let part = Open {
            id: InjectionId::new(seq, stamp),
            trigger: whole.trigger,
            attempt: 0,
            charges: split.charges,
            turn: None,
            lost: whole.lost,
            names: vec![split.injection],
            mail: part,
        };
        if whole.mail.is_empty() {
            self.open.remove(index);
        }
        self.open.insert(index, part);
        Ok(())
    }

    /// An open injection is settled though its turn did not end with an answer.
    pub(super) fn taken(&mut self, taken: &Taken, at: Timestamp) -> Result<(), Broken> {
        let index = self.open.iter().position(|open| open.id.seq() == taken.injection);
        let open = index.map(|index| self.open.remove(index));
        let open =
            open.ok_or_else(|| ("P4", format!("injection {} is not open", taken.injection)))?;
        open.mail.iter().for_each(|offered| self.read(&offered.mail, at));
        if self.turn.is_some() && self.turn == open.turn {
            self.accepted.push(open.id);
            self.continuations = self.continued(std::iter::once(&open), false);
        }
        Ok(())
    }

    /// A receiver marked a message. One that was pending is settled by that; the record says whether
    /// it was, so that receipts need no state. One that is read later is not due then.
    pub(super) fn mark(&mut self, marked: &Marked) -> Result<(), Broken> {
        if marked.settles {
            self.take(marked.message).map(|mail| self.uncount(&mail))?;
        }
        self.unacknowledged.retain(|due| due.seq != marked.message);
        let offered = self.open.iter_mut().flat_map(|open| &mut open.mail);
        let unread = self.pending.iter_mut().chain(offered.map(|offered| &mut offered.mail));
        for mail in unread.filter(|mail| mail.seq() == marked.message) {
            mail.acknowledged = true;
        }
        Ok(())
    }

    /// A dead message is removed.
    pub(super) fn drop_dead(&mut self, message: Seq) -> Result<(), Broken> {
        let index = self.dead.iter().position(|dead| dead.seq == message);
        let index = index.ok_or_else(|| ("P2", format!("message {message} is not dead")))?;
        self.dead.remove(index);
        Ok(())
    }

    pub(super) fn settle(&mut self, messages: &[Seq]) -> Result<(), Broken> {
        messages.iter().try_for_each(|&seq| self.remove(seq).map(drop))
    }

    pub(super) fn bury(&mut self, messages: &[Seq], why: Seq, at: Timestamp) -> Result<(), Broken> {
        messages.iter().try_for_each(|&seq| {
            let Mail { id, tells, .. } = self.remove(seq)?;
            self.dead.push(DeadMail { seq, id, why, at, tells });
            Ok(())
        })
    }

    pub(super) fn release(&mut self, messages: &[Seq]) -> Result<(), Broken> {
        messages.iter().try_for_each(|&seq| {
            let mail = self.take_offered(seq)?;
            let place = self.pending.partition_point(|other| other.seq() < seq);
            self.pending.insert(place, mail);
            Ok(())
        })
    }

    pub(super) fn end_run(
        &mut self,
        seq: Seq,
        at: Timestamp,
        ended: &RunEnded,
    ) -> Result<(), Broken> {
        let run = self.run.take().map(|run| run.id);
        let run = run.filter(|run| run.seq() == ended.run);
        let run = run.ok_or_else(|| ("P6", format!("run {} is not open", ended.run)))?;
        let state = match &ended.outcome {
            Outcome::Completed { status, .. } => NoticeState::Completed(status.clone()),
            Outcome::Failed { class, .. } => NoticeState::Failed(*class),
            Outcome::Cancelled { .. } => NoticeState::Cancelled,
            Outcome::Interrupted { .. } => NoticeState::Interrupted,
        };
        must(self.open.is_empty(), "P2", || "the run ends and holds mail".into())?;
        self.ended = Some(Ended { id: run, outcome: seq, state });
        (self.turn, self.stalled) = (None, None);
        if ended.raises_floor {
            (self.floor, self.floor_at) = (seq, at);
        }
        Ok(())
    }

    pub(super) fn stall(&mut self, run: Seq, stalled: bool) -> Result<(), Broken> {
        let open = self.run.as_ref().map(|run| run.id.seq());
        must(open == Some(run), "P6", || format!("run {run} is not open"))?;
        must(self.stalled.is_some() != stalled, "L1", || "an episode is told once".into())?;
        self.stalled = stalled.then_some(run);
        Ok(())
    }

    /// Takes a pending message out.
    fn take(&mut self, seq: Seq) -> Result<Mail, Broken> {
        self.pending
            .binary_search_by_key(&seq, Mail::seq)
            .ok()
            .and_then(|index| self.pending.remove(index))
            .ok_or_else(|| ("P2", format!("message {seq} is not pending")))
    }

    /// Takes a message out of its open injection, which is closed when nothing is left in it (P4).
    fn take_offered(&mut self, seq: Seq) -> Result<Mail, Broken> {
        for (index, open) in self.open.iter_mut().enumerate() {
            let place = open.mail.iter().position(|offered| offered.mail.seq() == seq);
            if let Some(place) = place {
                let mut mail = open.mail.remove(place).mail;
                mail.charges = open.charges;
                if open.mail.is_empty() {
                    self.open.remove(index);
                }
                return Ok(mail);
            }
        }
        Err(("P2", format!("message {seq} is not offered")))
    }

    /// Takes an unread message out, wherever it is.
    fn remove(&mut self, seq: Seq) -> Result<Mail, Broken> {
        let mail = self.take_offered(seq).or_else(|_| self.take(seq))?;
        self.uncount(&mail);
        Ok(mail)
    }
}
