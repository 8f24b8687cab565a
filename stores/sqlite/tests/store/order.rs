//! What is written, in which order, and what a fault of one does to the others.

use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use std::{panic, thread};

use retry_core::record::{Arguments, Change, Phase, RecordId, Refused};
use retry_core::store::{Enqueued, Limits, Reply, Store, StoreError, Write};
use retry_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Folder, LEASE, enqueue, keyed, new, started, wait};

#[test]
fn a_write_whose_reply_is_dropped_is_written() {
    let folder = Folder::new();
    let store = folder.store();
    let operations: Vec<_> = (0..500).map(|index| new(keyed(&index.to_string()))).collect();
    for operation in &operations {
        drop(store.enqueue(operation.clone()));
    }
    // The last one to go waits for what was asked for.
    drop(store);
    let store = folder.store();
    for operation in operations {
        assert!(wait(store.read(operation.record)).unwrap().is_some());
    }
}

/// As an executor does that has no use for a task any more.
struct DropsWhenWoken(Mutex<Option<(SqliteStore, mpsc::Sender<()>)>>);

impl Wake for DropsWhenWoken {
    fn wake(self: Arc<Self>) {
        if let Some((store, is_dropped)) = self.0.lock().unwrap().take() {
            drop(store);
            is_dropped.send(()).unwrap();
        }
    }
}

#[test]
fn the_last_clone_may_be_dropped_by_a_thread_of_the_store_itself() {
    for asks_the_reader in [false, true] {
        let folder = Folder::new();
        let store = folder.store();
        let (head, other) = (enqueue(&store, new(keyed("one"))), folder.store());
        // Keeps the writer busy, so that nothing behind this write is answered before it is
        // waited for.
        let lock = Connection::open(folder.file()).unwrap();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        let second = store.enqueue(new(keyed("three")));
        let mut first: Reply<()> = if asks_the_reader {
            let read = store.read(head.record);
            Box::pin(async move { read.await.map(drop) })
        } else {
            let write = store.enqueue(new(keyed("two")));
            Box::pin(async move { write.await.map(drop) })
        };
        let (sender, is_dropped) = mpsc::channel();
        let waker = DropsWhenWoken(Mutex::new(Some((store, sender))));
        let waker = Waker::from(Arc::new(waker));
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        lock.execute_batch("ROLLBACK").unwrap();

        is_dropped.recv_timeout(Duration::from_secs(60)).expect("no thread waits for itself");
        assert!(matches!(wait(second), Ok(Enqueued::New(_))));
        assert!(wait(other.find(keyed("three"))).unwrap().is_some());
    }
}

#[test]
fn what_is_read_is_behind_what_was_posted() {
    let folder = Folder::new();
    let store = folder.store();
    for key in 0..100 {
        let (operation, fence) = started(keyed(&key.to_string()));
        let record = operation.record;
        drop(store.enqueue(operation));
        let change = Change::complete(fence, 1, Duration::ZERO, "1".to_owned());
        store.post(Write { record, change });
        let read = wait(store.read(record)).unwrap().unwrap();
        assert_eq!(read.head().phase, Phase::Done);
    }
}

#[test]
fn a_refused_change_writes_nothing_and_holds_back_no_other() {
    let folder = Folder::new();
    let store = folder.store();
    let (one, fence_of_one) = started(keyed("one"));
    let (two, fence_of_two) = started(keyed("two"));
    let before = enqueue(&store, one.clone());
    enqueue(&store, two.clone());
    let complete = |record, fence| {
        let change = Change::complete(fence, 1, Duration::ZERO, "1".to_owned());
        Write { record, change }
    };
    let missing = RecordId::new();
    let writes = vec![
        complete(one.record, fence_of_two),
        complete(missing, fence_of_one),
        complete(two.record, fence_of_two),
        // Behind the end.
        complete(two.record, fence_of_two),
    ];
    let results = wait(store.commit(writes)).unwrap();
    assert_eq!(results[0], Err(Refused::Fenced));
    assert_eq!(results[1], Err(Refused::Missing));
    assert_eq!(results[2].as_ref().unwrap().phase, Phase::Done);
    assert_eq!(results[3], Err(Refused::Fenced));
    let read = wait(store.read(one.record)).unwrap().unwrap();
    assert_eq!((read.head(), read.entries().len()), (&before, 2));
}

#[test]
fn one_that_cannot_be_written_holds_back_no_other_of_its_group() {
    let folder = Folder::new();
    let store = folder.store();
    let taken = new(keyed("taken"));
    enqueue(&store, taken.clone());
    // While another holds the lock, all of them gather in one group.
    let lock = rusqlite::Connection::open(folder.file()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut replies = Vec::new();
    for index in 0..20 {
        let operation = new(keyed(&index.to_string()));
        // The id of a record that there is: SQLite refuses the statement.
        let record = if index == 10 { taken.record } else { operation.record };
        replies.push(store.enqueue(retry_core::record::New { record, ..operation }));
    }
    lock.execute_batch("ROLLBACK").unwrap();
    for (index, reply) in replies.into_iter().enumerate() {
        match wait(reply) {
            Ok(Enqueued::New(head)) if index != 10 => {
                let read = wait(store.read(head.record)).unwrap().unwrap();
                assert_eq!(read.entries().len(), 1);
            }
            Err(StoreError::Failed { .. }) if index == 10 => {}
            other => panic!("{index}: {other:?}"),
        }
    }
    assert_eq!(wait(store.find(keyed("10"))).unwrap(), None);
}

#[test]
fn one_key_from_64_threads_is_one_operation() {
    let folder = Folder::new();
    let stores = [folder.store(), folder.store()];
    let heads: Vec<Enqueued> = thread::scope(|scope| {
        let threads: Vec<_> = (0..64)
            .map(|index| {
                let store = &stores[index % 2];
                scope.spawn(move || wait(store.enqueue(new(keyed("order-1")))).unwrap())
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        };
        threads.into_iter().map(join).collect()
    });
    let new: Vec<_> = heads.iter().filter(|head| matches!(head, Enqueued::New(_))).collect();
    assert_eq!(new.len(), 1);
    let Enqueued::New(head) = new[0] else { unreachable!() };
    for enqueued in &heads {
        if let Enqueued::Existing(record) = enqueued {
            assert_eq!(record.head(), &**head);
        }
    }
}

#[test]
fn arguments_over_the_limit_are_refused() {
    let folder = Folder::new();
    let limits = Limits { arguments: 100, ..Limits::default() };
    let store = SqliteStore::builder(folder.file()).limits(limits).open().unwrap();
    assert_eq!(store.limits(), limits);
    let of = |bytes: usize| Arguments::from_json(format!("\"{}\"", "x".repeat(bytes - 2)));
    let large = retry_core::record::New { arguments: of(101), ..new(keyed("order-1")) };
    let refused = wait(store.enqueue(large)).unwrap_err();
    assert!(matches!(refused, StoreError::TooLarge { bytes: 101, limit: 100, .. }), "{refused}");
    enqueue(&store, retry_core::record::New { arguments: of(100), ..new(keyed("order-1")) });
}

#[test]
fn a_large_result_comes_back_whole() {
    let folder = Folder::new();
    let store = folder.store();
    let (operation, fence) = started(keyed("order-1"));
    enqueue(&store, operation.clone());
    let result = format!("\"{}\"", "é".repeat(500_000));
    let change = Change::complete(fence, 1, LEASE, result.clone());
    wait(store.commit(vec![Write { record: operation.record, change }])).unwrap();
    let read = wait(store.read(operation.record)).unwrap().unwrap();
    assert_eq!(read.result(), Some(result.as_str()));
}
