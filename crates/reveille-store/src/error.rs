//! Why a store cannot be opened, and what its storage said.

use std::path::PathBuf;

use reveille_core::{Code, Seq};

use crate::state::Violation;

/// Why a data folder could not be opened. The folder is left untouched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A living process holds the folder.
    #[error("{path} is in use by {holder}")]
    AlreadyInUse {
        /// The data folder.
        path: PathBuf,
        /// Who holds it, as far as it said.
        holder: String,
    },
    /// What is there is not what was stored.
    #[error("the store in {path} is damaged: {what}")]
    Damaged {
        /// The data folder.
        path: PathBuf,
        /// What is broken.
        what: String,
    },
    /// The store was written by a newer program.
    #[error("the store in {path} has format {found}, this program reads formats up to {known}")]
    NewerFormat {
        /// The data folder.
        path: PathBuf,
        /// The format of the store.
        found: u32,
        /// The newest format that is known.
        known: u32,
    },
    /// The store was written by an older program: it is to be migrated first.
    #[error(
        "the store in {path} has format {found}, this program writes format {known}: \
         `reveille migrate` brings it there, after a backup"
    )]
    OlderFormat {
        /// The data folder.
        path: PathBuf,
        /// The format of the store.
        found: u32,
        /// The format of this program.
        known: u32,
    },
    /// The folder or a file in it cannot be read or written.
    #[error("{path} cannot be used")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl OpenError {
    /// The stable name, HTTP status and exit code.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::AlreadyInUse { .. } => Code { name: "already_in_use", http: 409, exit: 4 },
            Self::Damaged { .. } => Code { name: "store_damaged", http: 503, exit: 5 },
            Self::OlderFormat { .. } | Self::NewerFormat { .. } => {
                Code { name: "store_damaged", http: 503, exit: 5 }
            }
            Self::Io { .. } => Code { name: "storage_failed", http: 503, exit: 5 },
        }
    }
}

/// What went wrong between the engine and its disk.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    /// The storage said no.
    #[error("{0}")]
    Storage(#[from] Box<redb::Error>),
    /// A blob, a row or the order of blobs is not as it was written.
    #[error("{what} {key}: {error}")]
    Damaged {
        /// What kind of thing.
        what: &'static str,
        /// Its key.
        key: String,
        /// What is wrong with it.
        error: String,
    },
    /// The records do not follow from one another.
    #[error(transparent)]
    Violated(#[from] Violation),
}

impl DiskError {
    pub(crate) fn blob(seq: Seq, error: impl ToString) -> Self {
        Self::Damaged { what: "log blob", key: seq.to_string(), error: error.to_string() }
    }
}

macro_rules! storage {
    ($($error:ty),*) => {$(
        impl From<$error> for DiskError {
            fn from(error: $error) -> Self {
                Self::Storage(Box::new(error.into()))
            }
        }
    )*};
}

storage!(
    redb::StorageError,
    redb::TableError,
    redb::TransactionError,
    redb::CommitError,
    redb::DatabaseError,
    redb::Error
);

impl From<redb::CursorError> for DiskError {
    fn from(error: redb::CursorError) -> Self {
        match error {
            redb::CursorError::Storage(error) => error.into(),
            other => {
                Self::Damaged { what: "log", key: "right edge".into(), error: other.to_string() }
            }
        }
    }
}
