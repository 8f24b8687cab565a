//! What the recipes of `retry_core::guide::recipes` share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs, io, process};

use rusqlite::Connection;

/// Opens a connection that never waits for a lock: waiting is the retry's.
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

/// A folder for the database of one test, gone with the value.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder that no other test has.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn new() -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("retry-recipes-{}-{number}", process::id()));
        // Left behind by a process of the same number that was killed.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Where the database is.
    pub fn database(&self) -> PathBuf {
        self.0.join("recipe.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Folder, open};

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
}
