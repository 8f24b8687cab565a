//! What a medium that lies, or a newer version, has left: found when it is read,
//! named, and left alone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use retry_core::record::{Change, Ended, Event, Record, RecordError, RecordId, Refused};
use retry_core::store::{Due, Enqueued, List, Store, StoreError, Write};
use retry_core::{Failure, Situation, StopReason};
use retry_sqlite::SqliteStore;
use rusqlite::Connection;
use sha2::{Digest as _, Sha256};

use crate::support::{Folder, LEASE, claim, enqueue, keyed, new, started, wait};

/// One operation that waits and one that is done; the store is closed.
fn kept(folder: &Folder) -> Vec<Record> {
    let store = folder.store();
    let (operation, fence) = started(keyed("waiting"));
    let waiting = operation.record;
    enqueue(&store, operation);
    let elapsed = Duration::from_millis(7);
    let failed = Event::AttemptFinished {
        attempt: 1,
        elapsed,
        ended: Ended::Failed,
        failure: Some(Failure::unknown()),
        error: Some("connection reset by the gateway".to_owned()),
        situation: Situation::new(),
    };
    let review = Event::ReviewOpened {
        elapsed,
        reason: StopReason::ManualReview,
        text: "a person must find out whether it took effect".to_owned(),
    };
    let change = Change::leave(fence, vec![failed, review]);
    wait(store.commit(vec![Write { record: waiting, change }])).unwrap().remove(0).unwrap();
    let (done, fence) = started(keyed("done"));
    enqueue(&store, done.clone());
    let change = Change::complete(fence, 1, elapsed, "\"receipt 17\"".to_owned());
    wait(store.commit(vec![Write { record: done.record, change }])).unwrap().remove(0).unwrap();
    [waiting, done.record].map(|record| wait(store.read(record)).unwrap().unwrap()).to_vec()
}

/// The answers about a record, by both of its names.
fn answers(store: &SqliteStore, record: &Record) -> [Result<Option<Record>, StoreError>; 2] {
    let head = record.head();
    [wait(store.read(head.record)), wait(store.find(head.operation.clone()))]
}

/// Changes one byte of the file, in the middle of the only place with this text.
fn flip(file: &Path, text: &str) {
    let mut bytes = fs::read(file).unwrap();
    let places: Vec<_> =
        (0..bytes.len()).filter(|&at| bytes[at..].starts_with(text.as_bytes())).collect();
    assert_eq!(places.len(), 1, "{text}");
    bytes[places[0] + text.len() / 2] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_flipped_byte_of_an_entry_is_found_and_named() {
    let folder = Folder::new();
    let records = kept(&folder);
    flip(&folder.file(), "\"error\":\"connection reset by the gateway\"");
    let damaged = fs::read(folder.file()).unwrap();

    let store = SqliteStore::open_read_only(folder.file()).unwrap();
    for answer in answers(&store, &records[0]) {
        match answer.unwrap_err() {
            StoreError::Record(RecordError::Damaged { record, entry: 3, .. }) => {
                assert_eq!(record, records[0].head().record);
            }
            error => panic!("another error: {error}"),
        }
    }
    for answer in answers(&store, &records[1]) {
        assert_eq!(answer.as_ref(), Ok(&Some(records[1].clone())), "the others are whole");
    }
    drop(store);
    assert_eq!(fs::read(folder.file()).unwrap(), damaged, "the file is left alone");

    // One that writes finds it too, and begins no second operation.
    let store = folder.store();
    let refused = wait(store.enqueue(new(keyed("waiting")))).unwrap_err();
    assert!(refused.to_string().contains("is damaged at entry 3"), "{refused}");
    assert!(refused.to_string().contains("restore it from a backup"), "{refused}");
}

/// Wherever the byte is: in an entry, a row, an index, a page of SQLite's own.
#[test]
fn no_flipped_byte_becomes_an_answer() {
    const STEP: usize = 211;
    let folder = Folder::new();
    let records = kept(&folder);
    let whole = fs::read(folder.file()).unwrap();
    let other = folder.path().join("flipped.db");
    let (mut tried, mut found) = (0, 0);
    for at in (0..whole.len()).step_by(STEP) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&other, &bytes).unwrap();
        tried += 1;
        let Ok(store) = SqliteStore::open_read_only(&other) else {
            found += 1;
            continue;
        };
        let mut is_found = false;
        for record in &records {
            for answer in answers(&store, record) {
                match answer {
                    Ok(Some(read)) => assert!(read == *record, "byte {at}"),
                    Ok(None) => {
                        eprintln!("byte {at}: the record is not found {}", &records[0] == record)
                    }
                    Err(_) => is_found = true,
                }
            }
        }
        found += usize::from(is_found);
        drop(store);
        assert_eq!(fs::read(&other).unwrap(), bytes, "byte {at}: the file is left alone");
    }
    println!("{found} of {tried} flipped bytes are found; the others are in no record");
    assert!(found > 0);
}

#[test]
fn what_is_missing_is_damage() {
    for (sql, what) in [
        ("DELETE FROM event WHERE seq = 1", "entry 2"),
        ("DELETE FROM event WHERE seq = 2", "entry 3"),
        ("DELETE FROM event WHERE seq = 4", "at entry 4"),
        ("DELETE FROM event", "no entries"),
        ("DELETE FROM operation", "its row is not found"),
        ("DELETE FROM idempotency", "its key is missing"),
        ("UPDATE idempotency SET operation = '01BX5ZZKBKACTAV9WEVGEMMVRZ'", "the record is not"),
        ("UPDATE operation SET attempt = 2", "fold to"),
        ("UPDATE operation SET args = '[\"order\",6]'", "its arguments"),
        ("UPDATE operation SET result = '\"receipt 18\"'", "its result"),
        ("UPDATE operation SET expires_at = 17", "`expires_at`"),
        ("UPDATE operation SET name = 'payments.refund'", "`name`"),
        ("UPDATE operation SET queue = 'mall'", "the queue, the lease"),
        (
            "UPDATE operation SET keep_ns = keep_ns + 1, expires_at = expires_at + 1",
            "the time to keep",
        ),
        ("UPDATE operation SET lease_epoch = 9", "the lease"),
        ("UPDATE operation SET deadline_ns = 9", "`deadline_ns`"),
        ("UPDATE operation SET policy = '{}'", "`policy`"),
        ("UPDATE operation SET attempt = -1", "`attempt`"),
        ("UPDATE operation SET sum = x'00'", "`sum`"),
        ("UPDATE operation SET operation_id = 'payments.charge/17'", "`name`"),
    ] {
        let folder = Folder::new();
        kept(&folder);
        folder.sql("DROP TRIGGER operation_is_removed_when_done").unwrap();
        folder.sql("DROP TRIGGER event_is_removed_with_its_operation").unwrap();
        folder.sql(sql).unwrap();
        let store = folder.store();
        let refused = wait(store.enqueue(new(keyed("done")))).unwrap_err();
        let StoreError::Record(refused) = refused else { panic!("{sql}: {refused}") };
        assert!(refused.to_string().contains(what), "{sql}: {refused}");
    }
}

#[test]
fn nothing_expires_on_the_word_of_a_damaged_byte() {
    for (sql, what) in [
        (
            "UPDATE idempotency SET expires_at = 17 WHERE state = 'done'",
            "its key has expired, and the record has not",
        ),
        ("UPDATE operation SET expires_at = 17", "`expires_at`"),
        ("UPDATE operation SET updated_at = 17", "`expires_at`"),
        ("UPDATE meta SET value = 1 << 62 WHERE key = 'clock_floor_ns'", "its clock is damaged"),
    ] {
        let folder = Folder::new();
        let records = kept(&folder);
        let store = folder.store();
        folder.sql(sql).unwrap();
        let refused = wait(store.enqueue(new(keyed("done")))).unwrap_err();
        assert!(refused.to_string().contains(what), "{sql}: {refused}");
        assert!(matches!(wait(store.retain(10)), Ok(0) | Err(_)), "{sql}");
        drop(store);
        let connection = Connection::open(folder.file()).unwrap();
        for record in records {
            let sql = "SELECT count(*) FROM operation WHERE id = ?";
            let id = record.head().record.to_string();
            assert_eq!(connection.query_row(sql, [id], |row| row.get::<_, i64>(0)), Ok(1));
        }
    }
}

#[test]
fn one_that_is_damaged_stands_in_the_way_of_no_other() {
    let folder = Folder::new();
    let store = folder.store();
    let heads: Vec<_> = (0..9).map(|key| enqueue(&store, new(keyed(&key.to_string())))).collect();
    let damaged: Vec<_> = [0, 1, 2, 5].map(|index: usize| heads[index].record).to_vec();
    for record in &damaged {
        folder.sql(&format!("UPDATE operation SET args = '0' WHERE id = '{record}'")).unwrap();
    }
    let claimed = claim(&store, 2);
    assert_eq!(
        claimed.iter().map(|claimed| claimed.head.record).collect::<Vec<_>>(),
        [heads[3].record, heads[4].record]
    );
    assert_eq!(claim(&store, 10).len(), 3);
    for record in damaged {
        let refused = wait(store.read(record)).unwrap_err();
        assert!(refused.to_string().contains("its arguments are not those"), "{refused}");
    }
}

/// As a version to come would have written it: whole, and not understood.
fn rewrite(folder: &Folder, record: RecordId, change: impl Fn(&str) -> String) {
    let connection = Connection::open(folder.file()).unwrap();
    connection.execute_batch("DROP TRIGGER event_is_never_changed").unwrap();
    let mut before = vec![0; 16];
    let entries: Vec<(u64, u64, u64, u64, String)> = connection
        .prepare("SELECT seq, at, epoch, attempt, body FROM event WHERE operation = ? ORDER BY seq")
        .unwrap()
        .query_map([record.to_string()], |row| {
            let number = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
            Ok((number(0)?, number(1)?, number(2)?, number(3)?, row.get(4)?))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (seq, at, epoch, attempt, body) in entries {
        let body = change(&body);
        let mut hasher = Sha256::new();
        hasher.update(&before);
        [seq, at, epoch, attempt].iter().for_each(|number| hasher.update(number.to_be_bytes()));
        hasher.update(&body);
        before = hasher.finalize()[..16].to_vec();
        let sql = "UPDATE event SET body = ?, sum = ? WHERE operation = ? AND seq = ?";
        let seq = i64::try_from(seq).unwrap();
        connection.execute(sql, (&body, &before, record.to_string(), seq)).unwrap();
    }
    let sql = "UPDATE operation SET sum = ? WHERE id = ?";
    connection.execute(sql, (&before, record.to_string())).unwrap();
}

#[test]
fn what_a_newer_version_wrote_is_said_to_be_that() {
    for (from, to, what) in [
        ("\"unknown\"", "\"uncertain\"", "entry 3 of record"),
        ("\"manual_review\"", "\"ask_a_lawyer\"", "`ask_a_lawyer`"),
        ("\"review_opened\"", "\"review_begun\"", "`review_begun`"),
        ("\"rules\":1", "\"rules\":2", "decision rules 2"),
        ("\"failed\"", "\"gone\"", "`gone`"),
    ] {
        let folder = Folder::new();
        let record = kept(&folder)[0].head().record;
        rewrite(&folder, record, |body| body.replace(from, to));
        if to.contains("lawyer") {
            folder.sql("UPDATE operation SET stop_reason = 'ask_a_lawyer' WHERE stop_reason IS NOT NULL").unwrap();
        }
        let before = fs::read(folder.file()).unwrap();
        let store = SqliteStore::open_read_only(folder.file()).unwrap();
        let refused = wait(store.read(record)).unwrap_err();
        let is_it = matches!(
            refused,
            StoreError::Record(RecordError::Unreadable { .. } | RecordError::NewerRules { .. })
        );
        assert!(is_it && refused.to_string().contains(what), "{to}: {refused}");
        drop(store);
        assert_eq!(fs::read(folder.file()).unwrap(), before);
        let store = folder.store();
        let refused = wait(store.find(keyed("waiting"))).unwrap_err();
        assert!(matches!(refused, StoreError::Record(_)), "{to}: {refused}");
        let again = wait(store.enqueue(new(keyed("done")))).unwrap();
        assert!(matches!(again, Enqueued::Existing(_)), "the others go on");
    }
}

#[test]
fn a_holder_writes_nothing_into_a_row_that_cannot_be_read() {
    let folder = Folder::new();
    let store = folder.store();
    let (operation, fence) = started(keyed("order-1"));
    let record = enqueue(&store, operation).record;
    folder.sql("UPDATE operation SET due_reason = 'full_moon'").unwrap();
    let change = Change::complete(fence, 1, LEASE, "1".to_owned());
    let refused =
        wait(store.commit(vec![Write { record, change }])).unwrap().remove(0).unwrap_err();
    let Refused::Illegal(refused) = refused else { panic!("{refused}") };
    assert!(refused.to_string().contains("`due_reason`"), "{refused}");
    let listed = wait(store.list(List { limit: 1, ..List::default() })).unwrap_err();
    assert_eq!(listed, StoreError::Record(refused));
}

#[test]
fn a_lease_that_is_over_is_judged_beside_one_that_is_damaged() {
    let folder = Folder::new();
    let store = folder.store();
    let due = |limit| Due {
        queue: "mail".to_owned(),
        limit,
        holder: retry_core::record::Holder::new(),
        lease: Duration::ZERO,
    };
    let heads: Vec<_> = (0..4).map(|key| enqueue(&store, new(keyed(&key.to_string())))).collect();
    assert_eq!(wait(store.claim(due(4))).unwrap().len(), 4);
    folder.sql(&format!("UPDATE operation SET seq = 9 WHERE id = '{}'", heads[0].record)).unwrap();
    let judged = wait(store.reclaim(3)).unwrap();
    assert_eq!(judged.len(), 3);
    assert!(judged.iter().all(|head| head.crashes == 1 && head.record != heads[0].record));
}
