//! A holder that cannot give signs of life.

use std::thread;
use std::time::Duration;

use retry_core::record::{Ended, Event};
use retry_faults::Kind;
use retry_faults::process::End;

use crate::service::{Service, attempts, until};

#[test]
fn a_holder_whose_thread_is_blocked_is_fenced_and_there_is_one_result() {
    let number = Kind::Starved.number(0);
    let mut service = Service::new();
    let mut starved = service.worker(&[]);
    starved.ask(number);
    service.until_polled(number, 1);

    // Its body blocks its only thread until the other one is done.
    let mut other = service.worker(&[]);
    other.ask(number);
    let answer = other.answer_of(number).unwrap();
    assert!(answer.receipt.is_some(), "{answer:?}");
    service.book.open(number);
    starved.again_of(number, "lease_lost").unwrap();
    // The same call again: what is recorded.
    assert_eq!(starved.answer_of(number).unwrap(), answer);

    for mut worker in [starved, other] {
        worker.tell_no_more();
        assert_eq!(worker.end().unwrap(), End::Well);
        service.remember(&worker);
    }
    let record = service.record(number);
    assert_eq!(attempts(&record), [(1, Ended::Crashed), (2, Ended::Succeeded)]);
    assert_eq!(record.head().crashes, 1);
    let is_lost = |event: &Event| matches!(event, Event::LeaseLost { .. });
    assert_eq!(record.entries().iter().filter(|entry| is_lost(entry.event())).count(), 1);
    assert_eq!(service.book.effects().unwrap().len(), 1, "its key was known");
    service.audit(&[number]);
}

#[test]
fn a_holder_that_was_blocked_and_not_replaced_goes_on() {
    let number = Kind::Starved.number(0);
    let mut service = Service::new();
    let mut starved = service.worker(&["--lease", "500"]);
    starved.ask(number);
    until(|| !service.book.attempts(number).unwrap().is_empty());
    // Beyond its lease; nobody else wants it.
    thread::sleep(Duration::from_millis(600));
    service.book.open(number);
    let answer = starved.answer_of(number).unwrap();
    starved.tell_no_more();
    assert_eq!(starved.end().unwrap(), End::Well);
    service.remember(&starved);
    assert!(answer.receipt.is_some(), "{answer:?}");
    service.audit(&[number]);
}
