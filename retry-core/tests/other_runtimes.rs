//! Operations without tokio: on a clock of one's own, under an executor that
//! knows nothing of time. Meant for `--no-default-features`, and right with
//! any features.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::channel::oneshot;
use futures::executor::block_on;
use retry_core::clock::{Clock, Process, Sleep, VirtualClock};
use retry_core::observe::{Event, Recorder};
use retry_core::{
    Backoff, Failure, Jitter, Operation, OperationId, Policy, Retrier, StopReason, Stopped, within,
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A clock as another runtime has one: a thread of its own ends the waits and
/// wakes whoever waits. It is in a hurry: where somebody waits, it is that time
/// at once.
struct ThreadClock {
    now: Arc<Mutex<Instant>>,
    waits: Mutex<Sender<(Instant, oneshot::Sender<()>)>>,
    process: Process,
}

impl ThreadClock {
    fn new() -> Self {
        let now = Arc::new(Mutex::new(Instant::now()));
        let (waits, asked) = channel::<(Instant, oneshot::Sender<()>)>();
        let times = Arc::clone(&now);
        std::thread::spawn(move || {
            for (at, done) in asked {
                // A wait that nobody waits for any more moves nothing.
                if done.is_canceled() {
                    continue;
                }
                let mut now = times.lock().unwrap();
                *now = at.max(*now);
                drop(now);
                let _ = done.send(());
            }
        });
        Self { now, waits: Mutex::new(waits), process: Process::new(0xC10C) }
    }
}

impl Clock for ThreadClock {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        let (done, wait) = oneshot::channel();
        self.waits.lock().unwrap().send((at, done)).unwrap();
        Box::pin(async move {
            let _ = wait.await;
        })
    }

    fn process(&self) -> &Process {
        &self.process
    }
}

fn policy() -> Policy {
    Policy::new(4, MINUTE).backoff(Backoff::fixed(SECOND).jitter(Jitter::None))
}

fn operation(policy: Policy) -> Operation {
    Operation::idempotent("op", policy)
}

async fn fails(operation: Operation) -> Stopped<&'static str> {
    let operation = operation.classify(|_: &&str| Failure::transient());
    operation.run(|_| async { Err::<(), _>("busy") }).await.unwrap_err()
}

fn check(stopped: &Stopped<&str>) {
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 4));
    assert_eq!(stopped.elapsed(), 3 * SECOND);
    assert_eq!(stopped.operation_id(), &OperationId::counted("op", 0xC10C, 1));
}

#[test]
fn a_clock_of_ones_own_in_a_retrier() {
    let retrier = Retrier::builder().clock(ThreadClock::new()).build();
    check(&block_on(fails(operation(policy()).with(&retrier))));
}

#[test]
fn a_clock_of_ones_own_in_a_scope() {
    check(&block_on(ThreadClock::new().scope(fails(operation(policy())))));
}

#[test]
fn a_body_that_hangs_returns_at_the_deadline() {
    let recorder = Recorder::new();
    let retrier = Retrier::builder().clock(ThreadClock::new()).observer(recorder.clone()).build();
    let hangs = operation(policy().attempt_timeout(10 * SECOND))
        .with(&retrier)
        .classify(|(): &()| Failure::transient())
        .run(|_| std::future::pending::<Result<(), ()>>());
    let stopped = block_on(hangs).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 4));
    assert_eq!(stopped.elapsed(), 43 * SECOND);
    assert!(matches!(
        recorder.events(stopped.operation_id()).last(),
        Some(Event::Stopped { attempts: 4, .. })
    ));
}

#[test]
fn a_workflow_on_a_clock_of_ones_own() {
    let flow = within(5 * SECOND / 2, fails(operation(policy())));
    let stopped = block_on(ThreadClock::new().scope(flow));
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DeadlineExceeded, 3));
    assert_eq!(stopped.elapsed(), 2 * SECOND);
}

/// Polled by one thread, woken by another, and then polled by a third.
#[test]
fn threads_of_any_executor_may_poll() {
    let running = Box::pin(ThreadClock::new().scope(fails(operation(policy()))));
    let stopped = std::thread::spawn(|| block_on(running)).join().unwrap();
    check(&stopped);
}

#[test]
fn virtual_time_needs_no_runtime() {
    let clock = VirtualClock::new();
    let stopped = block_on(clock.clone().scope(fails(operation(policy()))));
    assert_eq!((stopped.attempts(), clock.elapsed()), (4, 3 * SECOND));
}

/// Without any clock the operation says what is missing, and makes no attempt.
#[cfg(not(feature = "tokio"))]
#[test]
fn without_a_clock_nothing_begins() {
    let stopped = block_on(fails(operation(policy())));
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::InvalidPolicy, 0));
    assert_eq!(stopped.stop().policy_error(), Some(retry_core::PolicyError::NoClock));
    let text = stopped.to_string();
    assert!(text.contains("enable the feature `tokio`, give the retrier a clock"), "{text}");
    // A workflow needs none by itself.
    assert_eq!(block_on(within(SECOND, async { 7 })), 7);
}
