//! Others hold the lock of the file.

use std::thread;
use std::time::Duration;

use retry_core::store::{Enqueued, Store, StoreError};
use retry_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Folder, enqueue, keyed, new, wait};

#[test]
fn a_write_waits_for_the_lock() {
    let folder = Folder::new();
    let store = folder.store();
    let lock = Connection::open(folder.file()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let reply = store.enqueue(new(keyed("order-1")));
    let waiting = thread::spawn(|| wait(reply));
    // Reading takes no lock, and does not wait for it where nothing was written
    // before.
    let reading = SqliteStore::open_read_only(folder.file()).unwrap();
    assert_eq!(wait(reading.find(keyed("order-1"))).unwrap(), None);
    lock.execute_batch("COMMIT").unwrap();
    assert!(matches!(waiting.join().unwrap(), Ok(Enqueued::New(_))));
}

#[test]
fn a_lock_that_is_held_too_long_is_an_error_and_nothing_is_lost() {
    let folder = Folder::new();
    let busy_wait = Duration::from_millis(20);
    let store = SqliteStore::builder(folder.file()).busy_wait(busy_wait).open().unwrap();
    let kept = enqueue(&store, new(keyed("order-1")));
    let lock = Connection::open(folder.file()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    match wait(store.enqueue(new(keyed("order-2")))).unwrap_err() {
        StoreError::Busy { waited, .. } => assert!(waited >= busy_wait),
        error => panic!("another error: {error}"),
    }
    let opened = SqliteStore::builder(folder.file()).busy_wait(busy_wait).open();
    assert!(matches!(opened, Err(StoreError::Busy { .. })), "{opened:?}");
    lock.execute_batch("ROLLBACK").unwrap();
    enqueue(&store, new(keyed("order-2")));
    assert_eq!(wait(store.read(kept.record)).unwrap().unwrap().head(), &kept);
}

#[test]
fn a_long_reader_holds_back_no_writer() {
    let folder = Folder::new();
    let store = folder.store();
    enqueue(&store, new(keyed("before")));
    let reader = Connection::open(folder.file()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = |connection: &Connection| {
        let sql = "SELECT count(*) FROM operation";
        connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(count(&reader), 1);
    for key in 0..200 {
        enqueue(&store, new(keyed(&key.to_string())));
    }
    assert_eq!(count(&reader), 1, "it reads one state of the file");
    reader.execute_batch("ROLLBACK").unwrap();
    assert_eq!(count(&reader), 201);
}
