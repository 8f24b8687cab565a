//! What a store is opened with.

use std::path::PathBuf;
use std::time::Duration;

use retry_core::Clock;
use retry_core::store::{Limits, StoreError};

use crate::file::Access;
use crate::store::SqliteStore;
use crate::wall::Wall;

/// What a store is opened with. Made by [`SqliteStore::builder`].
///
/// ```no_run
/// use std::time::Duration;
/// use retry_core::store::Limits;
/// use retry_sqlite::SqliteStore;
///
/// let store = SqliteStore::builder("payments.db")
///     .limits(Limits { arguments: 256 << 10, ..Limits::default() })
///     .busy_wait(Duration::from_secs(60))
///     .open()?;
/// # Ok::<(), retry_core::store::StoreError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a store is opened by `open`"]
pub struct SqliteStoreBuilder {
    pub(crate) path: PathBuf,
    pub(crate) wall: Wall,
    pub(crate) limits: Limits,
    pub(crate) busy_wait: Duration,
}

impl SqliteStoreBuilder {
    pub(crate) fn new(path: PathBuf) -> Self {
        let busy_wait = Duration::from_secs(30);
        Self { path, wall: Wall::default(), limits: Limits::default(), busy_wait }
    }

    /// The clock whose [calendar](Clock::utc) leases and due times are on: the
    /// machine's, unless a test has its own.
    ///
    /// The store's time never runs back, also where this does, and the processes
    /// that share a file share it.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.wall = Wall::of(clock);
        self
    }

    /// How large what is kept may be.
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// For how long a write is tried again while another process holds the lock of
    /// the file, before it is [`Busy`](StoreError::Busy). The default is 30 s:
    /// SQLite gives the lock to nobody in particular, and with many processes some
    /// wait long.
    pub const fn busy_wait(mut self, busy_wait: Duration) -> Self {
        self.busy_wait = busy_wait;
        self
    }

    /// Opens the file for writing, and makes it where there is none; its folder
    /// must exist. Tables of an older version are brought to this one.
    ///
    /// Reads and writes the file on the calling thread, which nothing afterwards
    /// does.
    ///
    /// # Errors
    /// The file cannot be opened, cannot be written to, is not a store, or was made
    /// by a newer version. It is then left as it was.
    pub fn open(self) -> Result<SqliteStore, StoreError> {
        SqliteStore::start(self, Access::Write)
    }

    /// Opens a file that there is, for reading: it is neither made nor brought to
    /// this version, and others may write it meanwhile. Whatever writes is
    /// [`ReadOnly`](StoreError::ReadOnly).
    ///
    /// # Errors
    /// There is no such file, it is not a store, or was made by a newer version.
    pub fn open_read_only(self) -> Result<SqliteStore, StoreError> {
        SqliteStore::start(self, Access::ReadOnly)
    }
}
