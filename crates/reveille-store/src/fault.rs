//! A storage backend that stops, fails and forgets: for tests of what a crash leaves.
//!
//! It has the two files of a store, the redb file and the journal, and keeps two images of each: what
//! was synced, and the operations since. At a chosen operation it stops
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

/// What the files of a disk hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents([Vec<u8>; 2]);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Which {
    #[default]
    Store,
    Journal,
}

impl Contents {
    /// A disk with this redb file, of a store that was closed: its journal is empty.
    #[must_use]
    pub const fn of_closed(store: Vec<u8>) -> Self {
        Self([store, Vec::new()])
    }

    /// The redb file.
    #[must_use]
    pub fn store(&self) -> &[u8] {
        let [store, _] = &self.0;
        store
    }

    const fn of(&mut self, file: Which) -> &mut Vec<u8> {
        let [store, journal] = &mut self.0;
        match file {
            Which::Store => store,
            Which::Journal => journal,
        }
    }
}

#[derive(Debug, Default)]
struct Images {
    synced: Contents,
    live: Contents,
    since: Vec<(Which, Op)>,
    /// Operations so far: writes, changes of length, syncs.
    operations: u64,
    fault: Option<(u64, Fault)>,
    off: bool,
}

/// The backend; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct FaultyDisk {
    images: Arc<Mutex<Images>>,
    file: Which,
}

impl FaultyDisk {
    /// A disk that holds this.
    #[must_use]
    pub fn holding(contents: Contents) -> Self {
        let images = Images { synced: contents.clone(), live: contents, ..Images::default() };
        Self { images: Arc::new(Mutex::new(images)), file: Which::Store }
    }

    /// The same disk, its journal.
    fn journal(&self) -> Self {
        Self { images: Arc::clone(&self.images), file: Which::Journal }
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

    /// Damages these bytes wherever they are, as an old disk does; says how often they were there.
    pub fn spoil(&self, bytes: &[u8]) -> usize {
        let mut images = self.images.lock();
        let Images { synced, live, .. } = &mut *images;
        let mut found = 0;
        for image in synced.0.iter_mut().chain(&mut live.0) {
            let places = image.windows(bytes.len()).enumerate();
            let places: Vec<usize> =
                places.filter(|(_, part)| *part == bytes).map(|(at, _)| at).collect();
            found += places.len();
            for at in places {
                image.get_mut(at).into_iter().for_each(|byte| *byte ^= 0x20);
            }
        }
        found
    }

    /// What the disk holds when the machine starts again.
    #[must_use]
    pub fn after_crash(&self, leftover: Leftover) -> Contents {
        let images = self.images.lock();
        let mut contents = images.synced.clone();
        let last = images.since.len().saturating_sub(1);
        let mut random = match leftover {
            Leftover::Some(seed) => seed | 1,
            _ => 1,
        };
        for (index, (file, op)) in images.since.iter().enumerate() {
            let bytes = contents.of(*file);
            match (leftover, op) {
                (Leftover::Dropped, _) => {}
                (Leftover::Torn, Op::Write(offset, data)) if index == last => {
                    let half = data.len() / 2 / SECTOR_BYTES * SECTOR_BYTES;
                    write(bytes, *offset, data.get(..half).unwrap_or(&[]));
                }
                (Leftover::Some(_), Op::Write(offset, data)) => {
                    for (sector, data) in data.chunks(SECTOR_BYTES).enumerate() {
                        // xorshift: any sequence does, as long as it can be repeated.
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        if random.is_multiple_of(2) {
                            write(bytes, offset + sector * SECTOR_BYTES, data);
                        }
                    }
                }
                (_, op) => op.apply(bytes),
            }
        }
        contents
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

impl Op {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, data) => write(bytes, *offset, data),
            Self::SetLen(len) => bytes.resize(*len, 0),
        }
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

    fn perform(&mut self, file: Which, op: Op) {
        op.apply(self.live.of(file));
        self.since.push((file, op));
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
        Ok(self.images.lock().live.of(self.file).len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut images = self.images.lock();
        let offset = place(offset)?;
        let found = images.live.of(self.file).get(offset..offset + out.len());
        out.copy_from_slice(found.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut images = self.images.lock();
        let fails = images.next()?;
        images.perform(self.file, Op::SetLen(place(len)?));
        done(fails)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut images = self.images.lock();
        let fails = images.next()?;
        let Images { synced, since, .. } = &mut *images;
        // Only this file is on the disk; the other's operations may still be lost.
        for (_, op) in since.extract_if(.., |(file, _)| *file == self.file) {
            op.apply(synced.of(self.file));
        }
        done(fails)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut images = self.images.lock();
        let fails = images.next()?;
        images.perform(self.file, Op::Write(place(offset)?, data.to_vec()));
        done(fails)
    }
}

/// Opens a store on such a disk; each step is a commit, made in the caller.
///
/// # Errors
///
/// As [`Options::open`].
pub fn open(disk: FaultyDisk, options: Options) -> Result<Store, OpenError> {
    let journal = disk.journal();
    options.on_backend(disk, Some(Box::new(journal)), false)
}
