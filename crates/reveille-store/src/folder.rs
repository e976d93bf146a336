//! The data folder: one owner at a time, and no store that is taken for an empty one (section 12).
//!
//! | file | what it is |
//! |---|---|
//! | `lock` | held by the owner's process while it lives; says who that is, and when it is closing |
//! | `store.redb` | the store; made under another name and moved here when it is whole |
//! | `journal` | what was committed since the store was written last |
//! | `FORMAT` | says that there is a store, so that one that is missing or emptied is noticed |

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redb::backends::FileBackend;
use redb::{Database, DatabaseError};

use crate::disk::journal;
use crate::disk::{Disk, DiskOptions, STORE_FORMAT, damaged};
use crate::error::{DiskError, OpenError};

/// How long a living holder is waited for: a process that was just killed may take a moment to go.
const LIVING: Duration = Duration::from_millis(500);
/// How long a holder that says it is closing is waited for.
const CLOSING: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(20);
const CLOSING_WORD: &str = "closing";
const JOURNAL: &str = "journal";

/// A data folder that this process owns, until it is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
}

impl Folder {
    /// Takes the folder, making it if `create` says so.
    pub(crate) fn own(path: &Path, create: bool) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        if create {
            fs::create_dir_all(path).map_err(io)?;
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or_else(|| Path::new("."));
            File::open(parent).and_then(|parent| parent.sync_all()).map_err(io)?;
        } else if !path.join("FORMAT").exists() && !path.join("store.redb").exists() {
            return Err(io(io::Error::new(io::ErrorKind::NotFound, "there is no store")));
        }
        let lock_path = path.join("lock");
        let lock = private()
            .create(true)
            .open(&lock_path)
            .map_err(|source| OpenError::Io { path: lock_path.clone(), source })?;
        let mut folder = Self { path: path.to_owned(), lock };
        folder.take()?;
        let holder = format!("process {} ({})", std::process::id(), program());
        folder.say(&holder).map_err(io)?;
        Ok(folder)
    }

    fn take(&mut self) -> Result<(), OpenError> {
        let mut waited = Duration::ZERO;
        loop {
            match self.lock.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::Error(source)) => {
                    return Err(OpenError::Io { path: self.path.join("lock"), source });
                }
                Err(TryLockError::WouldBlock) => {}
            }
            let holder = self.holder();
            let patience = if holder.ends_with(CLOSING_WORD) { CLOSING } else { LIVING };
            if waited >= patience {
                return Err(OpenError::AlreadyInUse { path: self.path.clone(), holder });
            }
            pause();
            waited += RETRY;
        }
    }

    fn holder(&mut self) -> String {
        let mut text = String::new();
        let read =
            self.lock.rewind().and_then(|()| (&self.lock).take(256).read_to_string(&mut text));
        match read {
            Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
            _ => "another process".to_owned(),
        }
    }

    fn say(&mut self, holder: &str) -> io::Result<()> {
        self.lock.set_len(0)?;
        self.lock.rewind()?;
        self.lock.write_all(holder.as_bytes())
    }

    /// Tells whoever waits for the folder that it will be free soon.
    pub(crate) fn closing(&mut self) {
        let holder = format!("process {}, {CLOSING_WORD}", std::process::id());
        // Only a courtesy: without it the other one gives up sooner.
        let _ = self.say(&holder);
    }

    /// Opens the store in the folder, or makes one if there never was one.
    pub(crate) fn database(&self, options: DiskOptions) -> Result<Database, OpenError> {
        let format = self.format()?;
        if let Some(found) = format.filter(|found| *found < STORE_FORMAT) {
            let path = self.path.clone();
            return Err(OpenError::OlderFormat { path, found, known: STORE_FORMAT });
        }
        self.database_of_any_format(options)
    }

    /// The same, of a format that only a migration reads.
    pub(crate) fn database_of_any_format(
        &self,
        options: DiskOptions,
    ) -> Result<Database, OpenError> {
        let path = self.path.join("store.redb");
        let marked = self.format()?.is_some();
        let size = fs::metadata(&path).map(|meta| meta.len());
        match size {
            Ok(0) => return Err(self.damaged("store.redb is empty")),
            Err(error) if error.kind() == io::ErrorKind::NotFound && marked => {
                return Err(self.damaged("store.redb is missing"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make(&path)?,
            Err(source) => return Err(OpenError::Io { path, source }),
            Ok(_) => {}
        }
        let database = self.open(&path, options)?;
        let length = guarded(|| journal::length(&database)).map_err(|error| self.disk(error))?;
        if let Some(length) = length {
            let file = self.journal_file(false)?;
            let recovered = guarded(|| journal::recover(&database, &*file, length));
            recovered.map_err(|error| self.disk(error))?;
        }
        if !marked {
            self.mark()?;
        }
        Ok(database)
    }

    /// The file of the journal, made if there is none.
    pub(crate) fn journal(&self) -> Result<Box<dyn redb::StorageBackend>, OpenError> {
        let there = self.path.join(JOURNAL).exists();
        let file = self.journal_file(true)?;
        if !there {
            self.sync().map_err(|source| OpenError::Io { path: self.path.clone(), source })?;
        }
        Ok(file)
    }

    fn journal_file(&self, create: bool) -> Result<Box<dyn redb::StorageBackend>, OpenError> {
        let path = self.path.join(JOURNAL);
        let file = private().create(create).open(&path);
        let file = match file {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.damaged("the journal is missing"));
            }
            file => file.and_then(|file| FileBackend::new(file).map_err(io::Error::other)),
        };
        Ok(Box::new(file.map_err(|source| OpenError::Io { path, source })?))
    }

    /// Opens the file. The last owner may still be letting go of it when its lock is free.
    fn open(&self, path: &Path, options: DiskOptions) -> Result<Database, OpenError> {
        let mut waited = Duration::ZERO;
        loop {
            let opened = guarded(|| Ok(builder(options).open(path)));
            match opened.map_err(|error| self.disk(error))? {
                Ok(database) => return Ok(database),
                Err(DatabaseError::DatabaseAlreadyOpen) if waited < LIVING => pause(),
                Err(DatabaseError::DatabaseAlreadyOpen) => {
                    let holder = "somebody who holds the file but not the folder".to_owned();
                    return Err(OpenError::AlreadyInUse { path: self.path.clone(), holder });
                }
                Err(error) => return Err(self.disk(error.into())),
            }
            waited += RETRY;
        }
    }

    /// The format that the folder says its store has; `None` when there never was one.
    pub(crate) fn format(&self) -> Result<Option<u32>, OpenError> {
        let marker = self.path.join("FORMAT");
        let text = match fs::read_to_string(&marker) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(OpenError::Io { path: marker, source }),
        };
        let format = text.trim().strip_prefix("reveille store ").and_then(|n| n.parse().ok());
        let Some(found) = format else {
            return Err(self.damaged(format!("FORMAT says {:?}", text.trim())));
        };
        if found > STORE_FORMAT {
            let path = self.path.clone();
            return Err(OpenError::NewerFormat { path, found, known: STORE_FORMAT });
        }
        Ok(Some(found))
    }

    /// Copies the store beside itself, synced, before it is changed. A copy that is there already is
    /// one that a migration made which did not come to its end.
    pub(crate) fn copy_store(&self, name: &str) -> Result<PathBuf, OpenError> {
        let (from, to) = (self.path.join("store.redb"), self.path.join(name));
        let io = |source| OpenError::Io { path: to.clone(), source };
        let new = self.path.join(format!("{name}.new"));
        fs::copy(&from, &new).map_err(io)?;
        File::open(&new).and_then(|file| file.sync_all()).map_err(io)?;
        fs::rename(&new, &to).map_err(io)?;
        self.sync().map_err(io)?;
        Ok(to)
    }

    /// Makes a store under another name, and moves it into place when it is whole: what stands
    /// under the right name was a store from the start.
    fn make(&self, path: &Path) -> Result<(), OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let new = self.path.join("store.redb.new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        let database = Database::create(&new).map_err(|error| self.disk(error.into()))?;
        Disk::initialise(&database).map_err(|error| self.disk(error))?;
        drop(database);
        fs::rename(&new, path).map_err(io)?;
        self.sync().map_err(io)
    }

    /// Says that the folder has a store of this program's format.
    pub(crate) fn mark(&self) -> Result<(), OpenError> {
        let marker = self.path.join("FORMAT");
        let io = |source| OpenError::Io { path: marker.clone(), source };
        let new = self.path.join("FORMAT.new");
        let mut file = File::create(&new).map_err(io)?;
        file.write_all(format!("reveille store {STORE_FORMAT}\n").as_bytes()).map_err(io)?;
        file.sync_all().map_err(io)?;
        fs::rename(&new, &marker).map_err(io)?;
        self.sync().map_err(io)
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn damaged(&self, what: impl Into<String>) -> OpenError {
        OpenError::Damaged { path: self.path.clone(), what: what.into() }
    }

    /// What an error of the disk means for whoever opens the folder.
    pub(crate) fn disk(&self, error: DiskError) -> OpenError {
        opening(&self.path, error)
    }
}

/// What an error of the disk means for whoever opens a store.
pub(crate) fn opening(path: &Path, error: DiskError) -> OpenError {
    match error {
        DiskError::Storage(error) => match *error {
            redb::Error::Io(source) if !shortened(&source) => {
                OpenError::Io { path: path.to_owned(), source }
            }
            error => OpenError::Damaged { path: path.to_owned(), what: error.to_string() },
        },
        error => OpenError::Damaged { path: path.to_owned(), what: error.to_string() },
    }
}

/// Runs what reads a file that may be damaged. redb finds most damage, and panics over some.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, DiskError>) -> Result<T, DiskError> {
    std::panic::catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(damaged("file", "store.redb", "its pages contradict each other")))
}

/// Whether an error says that the file has too few bytes, or others than it had.
fn shortened(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
}

/// How databases are opened: with a cache that is bounded, and progress when redb must repair.
pub(crate) fn builder(options: DiskOptions) -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(options.cache_bytes);
    builder.set_repair_callback(|session| {
        tracing::info!(progress = session.progress(), "the store was not closed: redb repairs it");
    });
    builder
}

/// How files are opened that only their owner reads.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[allow(clippy::disallowed_methods)] // nothing tells when a lock becomes free
fn pause() {
    std::thread::sleep(RETRY);
}

fn program() -> String {
    let name = std::env::args_os().next().unwrap_or_default();
    Path::new(&name).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
