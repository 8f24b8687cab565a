//! The tables beside the record: keys, reviews, workers, dead letters.

use std::time::Duration;

use retry_core::clock::VirtualClock;
use retry_core::record::{Change, Ended, Event, Fence, Head, Holder, New, Phase};
use retry_core::store::{Enqueued, Store, Write};
use retry_core::{Failure, Situation, StopReason};
use retry_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Folder, enqueue, keyed, started, wait};

fn look(folder: &Folder, sql: &str) -> Vec<String> {
    let connection = Connection::open(folder.file()).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn ends(store: &SqliteStore, new: New, fence: Fence, event: Event) -> Head {
    let record = new.record;
    enqueue(store, new);
    let failure = match event {
        Event::Dead { .. } => Failure::permanent(),
        _ => Failure::unknown(),
    };
    let failed = Event::AttemptFinished {
        attempt: 1,
        elapsed: Duration::from_millis(3),
        ended: Ended::Failed,
        failure: Some(failure),
        error: Some("card refused".to_owned()),
        situation: Situation::new(),
    };
    let change = Change::leave(fence, vec![failed, event]);
    wait(store.commit(vec![Write { record, change }])).unwrap().remove(0).unwrap()
}

fn dead() -> Event {
    Event::Dead {
        elapsed: Duration::from_millis(3),
        reason: StopReason::FailPermanent,
        text: "the error is permanent".to_owned(),
        situation: Situation::new(),
    }
}

fn in_review() -> Event {
    Event::ReviewOpened {
        elapsed: Duration::from_millis(3),
        reason: StopReason::ManualReview,
        text: "a person must find out".to_owned(),
    }
}

const KEYS: &str = "SELECT state || ' ' || (expires_at IS NOT NULL) FROM idempotency";

#[test]
fn a_key_is_open_until_the_operation_has_ended() {
    let folder = Folder::new();
    let store = folder.store();
    let (operation, fence) = started(keyed("order-1"));
    enqueue(&store, operation.clone());
    assert_eq!(look(&folder, KEYS), ["open 0"]);
    let change = Change::complete(fence, 1, Duration::ZERO, "1".to_owned());
    wait(store.commit(vec![Write { record: operation.record, change }])).unwrap();
    assert_eq!(look(&folder, KEYS), ["done 1"]);
    let (operation, fence) = started(keyed("order-2"));
    ends(&store, operation, fence, dead());
    assert_eq!(look(&folder, &format!("{KEYS} ORDER BY state")), ["done 1", "failed 1"]);
}

#[test]
fn a_review_is_opened_and_holds_the_key() {
    let folder = Folder::new();
    let store = folder.store();
    let (operation, fence) = started(keyed("order-1"));
    let head = ends(&store, operation, fence, in_review());
    assert_eq!((head.phase, head.state()), (Phase::Review, "review"));
    let sql = "SELECT operation || ' ' || reason || ' ' || status FROM review";
    assert_eq!(look(&folder, sql), [format!("{} manual_review open", head.record)]);
    assert_eq!(look(&folder, KEYS), ["open 0"]);
    let second = format!(
        "INSERT INTO review (id, operation, opened_at, reason, status) VALUES ('x', '{}', 1, 'again', 'open')",
        head.record
    );
    assert!(folder.sql(&second).is_err(), "one review is open at a time");
}

#[test]
fn dead_letters_are_a_view() {
    let folder = Folder::new();
    let store = folder.store();
    let (operation, fence) = started(keyed("order-1"));
    let head = ends(&store, operation, fence, dead());
    let sql = "SELECT id || '|' || reason || '|' || last_error || '|' || \
         json_extract(last_events, '$[0].kind') || '|' || json_array_length(last_events) FROM dead_letter";
    let expected = format!("{}|fail_permanent|card refused|dead|4", head.record);
    assert_eq!(look(&folder, sql), [expected]);
}

#[test]
fn what_happened_is_never_changed() {
    let folder = Folder::new();
    let store = folder.store();
    let (operation, fence) = started(keyed("order-1"));
    let head = ends(&store, operation, fence, dead());
    for sql in [
        "UPDATE event SET body = '{}'",
        "UPDATE event SET at = 0 WHERE seq = 1",
        "DELETE FROM event",
        "DELETE FROM event WHERE seq = 4",
        "DELETE FROM operation",
        "UPDATE operation SET state = 'forgotten'",
        "UPDATE operation SET state = 'leased'",
    ] {
        assert!(folder.sql(sql).is_err(), "{sql}");
    }
    assert_eq!(wait(store.read(head.record)).unwrap().unwrap().head(), &head);
}

#[test]
fn retention_removes_what_is_done_with_all_that_it_has() {
    let folder = Folder::new();
    let clock = VirtualClock::manual();
    let store = SqliteStore::builder(folder.file()).clock(clock.clone()).open().unwrap();
    let (done, fence) = started(keyed("done"));
    enqueue(&store, done.clone());
    let change = Change::complete(fence, 1, Duration::ZERO, "1".to_owned());
    wait(store.commit(vec![Write { record: done.record, change }])).unwrap();
    let (letter, fence) = started(keyed("dead"));
    let letter = ends(&store, letter, fence, dead());
    let (review, fence) = started(keyed("review"));
    let review = ends(&store, review, fence, in_review());
    assert_eq!(wait(store.retain(10)), Ok(0));

    clock.advance(done.keep);
    assert_eq!(wait(store.find(keyed("done"))).unwrap(), None, "expired, and not removed yet");
    assert_eq!(wait(store.retain(1)), Ok(1));
    assert_eq!(wait(store.read(done.record)).unwrap(), None);
    assert_eq!(wait(store.retain(10)), Ok(1), "the key of what is dead");
    assert_eq!(wait(store.retain(10)), Ok(0));
    let left = look(&folder, "SELECT DISTINCT operation FROM event ORDER BY 1");
    assert_eq!(left, [letter.record.to_string(), review.record.to_string()]);
    assert_eq!(wait(store.read(letter.record)).unwrap().unwrap().head(), &letter);

    let (again, _) = started(keyed("dead"));
    assert_eq!(enqueue(&store, again.clone()).record, again.record);
    let (again, _) = started(keyed("review"));
    let Enqueued::Existing(found) = wait(store.enqueue(again)).unwrap() else {
        panic!("a review holds its key");
    };
    assert_eq!(found.head(), &review);
}

#[test]
fn a_process_is_there_while_it_has_the_file_open() {
    let folder = Folder::new();
    let store = folder.store();
    let sql = "SELECT id || ' ' || pid || ' ' || (heartbeat_at >= started_at) FROM worker";
    let expected = format!("{} {} 1", Holder::this_worker(), std::process::id());
    assert_eq!(look(&folder, sql), [expected]);
    wait(store.close()).unwrap();
    assert_eq!(look(&folder, sql), [""; 0]);
}

#[test]
fn the_file_tells_what_it_is() {
    let folder = Folder::new();
    drop(folder.store());
    let connection = Connection::open(folder.file()).unwrap();
    let pragma = |name: &str| {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(pragma("application_id").to_be_bytes()[4..], *b"rtry");
    assert_eq!(pragma("user_version"), 2);
    let sql = "SELECT CAST(value AS TEXT) FROM meta WHERE key = 'schema_version'";
    assert_eq!(look(&folder, sql), ["2"]);
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
         AND sql NOT LIKE '%STRICT%'";
    assert_eq!(look(&folder, sql), [""; 0]);
}
