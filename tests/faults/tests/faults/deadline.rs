//! Time in which nobody lives.

use std::thread;
use std::time::Duration;

use retry_core::record::Phase;
use retry_faults::Kind;
use retry_faults::process::End;

use crate::service::Service;

#[test]
fn an_operation_whose_deadline_passes_while_nobody_lives_is_dead_and_not_tried_again() {
    let number = Kind::Hurried.number(0);
    let mut service = Service::new();
    let mut worker = service.worker(&[]);
    worker.ask(number);
    service.until_polled(number, 1);
    assert_eq!(worker.kill().unwrap(), End::Killed);
    service.remember(&worker);
    // Longer than its deadline.
    thread::sleep(Duration::from_millis(1_100));

    service.book.open(number);
    service.settle(&[number]);
    let stopped = service.answers().pop().unwrap().stopped;
    assert_eq!(stopped.as_deref(), Some("deadline_exceeded"));
    assert_eq!(service.book.attempts(number).unwrap(), [1]);
    let record = service.record(number);
    assert_eq!(record.head().phase, Phase::Dead);
    assert_eq!(record.head().elapsed, Duration::from_secs(1), "no more than was left");
    service.audit(&[number]);
}
