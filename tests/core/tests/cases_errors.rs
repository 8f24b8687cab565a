//! Errors and observers: cases E1 to E3, E5 and E7.
#![allow(clippy::unwrap_used, clippy::panic, reason = "in helpers of tests")]

use std::error::Error as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future::{Either, select};
use retry_core::clock::VirtualClock;
use retry_core::observe::{
    AttemptFailed, AttemptStarted, Cancelled, Event, OperationStopped, Recorder, Succeeded,
};
use retry_core::{
    Backoff, Classify, Decision, Failure, Jitter, Observer, Operation, Policy, Retrier, StopReason,
};
use retry_core_tests::{BUSY, Failed, block_on, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn policy(max_attempts: u32) -> Policy {
    Policy::new(max_attempts, 60 * SECOND).backoff(Backoff::fixed(SECOND).jitter(Jitter::None))
}

fn recorded(max_attempts: u32) -> (Operation, Recorder) {
    let recorder = Recorder::new();
    let retrier = Retrier::builder().observer(recorder.clone()).build();
    (Operation::idempotent("op", policy(max_attempts)).with(&retrier), recorder)
}

fn events(recorder: &Recorder) -> Vec<Event> {
    recorder.take().into_iter().map(|(_, event)| event).collect()
}

#[derive(Debug, PartialEq, thiserror::Error)]
enum Several {
    #[error("refused")]
    Refused,
    #[error("busy")]
    Busy(#[source] std::fmt::Error),
    #[error("declined")]
    Declined,
}

impl Classify for Several {
    fn classify(&self) -> Failure {
        match self {
            Self::Refused => Failure::transient().no_effect(),
            Self::Busy(_) => Failure::transient(),
            Self::Declined => Failure::permanent(),
        }
    }
}

#[test]
fn e1_the_source_is_the_last_error_and_the_earlier_ones_are_kept() {
    let running = Operation::idempotent("op", policy(5)).run(|attempt| async move {
        Err::<(), _>(match attempt.number() {
            1 => Several::Refused,
            2 => Several::Busy(std::fmt::Error),
            _ => Several::Declined,
        })
    });
    let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 3));

    let source = stopped.source().unwrap().downcast_ref::<Several>();
    assert_eq!(source, Some(&Several::Declined));
    let errors: Vec<_> = stopped.failures().iter().filter_map(|failed| failed.error()).collect();
    assert_eq!(errors, [&Several::Refused, &Several::Busy(std::fmt::Error), &Several::Declined]);
    // The chain of an earlier one is whole.
    assert!(errors[1].source().unwrap().is::<std::fmt::Error>());
    assert_eq!(stopped.into_error(), Some(Several::Declined));
}

/// The last attempt was cut and has no error; the last error is that of the
/// attempt before it.
#[test]
fn e1_an_attempt_that_was_cut_hides_no_error() {
    let running =
        Operation::idempotent("op", policy(2).attempt_timeout(SECOND)).run(|attempt| async move {
            if attempt.number() == 1 {
                return Err::<(), _>(Several::Refused);
            }
            std::future::pending().await
        });
    let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
    assert_eq!(stopped.error(), Some(&Several::Refused));
    assert_eq!(stopped.failures()[1].error(), None);
    let text = stopped.to_string();
    assert!(text.ends_with("; attempt 2 was cut; the last error was: refused"), "{text}");
}

/// However many attempts were cut after it.
#[test]
fn e1_many_attempts_that_were_cut_hide_no_error() {
    let running =
        Operation::idempotent("op", policy(12).attempt_timeout(SECOND)).run(|attempt| async move {
            if attempt.number() <= 2 {
                return Err::<(), _>(Several::Refused);
            }
            std::future::pending().await
        });
    let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
    assert_eq!(stopped.error(), Some(&Several::Refused));
    let kept: Vec<_> = stopped.failures().iter().map(|failed| failed.attempt()).collect();
    assert_eq!(kept, [2, 6, 7, 8, 9, 10, 11, 12]);
    assert!(stopped.source().is_some());
}

#[test]
fn e2_cancelled_while_sleeping_is_told_with_the_last_failure() {
    let (operation, recorder) = recorded(5);
    let clock = VirtualClock::new();
    let failure = Failure::transient().with_code(503);
    block_on(&clock, async {
        let running = Box::pin(operation.run(|_| async { Err::<(), _>(Failed(failure)) }));
        let cut = select(running, sleep(&clock, SECOND * 3 / 2)).await;
        assert!(matches!(cut, Either::Right(_)));
    });
    let cancelled = Event::Cancelled {
        attempts: 2,
        elapsed: SECOND * 3 / 2,
        in_attempt: false,
        failure: Some(failure),
    };
    assert_eq!(events(&recorder).last(), Some(&cancelled));
}

#[test]
fn e2_an_operation_that_was_never_polled_tells_nothing() {
    let (operation, recorder) = recorded(5);
    drop(operation.run(|_| async { Err::<(), _>(BUSY) }));
    assert_eq!(events(&recorder), []);
}

#[test]
fn e3_the_last_attempt_is_told_as_the_last() {
    let (operation, recorder) = recorded(2);
    let running = operation.run(|_| async { Err::<(), _>(BUSY) });
    block_on(&VirtualClock::new(), running).unwrap_err();
    let events = events(&recorder);
    let [_, first, _, last, stopped] = &events[..] else { panic!("{events:?}") };
    assert!(matches!(
        first,
        Event::AttemptFailed { attempt: 1, decision: Decision::ScheduleRetry(_), .. }
    ));
    let Event::AttemptFailed { attempt: 2, decision: Decision::Stop(decided), .. } = last else {
        panic!("{last:?}");
    };
    let Event::Stopped { attempts: 2, stop, .. } = stopped else { panic!("{stopped:?}") };
    assert_eq!((decided, stop.reason()), (stop, StopReason::AttemptsExhausted));
}

#[test]
fn e3_a_rejected_value_never_succeeds() {
    let (operation, recorder) = recorded(3);
    let running = operation
        .reject(|value: &u32| *value < 10)
        .run(|attempt| async move { Ok::<_, Failed>(attempt.number()) });
    // The last value is the caller's although it was rejected.
    assert_eq!(block_on(&VirtualClock::new(), running).unwrap(), 3);
    let events = events(&recorder);
    assert_eq!(events.len(), 7);
    for event in &events {
        match event {
            Event::AttemptStarted { .. } => {}
            Event::AttemptFailed { failure, .. } => assert!(failure.is_rejected()),
            Event::Stopped { stop, attempts: 3, .. } => {
                assert_eq!(stop.reason(), StopReason::AttemptsExhausted);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Counts what an observer is told about `will_retry`.
#[derive(Clone, Default)]
struct Told(Arc<[AtomicU32; 2]>);

impl Observer for Told {
    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        assert_eq!(event.will_retry(), event.delay().is_some());
        self.0[usize::from(event.will_retry())].fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn e3_exactly_the_last_failure_is_not_retried() {
    for attempts in 1..=9 {
        let told = Told::default();
        let retrier = Retrier::builder().observer(told.clone()).build();
        let operation = Operation::idempotent("op", policy(attempts)).with(&retrier);
        let running = operation.run(|_| async { Err::<(), _>(BUSY) });
        block_on(&VirtualClock::new(), running).unwrap_err();
        let counts = [0, 1].map(|at: usize| told.0[at].load(Ordering::SeqCst));
        assert_eq!(counts, [1, attempts - 1]);
    }
}

#[test]
fn e5_a_local_stop_says_that_it_was_local() {
    for reason in [StopReason::BudgetExhausted, StopReason::CircuitOpen] {
        assert!(reason.description().contains("local"), "{reason}");
    }
    let blames = |reason: &&StopReason| reason.description().contains("other side");
    let blamed: Vec<_> = StopReason::ALL.iter().filter(blames).collect();
    assert_eq!(blamed, [&StopReason::DoNotRetry, &StopReason::HintTooLong]);
}

/// Panics whatever it hears.
struct Panics;

impl Observer for Panics {
    fn attempt_started(&self, _: &AttemptStarted<'_>) {
        panic!("attempt_started");
    }

    fn attempt_failed(&self, _: &AttemptFailed<'_>) {
        panic!("attempt_failed");
    }

    fn succeeded(&self, _: &Succeeded<'_>) {
        panic!("succeeded");
    }

    fn stopped(&self, _: &OperationStopped<'_>) {
        panic!("stopped");
    }

    fn cancelled(&self, _: &Cancelled<'_>) {
        panic!("cancelled");
    }
}

/// An observer between two that panic hears what one alone hears, and the
/// operation gives what it gives.
#[test]
fn e7_an_observer_that_panics_harms_nobody() {
    let told = |panics: bool| {
        let recorder = Recorder::new();
        let mut builder = Retrier::builder();
        if panics {
            builder = builder.observer(Panics);
        }
        builder = builder.observer(recorder.clone());
        if panics {
            builder = builder.observer(Panics);
        }
        let operation = Operation::idempotent("op", policy(3)).with(&builder.build());

        let clock = VirtualClock::new();
        let good = operation.clone().run(|attempt| async move {
            if attempt.number() < 3 { Err(BUSY) } else { Ok(attempt.number()) }
        });
        assert_eq!(block_on(&clock, good).unwrap(), 3);
        let bad = operation.clone().run(|_| async { Err::<(), _>(BUSY) });
        let stopped = block_on(&clock, bad).unwrap_err();
        assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
        block_on(&clock, async {
            let dropped = Box::pin(operation.run(|_| async { Err::<(), _>(BUSY) }));
            select(dropped, sleep(&clock, SECOND / 2)).await;
        });
        recorder.take()
    };
    assert_eq!(told(true), told(false));
}

/// A body's own panic goes through as it is, also past an observer that panics
/// on hearing of it.
#[test]
fn e7_a_panic_of_the_body_goes_through() {
    let recorder = Recorder::new();
    let retrier = Retrier::builder().observer(Panics).observer(recorder.clone()).build();
    let operation = Operation::idempotent("op", policy(3)).with(&retrier);
    let running = operation.run(|attempt| async move {
        if attempt.number() == 2 {
            panic!("the body's own");
        }
        Err::<(), _>(BUSY)
    });
    let caught = catch_unwind(AssertUnwindSafe(|| block_on(&VirtualClock::new(), running)));
    let payload = caught.unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"the body's own"));
    let events = events(&recorder);
    let cancelled =
        Event::Cancelled { attempts: 2, elapsed: SECOND, in_attempt: true, failure: Some(BUSY.0) };
    assert_eq!(events.last(), Some(&cancelled));
}
