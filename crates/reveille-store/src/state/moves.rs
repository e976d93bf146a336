//! How a row may change, and which promise a change would break.
//!
//! A message moves between pending, offered, settled and dead, and is in exactly one of them (P2).
//! An injection opens only when none is open, or within a turn by a wait (P3); its attempts count
//! up by one (P4). A turn ends once and is the one under way (P9). A run gets one outcome (P6).

use reveille_core::failure::{Charges, RunKind, TurnFailure};
use reveille_core::id::Stamp;
use reveille_core::{InjectionId, NoticeState, Outcome, RunId, Seq, Timestamp, Trigger};

use super::Broken;
use super::row::{DeadMail, Ended, Mail, OfferedMail, Open, Row, Run};
use crate::record::{Claimed, Offered, Queued, RunEnded, TurnFailed};

/// Refuses when a condition that a promise needs does not hold.
fn must(holds: bool, promise: &'static str, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err((promise, what())) }
}

impl Row {
    pub(super) fn receive(&mut self, mail: Mail) -> Result<(), Broken> {
        let last = self.pending.back().map(Mail::seq);
        must(last < Some(mail.seq()), "P8", || "mail is older than mail before it".into())?;
        self.bytes += u64::from(mail.bytes);
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
        let waits = self.pending.iter().any(|mail| mail.seq() == queued.first);
        must(waits, "P2", || format!("the first message {} is not pending", queued.first))?;
        self.run = Some(Run {
            id,
            kind: RunKind::Task,
            first: Some(queued.first),
            task_id: queued.task_id.clone(),
            begun: false,
            since: at,
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
                must(claimed.trigger == Trigger::Wait, "P7", || "a turn was disturbed".into())?;
            }
        }
        let turn = claimed.turn.unwrap_or(seq);
        let mail = claimed
            .picks
            .iter()
            .map(|pick| self.take(pick.seq).map(|mail| OfferedMail { mail, cut: pick.cut }))
            .collect::<Result<Vec<_>, _>>()?;
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
            mail,
        });
        self.turn = Some(turn);
        let mail_run = || Run {
            id: RunId::new(seq, stamp),
            kind: RunKind::Mail,
            first: None,
            task_id: None,
            begun: true,
            since: stamp.at,
        };
        self.run.get_or_insert_with(mail_run).begun = true;
        Ok(())
    }

    pub(super) fn offer(&mut self, seq: Seq, offered: &Offered) -> Result<(), Broken> {
        must(self.turn.is_none(), "P3", || "a turn is under way".into())?;
        let open = self
            .open
            .iter_mut()
            .find(|open| open.id.seq() == offered.injection)
            .ok_or_else(|| ("P4", format!("injection {} is not open", offered.injection)))?;
        let next = open.attempt + 1;
        must(offered.attempt == next, "P4", || format!("attempt {next} was expected"))?;
        (open.attempt, open.turn) = (next, Some(seq));
        self.turn = Some(seq);
        Ok(())
    }

    pub(super) fn end_turn(&mut self, turn: Seq) -> Result<(), Broken> {
        must(self.turn == Some(turn), "P9", || format!("turn {turn} is not under way"))?;
        // An answer is progress: the next silence is a new one.
        (self.turn, self.stalled) = (None, None);
        let held = |open: &Open| open.turn == Some(turn);
        let settled = self.open.iter().filter(|open| held(open)).flat_map(|open| &open.mail);
        let bytes = settled.map(|offered| u64::from(offered.mail.bytes)).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        self.open.retain(|open| !held(open));
        Ok(())
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
            (open.turn, open.charges, open.lost) = (None, failed.charges, lost);
        }
        Ok(())
    }

    pub(super) fn settle(&mut self, messages: &[Seq]) -> Result<(), Broken> {
        messages.iter().try_for_each(|&seq| self.remove(seq).map(drop))
    }

    pub(super) fn bury(&mut self, messages: &[Seq], why: Seq) -> Result<(), Broken> {
        messages.iter().try_for_each(|&seq| {
            self.remove(seq)?;
            self.dead.push(DeadMail { seq, why });
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

    pub(super) fn end_run(&mut self, seq: Seq, ended: &RunEnded) -> Result<(), Broken> {
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
            self.floor = seq;
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
        self.bytes = self.bytes.saturating_sub(u64::from(mail.bytes));
        Ok(mail)
    }
}
