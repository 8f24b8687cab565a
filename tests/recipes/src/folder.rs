//! Where a test has its database.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io, process};

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
