//! A file of an older version, with operations that wait.

use std::fs;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use retry_core::clock::VirtualClock;
use retry_core::record::{Change, Fence, Phase};
use retry_core::store::{Enqueued, List, Store, StoreError, Write};
use retry_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Folder, claim, keyed, new, wait};

/// Kept as it was: no version may change what an older one has written.
const SCHEMA_1: &str = include_str!("schema_1.sql");

fn of_schema_1() -> Folder {
    let folder = Folder::new();
    folder.sql(SCHEMA_1).unwrap();
    folder
}

fn version(folder: &Folder) -> i64 {
    let connection = Connection::open(folder.file()).unwrap();
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

/// When all that waits in it is due.
fn later() -> VirtualClock {
    let clock = VirtualClock::manual();
    clock.set_utc(UNIX_EPOCH + Duration::from_secs(1_790_000_000 + 3_600));
    clock
}

fn open(folder: &Folder) -> SqliteStore {
    SqliteStore::builder(folder.file()).clock(later()).open().unwrap()
}

#[test]
fn operations_that_wait_go_on_after_an_upgrade() {
    let folder = of_schema_1();
    let store = open(&folder);
    let heads = wait(store.list(List { limit: 10, ..List::default() })).unwrap();
    assert_eq!(heads.len(), 5);
    for head in &heads {
        let read = wait(store.read(head.record)).unwrap().unwrap();
        read.replay().unwrap();
    }
    let claimed = claim(&store, 10);
    assert_eq!(claimed.len(), 3);
    for claimed in claimed {
        assert_eq!((claimed.head.started, claimed.head.lease.epoch), (2, 2));
        let (holder, _) = claimed.head.lease.held.unwrap();
        let (record, fence) = (claimed.head.record, Fence { epoch: 2, holder });
        let change = Change::complete(fence, 2, claimed.head.elapsed, "1".to_owned());
        let head = wait(store.commit(vec![Write { record, change }])).unwrap().remove(0).unwrap();
        assert_eq!(head.phase, Phase::Done);
        wait(store.read(record)).unwrap().unwrap().replay().unwrap();
    }
    assert_eq!(wait(store.reclaim(10)).unwrap().len(), 1);
    let Enqueued::Existing(done) = wait(store.enqueue(new(keyed("done")))).unwrap() else {
        panic!("its key is taken");
    };
    assert_eq!(done.result(), Some("\"receipt\""));
}

#[test]
fn an_upgraded_file_is_as_a_new_one() {
    let (old, new) = (of_schema_1(), Folder::new());
    drop((open(&old), open(&new)));
    let schema = |folder: &Folder| {
        let connection = Connection::open(folder.file()).unwrap();
        let mut statement = connection
            .prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name")
            .unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect::<Vec<(String, String)>>()
    };
    assert_eq!(schema(&old), schema(&new));
    assert_eq!((version(&old), version(&new)), (2, 2));
    let sql = "SELECT group_concat(key) FROM (SELECT key FROM meta ORDER BY key)";
    for folder in [&old, &new] {
        let connection = Connection::open(folder.file()).unwrap();
        let keys: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(keys, "clock_floor_check,clock_floor_ns,schema_version,store_id");
    }
}

#[test]
fn one_that_only_reads_upgrades_nothing() {
    let folder = of_schema_1();
    let before = fs::read(folder.file()).unwrap();
    let store = SqliteStore::open_read_only(folder.file()).unwrap();
    let found = wait(store.find(keyed("parked-1"))).unwrap().unwrap();
    assert_eq!(found.head().phase, Phase::Parked);
    drop(store);
    assert_eq!(fs::read(folder.file()).unwrap(), before);
    assert_eq!(version(&folder), 1);
}

#[test]
fn many_upgrade_at_once() {
    let folder = of_schema_1();
    let claimed: usize = thread::scope(|scope| {
        let upgrade = || scope.spawn(|| claim(&open(&folder), 1).len());
        let threads: Vec<_> = (0..6).map(|_| upgrade()).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(claimed, 3);
    assert_eq!(version(&folder), 2);
}

#[test]
fn an_upgrade_that_fails_changes_nothing() {
    let folder = of_schema_1();
    // In the way of the last thing that the step makes.
    folder.sql("CREATE TABLE worker (id)").unwrap();
    let before = fs::read(folder.file()).unwrap();
    let error = SqliteStore::open(folder.file()).unwrap_err();
    let StoreError::CannotOpen { why, .. } = &error else { panic!("another error: {error}") };
    assert!(why.contains("table worker already exists"), "{why}");
    assert_eq!(fs::read(folder.file()).unwrap(), before);
    folder.sql("DROP TABLE worker").unwrap();
    assert_eq!(claim(&open(&folder), 10).len(), 3);
}
