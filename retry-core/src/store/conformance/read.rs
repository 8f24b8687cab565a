//! What is kept is found and read.

use super::subject::{DELAY, HOUR, LEASE, SECOND, Subject, keyed};
use crate::Failure;
use crate::record::{Event, Head, New, Phase, RecordId};
use crate::store::List;

fn records(heads: &[Head]) -> Vec<RecordId> {
    heads.iter().map(|head| head.record).collect()
}

pub(super) fn what_was_written(subject: &Subject) {
    let new = subject.running("order-1");
    let head = subject.begin(new.clone());
    let head = subject.fail(&head, true, Failure::transient());
    subject.advance(DELAY);
    let head = subject.start(&head);
    let head = subject.succeed(&head, "[1]");
    let record = subject.verified(head.record);
    assert_eq!(record.head(), &head);
    assert_eq!(record.arguments(), &new.arguments);
    assert_eq!(record.result(), Some("[1]"));
    let entries = record.entries();
    assert_eq!(u32::try_from(entries.len()), Ok(head.seq), "every entry is read");
    assert_eq!(entries.last().map(crate::record::Entry::sum), Some(head.sum));
    assert!(
        matches!(entries[0].event(), Event::Enqueued { policy, .. } if *policy == new.policy),
        "the policy is the one that it began with",
    );
    assert_eq!(
        (head.queue.as_str(), head.code_version.as_deref(), head.keep),
        ("", Some("7"), HOUR),
        "what no entry tells is kept too",
    );
}

pub(super) fn nothing_where_nothing_is(subject: &Subject) {
    assert_eq!(subject.read(subject.record()), None);
    assert_eq!(subject.find(&keyed("payments.charge", "order-1")), None);
    assert_eq!(
        subject.answer("`list`", subject.store().list(List { limit: 9, ..List::default() })),
        []
    );
    assert_eq!(subject.claim(9).len(), 0);
    assert_eq!(subject.reclaim(9), []);
    assert_eq!(subject.retain(9), 0);
}

pub(super) fn found_by_its_id(subject: &Subject) {
    let one = subject.begin(subject.running("order-1"));
    let two = subject.begin(subject.operation("order-2"));
    for head in [one, two] {
        let found = subject.find(&head.operation);
        assert_eq!(found.as_ref().map(|found| found.head()), Some(&head));
        assert_eq!(found, Some(subject.verified(head.record)), "`find` answers the whole record");
    }
    assert_eq!(subject.find(&keyed("payments.refund", "order-1")), None, "by name and key");
}

/// Five operations of two names, in all phases but one.
fn some(subject: &Subject) -> [Head; 5] {
    let ready = subject.begin(subject.operation("ready"));
    subject.advance(SECOND);
    let refund = New { operation: keyed("payments.refund", "1"), ..subject.running("other") };
    let running = subject.begin(refund);
    subject.advance(SECOND);
    let fail = |key, failure| {
        let head = subject.begin(subject.running(key));
        subject.advance(SECOND);
        subject.fail(&head, false, failure)
    };
    let parked = fail("parked", Failure::transient());
    let review = fail("review", Failure::unknown());
    let dead = fail("dead", Failure::permanent());
    [ready, running, parked, review, dead]
}

fn list(subject: &Subject, list: List) -> Vec<RecordId> {
    let heads = subject.answer("`list`", subject.store().list(list));
    for head in &heads {
        assert_eq!(subject.verified(head.record).head(), head, "`list` gives heads as they are");
    }
    records(&heads)
}

pub(super) fn lists_the_latest_first(subject: &Subject) {
    let mut expected = records(&some(subject));
    expected.reverse();
    assert_eq!(
        list(subject, List { limit: 100, ..List::default() }),
        expected,
        "`list` begins with the latest record",
    );
}

pub(super) fn lists_in_pages(subject: &Subject) {
    let mut expected = records(&some(subject));
    expected.reverse();
    assert_eq!(list(subject, List::default()), [], "as many as were asked for");
    let (mut pages, mut before) = (Vec::new(), None);
    for size in [2, 2, 1, 0] {
        let page = list(subject, List { before, limit: 2, ..List::default() });
        assert_eq!(page.len(), size, "a page is as long as was asked for, except for the last");
        before = page.last().copied().or(before);
        pages.extend(page);
    }
    assert_eq!(pages, expected, "the next page begins before the last record of the one before");
}

pub(super) fn lists_what_is_asked_for(subject: &Subject) {
    let heads = some(subject);
    let all = List { limit: 100, ..List::default() };
    for head in &heads {
        let phase = Some(head.phase);
        assert_eq!(list(subject, List { phase, ..all.clone() }), [head.record], "{}", head.phase);
        let operation = Some(head.operation.clone());
        assert_eq!(list(subject, List { operation, ..all.clone() }), [head.record]);
    }
    assert_eq!(list(subject, List { phase: Some(Phase::Done), ..all.clone() }), []);
    let name = Some("payments.refund".to_owned());
    assert_eq!(list(subject, List { name: name.clone(), ..all.clone() }), [heads[1].record]);
    assert_eq!(
        list(subject, List { name, phase: Some(Phase::Dead), ..all.clone() }),
        [],
        "what is listed is everything that was asked for at once",
    );
    let name = Some("payments".to_owned());
    assert_eq!(list(subject, List { name, ..all.clone() }), [], "a name is a whole name");
    // The phase is that of the operation, whether or not somebody holds it.
    subject.advance(LEASE);
    let phase = Some(Phase::Running);
    assert_eq!(list(subject, List { phase, ..all }), [heads[1].record]);
}
