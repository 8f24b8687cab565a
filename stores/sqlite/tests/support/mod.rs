//! A folder, and operations to keep in it.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use retry_core::key::ToKey as _;
use retry_core::record::{Arguments, Fence, Head, Holder, New, RecordId};
use retry_core::store::{Claimed, Due, Enqueued, Store};
use retry_core::{OperationId, Policy, Safety};
use retry_sqlite::SqliteStore;
use tempfile::TempDir;

pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// Removed with everything in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path().join("store.db")
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(self.file()).unwrap()
    }

    /// Past the store, as an operator or a fault would.
    pub(crate) fn sql(&self, sql: &str) -> rusqlite::Result<()> {
        rusqlite::Connection::open(self.file()).unwrap().execute_batch(sql)
    }
}

pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    futures::executor::block_on(future)
}

pub(crate) fn keyed(key: &str) -> OperationId {
    OperationId::keyed("payments.charge", key.to_key("payments.charge").unwrap())
}

/// With this id, in the queue `mail`, due at once.
pub(crate) fn new(operation: OperationId) -> New {
    New {
        record: RecordId::new(),
        operation,
        safety: Safety::Keyed,
        policy: Policy::new(5, Duration::from_secs(3600)),
        arguments: Arguments::of(&("order", 5)).unwrap(),
        queue: "mail".to_owned(),
        code_version: Some("7".to_owned()),
        keep: Duration::from_secs(86_400),
        held: None,
        started: false,
    }
}

/// Under a lease, with its first attempt charged.
pub(crate) fn started(operation: OperationId) -> (New, Fence) {
    let holder = Holder::new();
    let new = New { held: Some((holder, LEASE)), started: true, ..new(operation) };
    (new, Fence { epoch: 1, holder })
}

/// Enqueued, and new.
pub(crate) fn enqueue(store: &SqliteStore, new: New) -> Head {
    match wait(store.enqueue(new)).unwrap() {
        Enqueued::New(head) => *head,
        Enqueued::Existing(record) => panic!("it is there: {record:?}"),
    }
}

/// What is due in the queue `mail`.
pub(crate) fn claim(store: &SqliteStore, limit: usize) -> Vec<Claimed> {
    let due = Due { queue: "mail".to_owned(), limit, holder: Holder::new(), lease: LEASE };
    wait(store.claim(due)).unwrap()
}
