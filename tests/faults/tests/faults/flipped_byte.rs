//! A medium that lies.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use futures::executor::block_on;
use retry_core::record::{Head, RecordError, RecordId};
use retry_core::store::{List, Store, StoreError};
use retry_faults::process::End;
use retry_faults::{Kind, Said};
use retry_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::service::{Service, until};

/// So many that the entries of the first are on a page of their own.
const OTHERS: u32 = 60;

/// Moves the log into the file, however busy that is.
fn checkpoint(store: &Path) {
    let connection = Connection::open(store).unwrap();
    let pragma = "PRAGMA wal_checkpoint(TRUNCATE)";
    until(|| connection.query_row(pragma, [], |row| row.get::<_, i64>(0)) == Ok(0));
}

/// Changes one byte of the first entry of an operation, where that is in the file.
/// Answers what the entry says now.
fn flip(store: &Path, head: &Head) -> String {
    let before = body(store, head.record);
    let fingerprint = head.fingerprint;
    let text = format!("\"fingerprint\":\"{fingerprint}\"");
    let bytes = fs::read(store).unwrap();
    let mut places = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(text.as_bytes()));
    let (place, None) = (places.next().unwrap(), places.next()) else {
        panic!("`{text}` is there twice");
    };
    let at = place + text.len() - 2;
    let file = File::options().write(true).open(store).unwrap();
    file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
    let lies = body(store, head.record);
    assert_ne!(lies, before);
    lies
}

/// The first entry, as an operator sees it.
fn body(store: &Path, record: RecordId) -> String {
    let connection = Connection::open(store).unwrap();
    let sql = "SELECT body FROM event WHERE operation = ? AND seq = 1";
    connection.query_row(sql, [record.to_string()], |row| row.get(0)).unwrap()
}

fn is_named(error: &str, record: RecordId) -> bool {
    error.contains("Damaged") && error.contains(&record.to_string()) && error.contains("entry: 1,")
}

#[test]
fn a_flipped_byte_under_a_running_service_is_found_and_named_and_left_alone() {
    let (damaged, held) = (Kind::Charged.number(0), Kind::Gated.number(0));
    let others: Vec<u32> = (1..=OTHERS).map(|nth| Kind::Charged.number(nth)).collect();
    let service = Service::new();
    let store = service.folder.store();
    let mut worker = service.worker(&[]);
    worker.ask(damaged);
    worker.answer_of(damaged).unwrap();
    worker.ask(held);
    service.until_polled(held, 1);
    for &other in &others {
        worker.ask(other);
        worker.answer_of(other).unwrap();
    }
    let record = service.record(damaged).head().clone();
    checkpoint(&store);
    let lies = flip(&store, &record);

    // The service goes on, and is told of it when it reads that record.
    let later = Kind::Charged.number(OTHERS + 1);
    worker.ask(later);
    assert!(worker.answer_of(later).unwrap().receipt.is_some());
    let polled = service.book.polls().unwrap().len();
    worker.ask(damaged);
    let stopped = worker.again_of(damaged, "store_failed").unwrap();
    let error = stopped.error.unwrap();
    assert!(is_named(&error, record.record), "{error}");
    assert_eq!(service.book.polls().unwrap().len(), polled, "nothing is done a second time");
    service.book.open(held);
    assert!(worker.answer_of(held).unwrap().receipt.is_some());
    assert_eq!(worker.kill().unwrap(), End::Killed);

    // So is the next one, and every other record is whole.
    let mut next = service.worker(&[]);
    next.ask(damaged);
    let error = next.again_of(damaged, "store_failed").unwrap().error.unwrap();
    assert!(is_named(&error, record.record), "{error}");
    next.kill().unwrap();
    assert_eq!(body(&store, record.record), lies, "the file is left alone");
    let store = SqliteStore::open_read_only(&store).unwrap();
    let mut whole = 0;
    for head in block_on(store.list(List { limit: 1_000, ..List::default() })).unwrap() {
        match block_on(store.read(head.record)) {
            Ok(Some(read)) => {
                read.replay().unwrap();
                whole += 1;
            }
            Err(StoreError::Record(RecordError::Damaged { record: found, entry: 1, .. })) => {
                assert_eq!(found, record.record);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(whole, others.len() + 2);
}

#[test]
fn what_was_under_way_is_not_gone_on_with_from_a_damaged_record() {
    let number = Kind::Gated.number(0);
    let mut service = Service::new();
    let store = service.folder.store();
    let mut worker = service.worker(&[]);
    worker.ask(number);
    service.until_polled(number, 1);
    assert_eq!(worker.kill().unwrap(), End::Killed);
    service.remember(&worker);
    let record = service.record(number).head().clone();
    checkpoint(&store);
    let lies = flip(&store, &record);

    service.book.open(number);
    let mut worker = service.worker(&["--reclaims"]);
    worker.ask(number);
    let error = worker.again_of(number, "store_failed").unwrap().error.unwrap();
    assert!(is_named(&error, record.record), "{error}");
    // It begins others meanwhile, also when the lease is over.
    for nth in 0..20 {
        let other = Kind::Flaky.number(nth);
        worker.ask(other);
        assert!(worker.answer_of(other).unwrap().receipt.is_some());
    }
    worker.kill().unwrap();
    assert!(!worker.heard().iter().any(|said| matches!(said, Said::Kept(kept)
        if kept.record == record.record.to_string())));
    assert_eq!(service.book.attempts(number).unwrap(), [1]);
    assert_eq!(body(&store, record.record), lies, "the file is left alone");
}
