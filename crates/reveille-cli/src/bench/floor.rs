//! The floor: a raw append log into zero-filled segments, with the gathering that the store has.
//!
//! It does what durable sends cannot do without: the same senders hand in the same bytes, a thread
//! writes them in one piece and syncs, and answers everybody. It checks nothing and keeps nothing.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

const SEGMENT_BYTES: u64 = 64 << 20;
const GATHER: Duration = Duration::from_micros(60);

#[derive(Default)]
struct Waiting {
    requests: Vec<(Arc<[u8]>, oneshot::Sender<()>)>,
    closed: bool,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

/// The log; the thread ends when it is dropped.
pub(super) struct Floor {
    queue: Arc<Queue>,
    thread: Option<std::thread::JoinHandle<std::io::Result<()>>>,
}

impl Floor {
    /// A log in a file of this folder.
    pub(super) fn open(folder: &Path) -> std::io::Result<Self> {
        let mut file = File::create(folder.join("floor.log"))?;
        fill(&mut file, 0)?;
        let queue = Arc::new(Queue::default());
        let theirs = Arc::clone(&queue);
        let thread = std::thread::spawn(move || theirs.serve(file));
        Ok(Self { queue, thread: Some(thread) })
    }

    /// Appends; durable when this returns.
    pub(super) async fn append(&self, bytes: Arc<[u8]>) -> bool {
        let (sender, receiver) = oneshot::channel();
        self.queue.waiting.lock().requests.push((bytes, sender));
        self.queue.arrived.notify_one();
        receiver.await.is_ok()
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        self.queue.waiting.lock().closed = true;
        self.queue.arrived.notify_one();
        if let Some(thread) = self.thread.take() {
            // A disk that fails shows as appends that are not answered.
            let _ = thread.join();
        }
    }
}

/// Fills the next segment with zeros, so that appends change no length.
fn fill(file: &mut File, from: u64) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(from))?;
    let zeros = vec![0; 1 << 20];
    for _ in 0..SEGMENT_BYTES >> 20 {
        file.write_all(&zeros)?;
    }
    file.sync_data()?;
    file.seek(SeekFrom::Start(from)).map(drop)
}

impl Queue {
    #[allow(clippy::disallowed_methods)] // measures the disk
    fn serve(&self, mut file: File) -> std::io::Result<()> {
        let (mut last, mut sync) = (1, Duration::ZERO);
        let (mut at, mut end) = (0u64, SEGMENT_BYTES);
        let mut buffer = Vec::new();
        loop {
            let begun = Instant::now();
            let requests = {
                let mut waiting = self.waiting.lock();
                while waiting.requests.is_empty() {
                    if waiting.closed {
                        return Ok(());
                    }
                    self.arrived.wait(&mut waiting);
                }
                let until = Instant::now() + GATHER.min(sync / 4);
                while waiting.requests.len() < last && Instant::now() < until {
                    self.arrived.wait_until(&mut waiting, until);
                }
                std::mem::take(&mut waiting.requests)
            };
            let gathered = begun.elapsed();
            last = requests.len();
            buffer.clear();
            requests.iter().for_each(|(bytes, _)| buffer.extend_from_slice(bytes));
            if at + buffer.len() as u64 > end {
                fill(&mut file, end)?;
                (at, end) = (end, end + SEGMENT_BYTES);
            }
            file.write_all(&buffer)?;
            file.sync_data()?;
            at += buffer.len() as u64;
            for (_, answer) in requests {
                // A sender that is gone needs no answer.
                let _ = answer.send(());
            }
            sync = (sync * 7 + (begun.elapsed() - gathered)) / 8;
        }
    }
}
