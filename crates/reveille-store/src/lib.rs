//! The durable state of Reveille.
//!
//! The unit of work is a business step ([`step`]): send, claim, settle, spawn, end a run. A step is
//! decided against the state and everything already taken into the same commit, written as records
//! ([`record`]) to one log in redb, and answered when the commit is on the disk (P1). What the store
//! promises is P1 to P10 as far as they are about state; turns, timers and agents are the runtime's.
//!
//! ```
//! use reveille_core::{Caller, Text};
//! use reveille_store::step::{actors::CreateSession, send::{Prepared, Send, To}};
//! use reveille_store::Store;
//!
//! # futures_executor::block_on(async {
//! let store = Store::in_memory();
//! let session = store.run(CreateSession { title: "lead".into(), agent: None, first: None }).await?;
//! let message = Prepared::text(Caller::Host, Text::new("look at the failing build"));
//! let to = To::Actors(vec![session.main.clone()]);
//! store.run(Send { to, message, token: None }).await?;
//! let unread = store.look(move |state| {
//!     state.find(&session.main).and_then(|n| state.row(n)).map(|row| row.unread().count())
//! });
//! assert_eq!(unread.await?, Some(1));
//! # Ok::<(), reveille_core::OpError>(()) }).unwrap();
//! ```

pub mod blob;
pub mod care;
pub mod codec;
mod disk;
pub mod doctor;
mod engine;
mod error;
#[cfg(feature = "test-util")]
pub mod fault;
mod folder;
mod legacy;
pub mod migrate;
pub mod model;
mod options;
#[cfg(feature = "test-util")]
pub mod raw;
pub mod record;
pub mod state;
pub mod step;
pub mod verify;
pub mod whereabouts;
pub mod why;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use reveille_core::{OpError, Outcome, Seq};

pub use self::disk::{DiskOptions, Reading, STORE_FORMAT, Since};
pub use self::engine::{Committed, DiskSpace, Now, Observer, Setup};
pub use self::error::OpenError;
pub use self::options::Options;
pub use self::state::{State, Violation};

use self::disk::Reader;
use self::engine::Writer;
use self::error::DiskError;
use self::record::Record;
use self::step::Step;
use self::step::wait::{GiveBack, StopWaiting, WaitAnswer, WaitFor};

/// A store. Clones are handles on the same one; it is closed when the last is dropped.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    writer: Writer,
    reader: Arc<Reader>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Closing twice changes nothing; what is not checkpointed is replayed at the next start.
        let _ = self.writer.close();
    }
}

impl Store {
    pub(crate) fn new(writer: Writer, reader: Arc<Reader>) -> Self {
        Self { shared: Arc::new(Shared { writer, reader }) }
    }

    /// Opens the store in a data folder, making both if there are none.
    ///
    /// # Errors
    ///
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Options::default().open(path)
    }

    /// A store in memory, gone when it is dropped.
    #[must_use]
    pub fn in_memory() -> Self {
        Options::default().in_memory()
    }

    /// Runs a step; it is durable when this answers Ok (P1).
    ///
    /// # Errors
    ///
    /// What the step refuses; `outcome_unknown` when its commit failed; `storage_failed` when an
    /// earlier one did; `shutting_down` when the store is closed.
    pub fn run<S: Step>(
        &self,
        step: S,
    ) -> impl Future<Output = Result<S::Answer, OpError>> + use<S> {
        self.submit(move |batch| batch.step(step))
    }

    /// Looks at the state as of the latest commit.
    ///
    /// # Errors
    ///
    /// As [`Store::run`].
    pub fn look<T, F>(&self, look: F) -> impl Future<Output = Result<T, OpError>> + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&State) -> T + Send + 'static,
    {
        self.submit(move |batch| Ok(look(batch.state())))
    }

    /// Waits inside a turn: [`WaitFor`]. Until the wait is stopped it is registered, so that the
    /// commit of the outcome hands over its notice.
    ///
    /// # Errors
    ///
    /// As [`Store::run`]; `would_deadlock` when the wait would close a cycle.
    pub fn wait_for(
        &self,
        wait: WaitFor,
    ) -> impl Future<Output = Result<WaitAnswer, OpError>> + use<> {
        self.submit(move |batch| {
            let answer = batch.step(wait.clone())?;
            wait.register(batch.state_mut(), &answer);
            Ok(answer)
        })
    }

    /// Ends a wait: its registration goes, and what it collected and did not return is given back.
    ///
    /// # Errors
    ///
    /// As [`Store::run`].
    pub fn stop_waiting(
        &self,
        wait: StopWaiting,
    ) -> impl Future<Output = Result<(), OpError>> + use<> {
        let token = wait.token;
        self.submit(move |batch| match wait.unregister(batch.state_mut()) {
            Some(wait) => batch.step(GiveBack { token, wait }),
            None => Ok(()),
        })
    }

    fn submit<T, F>(&self, work: F) -> impl Future<Output = Result<T, OpError>> + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&mut engine::Batch<'_>) -> Result<T, OpError> + Send + 'static,
    {
        let (request, answer) = engine::request(work);
        let accepted = self.shared.writer.submit(request);
        async move { if accepted { answer.await } else { Err(OpError::ShuttingDown) } }
    }

    /// Sets what the runtime on this store decides. A commit that is being gathered keeps to what
    /// was set before.
    pub fn configure(&self, setup: Setup) {
        self.shared.writer.configure(setup);
    }

    /// The records with these numbers, if all of them are in memory: does not touch the disk.
    ///
    /// # Errors
    ///
    /// `storage_failed` when one is damaged.
    pub fn recent(
        &self,
        seqs: &[Seq],
    ) -> Result<Option<Vec<(reveille_core::id::Stamp, Record)>>, OpError> {
        self.shared.reader.recent(seqs).map_err(|error| storage(&error))
    }

    /// The records with these numbers, each or `None`. Reads the file: may block.
    ///
    /// # Errors
    ///
    /// `storage_failed` when the storage fails or a record is damaged; never "not there" (P2).
    pub fn records(
        &self,
        seqs: &[Seq],
    ) -> Result<Vec<Option<(reveille_core::id::Stamp, Record)>>, OpError> {
        self.shared.reader.read(seqs).map_err(|error| storage(&error))
    }

    /// The same, each by itself: a damaged one keeps no other from being read. Reads the file: may
    /// block.
    ///
    /// # Errors
    ///
    /// `storage_failed` when the storage fails.
    pub fn read_each(&self, seqs: &[Seq]) -> Result<Vec<Reading>, OpError> {
        self.shared.reader.read_each(seqs).map_err(|error| storage(&error))
    }

    /// About `limit` records of the log from a position on, and at least one if there is any. Reads
    /// the file: may block.
    ///
    /// # Errors
    ///
    /// As [`Store::records`].
    pub fn since(&self, from: Seq, limit: usize) -> Result<Since, OpError> {
        self.shared.reader.since(from, limit).map_err(|error| storage(&error))
    }

    /// Writes a backup into a new folder while the store is in use: the store as of one commit, with
    /// everything that was acknowledged before this was called. May block for as long as that takes.
    /// `progress` is told how many entries of how many are copied.
    ///
    /// # Errors
    ///
    /// [`care::CareError`]: the folder is there already, or cannot be written.
    pub fn backup(
        &self,
        to: impl AsRef<Path>,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<(), care::CareError> {
        let unfolded = self.shared.reader.unfolded();
        let reader = &self.shared.reader;
        reader.with_database(|db| care::backup(db, &unfolded, to.as_ref(), &mut progress))
    }

    /// The outcome that a record holds. Reads the file: may block.
    ///
    /// # Errors
    ///
    /// As [`Store::records`]; `unknown_id` when the record is no outcome or has left the store.
    pub fn outcome(&self, seq: Seq) -> Result<Outcome, OpError> {
        match self.records(&[seq])?.pop().flatten() {
            Some((_, Record::RunEnded(ended))) => Ok(ended.outcome),
            _ => Err(OpError::UnknownId { id: format!("outcome {seq}") }),
        }
    }

    /// Tells whoever waits for the data folder that it will be free soon.
    pub fn closing(&self) {
        self.shared.writer.closing();
    }

    /// Finishes what was handed in, writes a checkpoint, and closes. Later steps are refused. May
    /// block for as long as the disk takes.
    ///
    /// # Errors
    ///
    /// `storage_failed` when the store failed before, or now; nothing accepted is lost by that.
    pub fn close(&self) -> Result<(), OpError> {
        self.shared.writer.close()
    }
}

fn storage(error: &DiskError) -> OpError {
    OpError::StorageFailed { reason: error.to_string() }
}
