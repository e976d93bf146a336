//! Events: every transition, in commit order, from any position on (section 14).
//!
//! A position is a record's number. A stream reads the log at its own pace and holds nothing of the
//! store between two reads, so one that is slow costs the others nothing; one that fell behind what
//! the log keeps is told, and goes on with what there is.

use std::collections::VecDeque;
use std::sync::Arc;

use reveille_core::{Address, OpError, Seq, Timestamp};
use reveille_store::record::Record;
use tokio::sync::watch;

use crate::hub::Hub;
use crate::runtime::Runtime;

/// Records read at a time.
const READ: usize = 256;

/// What an event stream tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Something happened.
    Happened(Box<Happened>),
    /// These positions have left the store before they were read: what they said must be read anew.
    Lost {
        /// The first position that is gone.
        from: Seq,
        /// The first position that is there again.
        until: Seq,
    },
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Its place in commit order: a stream can be resumed after it.
    pub position: Seq,
    /// When it was committed.
    pub at: Timestamp,
    /// What distinguishes the ids that its record made.
    pub salt: u16,
    /// Whom it concerns.
    pub actors: Vec<Address>,
    /// What happened: `sent`, `claimed`, `run_ended` and so on, the record's type.
    pub kind: String,
    /// The record.
    pub record: Record,
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    hub: Arc<Hub>,
    next: Seq,
    read: VecDeque<Event>,
    commits: watch::Receiver<u64>,
}

impl Runtime {
    /// Events after a position, in commit order; from the beginning of the history without one. What
    /// has not happened yet is waited for.
    #[must_use]
    pub fn events(&self, after: Option<Seq>) -> Events {
        let hub = self.hub();
        let commits = hub.commits();
        let next = after.map_or(Seq(1), Seq::next);
        Events { hub, next, read: VecDeque::new(), commits }
    }
}

impl Events {
    /// The next event, once there is one.
    ///
    /// # Errors
    ///
    /// `storage_failed`; `shutting_down` when the runtime is gone.
    pub async fn next(&mut self) -> Result<Event, OpError> {
        loop {
            if let Some(event) = self.read.pop_front() {
                return Ok(event);
            }
            self.commits.borrow_and_update();
            self.refill().await?;
            if self.read.is_empty() {
                self.commits.changed().await.map_err(|_| OpError::ShuttingDown)?;
            }
        }
    }

    /// The events that have happened already, without waiting.
    ///
    /// # Errors
    ///
    /// As [`Events::next`].
    pub async fn ready(&mut self) -> Result<Vec<Event>, OpError> {
        if self.read.is_empty() {
            self.refill().await?;
        }
        Ok(self.read.drain(..).collect())
    }

    async fn refill(&mut self) -> Result<(), OpError> {
        let (store, from) = (self.hub.store.clone(), self.next);
        let read = tokio::task::spawn_blocking(move || store.since(from, READ)).await;
        let since =
            read.unwrap_or_else(|error| Err(OpError::StorageFailed { reason: error.to_string() }))?;
        if let Some(until) = since.lost_until {
            self.read.push_back(Event::Lost { from, until });
            self.next = until;
        }
        let records = since.records;
        let actors = self.hub.store.look({
            let numbers: Vec<_> = records.iter().map(|(_, (_, record))| record.actors()).collect();
            move |state| {
                let address = |number| state.row(number).map(|row| row.address.clone());
                let all = numbers.into_iter();
                all.map(|some| some.into_iter().filter_map(address).collect()).collect::<Vec<_>>()
            }
        });
        for ((position, (stamp, record)), actors) in records.into_iter().zip(actors.await?) {
            self.next = position.next();
            let (at, salt, kind) = (stamp.at, stamp.salt, snake(record.name()));
            let happened = Happened { position, at, salt, actors, kind, record };
            self.read.push_back(Event::Happened(Box::new(happened)));
        }
        Ok(())
    }
}

/// `RunEnded` as `run_ended`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for (index, c) in name.char_indices() {
        if c.is_ascii_uppercase() && index > 0 {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
