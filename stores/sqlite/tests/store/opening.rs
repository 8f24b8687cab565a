//! Files that are a store, and files that are not.

use std::fs;
use std::path::Path;
use std::thread;

use retry_core::store::{List, Store, StoreError};
use retry_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Folder, enqueue, keyed, new, started, wait};

/// The reason, of a store that cannot be opened in either way.
fn refused(path: &Path) -> String {
    let errors = [SqliteStore::open(path), SqliteStore::open_read_only(path)].map(|opened| {
        match opened.unwrap_err() {
            StoreError::CannotOpen { store, why } => {
                assert!(
                    Path::new(&store).ends_with(path.file_name().unwrap_or_default()),
                    "{store}"
                );
                why
            }
            error => panic!("another error: {error}"),
        }
    });
    errors[0].clone()
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let folder = Folder::new();
    for content in [&b"{\"orders\": []}"[..], &[7; 8192], b"SQLite format 3\0 but not really one"] {
        fs::write(folder.file(), content).unwrap();
        let why = refused(&folder.file());
        assert!(why.starts_with("it is not an SQLite database"), "{why}");
        assert!(why.ends_with("name another file"), "{why}");
        assert_eq!(fs::read(folder.file()).unwrap(), content);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Its log would be beside one of them only.
#[test]
#[cfg(unix)]
fn a_file_of_two_names_is_refused() {
    let folder = Folder::new();
    drop(SqliteStore::open(folder.file()).unwrap());
    let other = folder.path().join("other.db");
    fs::hard_link(folder.file(), &other).unwrap();
    for name in [folder.file(), other.clone()] {
        assert!(refused(&name).starts_with("it has 2 names (hard links)"));
    }
    fs::remove_file(other).unwrap();
    assert!(SqliteStore::open(folder.file()).is_ok());
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = Folder::new();
    for (foreign, sql) in [
        ("tables", "CREATE TABLE orders (id); INSERT INTO orders VALUES (7)"),
        ("log", "PRAGMA journal_mode = wal; CREATE TABLE orders (id)"),
        ("application", "PRAGMA application_id = 17"),
        ("version", "PRAGMA user_version = 1"),
    ] {
        let path = folder.path().join(foreign);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&path).unwrap();
        let why = refused(&path);
        assert!(why.contains("of another program"), "{foreign}: {why}");
        assert_eq!(fs::read(&path).unwrap(), before, "{foreign}");
    }
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let folder = Folder::new();
    enqueue(&folder.store(), new(keyed("order-1")));
    folder
        .sql("PRAGMA user_version = 17; UPDATE meta SET value = 17 WHERE key = 'schema_version'")
        .unwrap();
    let before = fs::read(folder.file()).unwrap();
    for opened in [SqliteStore::open(folder.file()), SqliteStore::open_read_only(folder.file())] {
        let error = opened.unwrap_err();
        assert!(matches!(error, StoreError::NewerSchema { found: 17, known: 2, .. }), "{error}");
        assert!(error.to_string().contains("schema 17"), "{error}");
    }
    assert_eq!(fs::read(folder.file()).unwrap(), before);
}

#[test]
fn what_is_wrong_with_a_path_is_said() {
    let folder = Folder::new();
    let why = refused(folder.path());
    assert_eq!(why, "it is a folder; name a file in it");
    let why = refused(&folder.path().join("not/there/store.db"));
    assert!(why.contains("not/there cannot be found"), "{why}");
    assert!(why.ends_with("create it first"), "{why}");
    let why = refused(Path::new(""));
    assert_eq!(why, "it is not the name of a file");
}

#[test]
fn reading_makes_no_file() {
    let folder = Folder::new();
    let error = SqliteStore::open_read_only(folder.file()).unwrap_err();
    assert!(error.to_string().ends_with("there is no such file; check the path"), "{error}");
    assert!(!folder.file().exists());
    fs::write(folder.file(), "").unwrap();
    let error = SqliteStore::open_read_only(folder.file()).unwrap_err();
    assert!(error.to_string().contains("the file is empty"), "{error}");
    assert_eq!(fs::read(folder.file()).unwrap(), b"");
}

#[test]
fn a_name_that_sqlite_reads_otherwise_is_a_file() {
    let folder = Folder::new();
    for name in [":memory:", "file:x?mode=memory", "100%"] {
        let path = folder.path().join(name);
        let head = enqueue(&SqliteStore::open(&path).unwrap(), new(keyed("order-1")));
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(wait(store.read(head.record)).unwrap().unwrap().head(), &head);
        assert_eq!(store.path(), path.canonicalize().unwrap());
    }
}

#[test]
fn many_open_a_new_file_at_once() {
    let folder = Folder::new();
    let stores: Vec<SqliteStore> = thread::scope(|scope| {
        let open = || scope.spawn(|| folder.store());
        let opened: Vec<_> = (0..8).map(|_| open()).collect();
        opened.into_iter().map(|opened| opened.join().unwrap()).collect()
    });
    for (index, store) in stores.iter().enumerate() {
        enqueue(store, new(keyed(&index.to_string())));
    }
    let list = List { limit: 100, ..List::default() };
    assert_eq!(wait(stores[0].list(list)).unwrap().len(), 8);
}

#[test]
fn one_that_reads_sees_what_others_write_and_writes_nothing() {
    let folder = Folder::new();
    let store = folder.store();
    let reading = SqliteStore::open_read_only(folder.file()).unwrap();
    let (operation, _) = started(keyed("order-1"));
    let head = enqueue(&store, operation.clone());
    assert_eq!(wait(reading.read(head.record)).unwrap().unwrap().head(), &head);
    let refused = wait(reading.enqueue(new(keyed("order-2")))).unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    let refused = wait(reading.retain(1)).unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    // The writer goes first, without a look at who reads.
    drop(store);
    assert_eq!(wait(reading.find(keyed("order-1"))).unwrap().unwrap().head(), &head);
    assert_eq!(wait(reading.find(keyed("order-2"))).unwrap(), None);
    drop(reading);
    assert!(wait(folder.store().enqueue(operation)).is_ok());
}

#[test]
fn a_closed_store_answers_that() {
    let folder = Folder::new();
    let store = folder.store();
    let record = enqueue(&store, new(keyed("order-1"))).record;
    wait(store.close()).unwrap();
    wait(store.close()).unwrap();
    assert_eq!(wait(store.read(record)), Err(StoreError::Closed));
    assert_eq!(wait(store.freed(record)), Err(StoreError::Closed));
    let refused = wait(store.enqueue(new(keyed("order-2")))).unwrap_err();
    assert_eq!(refused, StoreError::Closed);
    // Nothing of it is left open: the log is gone.
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["store.db"]);
    assert!(wait(folder.store().read(record)).unwrap().is_some());
}
