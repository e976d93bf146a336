//! The one writer: gather, apply, commit, publish (decision 3, P1).
//!
//! Requests are applied as they arrive; each sees what the requests before it in the same commit
//! have done. Nobody is answered before the commit is on the disk, readers included, so no answer
//! runs ahead of it. When a commit fails, the state in memory is worthless: everything in it
//! answers `outcome_unknown`, and the store takes nothing more until it is opened again.

mod queue;
mod request;

use std::sync::Arc;

use reveille_core::id::Stamp;
use reveille_core::{OpError, Seq, Timestamp};

use crate::blob::BlobWriter;
use crate::disk::Disk;
use crate::folder::Folder;
use crate::record::Record;
use crate::state::State;
use crate::step::{Draft, Limits, Step};

pub(crate) use self::queue::Writer;
pub(crate) use self::request::{Request, request};

/// Gives the moment of a commit.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Gives the free and all bytes of the disk below a store.
pub type DiskSpace = Arc<dyn Fn() -> Option<(u64, u64)> + Send + Sync>;

/// Is called after each commit, before anybody is answered. It must not call the store.
pub type Observer = Arc<dyn Fn(&Committed<'_>) + Send + Sync>;

/// What the runtime on a store decides.
#[derive(Clone)]
pub struct Setup {
    /// The limits that the store keeps to.
    pub limits: Limits,
    /// Gives the moment of each commit.
    pub now: Now,
    /// Is called after each commit, in their order.
    pub observer: Option<Observer>,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// A commit that is on the disk.
#[derive(Debug, Clone, Copy)]
pub struct Committed<'a> {
    /// What makes its records' numbers ids.
    pub stamp: Stamp,
    /// Its records.
    pub records: &'a [(Seq, Record)],
}

/// Why a store that was closed takes nothing more.
const CLOSED: &str = "the store is closed";

/// What a commit is gathered in, kept from one to the next: memory that is given back and taken again
/// would be mapped anew each time.
#[derive(Default)]
struct Buffers {
    blob: BlobWriter,
    records: Vec<(Seq, Record)>,
    draft: Vec<Record>,
    requests: Vec<Box<dyn Request>>,
}

/// A commit while it is gathered.
pub(crate) struct Batch<'a> {
    state: &'a mut State,
    limits: Limits,
    stamp: Stamp,
    buffers: &'a mut Buffers,
    /// Why this commit must not be written.
    broken: Option<String>,
}

impl Batch<'_> {
    /// The state, with everything that was taken into this commit.
    pub(crate) const fn state(&self) -> &State {
        self.state
    }

    /// The state, for what is memory only.
    pub(crate) const fn state_mut(&mut self) -> &mut State {
        self.state
    }

    /// Decides a step and applies what it drafts: all of it, or nothing when it is refused.
    pub(crate) fn step<S: Step>(&mut self, step: S) -> Result<S::Answer, OpError> {
        if let Some(reason) = self.broken.clone() {
            return Err(OpError::StorageFailed { reason });
        }
        let spare = std::mem::take(&mut self.buffers.draft);
        let mut draft = Draft::new(self.state.next(), self.stamp, self.limits, spare);
        let answer = step.decide(self.state, &mut draft)?;
        let mut drafted = draft.records;
        for record in drafted.drain(..) {
            let seq = self.state.next();
            let pushed = self.buffers.blob.push(&record).map_err(|error| error.to_string());
            let applied = pushed.and_then(|()| {
                let applied = self.state.apply(seq, self.stamp, &record);
                applied.map_err(|violation| violation.to_string())
            });
            if let Err(error) = applied {
                // A step drafted what the rules forbid. Nothing of this commit may be stored.
                tracing::error!(%error, record = record.name(), "a step was decided wrongly");
                self.broken = Some(error);
                break;
            }
            self.buffers.records.push((seq, record));
        }
        self.buffers.draft = drafted;
        Ok(answer)
    }
}

/// The state, its disk, and what a commit needs.
pub(crate) struct Engine {
    state: State,
    disk: Disk,
    folder: Option<Folder>,
    pub(crate) setup: Setup,
    salt: u16,
    failed: Option<String>,
    space: Space,
    buffers: Buffers,
}

/// Watches the disk's free space: sends leave a reserve alone, so that settles can always be written
/// (section 3).
struct Space {
    /// Gives free and total bytes; `None` when there is no disk.
    look: Option<DiskSpace>,
    /// Commits until the next look.
    countdown: u32,
}

/// Commits between two looks at the disk: a few megabytes at the most.
const COMMITS_PER_LOOK: u32 = 64;

impl Space {
    /// How many bytes are free and how many sends leave alone, when that is too few.
    fn low(&mut self, before: Option<(u64, u64)>) -> Option<(u64, u64)> {
        let Some(look) = &self.look else { return None };
        if self.countdown > 0 && before.is_none() {
            self.countdown -= 1;
            return before;
        }
        self.countdown = COMMITS_PER_LOOK;
        let (free, total) = look()?;
        let reserve = crate::doctor::disk_reserve(total);
        (free < reserve).then_some((free, reserve))
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("next", &self.state.next()).finish_non_exhaustive()
    }
}

impl Engine {
    pub(crate) fn new(
        (disk, state): (Disk, State),
        folder: Option<Folder>,
        setup: Setup,
        salt: u16,
        space: Option<DiskSpace>,
    ) -> Self {
        let space = Space { look: space, countdown: 0 };
        let buffers = Buffers::default();
        Self { state, disk, folder, setup, salt, failed: None, space, buffers }
    }

    /// Runs one commit: the requests that `next` gives, which says when it has enough.
    pub(crate) fn run(&mut self, mut next: impl FnMut(usize) -> Option<Box<dyn Request>>) -> usize {
        let at = (self.setup.now)().max(self.state.at());
        let stamp = Stamp { at, salt: self.salt };
        let first = self.state.next();
        self.state.low_disk = self.space.low(self.state.low_disk);
        let mut buffers = std::mem::take(&mut self.buffers);
        let mut requests = std::mem::take(&mut buffers.requests);
        let mut batch = Batch {
            state: &mut self.state,
            limits: self.setup.limits,
            stamp,
            buffers: &mut buffers,
            broken: self.failed.clone(),
        };
        while let Some(mut request) = next(requests.len()) {
            request.apply(&mut batch);
            requests.push(request);
        }
        let broken = batch.broken;
        let outcome = self.finish(first, stamp, &buffers, broken);
        let count = requests.len();
        requests.drain(..).for_each(|request| request.answer(&outcome));
        buffers.blob.clear();
        buffers.records.clear();
        buffers.requests = requests;
        self.buffers = buffers;
        self.fold();
        count
    }

    /// Folds the journal when it is due: those who were just answered need not wait for it.
    fn fold(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.disk.fold_if_due(&mut self.state)
        {
            tracing::error!(%error, "the journal was not folded; the store takes nothing more");
            self.failed = Some(error.to_string());
        }
    }

    fn finish(
        &mut self,
        first: Seq,
        stamp: Stamp,
        Buffers { blob, records, .. }: &Buffers,
        broken: Option<String>,
    ) -> Result<(), OpError> {
        if let Some(reason) = broken {
            self.failed = Some(reason.clone());
            return Err(OpError::StorageFailed { reason });
        }
        if records.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.disk.commit(first, stamp, blob, &mut self.state) {
            tracing::error!(%error, "a commit failed; the store takes nothing more");
            self.failed = Some(error.to_string());
            return Err(OpError::OutcomeUnknown);
        }
        if let Some(observer) = &self.setup.observer {
            observer(&Committed { stamp, records });
        }
        Ok(())
    }

    /// Tells others that the folder will be free soon.
    pub(crate) fn closing(&mut self) {
        if let Some(folder) = &mut self.folder {
            folder.closing();
        }
    }

    /// Writes what checkpoints lack. The store takes nothing more.
    pub(crate) fn close(&mut self) -> Result<(), OpError> {
        let closed = self.write_checkpoint();
        self.disk.reader().close();
        closed
    }

    fn write_checkpoint(&mut self) -> Result<(), OpError> {
        if let Some(reason) = self.failed.clone() {
            let closed = reason == CLOSED;
            return if closed { Ok(()) } else { Err(OpError::StorageFailed { reason }) };
        }
        self.failed = Some(CLOSED.into());
        self.disk.close(&mut self.state).map_err(|error| {
            tracing::error!(%error, "the store was not closed cleanly");
            OpError::StorageFailed { reason: error.to_string() }
        })
    }
}
