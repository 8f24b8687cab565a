//! No room left, in the middle of everything.

use std::io::{self, Write as _};

use retry_core::record::Ended;
use retry_faults::process::{End, Worker};
use retry_faults::{Answer, Kind, Said};

use crate::service::{Service, attempts};

/// Longer than it takes to see each operation fail, on a machine that is not slow.
const LEASE: &str = "1500";

/// On a file system of its own. Where the system gives none, the other test is all
/// there is.
#[test]
fn a_full_disk_loses_nothing_and_stops_for_as_long_as_it_is_full() {
    let service = Service::new();
    let mut worker = service.worker(&["--disk", "small", "--lease", LEASE]);
    let missing = worker.listen_for(|said| match said {
        Said::CannotOpen { error } if error.starts_with("NoDisk") => Some(Some(error.clone())),
        Said::Open => Some(None),
        _ => None,
    });
    if let Some(why) = missing.unwrap() {
        // Also where the test passes, and its output is not shown.
        writeln!(io::stdout(), "not on a full disk, only with a limit: {why}").unwrap();
        return;
    }
    fill(service, worker, "Full");
}

/// The same where the system refuses each write for a reason that SQLite does not
/// tell.
#[test]
fn writes_that_fail_lose_nothing_and_stop_for_as_long_as_they_do() {
    let service = Service::new();
    let worker = service.worker(&["--disk", "limited", "--lease", LEASE]);
    fill(service, worker, "Failed");
}

fn fill(mut service: Service, mut worker: Worker, error: &str) {
    let (done, new) = (Kind::Charged.number(0), Kind::Charged.number(1));
    let (held, parked) = (Kind::Gated.number(0), Kind::Parked.number(0));
    worker.ask(done);
    let answer = worker.answer_of(done).unwrap();
    assert!(answer.receipt.is_some());
    worker.ask(held);
    worker.ask(parked);
    service.until_polled(held, 1);
    service.until_polled(parked, 1);

    tell(&mut worker, "fill");
    worker.ask(new);
    let stopped = worker.again_of(new, "store_failed").unwrap();
    assert!(stopped.error.as_ref().unwrap().starts_with(error), "{stopped:?}");
    assert_eq!(service.book.attempts(new).unwrap(), [0; 0], "its body never ran");
    // It takes effect, and that cannot be kept.
    service.book.open(held);
    let stopped = unkept(&mut worker, held);
    assert!(stopped.error.is_none_or(|said| said.starts_with(error)));
    // What is recorded is still answered.
    worker.ask(done);
    assert_eq!(worker.answer_of(done).unwrap(), answer);

    tell(&mut worker, "free");
    worker.tell_no_more();
    assert_eq!(worker.end().unwrap(), End::Well);
    service.remember(&worker);
    for number in [new, held, parked] {
        let answers = service.answers();
        let answer = answers.iter().find(|answer| answer.operation == number).unwrap();
        assert!(answer.receipt.is_some(), "{answer:?}");
    }
    assert_eq!(attempts(&service.record(held)), [(1, Ended::Crashed), (2, Ended::Succeeded)]);
    let effects = service.book.effects().unwrap();
    assert_eq!(effects.iter().filter(|effect| effect.operation == held).count(), 1);
    service.audit(&[done, new, held, parked]);
}

/// By then its lease may be over: no sign of life could be kept either.
fn unkept(worker: &mut Worker, number: u32) -> Answer {
    let stopped = worker.listen_for(|said| match said {
        Said::Again(answer) if answer.operation == number => Some(answer.clone()),
        _ => None,
    });
    let stopped = stopped.unwrap();
    let reason = stopped.stopped.as_deref();
    assert!(matches!(reason, Some("store_failed" | "lease_lost")), "{stopped:?}");
    stopped
}

fn tell(worker: &mut Worker, command: &str) {
    worker.tell(command);
    let did = |said: &Said| matches!(said, Said::Did { command: done } if done == command);
    worker.listen_for(|said| did(said).then_some(())).unwrap();
}
