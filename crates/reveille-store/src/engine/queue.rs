//! How requests reach the engine: over a queue and a thread of its own, or at once in the caller.
//!
//! The thread gathers: after the first request of a commit it waits until as many have come as the
//! last time, at most 60 us and at most a quarter of what a sync took lately. Callers that send
//! again as soon as they are answered then share one sync, instead of waiting for two.
//!
//! Without a thread every request is a commit of its own, made in the caller. That is for stores in
//! memory, where it makes tests deterministic: nothing is left to the scheduler.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use reveille_core::OpError;

use super::{Engine, Request, Setup};

const GATHER: Duration = Duration::from_micros(60);
/// Requests of one commit, at most: bounds memory and the wait of the first.
const BATCH: usize = 4096;

/// The way to the engine.
#[derive(Debug)]
pub(crate) enum Writer {
    /// Each request is a commit, made by its caller.
    Inline(Box<Mutex<Engine>>),
    /// A thread makes the commits.
    Thread {
        /// Where requests wait.
        queue: Arc<Queue>,
        /// The thread, until it is joined.
        thread: Mutex<Option<JoinHandle<Result<(), OpError>>>>,
    },
}

#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    requests: VecDeque<Box<dyn Request>>,
    /// With how many requests the writer wants to be woken: a wake for each of them would cost more
    /// than the work.
    wanted: usize,
    setup: Option<Setup>,
    closing: bool,
    closed: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl Writer {
    pub(crate) fn threaded(engine: Engine) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let theirs = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("reveille-store".into())
            .spawn(move || theirs.serve(engine))?;
        Ok(Self::Thread { queue, thread: Mutex::new(Some(thread)) })
    }

    pub(crate) fn inline(engine: Engine) -> Self {
        Self::Inline(Box::new(Mutex::new(engine)))
    }

    /// Hands in a request. It is answered in any case: `shutting_down` when the store was closed.
    pub(crate) fn submit(&self, request: Box<dyn Request>) -> bool {
        match self {
            Self::Inline(engine) => {
                let mut request = Some(request);
                engine.lock().run(|_| request.take());
                true
            }
            Self::Thread { queue, .. } => {
                let mut waiting = queue.waiting.lock();
                if waiting.closed {
                    return false;
                }
                waiting.requests.push_back(request);
                let enough = waiting.requests.len() >= waiting.wanted;
                drop(waiting);
                if enough {
                    queue.arrived.notify_one();
                }
                true
            }
        }
    }

    /// Takes effect from the next commit on.
    pub(crate) fn configure(&self, setup: Setup) {
        match self {
            Self::Inline(engine) => engine.lock().setup = setup,
            Self::Thread { queue, .. } => queue.waiting.lock().setup = Some(setup),
        }
    }

    /// Tells others that the folder will be free soon.
    pub(crate) fn closing(&self) {
        match self {
            Self::Inline(engine) => engine.lock().closing(),
            Self::Thread { queue, .. } => {
                queue.waiting.lock().closing = true;
                queue.arrived.notify_one();
            }
        }
    }

    /// Finishes what was handed in and closes the store. The second call changes nothing.
    pub(crate) fn close(&self) -> Result<(), OpError> {
        match self {
            Self::Inline(engine) => engine.lock().close(),
            Self::Thread { queue, thread } => {
                queue.waiting.lock().closed = true;
                queue.arrived.notify_one();
                // Held while waiting, so that a second call waits as well.
                let mut thread = thread.lock();
                let Some(thread) = thread.take() else {
                    return Ok(());
                };
                if thread.thread().id() == std::thread::current().id() {
                    // The last handle was dropped by the writer itself; it ends by itself too.
                    return Ok(());
                }
                thread.join().unwrap_or_else(|_| {
                    Err(OpError::StorageFailed { reason: "the writer's thread panicked".into() })
                })
            }
        }
    }
}

/// However the thread ends, nobody waits for it afterwards: what is queued is dropped, and so
/// answered `outcome_unknown`.
struct RefuseAfter<'a>(&'a Queue);

impl Drop for RefuseAfter<'_> {
    fn drop(&mut self) {
        let requests = {
            let mut waiting = self.0.waiting.lock();
            waiting.closed = true;
            std::mem::take(&mut waiting.requests)
        };
        drop(requests);
    }
}

impl Queue {
    #[allow(clippy::disallowed_methods)] // measures the disk: no rule depends on it
    fn serve(&self, mut engine: Engine) -> Result<(), OpError> {
        let _refuse = RefuseAfter(self);
        let mut last: usize = 1;
        let mut sync = Duration::ZERO;
        let mut taken: VecDeque<Box<dyn Request>> = VecDeque::new();
        while self.first(&mut engine, &mut taken) {
            let begun = Instant::now();
            let patience = GATHER.min(sync / 4);
            let mut gathered = begun;
            last = engine.run(|count| {
                if taken.is_empty() && count < BATCH {
                    let left = patience.saturating_sub(begun.elapsed());
                    self.more(&mut taken, last.saturating_sub(count), left);
                    gathered = Instant::now();
                }
                taken.pop_front()
            });
            sync = (sync * 7 + gathered.elapsed()) / 8;
        }
        engine.close()
    }

    /// Waits for the first requests of a commit; false when the store is closed and all is done.
    fn first(&self, engine: &mut Engine, taken: &mut VecDeque<Box<dyn Request>>) -> bool {
        if !taken.is_empty() {
            return true;
        }
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(setup) = waiting.setup.take() {
                engine.setup = setup;
            }
            if std::mem::take(&mut waiting.closing) {
                engine.closing();
            }
            if !waiting.requests.is_empty() {
                std::mem::swap(&mut waiting.requests, taken);
                return true;
            }
            if waiting.closed {
                return false;
            }
            waiting.wanted = 1;
            self.arrived.wait(&mut waiting);
        }
    }

    /// More requests of the same commit: those that are there, or so many if they come soon enough.
    fn more(&self, taken: &mut VecDeque<Box<dyn Request>>, wanted: usize, patience: Duration) {
        let mut waiting = self.waiting.lock();
        if waiting.requests.len() < wanted && !waiting.closed && patience > Duration::ZERO {
            waiting.wanted = wanted;
            self.arrived.wait_for(&mut waiting, patience);
        }
        std::mem::swap(&mut waiting.requests, taken);
        // While it commits nobody need wake it.
        waiting.wanted = usize::MAX;
    }
}
