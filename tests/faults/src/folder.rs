//! A folder of one test.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;

/// A new folder, removed with what is in it when this is dropped; unless the thread
/// panics: what was found is then to be looked at.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// # Errors
    /// It cannot be made.
    pub fn new() -> io::Result<Self> {
        tempfile::Builder::new().prefix("retry-faults-").tempdir().map(Self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where the store is.
    pub fn store(&self) -> PathBuf {
        self.path().join("store.db")
    }

    /// Leaves it where it is.
    pub fn keep(mut self) -> PathBuf {
        self.0.disable_cleanup(true);
        self.path().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.disable_cleanup(true);
            eprintln!("left for a look: {}", self.path().display());
        }
    }
}
