//! Care of a store: backup while it is in use, restore, compaction (section 12).
//!
//! A backup is a data folder of its own: `verify` checks it, and a runtime could start on it. It is
//! made of one read transaction, so it is the store as of one commit; whatever was acknowledged before
//! it began is in it. Nothing here leaves something half written under a name that counts: files are
//! made under other names, synced, and moved.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use redb::{Database, ReadTransaction, ReadableTable as _, TableDefinition};

use crate::disk::{self, Blob, DiskOptions, journal};
use crate::error::{DiskError, OpenError};
use crate::folder::{Folder, guarded, opening};
use crate::verify::{Finding, verify};

/// Entries that are copied between two reports of progress.
const STEP: u64 = 1024;

/// Why a backup or a restore was not done. Nothing was left behind by it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CareError {
    /// The place is taken.
    #[error("{path} is there already; nothing is written over")]
    Exists {
        /// The place.
        path: std::path::PathBuf,
    },
    /// What was to be restored is not whole.
    #[error("the backup in {path} is damaged: {first}")]
    Damaged {
        /// The backup.
        path: std::path::PathBuf,
        /// The first thing that is wrong with it.
        first: String,
        /// Everything that is.
        findings: Vec<Finding>,
    },
    /// The store, the backup or its folder cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl CareError {
    /// The stable name, HTTP status and exit code.
    #[must_use]
    pub const fn code(&self) -> reveille_core::Code {
        match self {
            Self::Exists { .. } => reveille_core::Code { name: "invalid", http: 422, exit: 2 },
            Self::Damaged { .. } => {
                reveille_core::Code { name: "store_damaged", http: 503, exit: 5 }
            }
            Self::Open(error) => error.code(),
        }
    }
}

/// Copies all tables of a database into a new folder.
pub(crate) fn backup(
    db: &Database,
    unfolded: &[Blob],
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), CareError> {
    let io = |source| CareError::Open(OpenError::Io { path: to.to_owned(), source });
    if to.exists() {
        return Err(CareError::Exists { path: to.to_owned() });
    }
    let new = to.with_extension("incomplete");
    if new.exists() {
        return Err(CareError::Exists { path: new });
    }
    fs::create_dir_all(&new).map_err(io)?;
    let done = guarded(|| copy(db, unfolded, &new.join("store.redb"), progress))
        .map_err(|error| CareError::Open(opening(to, error)))
        .and_then(|()| finish(&new, to).map_err(io));
    if done.is_err() {
        // What could not be finished is nothing that anybody waits for.
        let _ = fs::remove_dir_all(&new);
    }
    done
}

fn finish(new: &Path, to: &Path) -> io::Result<()> {
    let marker = format!("reveille store {}\n", disk::STORE_FORMAT);
    fs::write(new.join("FORMAT"), marker)?;
    File::open(new.join("FORMAT"))?.sync_all()?;
    private(&new.join("store.redb"))?;
    File::open(new.join("store.redb"))?.sync_all()?;
    File::open(new)?.sync_all()?;
    fs::rename(new, to)?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

#[cfg(unix)]
fn private(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

#[cfg(not(unix))]
fn private(_: &Path) -> io::Result<()> {
    Ok(())
}

fn copy(
    db: &Database,
    unfolded: &[Blob],
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), DiskError> {
    let from = disk::begin_read(db)?;
    let copy = Database::create(to)?;
    let txn = copy.begin_write()?;
    let mut count = Count { done: 0, all: entries(&from)?, progress };
    copy_table(&from, &txn, disk::LOG, &mut count)?;
    copy_table(&from, &txn, disk::COLD, &mut count)?;
    copy_table(&from, &txn, disk::CALLS, &mut count)?;
    copy_table(&from, &txn, disk::REG, &mut count)?;
    copy_table(&from, &txn, disk::META, &mut count)?;
    add_unfolded(&txn, unfolded)?;
    journal::unmark(&txn)?;
    txn.commit()?;
    count.report(true);
    Ok(())
}

/// Adds what only the journal holds; what was folded meanwhile is there.
fn add_unfolded(txn: &redb::WriteTransaction, unfolded: &[Blob]) -> Result<(), DiskError> {
    let last = txn.open_table(disk::LOG)?.last()?.map(|(key, _)| key.value());
    let new = unfolded.iter().filter(|(key, _)| last.is_none_or(|last| key.0 > last));
    journal::insert(txn, new.map(|(key, bytes)| (*key, &**bytes)))
}

struct Count<'a> {
    done: u64,
    all: u64,
    progress: &'a mut dyn FnMut(u64, u64),
}

impl Count<'_> {
    fn report(&mut self, over: bool) {
        self.done += u64::from(!over);
        if over || self.done.is_multiple_of(STEP) {
            (self.progress)(self.done, self.all);
        }
    }
}

fn entries(txn: &ReadTransaction) -> Result<u64, DiskError> {
    use redb::ReadableTableMetadata as _;
    let log = txn.open_table(disk::LOG)?.len()?;
    let cold = txn.open_table(disk::COLD)?.len()?;
    Ok(log + cold + txn.open_table(disk::REG)?.len()?)
}

fn copy_table<K: redb::Key + 'static, V: redb::Value + 'static>(
    from: &ReadTransaction,
    to: &redb::WriteTransaction,
    table: TableDefinition<'_, K, V>,
    count: &mut Count<'_>,
) -> Result<(), DiskError> {
    let from = match from.open_table(table) {
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(()),
        from => from?,
    };
    let mut to = to.open_table(table)?;
    for entry in from.iter()? {
        let (key, value) = entry?;
        to.insert(key.value(), value.value())?;
        count.report(false);
    }
    Ok(())
}

/// Puts a backup into a folder that is absent or empty. The backup is checked first.
///
/// # Errors
///
/// [`CareError`]: the folder has something in it, or the backup is not whole.
pub fn restore(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), CareError> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let io = |source| CareError::Open(OpenError::Io { path: to.to_owned(), source });
    let empty = match fs::read_dir(to) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(source) => return Err(io(source)),
    };
    if !empty {
        return Err(CareError::Exists { path: to.to_owned() });
    }
    let findings = verify(from)?.findings;
    if let Some(first) = findings.first() {
        let (path, first) = (from.to_owned(), format!("{}: {}", first.promise, first.what));
        return Err(CareError::Damaged { path, first, findings });
    }
    fs::create_dir_all(to).map_err(io)?;
    let new = to.join("store.redb.new");
    let place = |from: &Path, new: &Path, to: &Path| -> io::Result<()> {
        fs::copy(from, new)?;
        private(new)?;
        File::open(new)?.sync_all()?;
        fs::rename(new, to)
    };
    // The store first: a folder with a marker and no store is one whose store was lost.
    place(&from.join("store.redb"), &new, &to.join("store.redb")).map_err(io)?;
    place(&from.join("FORMAT"), &to.join("FORMAT.new"), &to.join("FORMAT")).map_err(io)?;
    File::open(to).and_then(|folder| folder.sync_all()).map_err(io)
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of the file after.
    pub after: u64,
}

/// Makes the file of a store that nobody holds as small as it can be.
///
/// # Errors
///
/// [`OpenError`]: there is no store, somebody holds it, or it is damaged.
pub fn compact(path: impl AsRef<Path>) -> Result<Compacted, OpenError> {
    let folder = Folder::own(path.as_ref(), false)?;
    let file = path.as_ref().join("store.redb");
    let size = || fs::metadata(&file).map_or(0, |meta| meta.len());
    let before = size();
    let mut database = folder.database(DiskOptions::default())?;
    let compacted = guarded(|| {
        // Each pass moves pages to the front; redb says when there is nothing left to move.
        while database.compact().map_err(redb::Error::from)? {}
        Ok(())
    });
    compacted.map_err(|error| folder.disk(error))?;
    drop(database);
    Ok(Compacted { before, after: size() })
}
