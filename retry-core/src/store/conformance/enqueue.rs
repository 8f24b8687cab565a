//! Operations begin once.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::subject::{HOUR, LEASE, SECOND, Subject, arguments, block_on, failed, keyed, take_over};
use crate::record::{Event, Head, Holder, New, Phase, RecordError, Refused};
use crate::store::{Enqueued, StoreError};
use crate::{Backoff, Failure, OperationId, Policy};

pub(super) fn a_key_begins_one_operation(subject: &Subject) {
    let first = subject.operation("order-1");
    let head = subject.begin(first.clone());
    assert_eq!((head.phase, head.seq, head.lease.epoch), (Phase::Ready, 1, 0));
    assert_eq!((head.created_at, head.due_at), (subject.now(), subject.now()));
    subject.advance(SECOND);
    let again = subject.operation("order-1");
    match subject.enqueue(again.clone()) {
        Enqueued::Existing(record) => {
            assert_eq!(record.head(), &head, "the record of a key is that of its first call");
        }
        Enqueued::New(_) => panic!("two operations began with one key"),
    }
    assert_eq!(subject.read(again.record), None, "the second call keeps nothing");
}

pub(super) fn other_arguments_are_seen_by_their_fingerprint(subject: &Subject) {
    let first = subject.operation("order-1");
    subject.begin(first.clone());
    let other = arguments(&serde_json::json!({ "amount": 6, "order": "order-1" }));
    let reused = New { arguments: other.clone(), ..subject.operation("order-1") };
    match subject.enqueue(reused) {
        Enqueued::Existing(record) => {
            assert_eq!(
                record.arguments(),
                &first.arguments,
                "the arguments of an operation stay those that it began with",
            );
            assert_ne!(
                record.head().fingerprint,
                other.fingerprint(),
                "that a key is used with other arguments is seen by the fingerprint",
            );
        }
        Enqueued::New(_) => panic!("a key began a second operation, with other arguments"),
    }
}

pub(super) fn a_key_belongs_to_a_name(subject: &Subject) {
    let charge = subject.begin(subject.operation("order-1"));
    let refund =
        New { operation: keyed("payments.refund", "order-1"), ..subject.operation("order-1") };
    let refund = subject.begin(refund);
    assert_ne!(charge.record, refund.record, "a key is one of its name alone");
    // The same key as bytes, handed down to an operation of another name.
    let handed = charge.operation.key().map(|key| OperationId::keyed("payments.audit", key));
    let operation = handed.unwrap_or_else(|| panic!("the operation has a key"));
    subject.begin(New { operation: operation.clone(), ..subject.operation("order-1") });
    let found = subject.find(&charge.operation);
    assert_eq!(
        found.map(|found| found.head().record),
        Some(charge.record),
        "names that share a key are found apart"
    );
}

pub(super) fn without_a_key_each_is_new(subject: &Subject) {
    for operation in [OperationId::counted("payments.poll", 7, 1), OperationId::from("flight-1")] {
        let one = subject.begin(New { operation: operation.clone(), ..subject.operation("other") });
        let two = subject.begin(New { operation, ..subject.operation("other") });
        assert_ne!(one.record, two.record, "only an id with a key is unique");
    }
}

pub(super) fn a_call_begins_under_its_lease(subject: &Subject) {
    let holder = Holder::new();
    let held = New { held: Some((holder, LEASE)), ..subject.running("order-1") };
    let head = subject.begin(held);
    assert_eq!((head.phase, head.started, head.lease.epoch), (Phase::Running, 1, 1));
    assert_eq!(
        head.lease.held,
        Some((holder, subject.now().plus(LEASE))),
        "a lease lasts from the time of the store"
    );
    let Enqueued::Existing(record) = subject.enqueue(subject.operation("order-1")) else {
        panic!("two operations began with one key");
    };
    assert!(record.head().is_held(subject.now()), "a second call sees that the first one runs");
    let until = subject.now().plus(LEASE);
    let refused = Refused::InFlight { until };
    subject.refused(head.record, take_over(&head), &refused, "nobody takes over a live lease");
}

pub(super) fn a_refused_beginning_leaves_no_key(subject: &Subject) {
    let by_function = Backoff::custom(|_| Duration::ZERO);
    for policy in [Policy::new(3, HOUR).backoff(by_function), Policy::new(0, HOUR)] {
        let refused = New { policy, ..subject.operation("order-1") };
        match subject.try_enqueue(refused.clone()) {
            Err(StoreError::Record(RecordError::Unwritable { .. })) => {}
            other => panic!("a policy that cannot be kept begins nothing, and gave {other:?}"),
        }
        assert_eq!(subject.read(refused.record), None, "what is refused keeps nothing");
    }
    // The second caller wins.
    subject.begin(subject.operation("order-1"));
}

pub(super) fn arguments_have_a_limit(subject: &Subject) {
    let limit = subject.store().limits().arguments;
    // Two quotes around it.
    let of = |bytes: usize| arguments(&serde_json::Value::from("x".repeat(bytes - 2)));
    let large = New { arguments: of(limit + 1), ..subject.operation("order-1") };
    match subject.try_enqueue(large.clone()) {
        Err(StoreError::TooLarge { bytes, limit: said, .. }) => {
            assert_eq!((bytes, said), (limit + 1, limit), "the error gives both numbers");
        }
        other => panic!("arguments over the limit are refused as too large, and gave {other:?}"),
    }
    assert_eq!(subject.read(large.record), None, "what is refused keeps nothing");
    subject.begin(New { arguments: of(limit), ..subject.operation("order-1") });
}

pub(super) fn texts_come_back_as_they_were(subject: &Subject) {
    const ODD: &str = "'; -- \" \\ %_ \u{0} \u{1f} \u{7f} \r\n ä ∀ 🦀 e\u{301} \u{202e}";
    let new = New {
        operation: keyed(ODD, ODD),
        queue: ODD.to_owned(),
        code_version: Some(ODD.to_owned()),
        arguments: arguments(&serde_json::json!({ ODD: [ODD, 1.5, null] })),
        ..subject.operation("other")
    };
    let head = subject.begin(new);
    let claimed = subject.claim_of(ODD, 1);
    let head = claimed.first().map_or(head, |claimed| claimed.head.clone());
    assert_eq!(head.phase, Phase::Running, "a queue of any name hands out what is in it");
    let mut events = failed(&head, Failure::transient());
    if let Some(Event::AttemptFinished { error, .. }) = events.first_mut() {
        *error = Some(ODD.to_owned());
    }
    let head = subject.append(&head, true, events);
    assert_eq!(head.last_error.as_deref(), Some(ODD));
    let head = subject.start(&head);
    subject.succeed(&head, ODD);
    let found = subject.find(&head.operation);
    let found = found.unwrap_or_else(|| panic!("an id of any name is found"));
    assert_eq!(found.result(), Some(ODD), "texts come back byte by byte");
}

pub(super) fn what_is_open_never_expires(subject: &Subject) {
    let brief = |new| New { keep: Duration::from_nanos(1), ..new };
    let ready = subject.begin(brief(subject.operation("ready")));
    let running = subject.begin(brief(subject.running("running")));
    let parked = subject.begin(brief(subject.running("parked")));
    let parked = subject.fail(&parked, false, Failure::transient());
    let review = subject.begin(brief(subject.running("review")));
    let review = subject.fail(&review, false, Failure::unknown());
    subject.advance(HOUR * 24 * 3650);
    let heads = [ready, running, parked, review];
    for head in &heads {
        match subject.enqueue(subject.operation_like(head)) {
            Enqueued::Existing(record) => assert_eq!(record.head(), head),
            Enqueued::New(_) => panic!("an operation that is {} never expires", head.phase),
        }
        assert!(subject.find(&head.operation).is_some(), "nor is it lost to `find`");
    }
    assert_eq!(subject.retain(100), 0, "nothing that is open is removed");
}

pub(super) fn what_has_ended_expires(subject: &Subject) {
    let done = subject.begin(subject.running("done"));
    let done = subject.succeed(&done, "1");
    let dead = subject.begin(subject.running("dead"));
    let dead = subject.fail(&dead, false, Failure::permanent());
    let heads = [done, dead];
    subject.advance(HOUR - Duration::from_nanos(1));
    for head in &heads {
        match subject.enqueue(subject.operation_like(head)) {
            Enqueued::Existing(record) => assert_eq!(record.head(), head),
            Enqueued::New(_) => {
                panic!("what is {} is answered for as long as it is kept", head.phase)
            }
        }
    }
    subject.advance(Duration::from_nanos(1));
    for head in &heads {
        assert_eq!(subject.find(&head.operation), None, "what has expired is not found");
        let next = subject.begin(subject.operation_like(head));
        assert_ne!(next.record, head.record, "the same key after that is a new operation");
        let found = subject.find(&head.operation).map(|found| found.head().record);
        assert_eq!(found, Some(next.record), "a key stands for its latest operation");
    }
    assert!(subject.read(heads[1].record).is_some(), "a dead record stays readable");
}

pub(super) fn calls_at_once_begin_one_operation(subject: &Subject) {
    const CALLS: usize = 64;
    let calls: Vec<_> = (0..CALLS).map(|_| subject.running("order-1")).collect();
    let gate = Barrier::new(CALLS);
    let store = subject.store();
    let call = |new: New| {
        gate.wait();
        block_on("`enqueue`", store.enqueue(new))
    };
    let answers = thread::scope(|scope| {
        let calls: Vec<_> = calls.into_iter().map(|new| scope.spawn(|| call(new))).collect();
        let join = |call: thread::ScopedJoinHandle<'_, _>| {
            call.join().unwrap_or_else(|_| panic!("`enqueue` panicked"))
        };
        calls.into_iter().map(join).collect::<Vec<_>>()
    });
    let (mut new, mut existing) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(Enqueued::New(head)) => new.push(head.record),
            Ok(Enqueued::Existing(record)) => existing.push(record.head().record),
            Err(error) => panic!("`enqueue` failed: {error}"),
        }
    }
    assert_eq!(new.len(), 1, "{CALLS} calls at once with one key begin one operation");
    existing.dedup();
    assert_eq!(existing, new, "and each of the others is answered that one");
}

impl Subject {
    /// Another call of the same operation.
    fn operation_like(&self, head: &Head) -> New {
        New { operation: head.operation.clone(), ..self.operation("other") }
    }
}
