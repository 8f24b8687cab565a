//! What a child process does. It says on its output what it was answered, and
//! goes on when it is sent a line.

use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use retry_core::record::{Change, Fence, Holder, New};
use retry_core::store::{Enqueued, Store, Write};
use retry_sqlite::SqliteStore;

use crate::support::{claim, keyed, new, started, wait};

pub(crate) fn run(mut arguments: impl Iterator<Item = String>) {
    let what = arguments.next().unwrap();
    let path = PathBuf::from(arguments.next().unwrap());
    match what.as_str() {
        "open" => say(match SqliteStore::open(&path) {
            Ok(_) => "opened".to_owned(),
            Err(error) => format!("{error:?}"),
        }),
        "read" => say(match SqliteStore::open_read_only(&path) {
            Ok(store) => {
                format!("{:?}", wait(store.find(keyed("order-1"))).map(|found| found.is_some()))
            }
            Err(error) => format!("{error:?}"),
        }),
        "claim" => claims(&open(&path)),
        "write" => writes(&open(&path), &arguments.next().unwrap()),
        "hold" => holds(&open(&path), arguments.next().unwrap().parse().unwrap()),
        "grow" => grows(path),
        other => panic!("a child does no `{other}`"),
    }
}

fn open(path: &PathBuf) -> SqliteStore {
    SqliteStore::open(path).unwrap()
}

pub(crate) fn say(line: impl std::fmt::Display) {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

fn hear() {
    io::stdin().lock().read_line(&mut String::new()).unwrap();
}

/// Claims and completes until nothing is due.
fn claims(store: &SqliteStore) {
    say("ready");
    hear();
    complete_due(store, say);
}

pub(crate) fn complete_due(
    store: &SqliteStore,
    mut told: impl FnMut(retry_core::record::RecordId),
) {
    loop {
        let claimed = claim(store, 32);
        if claimed.is_empty() {
            return;
        }
        let complete = |claimed: &retry_core::store::Claimed| {
            let (holder, _) = claimed.head.lease.held.unwrap();
            let fence = Fence { epoch: claimed.head.lease.epoch, holder };
            let change = Change::complete(fence, 1, Duration::ZERO, "1".to_owned());
            Write { record: claimed.head.record, change }
        };
        let heads = wait(store.commit(claimed.iter().map(complete).collect())).unwrap();
        for head in heads {
            told(head.unwrap().record);
        }
    }
}

/// Enqueues and completes, one after the other, and says each when it is kept.
fn writes(store: &SqliteStore, prefix: &str) {
    for index in 0_u64.. {
        let (operation, fence) = started(keyed(&format!("{prefix}-{index}")));
        let record = operation.record;
        assert!(matches!(wait(store.enqueue(operation)).unwrap(), Enqueued::New(_)));
        say(format!("enqueued {record}"));
        let change = Change::complete(fence, 1, Duration::ZERO, index.to_string());
        wait(store.commit(vec![Write { record, change }])).unwrap().remove(0).unwrap();
        say(format!("done {record} {index}"));
    }
}

/// Holds an operation, and completes it when told so.
fn holds(store: &SqliteStore, millis: u64) {
    let holder = Holder::new();
    let held = Some((holder, Duration::from_millis(millis)));
    let operation = New { held, started: true, ..new(keyed("order-1")) };
    let record = operation.record;
    wait(store.enqueue(operation)).unwrap();
    say(record);
    hear();
    let fence = Fence { epoch: 1, holder };
    let change = Change::complete(fence, 1, Duration::ZERO, "1".to_owned());
    wait(store.commit(vec![Write { record, change }])).unwrap().remove(0).unwrap();
}

/// Writes until a file may not grow any more, and then with more room.
fn grows(path: PathBuf) {
    // Otherwise the system ends the process. Before the threads of the store,
    // which inherit it.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    signals.thread_block().unwrap();
    let store = open(&path);
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, 300 << 10, hard).unwrap();
    let write = |index: u64| {
        let operation = new(keyed(&index.to_string()));
        let record = operation.record;
        let written = wait(store.enqueue(operation))?;
        assert!(matches!(written, Enqueued::New(_)));
        say(format!("kept {record}"));
        Ok::<_, retry_core::store::StoreError>(())
    };
    let (stopped, error) = (0..).find_map(|index| Some((index, write(index).err()?))).unwrap();
    say(format!("{error:?}"));
    // Again, and nothing of what failed is in the way.
    write(stopped).unwrap_err();
    setrlimit(Resource::RLIMIT_FSIZE, hard, hard).unwrap();
    (stopped..stopped + 10).try_for_each(write).unwrap();
}
