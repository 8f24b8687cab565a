//! What is kept, over processes that come and go.

use std::time::Duration;

use retry_core::record::{Change, Phase};
use retry_core::store::{Enqueued, Store, Write};

use crate::support::{Folder, enqueue, keyed, new, started, wait};

#[test]
fn what_was_answered_is_there_when_the_file_is_opened_again() {
    let folder = Folder::new();
    let store = folder.store();
    let (operation, fence) = started(keyed("order-1"));
    let record = operation.record;
    let head = enqueue(&store, operation.clone());
    assert_eq!((head.phase, head.started, head.state()), (Phase::Running, 1, "leased"));
    let change = Change::complete(fence, 1, Duration::from_millis(7), "\"receipt\"".to_owned());
    let done = wait(store.commit(vec![Write { record, change }])).unwrap();
    let done = done.into_iter().next().unwrap().unwrap();
    assert_eq!(done.phase, Phase::Done);
    drop(store);

    let store = folder.store();
    let read = wait(store.read(record)).unwrap().unwrap();
    assert_eq!((read.head(), read.result()), (&done, Some("\"receipt\"")));
    assert_eq!(read.arguments(), &operation.arguments);
    assert_eq!(read.replay().unwrap().entries, 4);
    let found = wait(store.find(keyed("order-1"))).unwrap();
    assert_eq!(found.as_ref(), Some(&read));
    let again = wait(store.enqueue(new(keyed("order-1")))).unwrap();
    assert!(matches!(again, Enqueued::Existing(record) if *record == read));
    assert_eq!(wait(store.find(keyed("order-2"))).unwrap(), None);
}
