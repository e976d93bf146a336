//! The file below redb: as redb's own, but what it grows by is filled with zeros behind its back.
//!
//! A write into a part of a file that was never written makes the file system allocate blocks, and a
//! sync then waits for its journal as well. So when the file grows, a thread writes zeros into the new
//! part, a piece at a time, ahead of the commits that will use it. A piece that a commit has reached
//! first is left alone. Zeros where nothing was written are what the file held there anyway: a crash
//! in the middle changes nothing.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use parking_lot::Mutex;
use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

/// Bytes that are filled at a time.
const PIECE: u64 = 256 * 1024;
/// Pieces between two syncs of the filling thread: what it has written burdens no commit's sync.
const PIECES_PER_SYNC: usize = 8;

/// The pieces of the part that is being filled which commits have written to.
#[derive(Debug, Default)]
struct Reached {
    /// Where filling goes on from; everything below is filled, or was never to be.
    from: u64,
    pieces: BTreeSet<u64>,
}

/// The backend.
#[derive(Debug)]
pub(crate) struct FilledFile {
    inner: FileBackend,
    reached: Arc<Mutex<Reached>>,
    grown: Mutex<Option<Sender<(u64, u64)>>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl FilledFile {
    /// A backend on an open file.
    pub(crate) fn new(file: File) -> Result<Self, DatabaseError> {
        let storage = |error| DatabaseError::Storage(redb::StorageError::Io(error));
        let theirs = file.try_clone().map_err(storage)?;
        let reached = Arc::new(Mutex::new(Reached { from: u64::MAX, pieces: BTreeSet::new() }));
        let (grown, growths) = channel();
        let shared = Arc::clone(&reached);
        let thread = std::thread::Builder::new().name("reveille-fill".into()).spawn(move || {
            while let Ok((from, until)) = growths.recv() {
                if let Err(error) = fill(&theirs, &shared, from, until) {
                    // Only slower: the file is as long as redb asked for.
                    tracing::warn!(%error, "the store's file was not filled ahead");
                }
            }
        });
        let thread = Mutex::new(Some(thread.map_err(storage)?));
        let grown = Mutex::new(Some(grown));
        Ok(Self { inner: FileBackend::new(file)?, reached, grown, thread })
    }
}

/// Fills a part of the file with zeros where nobody has written.
fn fill(file: &File, reached: &Mutex<Reached>, from: u64, until: u64) -> io::Result<()> {
    let zeros = vec![0; usize::try_from(PIECE).unwrap_or(0)];
    let mut unsynced = 0;
    let mut piece = from.div_ceil(PIECE);
    while (piece + 1) * PIECE <= until {
        {
            let mut reached = reached.lock();
            if !reached.pieces.remove(&piece) {
                file.write_all_at(&zeros, piece * PIECE)?;
                unsynced += 1;
            }
            piece += 1;
            reached.from = piece * PIECE;
        }
        if unsynced == PIECES_PER_SYNC {
            file.sync_data()?;
            unsynced = 0;
        }
    }
    let mut reached = reached.lock();
    reached.from = u64::MAX;
    reached.pieces.clear();
    drop(reached);
    file.sync_data()
}

impl StorageBackend for FilledFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let before = self.inner.len()?;
        self.inner.set_len(len)?;
        if len > before + 4 * PIECE {
            let mut reached = self.reached.lock();
            reached.from = reached.from.min(before);
            drop(reached);
            if let Some(grown) = &*self.grown.lock() {
                // A thread that is gone fills nothing more; that only makes commits slower.
                let _ = grown.send((before, len));
            }
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = offset + data.len() as u64;
        let mut reached = self.reached.lock();
        if end > reached.from {
            // Held while writing: zeros must not come after what is written here.
            reached.pieces.extend(offset / PIECE..end.div_ceil(PIECE));
            return self.inner.write(offset, data);
        }
        drop(reached);
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        *self.grown.lock() = None;
        if let Some(thread) = self.thread.lock().take() {
            // It holds the file; one that panicked holds it no more.
            let _ = thread.join();
        }
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
