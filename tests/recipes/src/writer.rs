//! Somebody else who writes.

use std::path::Path;
use std::sync::mpsc;
use std::thread;

/// Another connection, in a thread of its own, that has the write lock.
#[derive(Debug)]
pub struct Writer {
    go: mpsc::Sender<()>,
    thread: thread::JoinHandle<rusqlite::Result<()>>,
}

impl Writer {
    /// Makes a change, and does not commit it.
    ///
    /// # Errors
    ///
    /// What SQLite says of the file or of the change.
    pub fn hold(database: &Path, change: &str) -> rusqlite::Result<Self> {
        let connection = crate::open(database)?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        connection.execute(change, ())?;
        let (go, wait) = mpsc::channel();
        let thread = thread::spawn(move || match wait.recv() {
            Ok(()) => connection.execute_batch("COMMIT"),
            // Let go: closing the connection rolls it back.
            Err(mpsc::RecvError) => Ok(()),
        });
        Ok(Self { go, thread })
    }

    /// Returns when it is committed, and the lock is free.
    ///
    /// # Errors
    ///
    /// What SQLite says of the commit.
    pub fn commit(self) -> rusqlite::Result<()> {
        let _ = self.go.send(());
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
