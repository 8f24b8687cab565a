//! A folder of one test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use retry_core::record::RecordId;

/// A new folder, removed with what is in it when this is dropped; unless the thread
/// panics: what was found is then to be looked at.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// # Errors
    /// It cannot be made.
    pub fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("retry-faults-{}", RecordId::new()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where the store is.
    pub fn store(&self) -> PathBuf {
        self.0.join("store.db")
    }

    /// Leaves it where it is.
    pub fn keep(self) -> PathBuf {
        let path = self.0.clone();
        std::mem::forget(self);
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("left for a look: {}", self.0.display());
        } else {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
