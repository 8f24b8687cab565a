//! Which file it is, named in every error.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use retry_core::store::StoreError;
use rusqlite::{Error, ErrorCode};

/// The file of a store.
#[derive(Clone, Debug)]
pub(crate) struct Place(Arc<Path>);

impl Place {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::from(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn cannot_open(&self, why: impl Into<String>) -> StoreError {
        StoreError::CannotOpen { store: self.to_string(), why: why.into() }
    }

    pub(crate) fn read_only(&self) -> StoreError {
        StoreError::ReadOnly { store: self.to_string() }
    }

    pub(crate) fn moved(&self) -> StoreError {
        let why = "the file is not the one that was opened: it was removed, moved or replaced meanwhile; \
             stop every process that has it open, put the right file there, and start them again";
        StoreError::Failed { store: self.to_string(), why: why.to_owned() }
    }

    pub(crate) fn busy(&self, waited: Duration) -> StoreError {
        StoreError::Busy { store: self.to_string(), waited }
    }

    /// What SQLite says, as far as a caller can act on it.
    pub(crate) fn failed(&self, error: &Error) -> StoreError {
        let store = self.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { store },
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { store },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Failed {
                store,
                why: format!(
                    "the file is damaged ({error}); stop its processes, look at it with \
                     `PRAGMA integrity_check`, and restore it from a backup"
                ),
            },
            Some(ErrorCode::SystemIoFailure) => StoreError::Failed {
                store,
                why: format!(
                    "{error}; look at the disk, at quotas, and at limits of a file's size"
                ),
            },
            _ => StoreError::Failed { store, why: error.to_string() },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// Others hold a lock: to be tried again.
pub(crate) fn is_busy(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}
