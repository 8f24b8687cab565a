//! Waiting for a record that somebody holds, here or in another process.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use retry_core::Clock as _;
use retry_core::clock::VirtualClock;
use retry_core::record::{Change, RecordId};
use retry_core::store::{Reply, Store, StoreError, Write};
use retry_sqlite::SqliteStore;

use crate::support::{Folder, enqueue, keyed, new, started, wait};

fn is_pending(reply: &mut Reply<()>) -> bool {
    Pin::new(reply).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn a_record_that_nobody_holds_is_free() {
    let folder = Folder::new();
    let store = folder.store();
    let head = enqueue(&store, new(keyed("order-1")));
    assert_eq!(wait(store.freed(head.record)), Ok(()));
    assert_eq!(wait(store.freed(RecordId::new())), Ok(()));
}

#[test]
fn whoever_waits_hears_of_the_end_in_every_process() {
    let folder = Folder::new();
    let here = folder.store();
    // With connections of their own, as other processes have.
    let there = folder.store();
    let reading = SqliteStore::open_read_only(folder.file()).unwrap();
    let (operation, fence) = started(keyed("order-1"));
    let record = enqueue(&here, operation).record;
    let mut waiting =
        [here.freed(record), there.freed(record), reading.freed(record), here.freed(record)];
    assert!(waiting.iter_mut().all(is_pending));
    let change = Change::complete(fence, 1, Duration::ZERO, "1".to_owned());
    here.post(Write { record, change });
    for freed in waiting {
        assert_eq!(wait(freed), Ok(()));
    }
}

#[test]
fn a_lease_that_is_over_frees_the_record() {
    let folder = Folder::new();
    // Moves on by itself where everybody in its scope waits.
    let clock = VirtualClock::new();
    let store = SqliteStore::builder(folder.file()).clock(clock.clone()).open().unwrap();
    let (operation, _) = started(keyed("order-1"));
    let head = enqueue(&store, operation);
    let (_, until) = head.lease.held.unwrap();
    let freed = clock.clone().scope(store.freed(head.record));
    assert_eq!(wait(freed), Ok(()));
    assert!(retry_core::record::Timestamp::from(clock.utc()) >= until);
}

#[test]
fn waiting_keeps_no_store_open() {
    let folder = Folder::new();
    let store = folder.store();
    let (operation, _) = started(keyed("order-1"));
    let mut freed = store.freed(enqueue(&store, operation).record);
    assert!(is_pending(&mut freed));
    drop(store);
    assert_eq!(wait(freed), Err(StoreError::Closed));
}
