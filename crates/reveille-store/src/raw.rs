//! Raw access to a store that nobody holds, for tests that damage it on purpose, and several steps in
//! one commit, for tests of what happens at the same time.

use std::future::Future;
use std::path::Path;

use redb::{Database, ReadableTable as _};
use reveille_core::{OpError, Seq};

use crate::Store;
use crate::blob::{self, Header};
use crate::disk::{COLD, LOG, META, REG, begin_read};
use crate::record::Record;
use crate::state::State;
use crate::state::row::Row;

/// A table of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// The blobs, by the number of their first record.
    Log,
    /// The rows, by actor.
    Rows,
    /// The packed segments, by the number of their first record.
    Segments,
    /// `store` is 0, `checkpoint` is 1, `edge` is 2.
    Meta,
}

const META_KEYS: [&str; 3] = ["store", "checkpoint", "edge"];

/// The file of a store, opened behind its back.
#[derive(Debug)]
pub struct RawStore {
    db: Database,
}

/// What a test may do wrong with it is the test's fault.
type Anything<T> = Result<T, Box<dyn std::error::Error>>;

impl RawStore {
    /// Opens the file in a data folder.
    ///
    /// # Errors
    ///
    /// Whatever redb says.
    pub fn open(folder: &Path) -> Anything<Self> {
        Ok(Self { db: Database::open(folder.join("store.redb"))? })
    }

    /// A new file in a data folder, with the tables of a store and nothing in them but its own format.
    ///
    /// # Errors
    ///
    /// Whatever redb says.
    pub fn create(folder: &Path) -> Anything<Self> {
        let db = Database::create(folder.join("store.redb"))?;
        crate::disk::Disk::initialise(&db)?;
        Ok(Self { db })
    }

    /// All entries of a table.
    ///
    /// # Errors
    ///
    /// Whatever redb says.
    pub fn entries(&self, table: Table) -> Anything<Vec<(u64, Vec<u8>)>> {
        let txn = begin_read(&self.db)?;
        let mut entries = Vec::new();
        match table {
            Table::Log | Table::Segments => {
                let table = txn.open_table(if table == Table::Log { LOG } else { COLD })?;
                for entry in table.iter()? {
                    let (key, value) = entry?;
                    entries.push((key.value(), value.value().to_vec()));
                }
            }
            Table::Rows => {
                for entry in txn.open_table(REG)?.iter()? {
                    let (key, value) = entry?;
                    entries.push((u64::from(key.value()), value.value().to_vec()));
                }
            }
            Table::Meta => {
                let meta = txn.open_table(META)?;
                for (index, key) in (0..).zip(META_KEYS) {
                    if let Some(value) = meta.get(key)? {
                        entries.push((index, value.value().to_vec()));
                    }
                }
            }
        }
        Ok(entries)
    }

    /// Writes an entry; `None` removes it.
    ///
    /// # Errors
    ///
    /// Whatever redb says.
    pub fn put(&self, table: Table, key: u64, value: Option<&[u8]>) -> Anything<()> {
        let txn = self.db.begin_write()?;
        match table {
            Table::Log | Table::Segments => {
                let mut table = txn.open_table(if table == Table::Log { LOG } else { COLD })?;
                match value {
                    Some(value) => drop(table.insert(key, value)?),
                    None => drop(table.remove(key)?),
                }
            }
            Table::Rows => {
                let mut table = txn.open_table(REG)?;
                let key = u32::try_from(key)?;
                match value {
                    Some(value) => drop(table.insert(key, value)?),
                    None => drop(table.remove(key)?),
                }
            }
            Table::Meta => {
                let mut table = txn.open_table(META)?;
                let key = META_KEYS.get(usize::try_from(key)?).ok_or("no such key")?;
                match value {
                    Some(value) => drop(table.insert(key, value)?),
                    None => drop(table.remove(key)?),
                }
            }
        }
        txn.commit()?;
        Ok(())
    }
}

/// Several steps of one commit: each sees what those before it have done.
pub struct Together<'a, 'b>(&'a mut crate::engine::Batch<'b>);

impl std::fmt::Debug for Together<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Together").finish_non_exhaustive()
    }
}

impl Together<'_, '_> {
    /// Runs a step of this commit.
    ///
    /// # Errors
    ///
    /// What the step refuses.
    pub fn step<S: crate::step::Step>(&mut self, step: S) -> Result<S::Answer, OpError> {
        self.0.step(step)
    }
}

/// Runs several steps in one commit, which a store does by itself when they come at the same time.
///
/// # Errors
///
/// As [`Store::run`].
pub fn together<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&mut Together<'_, '_>) -> T + Send + 'static,
) -> impl Future<Output = Result<T, OpError>> {
    store.submit(move |batch| Ok(work(&mut Together(batch))))
}

/// The rows of a state, without what differs between one that was loaded and one that was made.
#[must_use]
pub fn rows(state: &State) -> Vec<Row> {
    state.rows().iter().map(|row| Row { as_of: Seq::ZERO, ..row.clone() }).collect()
}

/// Takes a blob apart.
///
/// # Errors
///
/// When it is damaged.
pub fn open_blob(bytes: &[u8]) -> Anything<(Header, Vec<(Seq, Record)>)> {
    let (header, body) = blob::read(bytes)?;
    let records = blob::records(&header, body).collect::<Result<_, _>>()?;
    Ok((header, records))
}

/// Puts a blob together again, with good CRCs.
///
/// # Errors
///
/// When a record is too large.
pub fn close_blob(header: &Header, records: &[Record]) -> Anything<Vec<u8>> {
    let mut body = Vec::new();
    records.iter().try_for_each(|record| record.write(&mut body))?;
    let header = Header { count: u32::try_from(records.len())?, ..*header };
    Ok(blob::write(&header, &body).0)
}
