//! Where a test has its database.

use std::io;
use std::path::PathBuf;

use tempfile::TempDir;

/// A folder for the database of one test, gone with the value.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// An empty folder that no other test has.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn new() -> io::Result<Self> {
        tempfile::tempdir().map(Self)
    }

    /// Where the database is.
    pub fn database(&self) -> PathBuf {
        self.0.path().join("recipe.db")
    }
}
