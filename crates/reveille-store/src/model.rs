//! The model of wakes: how many injections the log itself calls for (P3).
//!
//! An independent replay, written from the contract and not from the store's own rules: it keeps
//! mailboxes as plain lists and asks at each claim whether the window was closed, whether anything
//! else was open, and at the end whether a claim is missing. Injections that windows made and that
//! the model calls for too are counted; an early claim, a second one without a turn's end between, and
//! a missing one are differences. Groups, the cap on continuations, and gaps between injections are
//! not modelled; workloads that it is compared with use none of them.

use std::collections::{BTreeMap, HashMap};

use reveille_core::window::{Waiting, WindowSettings, closes_at};
use reveille_core::{Delivery, Seq, Timestamp, Trigger};

use crate::record::{Claimed, Number, Record, Sender, Sent};

/// What the model found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Modelled {
    /// Injections that windows and tasks made.
    pub injections: u64,
    /// Injections that the model calls for.
    pub expected: u64,
    /// Where the two differ: the record, and how.
    pub differences: Vec<(Seq, String)>,
    /// How late each injection of a window was beyond its closing time, in milliseconds.
    pub lateness_ms: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Mail {
    at: Timestamp,
    expires_at: Option<Timestamp>,
    urgent: bool,
    human: bool,
    passive: bool,
    merge: (u64, Sender),
}

#[derive(Debug, Default)]
struct Mailbox {
    pending: BTreeMap<Seq, Mail>,
    offered: HashMap<Seq, Vec<(Seq, Mail)>>,
    turn: Option<Seq>,
    holds: u32,
    stopped: bool,
    floor: Seq,
}

impl Mailbox {
    fn waiting(&self, now: Timestamp) -> Option<Waiting> {
        let worthy = |(seq, mail): &(&Seq, &Mail)| {
            mail.at <= now
                && mail.expires_at.is_none_or(|at| at > now)
                && !mail.passive
                && **seq > self.floor
        };
        let mail = self.pending.iter().filter(worthy).map(|(_, mail)| mail);
        let one = |mail: &Mail| Waiting {
            first: mail.at,
            last: mail.at,
            urgent: mail.urgent,
            human: mail.human,
        };
        mail.map(one).reduce(Waiting::and)
    }

    fn is_free(&self) -> bool {
        self.turn.is_none() && self.offered.is_empty()
    }
}

/// The model while it replays.
#[derive(Debug)]
pub struct Model {
    windows: WindowSettings,
    mailboxes: HashMap<Number, Mailbox>,
    found: Modelled,
    now: Timestamp,
}

impl Model {
    /// A model with these settings, at the beginning of a log.
    #[must_use]
    pub fn new(windows: WindowSettings) -> Self {
        let (mailboxes, found) = (HashMap::new(), Modelled::default());
        Self { windows, mailboxes, found, now: Timestamp::default() }
    }

    /// Takes the next record of the log.
    pub fn take(&mut self, seq: Seq, at: Timestamp, record: &Record) {
        self.now = at;
        match record {
            Record::Sent(sent) => self.sent(seq, at, sent),
            Record::Claimed(claimed) => self.claimed(seq, at, claimed),
            Record::Offered(offered) => {
                let mailbox = self.mailboxes.entry(offered.actor).or_default();
                mailbox.turn = Some(offered.turn.unwrap_or(seq));
            }
            Record::TurnEnded(ended) => {
                let mailbox = self.mailboxes.entry(ended.actor).or_default();
                mailbox.turn = None;
                for batch in &ended.settled {
                    mailbox.offered.remove(&batch.injection);
                }
            }
            Record::TurnFailed(failed) => {
                self.mailboxes.entry(failed.actor).or_default().turn = None;
            }
            Record::RunEnded(ended) => {
                let mailbox = self.mailboxes.entry(ended.actor).or_default();
                mailbox.turn = None;
                if ended.raises_floor {
                    mailbox.floor = seq;
                }
            }
            Record::Settled(settled) => self.gone(settled.actor, &settled.messages),
            Record::Dead(dead) => self.gone(dead.actor, &dead.messages),
            Record::Marked(marked) if marked.settles => self.gone(marked.actor, &[marked.message]),
            Record::Taken(taken) => self.gone(taken.actor, &taken.messages),
            Record::Released(released) => self.released(released.actor, &released.messages),
            Record::Split(split) => self.split(seq, split.actor, split.injection, &split.messages),
            Record::Held(held) => self.mailboxes.entry(held.actor).or_default().holds += 1,
            Record::Unheld(unheld) => self.mailboxes.entry(unheld.actor).or_default().holds -= 1,
            Record::Stopped(stopped) => {
                self.mailboxes.entry(stopped.actor).or_default().stopped = true;
            }
            Record::Resumed(resumed) => {
                self.mailboxes.entry(resumed.actor).or_default().stopped = false;
            }
            Record::Opened(_) => self.mailboxes.values_mut().for_each(|one| one.turn = None),
            _ => {}
        }
    }

    fn sent(&mut self, seq: Seq, at: Timestamp, sent: &Sent) {
        let mail = Mail {
            at: sent.not_before.map_or(at, |due| due.max(at)),
            expires_at: sent.expires_at,
            urgent: sent.urgent,
            human: sent.from.is_human(),
            passive: sent.delivery == Delivery::Passive,
            merge: (sent.merge, sent.sender),
        };
        for to in &sent.to {
            let pending = &mut self.mailboxes.entry(*to).or_default().pending;
            let merged =
                pending.values().filter(|old| sent.since.is_some() && old.merge == mail.merge);
            let at = merged.map(|old| old.at).min().unwrap_or(mail.at);
            pending.insert(seq, Mail { at, ..mail });
        }
    }

    fn claimed(&mut self, seq: Seq, at: Timestamp, claimed: &Claimed) {
        let windows = self.windows;
        let mailbox = self.mailboxes.entry(claimed.actor).or_default();
        let mut wrong = None;
        if claimed.turn.is_none() {
            self.found.injections += 1;
            let closes = mailbox.waiting(at).map(|mail| closes_at(&mail, windows));
            wrong = match (claimed.trigger, closes) {
                _ if !mailbox.is_free() => Some("a second injection without a turn's end between"),
                _ if mailbox.holds > 0 || mailbox.stopped => Some("the actor is held or stopped"),
                (Trigger::Window, None) => Some("nothing that may wake waits"),
                (Trigger::Window, Some(closes)) if closes > at => Some("the window was open"),
                (Trigger::Window, Some(closes)) => {
                    let late = at.since(closes).as_millis();
                    self.found.lateness_ms.push(u64::try_from(late).unwrap_or(u64::MAX));
                    None
                }
                _ => None,
            };
            self.found.expected += u64::from(wrong.is_none());
        }
        mailbox.turn = Some(claimed.turn.unwrap_or(seq));
        let mut taken = Vec::with_capacity(claimed.picks.len());
        for pick in &claimed.picks {
            match mailbox.pending.remove(&pick.seq) {
                Some(mail) => taken.push((pick.seq, mail)),
                None => wrong = Some("it holds a message that does not wait"),
            }
        }
        mailbox.offered.insert(seq, taken);
        if let Some(wrong) = wrong {
            self.found.differences.push((seq, wrong.to_owned()));
        }
    }

    fn gone(&mut self, actor: Number, messages: &[Seq]) {
        let mailbox = self.mailboxes.entry(actor).or_default();
        mailbox.pending.retain(|seq, _| !messages.contains(seq));
        mailbox
            .offered
            .values_mut()
            .for_each(|mail| mail.retain(|(seq, _)| !messages.contains(seq)));
        mailbox.offered.retain(|_, mail| !mail.is_empty());
    }

    fn released(&mut self, actor: Number, messages: &[Seq]) {
        let mailbox = self.mailboxes.entry(actor).or_default();
        let offered = mailbox.offered.values().flatten().copied();
        let back: Vec<(Seq, Mail)> = offered.filter(|(seq, _)| messages.contains(seq)).collect();
        mailbox
            .offered
            .values_mut()
            .for_each(|mail| mail.retain(|(seq, _)| !messages.contains(seq)));
        mailbox.offered.retain(|_, mail| !mail.is_empty());
        mailbox.pending.extend(back);
    }

    fn split(&mut self, seq: Seq, actor: Number, injection: Seq, messages: &[Seq]) {
        let mailbox = self.mailboxes.entry(actor).or_default();
        let whole = mailbox.offered.remove(&injection).unwrap_or_default();
        let (part, rest): (Vec<_>, Vec<_>) =
            whole.into_iter().partition(|(seq, _)| messages.contains(seq));
        mailbox.offered.insert(seq, part);
        if !rest.is_empty() {
            mailbox.offered.insert(injection, rest);
        }
    }

    /// What the log called for up to a moment: mail whose window has been closed since before then
    /// and that nothing was injected for is a missing injection.
    #[must_use]
    pub fn finish(mut self, at: Timestamp) -> Modelled {
        let end = Seq(u64::MAX);
        for (actor, mailbox) in &self.mailboxes {
            let waiting = mailbox.waiting(at).filter(|_| mailbox.is_free());
            let waiting = waiting.filter(|_| mailbox.holds == 0 && !mailbox.stopped);
            if waiting.is_some_and(|mail| closes_at(&mail, self.windows) < at) {
                self.found.expected += 1;
                self.found.differences.push((end, format!("actor {actor} waits for an injection")));
            }
        }
        self.found
    }
}
