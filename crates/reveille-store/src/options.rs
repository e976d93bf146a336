//! How a store is opened: in a data folder, in memory, or on a backend that a test brings.

use std::path::Path;
use std::sync::Arc;

use reveille_core::Timestamp;

use crate::Store;
use crate::disk::journal::{self, Journal};
use crate::disk::{self, Disk, DiskOptions};
use crate::engine::{DiskSpace, Engine, Now, Setup, Writer};
use crate::error::{DiskError, OpenError};
use crate::folder::{Folder, builder, guarded, opening};
use crate::state::State;
use crate::step::Limits;

/// How a store is opened.
#[derive(Clone)]
pub struct Options {
    /// The limits it keeps to.
    pub limits: Limits,
    /// How it uses its file.
    pub disk: DiskOptions,
    /// Gives the moment of each commit.
    pub now: Now,
    /// Gives the free and all bytes of the disk; `None` asks the system about the data folder.
    pub space: Option<DiskSpace>,
    /// What distinguishes the ids of this start of the store from those of others.
    pub salt: u16,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("limits", &self.limits)
            .field("disk", &self.disk)
            .finish_non_exhaustive()
    }
}

/// The contract's limits, the system's clock, a salt of this process's own.
impl Default for Options {
    fn default() -> Self {
        use std::hash::{BuildHasher as _, RandomState};
        let salt = RandomState::new().hash_one(std::process::id());
        Self {
            limits: Limits::default(),
            disk: DiskOptions::default(),
            now: Arc::new(system_now),
            space: None,
            salt: u16::try_from(salt % (1 << 16)).unwrap_or(0),
        }
    }
}

/// The wall clock of this machine.
#[allow(clippy::disallowed_methods)] // the default of `Options::now`; everything else is given one
fn system_now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let millis = since.unwrap_or_default().as_millis();
    Timestamp::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

impl Options {
    /// Opens the store in a data folder, making both if there are none.
    ///
    /// # Errors
    ///
    /// [`OpenError`]: the folder is in use, damaged, of a newer format, or not accessible.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Store, OpenError> {
        self.open_folder(path.as_ref(), true)
    }

    /// Opens the store in a data folder that must have one.
    ///
    /// # Errors
    ///
    /// As [`Options::open`], and when there is none.
    pub fn open_existing(self, path: impl AsRef<Path>) -> Result<Store, OpenError> {
        self.open_folder(path.as_ref(), false)
    }

    fn open_folder(self, path: &Path, create: bool) -> Result<Store, OpenError> {
        let folder = Folder::own(path, create)?;
        let database = Arc::new(folder.database(self.disk)?);
        let loaded = guarded(|| Disk::load(Arc::clone(&database), self.disk));
        let (disk, state) = loaded.map_err(|error| folder.disk(error))?;
        // Not before the store was found to be whole: one that is damaged is left as it is.
        let file = folder.journal()?;
        let journal = Journal::begin(&database, file, self.disk.journal_bytes);
        let journal = journal.map_err(|error| folder.disk(error))?;
        let loaded = (disk.with_journal(journal), state);
        self.start(path, loaded, Some(folder), true)
    }

    /// A store in memory. Every step is a commit, made in the caller: nothing is left to chance.
    ///
    /// # Panics
    ///
    /// Never: memory takes what redb writes.
    #[must_use]
    #[allow(clippy::expect_used)] // an in-memory backend has no way to fail
    pub fn in_memory(self) -> Store {
        self.on_backend(redb::backends::InMemoryBackend::new(), None, false)
            .expect("memory takes what redb writes")
    }

    /// A store on storage backends of redb's, the second for its journal; with `threaded`, commits
    /// have a thread of their own.
    pub(crate) fn on_backend(
        self,
        backend: impl redb::StorageBackend,
        journal: Option<Box<dyn redb::StorageBackend>>,
        threaded: bool,
    ) -> Result<Store, OpenError> {
        let path = Path::new("memory");
        let load = || {
            let database = Arc::new(builder(self.disk).create_with_backend(backend)?);
            if disk::begin_read(&database)?.list_tables()?.next().is_none() {
                Disk::initialise(&database)?;
            }
            let (length, Some(file)) = (journal::length(&database)?, journal) else {
                return Disk::load(database, self.disk);
            };
            if let Some(length) = length {
                journal::recover(&database, &*file, length)?;
            }
            let (disk, state) = Disk::load(Arc::clone(&database), self.disk)?;
            let journal = Journal::begin(&database, file, self.disk.journal_bytes)?;
            Ok((disk.with_journal(journal), state))
        };
        let loaded = load().map_err(|error: DiskError| opening(path, error))?;
        self.start(path, loaded, None, threaded)
    }

    fn start(
        self,
        path: &Path,
        loaded: (Disk, State),
        folder: Option<Folder>,
        threaded: bool,
    ) -> Result<Store, OpenError> {
        let reader = loaded.0.reader();
        let setup = Setup { limits: self.limits, now: self.now, observer: None };
        let of_folder = |_: &Folder| -> DiskSpace {
            let path = path.to_owned();
            Arc::new(move || crate::doctor::disk_space(&path))
        };
        let space = self.space.or_else(|| folder.as_ref().map(of_folder));
        let engine = Engine::new(loaded, folder, setup, self.salt, space);
        let writer = if threaded {
            Writer::threaded(engine)
                .map_err(|source| OpenError::Io { path: path.to_owned(), source })?
        } else {
            Writer::inline(engine)
        };
        Ok(Store::new(writer, reader))
    }
}
