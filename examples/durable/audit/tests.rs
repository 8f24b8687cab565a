use std::time::Duration;

use futures::executor::block_on;
use retry_core::record::{Arguments, Change, Fence, Holder, New, RecordId};
use retry_core::store::{MemoryStore, Store, Write};
use retry_core::{OperationId, Policy, Safety, StopReason};

use super::*;

/// One order, done and charged at the first attempt, as all sides tell it.
struct Case {
    book: Vec<Statement>,
    records: Vec<Record>,
    answers: BTreeMap<u32, Answer>,
}

impl Case {
    fn new() -> Self {
        Self::of(|fence| Change::complete(fence, 1, Duration::ZERO, "{}".to_owned()))
    }

    fn of(end: impl Fn(Fence) -> Change) -> Self {
        let order = Order::number(1);
        let key = order.key().unwrap();
        let statement = Statement {
            key: key.to_string(),
            order: order.id.clone(),
            charged: true,
            attempts: vec![Some(1)],
        };
        let answer = Answer { order: 1, stopped: None };
        let record = record(&order, end);
        Self { book: vec![statement], records: vec![record], answers: [(1, answer)].into() }
    }

    fn audit(&self) -> Audit {
        Audit::of(1, &self.book, &self.records, &self.answers)
    }

    fn unexplained(&self) -> Option<&'static str> {
        self.audit().orders[0].unexplained
    }
}

/// A record whose first attempt ends like that.
fn record(order: &Order, end: impl Fn(Fence) -> Change) -> Record {
    let (store, holder) = (MemoryStore::new(), Holder::new());
    let record = RecordId::new();
    let new = New {
        record,
        operation: OperationId::from(format!("payments.charge/{}", order.key().unwrap()).as_str()),
        safety: Safety::Keyed,
        policy: Policy::new(MAX_ATTEMPTS, Duration::from_secs(60)),
        arguments: Arguments::of(&order).unwrap(),
        queue: String::new(),
        code_version: None,
        keep: Duration::MAX,
        held: Some((holder, Duration::from_secs(60))),
        started: true,
    };
    block_on(store.enqueue(new)).unwrap();
    let change = end(Fence { epoch: 1, holder });
    block_on(store.commit(vec![Write { record, change }])).unwrap().remove(0).unwrap();
    block_on(store.read(record)).unwrap().unwrap()
}

#[test]
fn what_all_sides_tell_alike_is_explained() {
    let audit = Case::new().audit();
    let order = &audit.orders[0];
    assert_eq!((order.charges, order.regressions, order.is_over_policy), (1, 0, false));
    assert_eq!((order.unexplained, order.phase()), (None, Some(Phase::Done)));
    assert_eq!((audit.strangers, audit.decisions, audit.differences), (0, 1, Vec::new()));
}

#[test]
fn two_keys_are_two_charges() {
    let mut case = Case::new();
    case.book.push(Statement { key: "another".to_owned(), ..case.book[0].clone() });
    assert_eq!(case.audit().orders[0].charges, 2);
}

#[test]
fn a_number_not_above_all_before_went_back() {
    for (attempts, expected) in [
        (&[Some(1), Some(2), Some(4)][..], 0),
        (&[Some(1), Some(1)], 1),
        (&[Some(1), Some(2), Some(1), Some(2), Some(3)], 2),
        (&[Some(3), Some(2)], 1),
        (&[Some(1), None], 1),
        (&[], 0),
    ] {
        assert_eq!(regressions(attempts), expected, "{attempts:?}");
    }
}

#[test]
fn every_call_counts_against_the_policy() {
    let mut case = Case::new();
    for (attempts, expected) in [(1..=6, false), (1..=7, true)] {
        case.book[0].attempts = attempts.map(Some).collect();
        assert_eq!(case.audit().orders[0].is_over_policy, expected);
    }
    // Also where the counter began anew.
    case.book[0].attempts = [1, 2, 3, 1, 2, 3, 1].map(Some).into();
    assert!(case.audit().orders[0].is_over_policy);
}

#[test]
fn each_side_can_contradict_another() {
    let mut case = Case::new();
    case.book[0].charged = false;
    assert_eq!(case.unexplained(), Some("done, and not charged"));

    let mut case = Case::new();
    case.book[0].attempts.push(Some(2));
    assert_eq!(case.unexplained(), Some("an attempt was made that is not recorded"));

    let mut case = Case::new();
    case.answers.clear();
    assert_eq!(case.unexplained(), Some("the customer was told otherwise"));
    let stopped = Some(StopReason::FailPermanent.to_string());
    case.answers.insert(1, Answer { order: 1, stopped });
    assert_eq!(case.unexplained(), Some("the customer was told otherwise"));

    let mut case = Case::new();
    case.records.clear();
    assert_eq!(case.unexplained(), Some("nothing is recorded"));

    let case = Case::of(|fence| Change::append(fence, Vec::new()));
    assert_eq!(case.unexplained(), Some("neither done nor stopped"));

    let mut case = Case::new();
    let order = "order-2".to_owned();
    case.book.push(Statement { order, ..case.book[0].clone() });
    assert_eq!(case.audit().strangers, 1);
}
