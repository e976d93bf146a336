//! The state of a store: what applying its records in order gives.
//!
//! Rows, one per actor, hold everything that is promised; the rest is derived from them and never
//! written. `apply` is the only way in, for the writer and for replay alike (decision 5 of the
//! architecture), and refuses a record that the state does not allow, naming the promise: so a log
//! that was tampered with is found by replaying it.
//!
//! A row that comes from a checkpoint says up to which record it is complete (`as_of`); replay
//! passes over those, row by row, so that no change is made twice.

mod counters;
mod fates;
mod moves;
mod people;
pub mod row;
mod views;

use std::collections::{BTreeSet, HashMap, HashSet};

use reveille_core::id::Stamp;
use reveille_core::{ActorName, Address, AgentName, MessageId, RunId, Seq, SessionId, Timestamp};

pub use self::fates::{End, Fate, Marks};

use self::counters::Counters;
use self::fates::Fates;
use self::row::{Mail, Row};
use crate::record::{Answer, Answered, CallKey, Created, Number, Record, RunEnded, Tells};

/// A record that the state does not allow, or a state that promises do not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{promise} is violated by record {record}: {what}")]
pub struct Violation {
    /// The promise of the contract.
    pub promise: &'static str,
    /// The number of the record.
    pub record: Seq,
    /// What is wrong.
    pub what: String,
}

/// A promise and what violates it, before the record is known.
pub(crate) type Broken = (&'static str, String);

/// A wait inside a turn that has not returned: memory only, it ends with the turn at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Tells the waits of a turn apart.
    pub(crate) id: u64,
    pub(crate) turn: Seq,
    pub(crate) target: Number,
    pub(crate) run: Seq,
}

/// The state of a store.
#[derive(Debug, Default)]
pub struct State {
    next: Seq,
    incarnation: u64,
    at: Timestamp,
    rows: Vec<Row>,
    addresses: HashMap<Address, Number>,
    keys: HashMap<(Number, String), Number>,
    names: HashMap<(SessionId, AgentName), u32>,
    pub(crate) counters: Counters,
    pub(crate) waits: HashMap<Number, Vec<Wait>>,
    /// When this incarnation began, if the log still says so.
    opened_at: Timestamp,
    /// The calls that may be repeated, and the message that they answered.
    calls: HashMap<(u64, u64), (u64, MessageId)>,
    fates: Fates,
    /// How many free bytes the disk has, and how many sends leave alone, when that is too few.
    pub(crate) low_disk: Option<(u64, u64)>,
    /// The rows in which something may fall due by itself.
    watched: BTreeSet<Number>,
    /// The teams that an actor is a member of: their leads.
    leads: HashMap<Number, Vec<Number>>,
    /// The rows that differ from their checkpoint.
    pub(crate) dirty: HashSet<Number>,
    /// Whether the derived parts are kept up to date; not during replay.
    derived: bool,
}

impl State {
    /// An empty state, or one that begins with checkpointed rows. Records from `next` on are
    /// applied to it; then [`State::derive`] completes it.
    pub(crate) fn new(rows: Vec<Row>, next: Seq, incarnation: u64, at: Timestamp) -> Self {
        Self { next, incarnation, at, rows, ..Self::default() }
    }

    /// The number of the next record.
    #[must_use]
    pub const fn next(&self) -> Seq {
        self.next
    }

    /// Counts the starts of this store.
    #[must_use]
    pub const fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// When the latest record was committed.
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// An actor's row.
    #[must_use]
    pub fn row(&self, actor: Number) -> Option<&Row> {
        self.rows.get(actor as usize)
    }

    /// All rows, by number.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The number of the actor with this address.
    #[must_use]
    pub fn find(&self, address: &Address) -> Option<Number> {
        self.addresses.get(address).copied()
    }

    /// Whether a notice of this outcome of an actor is unread or dead somewhere: with its parent, or
    /// with somebody who had sent it a request.
    pub(crate) fn is_told_of(&self, actor: Number, outcome: Seq) -> bool {
        let of = |tells: Option<Tells>| tells.is_some_and(|tells| tells.outcome == Some(outcome));
        let keeps = |row: &Row| {
            row.unread().any(|mail| of(mail.tells)) || row.dead.iter().any(|dead| of(dead.tells))
        };
        let parent = self.row(actor).and_then(|row| row.parent).and_then(|parent| self.row(parent));
        // Others than the parent may be told as well: whoever has unread or dead mail is watched.
        parent.is_some_and(keeps) || self.watched().any(|(_, row)| keeps(row))
    }

    /// Whom an actor's turn waits for.
    pub(crate) fn waits_of(&self, actor: Number) -> Vec<Number> {
        let turn = self.row(actor).and_then(|row| row.turn);
        let waits = self.waits.get(&actor).map_or(&[][..], Vec::as_slice);
        waits.iter().filter(|wait| Some(wait.turn) == turn).map(|wait| wait.target).collect()
    }

    /// Open runs among an actor's workers.
    #[must_use]
    pub fn open_workers(&self, actor: Number) -> u32 {
        self.counters.open_children(actor)
    }

    /// When the store was opened, the latest time; the beginning of time when that has left the log.
    #[must_use]
    pub const fn opened_at(&self) -> Timestamp {
        self.opened_at
    }

    /// The actors in whose rows something may fall due without a call: mail, open injections, runs,
    /// schedules, questions.
    pub fn watched(&self) -> impl Iterator<Item = (Number, &Row)> {
        self.watched.iter().filter_map(|&number| self.row(number).map(|row| (number, row)))
    }

    /// What became of a message in a mailbox, if it waits no more and the log still tells.
    #[must_use]
    pub fn fate(&self, message: Seq, actor: Number) -> Option<Fate> {
        self.fates.of(message, actor)
    }

    /// When its receiver marked a message, if the log still tells.
    #[must_use]
    pub fn marks(&self, message: Seq, actor: Number) -> Marks {
        self.fates.marks(message, actor)
    }

    /// How a question was answered, if the log still tells.
    #[must_use]
    pub fn answer_to(&self, question: Seq) -> Option<Answer> {
        self.fates.answer(question).cloned()
    }

    /// What a call under this key answered, if it was this very call.
    pub(crate) fn called(&self, key: CallKey) -> Option<Result<MessageId, MessageId>> {
        let (call, first) = *self.calls.get(&key.key)?;
        Some(if call == key.call { Ok(first) } else { Err(first) })
    }

    /// How many calls are remembered.
    pub(crate) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Enters a call that left the log and is still remembered.
    pub(crate) fn remember_call(&mut self, key: CallKey, first: MessageId) {
        self.calls.insert(key.key, (key.call, first));
    }

    /// Forgets calls up to this record.
    pub(crate) fn forget_calls(&mut self, until: Seq) {
        self.calls.retain(|_, (_, first)| first.seq() > until);
    }

    /// Forgets what became of messages according to records before this one.
    pub(crate) fn forget(&mut self, edge: Seq) {
        self.fates.forget(edge);
    }

    /// The leads of the teams that an actor is a member of, itself aside.
    pub(crate) fn leads(&self, member: Number) -> &[Number] {
        self.leads.get(&member).map_or(&[], Vec::as_slice)
    }

    /// Whether `above` is an ancestor of `actor`.
    pub(crate) fn is_below(&self, actor: Number, above: Number) -> bool {
        let mut row = self.row(actor);
        while let Some(parent) = row.and_then(|row| row.parent) {
            if parent == above {
                return true;
            }
            row = self.row(parent);
        }
        false
    }

    /// The worker that this parent spawned under this key.
    pub(crate) fn keyed(&self, parent: Number, key: &str) -> Option<Number> {
        self.keys.get(&(parent, key.to_owned())).copied()
    }

    /// The number that the next actor will have.
    pub(crate) fn next_number(&self) -> Number {
        Number::try_from(self.rows.len()).unwrap_or(Number::MAX)
    }

    /// The name of the next subagent of this session that runs this agent.
    /// `ahead` says how many of them are being made in the same step.
    pub(crate) fn next_name(
        &self,
        session: SessionId,
        agent: &AgentName,
        ahead: &[ActorName],
    ) -> ActorName {
        let mut n = self.names.get(&(session, agent.clone())).copied().unwrap_or(0) + 1;
        loop {
            // Another agent may be called `<agent>-<n>`; the name then belongs to its actor.
            let name = ActorName::numbered(agent, n);
            let taken = self.addresses.contains_key(&Address::new(session, name.clone()));
            if !taken && !ahead.contains(&name) {
                return name;
            }
            n += 1;
        }
    }

    /// The actor without a parent at the top of this one's tree, and how deep this one is.
    pub(crate) fn root(&self, actor: Number) -> (Number, u32) {
        let (mut root, mut depth) = (actor, 0);
        while let Some(parent) = self.row(root).and_then(|row| row.parent) {
            (root, depth) = (parent, depth + 1);
        }
        (root, depth)
    }

    /// The workers of an actor whose runs have begun and should have ended with its latest run: all
    /// that are open and older than its outcome (S6, parent-close policy `cancel`).
    #[must_use]
    pub fn orphans(&self, actor: Number) -> Vec<(Address, RunId)> {
        let ended = self.row(actor).and_then(|row| row.ended.as_ref()).map(|ended| ended.outcome);
        let Some(ended) = ended.filter(|_| self.counters.open_children(actor) > 0) else {
            return Vec::new();
        };
        let orphan = |row: &Row| {
            let run = row.run.as_ref().filter(|run| run.begun && run.id.seq() < ended)?;
            (row.parent == Some(actor)).then(|| (row.address.clone(), run.id))
        };
        self.rows.iter().filter_map(orphan).collect()
    }

    /// Applies a record.
    pub(crate) fn apply(
        &mut self,
        seq: Seq,
        stamp: Stamp,
        record: &Record,
    ) -> Result<(), Violation> {
        let violated = |(promise, what): Broken| Violation { promise, record: seq, what };
        if seq != self.next {
            return Err(violated(("P8", format!("record {} was expected", self.next))));
        }
        if stamp.at < self.at {
            return Err(violated(("P8", "its time is before that of the record before".into())));
        }
        self.change(seq, stamp, record).map_err(violated)?;
        self.note(seq, stamp, record);
        self.next = seq.next();
        self.at = stamp.at;
        Ok(())
    }

    /// Notes what is derived from the log itself and not from rows: for records that are applied,
    /// and for those that were before the checkpoint.
    pub(crate) fn note(&mut self, seq: Seq, stamp: Stamp, record: &Record) {
        match record {
            Record::Opened(_) => self.opened_at = stamp.at,
            Record::Sent(sent) => {
                if let Some(key) = sent.key {
                    self.remember_call(key, MessageId::new(seq, stamp));
                }
            }
            other => self.fates.note(seq, stamp.at, other),
        }
    }

    fn change(&mut self, seq: Seq, stamp: Stamp, record: &Record) -> Result<(), Broken> {
        match record {
            Record::Opened(opened) if opened.incarnation <= self.incarnation => {
                Err(("P9", format!("incarnation {} was there already", opened.incarnation)))
            }
            Record::Opened(opened) => {
                self.incarnation = opened.incarnation;
                self.waits.clear();
                Ok(())
            }
            Record::Created(created) => self.create(seq, stamp, created),
            Record::Sent(sent) => {
                let mail = Mail::new(MessageId::new(seq, stamp), stamp.at, sent);
                sent.to.iter().try_for_each(|&to| self.on(to, seq, |row| row.receive(mail, sent)))
            }
            Record::Queued(queued) => {
                let run = RunId::new(seq, stamp);
                self.on(queued.actor, seq, |row| row.queue(run, queued, stamp.at))
            }
            Record::Claimed(claimed) => {
                self.on(claimed.actor, seq, |row| row.claim(seq, stamp, claimed))
            }
            Record::Offered(offered) => self.on(offered.actor, seq, |row| row.offer(seq, offered)),
            Record::TurnEnded(ended) => {
                self.on(ended.actor, seq, |row| row.end_turn(ended, stamp.at))
            }
            Record::TurnFailed(failed) => self.on(failed.actor, seq, |row| row.fail_turn(failed)),
            Record::Settled(settled) => {
                self.on(settled.actor, seq, |row| row.settle(&settled.messages))
            }
            Record::Released(released) => {
                self.on(released.actor, seq, |row| row.release(&released.messages))
            }
            Record::Dead(dead) => {
                self.on(dead.actor, seq, |row| row.bury(&dead.messages, seq, stamp.at))
            }
            Record::RunEnded(ended) => self.end_run(seq, stamp, ended),
            Record::Stalled(stalled) => {
                self.on(stalled.actor, seq, |row| row.stall(stalled.run, true))
            }
            Record::Rearmed(rearmed) => {
                self.on(rearmed.actor, seq, |row| row.stall(rearmed.run, false))
            }
            Record::Split(split) => self.on(split.actor, seq, |row| row.split(seq, stamp, split)),
            Record::Taken(taken) => self.on(taken.actor, seq, |row| row.taken(taken, stamp.at)),
            Record::Marked(marked) => self.on(marked.actor, seq, |row| row.mark(marked)),
            Record::Dropped(dropped) => {
                self.on(dropped.actor, seq, |row| row.drop_dead(dropped.message))
            }
            _ => self.change_people(seq, stamp, record),
        }
    }

    /// The same for what people, teams, groups, schedules and harnesses do.
    fn change_people(&mut self, seq: Seq, stamp: Stamp, record: &Record) -> Result<(), Broken> {
        match record {
            Record::Held(held) => self.on(held.actor, seq, |row| {
                row.hold(seq, stamp.at, held);
                Ok(())
            }),
            Record::Unheld(unheld) => self.on(unheld.actor, seq, |row| row.unhold(unheld.hold)),
            Record::Stopped(stopped) => self.on(stopped.actor, seq, |row| row.stop(stopped)),
            Record::Resumed(resumed) => self.on(resumed.actor, seq, Row::resume),
            Record::Asked(asked) => self.on(asked.actor, seq, |row| row.ask(seq, stamp, asked)),
            Record::Answered(answered) => self.answer(seq, answered),
            Record::Grouped(grouped) => self.on(grouped.actor, seq, |row| {
                row.group(seq, grouped);
                Ok(())
            }),
            Record::TeamCreated(created) => self.on(created.lead, seq, |row| {
                row.make_team(seq, stamp, created);
                Ok(())
            }),
            Record::MemberJoined(joined) => {
                self.on(joined.lead, seq, |row| row.join(joined, stamp.at))?;
                let leads = self.leads.entry(joined.member).or_default();
                if !leads.contains(&joined.lead) {
                    leads.push(joined.lead);
                }
                Ok(())
            }
            Record::MemberLeft(left) => {
                self.on(left.lead, seq, |row| row.leave(left.team, left.member))?;
                self.derive_leads(left.member, left.lead);
                Ok(())
            }
            Record::Scheduled(scheduled) => self.on(scheduled.actor, seq, |row| {
                row.schedule(scheduled);
                Ok(())
            }),
            Record::Ticked(ticked) => self.on(ticked.actor, seq, |row| row.tick(ticked, stamp.at)),
            // All others are changes of mail, turns and runs.
            _ => Ok(()),
        }
    }

    /// A run's end also counts for the group that it was started in (W8).
    fn end_run(&mut self, seq: Seq, stamp: Stamp, ended: &RunEnded) -> Result<(), Broken> {
        self.on(ended.actor, seq, |row| row.end_run(seq, stamp.at, ended))?;
        let parent = self.row(ended.actor).and_then(|row| row.parent);
        let grouped = |parent: &Number| self.row(*parent).is_some_and(|row| !row.groups.is_empty());
        parent.filter(grouped).map_or(Ok(()), |parent| {
            let well = ended.outcome.is_good();
            self.on(parent, seq, |row| {
                row.member_ended(ended.actor, ended.run, well);
                Ok(())
            })
        })
    }

    fn answer(&mut self, seq: Seq, answered: &Answered) -> Result<(), Broken> {
        let of = |question: &&row::OpenQuestion| question.id.seq() == answered.question;
        let open = self.row(answered.actor).and_then(|row| row.questions.iter().find(of));
        let tool = open.and_then(|question| question.tool.clone());
        self.on(answered.actor, seq, |row| row.answer(answered))?;
        match tool.filter(|_| answered.answer == Answer::ApproveAlways) {
            Some(tool) => {
                let (root, _) = self.root(answered.actor);
                self.on(root, seq, |row| {
                    row.grant(&tool);
                    Ok(())
                })
            }
            None => Ok(()),
        }
    }

    /// Whether `lead` still leads a team with this member.
    fn derive_leads(&mut self, member: Number, lead: Number) {
        let of = |team: &row::Team| team.members.iter().any(|one| one.actor == member);
        let still = self.row(lead).is_some_and(|row| row.teams.iter().any(of));
        if !still && let Some(leads) = self.leads.get_mut(&member) {
            leads.retain(|one| *one != lead);
        }
    }

    /// Changes one row, and what is derived from it.
    fn on(
        &mut self,
        actor: Number,
        seq: Seq,
        change: impl FnOnce(&mut Row) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        let (root, _) = self.root(actor);
        let row = self
            .rows
            .get_mut(actor as usize)
            .ok_or_else(|| ("P2", format!("there is no actor {actor}")))?;
        if seq <= row.as_of {
            return Ok(());
        }
        let (before, watched) = (row.counted(), row.is_watched());
        change(row)?;
        self.dirty.insert(actor);
        if self.derived {
            self.counters.change(row.parent, root, before, row.counted());
            match (watched, row.is_watched()) {
                (false, true) => drop(self.watched.insert(actor)),
                (true, false) => drop(self.watched.remove(&actor)),
                _ => {}
            }
        }
        Ok(())
    }

    fn create(&mut self, seq: Seq, stamp: Stamp, created: &Created) -> Result<(), Broken> {
        let row = Row::new(seq, stamp, created);
        if created.actor != self.next_number() {
            // A row from a checkpoint, met again in the log.
            return match self.row(created.actor) {
                Some(old) if old.as_of >= seq && old.address == row.address => Ok(()),
                _ => Err(("P2", format!("actor {} is not the next one", created.actor))),
            };
        }
        if created.parent.is_some_and(|parent| parent >= created.actor) {
            return Err(("P2", format!("actor {} has a parent that is not there", created.actor)));
        }
        if self.derived {
            self.index(created.actor, &row);
        }
        self.rows.push(row);
        self.dirty.insert(created.actor);
        Ok(())
    }

    /// Enters a row into the indexes that only grow.
    fn index(&mut self, actor: Number, row: &Row) {
        self.addresses.insert(row.address.clone(), actor);
        if let Some((parent, key)) = row.parent.zip(row.key.clone()) {
            self.keys.insert((parent, key), actor);
        }
        if let (Some(agent), Some(parent)) = (&row.agent, row.parent) {
            *self.names.entry((row.address.session(), agent.clone())).or_default() += 1;
            let (root, _) = self.root(parent);
            self.counters.spawned(parent, root, row.created);
        }
    }

    /// Computes everything that is derived, once replay is over.
    pub(crate) fn derive(&mut self) -> Result<(), Violation> {
        self.leads.clear();
        let rows = std::mem::take(&mut self.rows);
        for row in rows {
            let actor = self.next_number();
            self.index(actor, &row);
            let root = row.parent.map_or(actor, |parent| self.root(parent).0);
            self.counters.change(row.parent, root, row::Counted::default(), row.counted());
            if row.is_watched() {
                self.watched.insert(actor);
            }
            for member in row.teams.iter().flat_map(|team| &team.members) {
                let leads = self.leads.entry(member.actor).or_default();
                if member.actor != actor && !leads.contains(&actor) {
                    leads.push(actor);
                }
            }
            self.rows.push(row);
        }
        self.derived = true;
        if self.addresses.len() == self.rows.len() {
            return Ok(());
        }
        let what = "two actors have one address".into();
        Err(Violation { promise: "P2", record: self.next, what })
    }
}
