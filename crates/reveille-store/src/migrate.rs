//! Migrating a store of an older format (section 12): after a backup, in one transaction.
//!
//! The log is not touched: records of every version are read for ever. What is written anew are the
//! rows of the checkpoint, the store's own format, and the marker in the folder. A process that dies in
//! between leaves either the old store or the new one with the old marker; the next `migrate` finishes
//! that.

use std::path::{Path, PathBuf};

use redb::{Database, ReadableTable as _};
use reveille_core::Timestamp;

use crate::codec::{self, CodecError};
use crate::disk::{self, META, REG, ROW_KIND, STORE_FORMAT, STORE_KIND, StoreMeta, damaged};
use crate::error::{DiskError, OpenError};
use crate::folder::{Folder, guarded};
use crate::legacy;

/// What a migration did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The format that the store had.
    pub from: u32,
    /// The format that it has.
    pub to: u32,
    /// A copy of the store as it was; `None` when there was nothing to do.
    pub backup: Option<PathBuf>,
}

/// Brings the store in a folder that nobody holds to the format of this program.
///
/// # Errors
///
/// [`OpenError`]: there is no store, somebody holds it, it is damaged, or of a newer format.
pub fn migrate(path: impl AsRef<Path>) -> Result<Migrated, OpenError> {
    let folder = Folder::own(path.as_ref(), false)?;
    let marked = folder.format()?;
    if marked == Some(STORE_FORMAT) {
        return Ok(Migrated { from: STORE_FORMAT, to: STORE_FORMAT, backup: None });
    }
    let database = folder.database_of_any_format(disk::DiskOptions::default())?;
    let from = guarded(|| format_of(&database)).map_err(|error| folder.disk(error))?;
    let backup = if from == STORE_FORMAT {
        None
    } else {
        drop(database);
        let backup = folder.copy_store(&format!("store.redb.format-{from}"))?;
        let database = folder.database_of_any_format(disk::DiskOptions::default())?;
        guarded(|| rewrite(&database)).map_err(|error| folder.disk(error))?;
        Some(backup)
    };
    folder.mark()?;
    Ok(Migrated { from, to: STORE_FORMAT, backup })
}

fn format_of(database: &Database) -> Result<u32, DiskError> {
    let txn = disk::begin_read(database)?;
    let meta = txn.open_table(META)?;
    let store = meta.get("store")?.ok_or_else(|| damaged("meta", "store", "it is missing"))?;
    let store: StoreMeta = disk::unframe(STORE_KIND, store.value())
        .map_err(|error| damaged("meta", "store", error))?;
    Ok(store.format)
}

fn rewrite(database: &Database) -> Result<(), DiskError> {
    let txn = database.begin_write()?;
    {
        let mut meta = txn.open_table(META)?;
        let at = match meta.get("checkpoint")? {
            Some(bytes) => {
                disk::unframe::<disk::Checkpoint>(disk::CHECKPOINT_KIND, bytes.value())
                    .map_err(|error| damaged("meta", "checkpoint", error))?
                    .at
            }
            None => Timestamp::default(),
        };
        let mut reg = txn.open_table(REG)?;
        let mut rows = Vec::new();
        for entry in reg.iter()? {
            let (number, bytes) = entry?;
            let number = number.value();
            let row = old_row(bytes.value()).map_err(|error| damaged("row", number, error))?;
            rows.push((number, row.upgrade(at)));
        }
        for (number, row) in rows {
            reg.insert(number, disk::frame(ROW_KIND, &row)?.as_slice())?;
        }
        let store = disk::frame(STORE_KIND, &StoreMeta { format: STORE_FORMAT })?;
        meta.insert("store", store.as_slice())?;
    }
    txn.commit()?;
    Ok(())
}

fn old_row(bytes: &[u8]) -> Result<legacy::Row, CodecError> {
    let (frame, rest) = codec::read_frame(bytes)?;
    if frame.kind != ROW_KIND || frame.version != 1 || !rest.is_empty() {
        return Err(CodecError::Unknown { kind: frame.kind, version: frame.version });
    }
    codec::decode(frame.payload)
}
