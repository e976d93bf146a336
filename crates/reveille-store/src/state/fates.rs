//! What became of messages that are not waiting any more, as far as the log still tells.
//!
//! Derived from the log alone: from records before the checkpoint as well as after it, so that
//! receipts, repeated acknowledgements and explanations are the same after a restart. What leaves
//! the log is forgotten (section 13).

use std::collections::HashMap;

use reveille_core::{Seq, Timestamp};

use crate::record::{Answer, Mark, Number, Record, Settlement};

/// How a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was in an injection whose turn answered.
    Injected,
    /// A wait collected it.
    Collected,
    /// Something else settled it.
    Settled(Settlement),
    /// It is dead.
    Dead,
    /// It was dead and was removed.
    Dropped,
}

/// What became of a message in one mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// How it ended.
    pub end: End,
    /// The record that says so.
    pub by: Seq,
    /// The injection that it was in.
    pub injection: Option<Seq>,
}

/// When a receiver marked a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// When it was acknowledged.
    pub acknowledged: Option<Timestamp>,
    /// When it was archived.
    pub archived: Option<Timestamp>,
}

/// The fates of messages, by message and mailbox.
#[derive(Debug, Default)]
pub(crate) struct Fates {
    ends: HashMap<(Seq, Number), Fate>,
    marks: HashMap<(Seq, Number), (Seq, Marks)>,
    /// The answers to questions, and the records that gave them.
    answers: HashMap<Seq, (Seq, Answer)>,
}

impl Fates {
    pub(crate) fn of(&self, message: Seq, actor: Number) -> Option<Fate> {
        self.ends.get(&(message, actor)).copied()
    }

    pub(crate) fn marks(&self, message: Seq, actor: Number) -> Marks {
        self.marks.get(&(message, actor)).map_or_else(Marks::default, |(_, marks)| *marks)
    }

    pub(crate) fn answer(&self, question: Seq) -> Option<&Answer> {
        self.answers.get(&question).map(|(_, answer)| answer)
    }

    /// Notes what a record says about messages.
    pub(super) fn note(&mut self, by: Seq, at: Timestamp, record: &Record) {
        let mut end = |actor, messages: &[Seq], end, injection| {
            let fate = Fate { end, by, injection };
            self.ends.extend(messages.iter().map(|&message| ((message, actor), fate)));
        };
        match record {
            Record::TurnEnded(ended) => {
                for batch in &ended.settled {
                    let how = if batch.collected { End::Collected } else { End::Injected };
                    end(ended.actor, &batch.messages, how, Some(batch.injection));
                }
            }
            Record::Taken(taken) => {
                let how = End::Settled(taken.how);
                end(taken.actor, &taken.messages, how, Some(taken.injection));
            }
            Record::Settled(settled) => {
                end(settled.actor, &settled.messages, End::Settled(settled.how), None);
            }
            Record::Dead(dead) => end(dead.actor, &dead.messages, End::Dead, None),
            Record::Dropped(dropped) => end(dropped.actor, &[dropped.message], End::Dropped, None),
            Record::Marked(marked) => {
                let key = (marked.message, marked.actor);
                if marked.settles {
                    let how = End::Settled(Settlement::Acknowledged);
                    end(marked.actor, &[marked.message], how, None);
                }
                let (latest, marks) = self.marks.entry(key).or_default();
                *latest = by;
                match marked.mark {
                    Mark::Acknowledged => marks.acknowledged = marks.acknowledged.or(Some(at)),
                    Mark::Archived => marks.archived = marks.archived.or(Some(at)),
                }
            }
            Record::Answered(answered) => {
                self.answers.insert(answered.question, (by, answered.answer.clone()));
            }
            _ => {}
        }
    }

    /// Forgets what records before this one said.
    pub(super) fn forget(&mut self, edge: Seq) {
        self.ends.retain(|_, fate| fate.by >= edge);
        self.marks.retain(|_, (latest, _)| *latest >= edge);
        self.answers.retain(|_, (by, _)| *by >= edge);
    }
}
