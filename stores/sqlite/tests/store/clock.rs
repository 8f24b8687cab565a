//! Time that does not run back, whatever the clock of the machine does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use retry_core::Clock as _;
use retry_core::clock::VirtualClock;
use retry_core::record::{Change, Holder, Refused};
use retry_core::store::{Due, Store, Write};
use retry_sqlite::SqliteStore;

use crate::support::{Folder, LEASE, enqueue, keyed, new, started, wait};

const HOUR: Duration = Duration::from_secs(3600);

fn at(hours: u32) -> VirtualClock {
    let clock = VirtualClock::manual();
    clock.set_utc(noon() + HOUR * hours - HOUR * 12);
    clock
}

fn noon() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_796_040_000)
}

#[test]
fn a_clock_that_is_stepped_back_makes_nothing_earlier() {
    let folder = Folder::new();
    let clock = at(12);
    let store = SqliteStore::builder(folder.file()).clock(clock.clone()).open().unwrap();
    let one = enqueue(&store, new(keyed("one")));
    clock.set_utc(clock.utc() - HOUR);
    let two = enqueue(&store, new(keyed("two")));
    assert!(two.created_at >= one.created_at);
    drop(store);

    // Another process, whose clock is behind too.
    let store = SqliteStore::builder(folder.file()).clock(at(3)).open().unwrap();
    let three = enqueue(&store, new(keyed("three")));
    assert!(three.created_at >= two.created_at);
    let due = Due { queue: "mail".to_owned(), limit: 10, holder: Holder::new(), lease: LEASE };
    assert_eq!(wait(store.claim(due)).unwrap().len(), 3, "what was due stays so");
}

#[test]
fn processes_that_share_a_file_share_its_time() {
    let folder = Folder::new();
    let ahead = SqliteStore::builder(folder.file()).clock(at(13)).open().unwrap();
    let (operation, _) = started(keyed("order-1"));
    let head = enqueue(&ahead, operation);
    let (_, until) = head.lease.held.unwrap();
    let behind = SqliteStore::builder(folder.file()).clock(at(12)).open().unwrap();
    let take_over = || Write {
        record: head.record,
        change: Change::TakeOver { epoch: 1, holder: Holder::new(), lease: LEASE },
    };
    let refused = wait(behind.commit(vec![take_over()])).unwrap().remove(0);
    assert_eq!(refused, Err(Refused::InFlight { until }), "no clock steals a lease");

    // The clock that is ahead moves on, and with it the time of both.
    let later = at(14);
    drop(SqliteStore::builder(folder.file()).clock(later).open().unwrap());
    let taken = wait(behind.commit(vec![take_over()])).unwrap().remove(0).unwrap();
    assert_eq!(taken.lease.epoch, 2);
}
