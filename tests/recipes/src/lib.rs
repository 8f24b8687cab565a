//! What the recipes of `retry_core::guide::recipes` share.

mod folder;
mod line;
mod writer;

use std::path::Path;
use std::time::Duration;

use retry_core::Failure;
use rusqlite::{Connection, ErrorCode};

pub use folder::Folder;
pub use line::{Line, Loses, Lost};
pub use writer::Writer;

/// Opens a connection that never waits for a lock: the waiting is the retry's.
///
/// # Errors
///
/// What SQLite says where the file cannot be opened or hold a WAL.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}

/// What an error of SQLite means where a whole transaction is the attempt.
pub fn classify(error: &rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        // All of SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT included: it is rolled back.
        Some(ErrorCode::DatabaseBusy) => Failure::transient().no_effect(),
        _ => Failure::permanent(),
    }
}

#[cfg(test)]
mod tests {
    use retry_core::Failure;
    use rusqlite::ffi;

    use super::{Folder, classify, open};

    /// Before 3.51.3 two writers that checkpoint can corrupt a WAL.
    #[test]
    fn the_bundled_library_may_have_several_writers() {
        assert!(rusqlite::version_number() >= 3_051_003, "SQLite {}", rusqlite::version());
    }

    #[test]
    fn the_file_has_a_wal() {
        let folder = Folder::new().unwrap();
        let connection = open(&folder.database()).unwrap();
        let mode: String =
            connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn only_busy_is_worth_another_attempt() {
        let failure = |code| classify(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        for code in [
            ffi::SQLITE_BUSY,
            ffi::SQLITE_BUSY_RECOVERY,
            ffi::SQLITE_BUSY_SNAPSHOT,
            ffi::SQLITE_BUSY_TIMEOUT,
        ] {
            assert_eq!(failure(code), Failure::transient().no_effect(), "{code}");
        }
        for code in [
            ffi::SQLITE_LOCKED,
            ffi::SQLITE_CONSTRAINT,
            ffi::SQLITE_IOERR,
            ffi::SQLITE_FULL,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_CORRUPT,
        ] {
            assert_eq!(failure(code), Failure::permanent(), "{code}");
        }
        assert_eq!(classify(&rusqlite::Error::QueryReturnedNoRows), Failure::permanent());
    }
}
