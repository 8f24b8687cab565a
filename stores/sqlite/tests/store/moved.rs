//! A file that is no longer where it was opened.
#![cfg(unix)]

use std::fs;
use std::path::Path;

use retry_core::record::New;
use retry_core::store::{Enqueued, Store, StoreError};
use retry_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Folder, enqueue, keyed, new, wait};

/// That nothing is answered which nobody will find.
fn is_refused(store: &SqliteStore, operation: New) {
    match wait(store.enqueue(operation)) {
        Err(StoreError::Failed { why, .. }) => {
            assert!(why.starts_with("the file is not the one that was opened"), "{why}");
        }
        answer => panic!("{answer:?}"),
    }
}

fn remove_with_its_log(file: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        fs::remove_file(name).unwrap();
    }
}

#[test]
fn a_file_that_was_removed_takes_nothing_more() {
    let folder = Folder::new();
    let store = folder.store();
    enqueue(&store, new(keyed("order-1")));
    remove_with_its_log(&folder.file());
    is_refused(&store, new(keyed("order-2")));
    is_refused(&store, new(keyed("order-1")));
    // A new file is another store.
    let other = folder.store();
    is_refused(&store, new(keyed("order-3")));
    assert!(matches!(wait(other.enqueue(new(keyed("order-2")))), Ok(Enqueued::New(_))));
    is_refused(&store, new(keyed("order-2")));
    wait(store.close()).unwrap();
    assert!(wait(other.find(keyed("order-2"))).unwrap().is_some());
}

#[test]
fn a_file_that_was_replaced_is_left_as_it_is() {
    let folder = Folder::new();
    let store = folder.store();
    enqueue(&store, new(keyed("order-1")));
    let backup = folder.path().join("backup.db");
    let copy = format!("VACUUM INTO '{}'", backup.display());
    folder.sql(&copy).unwrap();
    enqueue(&store, new(keyed("order-2")));

    remove_with_its_log(&folder.file());
    fs::rename(&backup, folder.file()).unwrap();
    is_refused(&store, new(keyed("order-3")));
    let restored = folder.store();
    is_refused(&store, new(keyed("order-4")));
    drop(store);
    enqueue(&restored, new(keyed("order-5")));
    wait(restored.close()).unwrap();
    let connection = Connection::open(folder.file()).unwrap();
    let whole: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    let kept: i64 =
        connection.query_row("SELECT count(*) FROM operation", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 2);
}
