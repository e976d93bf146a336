//! A storage backend that stops, fails and forgets: for tests of what a crash leaves.
//!
//! It keeps two images: what was synced, and the operations since. At a chosen operation it stops
//! (and everything after fails, as when the power is off) or fails once. What the disk then holds is
//! made of the synced image and of those later operations that the chosen [`Leftover`] keeps.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::StorageBackend;

use crate::error::OpenError;
use crate::{Options, Store};

/// Bytes that a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// What happens at an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The power goes off before it.
    Stop,
    /// It fails and does nothing.
    Fail,
    /// It is done, and fails all the same.
    FailAfter,
}

/// What became of operations that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// All of them reached the disk.
    Kept,
    /// None of them did.
    Dropped,
    /// All did, the last one by half.
    Torn,
    /// Some did, in sectors, chosen by this seed.
    Some(u64),
}

#[derive(Debug, Clone)]
enum Op {
    Write(usize, Vec<u8>),
    SetLen(usize),
}

#[derive(Debug, Default)]
struct Images {
    synced: Vec<u8>,
    live: Vec<u8>,
    since: Vec<Op>,
    /// Operations so far: writes, changes of length, syncs.
    operations: u64,
    fault: Option<(u64, Fault)>,
    off: bool,
}

/// The backend; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct FaultyDisk {
    images: Arc<Mutex<Images>>,
}

impl FaultyDisk {
    /// A disk that holds these bytes.
    #[must_use]
    pub fn holding(bytes: Vec<u8>) -> Self {
        let images = Images { synced: bytes.clone(), live: bytes, ..Images::default() };
        Self { images: Arc::new(Mutex::new(images)) }
    }

    /// Lets a fault happen at the operation with this number, from 0.
    pub fn at(&self, operation: u64, fault: Fault) {
        self.images.lock().fault = Some((operation, fault));
    }

    /// How many operations there were.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.images.lock().operations
    }

    /// What the disk holds when the machine starts again.
    #[must_use]
    pub fn after_crash(&self, leftover: Leftover) -> Vec<u8> {
        let images = self.images.lock();
        let mut bytes = images.synced.clone();
        let last = images.since.len().saturating_sub(1);
        let mut random = match leftover {
            Leftover::Some(seed) => seed | 1,
            _ => 1,
        };
        for (index, op) in images.since.iter().enumerate() {
            match (leftover, op) {
                (Leftover::Dropped, _) => {}
                (Leftover::Torn, Op::Write(offset, data)) if index == last => {
                    let half = data.len() / 2 / SECTOR_BYTES * SECTOR_BYTES;
                    write(&mut bytes, *offset, data.get(..half).unwrap_or(&[]));
                }
                (Leftover::Some(_), Op::Write(offset, data)) => {
                    for (sector, data) in data.chunks(SECTOR_BYTES).enumerate() {
                        // xorshift: any sequence does, as long as it can be repeated.
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        if random.is_multiple_of(2) {
                            write(&mut bytes, offset + sector * SECTOR_BYTES, data);
                        }
                    }
                }
                (_, Op::Write(offset, data)) => write(&mut bytes, *offset, data),
                (_, Op::SetLen(len)) => bytes.resize(*len, 0),
            }
        }
        bytes
    }
}

fn write(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    if let Some(place) = bytes.get_mut(offset..end) {
        place.copy_from_slice(data);
    }
}

impl Images {
    /// Counts an operation and says whether it is to be done and whether it fails.
    fn next(&mut self) -> Result<bool, io::Error> {
        let number = self.operations;
        self.operations += 1;
        let failed = || io::Error::other("the disk failed");
        if self.off {
            return Err(failed());
        }
        match self.fault {
            Some((at, fault)) if at == number => match fault {
                Fault::Stop => {
                    self.off = true;
                    Err(failed())
                }
                Fault::Fail => Err(failed()),
                Fault::FailAfter => Ok(true),
            },
            _ => Ok(false),
        }
    }
}

fn done(fails: bool) -> io::Result<()> {
    if fails { Err(io::Error::other("the disk failed")) } else { Ok(()) }
}

fn place(number: u64) -> io::Result<usize> {
    usize::try_from(number).map_err(io::Error::other)
}

impl StorageBackend for FaultyDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.images.lock().live.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let images = self.images.lock();
        let offset = place(offset)?;
        let found = images.live.get(offset..offset + out.len());
        out.copy_from_slice(found.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut images = self.images.lock();
        let fails = images.next()?;
        let len = place(len)?;
        images.live.resize(len, 0);
        images.since.push(Op::SetLen(len));
        done(fails)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut images = self.images.lock();
        let fails = images.next()?;
        images.synced = images.live.clone();
        images.since.clear();
        done(fails)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut images = self.images.lock();
        let fails = images.next()?;
        let offset = place(offset)?;
        write(&mut images.live, offset, data);
        images.since.push(Op::Write(offset, data.to_vec()));
        done(fails)
    }
}

/// Opens a store on such a disk; each step is a commit, made in the caller.
///
/// # Errors
///
/// As [`Options::open`].
pub fn open(disk: FaultyDisk, options: Options) -> Result<Store, OpenError> {
    options.on_backend(disk, false)
}
