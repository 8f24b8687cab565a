//! What happens between attempts, and to what an attempt held.
#![allow(missing_docs)]

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::rc::Rc;
use std::time::{Duration, Instant};

use retry_core::clock::{Clock, Sleep, VirtualClock};
use retry_core::observe::{Event, Recorder};
use retry_core::{
    Backoff, Classify, Jitter, Operation, Policies, Policy, Retrier, StopReason, Stopped, retryable,
};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error, Classify)]
#[error("busy")]
#[retry(transient)]
pub struct Busy;

fn run<F: Future>(clock: &VirtualClock, future: F) -> F::Output {
    futures::executor::block_on(clock.clone().scope(future))
}

/// Notes when it is dropped.
struct Held<'a>(&'a VirtualClock, &'a RefCell<Vec<Duration>>);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.1.borrow_mut().push(self.0.elapsed());
    }
}

#[retryable(
    idempotent,
    max_attempts = 2,
    deadline = "60s",
    attempt_timeout = "1s",
    backoff = Backoff::fixed(Duration::from_secs(10)).jitter(Jitter::None)
)]
async fn hangs(clock: &VirtualClock, drops: &RefCell<Vec<Duration>>) -> Result<(), Stopped<Busy>> {
    let _held = Held(clock, drops);
    pending().await
}

#[test]
fn an_attempt_that_is_cut_lets_go_before_the_wait() {
    let (clock, drops) = (VirtualClock::new(), RefCell::default());
    assert!(run(&clock, hangs(&clock, &drops)).is_err());
    assert_eq!(*drops.borrow(), [SECOND, 12 * SECOND]);

    let (clock, drops) = (VirtualClock::new(), RefCell::default());
    let policy = Policy::new(2, 60 * SECOND)
        .attempt_timeout(SECOND)
        .backoff(Backoff::fixed(10 * SECOND).jitter(Jitter::None));
    let operation = Operation::idempotent("op", policy).run(|_| async {
        let _held = Held(&clock, &drops);
        pending::<Result<(), Busy>>().await
    });
    assert!(run(&clock, operation).is_err());
    assert_eq!(*drops.borrow(), [SECOND, 12 * SECOND]);
}

struct Connection {
    line: tokio::sync::Mutex<u32>,
    hung: Cell<bool>,
}

impl Connection {
    async fn reconnect(&self) {
        *self.line.lock().await += 1;
    }

    #[retryable(
        idempotent,
        max_attempts = 3,
        deadline = "20s",
        attempt_timeout = "1s",
        before_retry = self.reconnect()
    )]
    async fn query(&self) -> Result<u32, Stopped<Busy>> {
        let line = self.line.lock().await;
        if !self.hung.replace(true) {
            pending::<()>().await;
        }
        Ok(*line)
    }
}

#[test]
fn a_hook_can_take_what_the_cut_attempt_held() {
    let connection = Connection { line: tokio::sync::Mutex::new(0), hung: Cell::new(false) };
    assert_eq!(run(&VirtualClock::new(), connection.query()).unwrap(), 1);
}

#[test]
fn what_runs_in_a_cut_attempt_is_cancelled_before_the_cut_is_told() {
    let recorder = Recorder::new();
    let retrier = Retrier::builder().observer(recorder.clone()).build();
    let policy = Policy::new(1, 10 * SECOND);
    let outer = Operation::idempotent("outer", policy.attempt_timeout(SECOND)).with(&retrier);
    let outer = outer.run(|_| async {
        let inner = Operation::idempotent("inner", policy).with(&retrier);
        inner.run(|_| pending::<Result<(), Busy>>()).await.map_err(|_| Busy)
    });
    assert!(run(&VirtualClock::new(), outer).is_err());
    let told: Vec<_> = recorder
        .take()
        .iter()
        .map(|(id, event)| match event {
            Event::AttemptStarted { .. } => format!("{} starts", id.name()),
            Event::AttemptFailed { .. } => format!("{} fails", id.name()),
            Event::Cancelled { .. } => format!("{} is cancelled", id.name()),
            Event::Stopped { .. } => format!("{} stops", id.name()),
            _ => format!("{} ends", id.name()),
        })
        .collect();
    let expected =
        ["outer starts", "inner starts", "inner is cancelled", "outer fails", "outer stops"];
    assert_eq!(told, expected);
}

#[retryable(
    idempotent,
    max_attempts = 3,
    deadline = "10s",
    before_retry = hook(clock, takes)
)]
async fn hooked(clock: &VirtualClock, takes: Duration) -> Result<(), Stopped<Busy>> {
    Err(Busy)
}

async fn hook(clock: &VirtualClock, takes: Duration) {
    clock.sleep_until(clock.now() + takes).await;
}

#[test]
fn a_hook_is_cut_at_the_deadline() {
    let clock = VirtualClock::new();
    let stopped = run(&clock, hooked(&clock, 100 * SECOND)).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DeadlineExceeded, 1));
    assert_eq!(clock.elapsed(), 10 * SECOND);
}

#[retryable(
    idempotent,
    max_attempts = 2,
    deadline = "20s",
    attempt_timeout = "2s",
    backoff = Backoff::fixed(Duration::from_secs(1)).jitter(Jitter::None),
    before_retry = hook(clock, 5 * SECOND)
)]
async fn hooked_and_cut(clock: &VirtualClock) -> Result<(), Stopped<Busy>> {
    pending().await
}

#[test]
fn the_time_of_an_attempt_starts_after_the_hook() {
    let clock = VirtualClock::new();
    let stopped = run(&clock, hooked_and_cut(&clock)).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 2));
    // An attempt of 2 s, a wait of 1 s, a hook of 5 s, an attempt of 2 s.
    assert_eq!(stopped.elapsed(), 10 * SECOND);
}

struct Config;

impl Config {
    fn policy(&self) -> Policy {
        Policy::new(2, SECOND)
    }

    fn retrier(&self) -> Retrier {
        let policies = Policies::new().with("twice", self.policy()).unwrap_or_default();
        Retrier::builder().policies(policies).build()
    }

    #[retryable(idempotent, policy = self.policy(), with = self.retrier())]
    async fn from_calls(&self) -> Result<(), Stopped<Busy>> {
        Err(Busy)
    }

    #[retryable(idempotent, policy = &self.policy(), max_attempts = 1, with = &self.retrier())]
    async fn from_references(&self) -> Result<(), Stopped<Busy>> {
        Err(Busy)
    }

    #[retryable(idempotent, policy = "twice", with = self.retrier())]
    async fn by_name(&self) -> Result<(), Stopped<Busy>> {
        Err(Busy)
    }

    #[retryable(idempotent, policy = Policy::new(2, Duration::from_secs(1)))]
    async fn from_an_expression(&self) -> Result<(), Stopped<Busy>> {
        Err(Busy)
    }

    #[retryable(idempotent, max_attempts = 2, deadline = Duration::from_secs(1))]
    async fn from_a_duration(&self) -> Result<(), Stopped<Busy>> {
        Err(Busy)
    }
}

#[test]
fn a_policy_and_a_retrier_may_be_made_in_the_attribute() {
    let clock = VirtualClock::new();
    assert_eq!(run(&clock, Config.from_calls()).unwrap_err().attempts(), 2);
    assert_eq!(run(&clock, Config.from_references()).unwrap_err().attempts(), 1);
    assert_eq!(run(&clock, Config.by_name()).unwrap_err().attempts(), 2);
    assert_eq!(run(&clock, Config.from_an_expression()).unwrap_err().attempts(), 2);
    assert_eq!(run(&clock, Config.from_a_duration()).unwrap_err().attempts(), 2);
}

/// P29: a body that is not `Send`, on a current-thread runtime.
#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn p29_not_send(calls: Rc<Cell<u32>>) -> Result<u32, Stopped<Busy>> {
    let held = Rc::clone(&calls);
    tokio::task::yield_now().await;
    held.set(held.get() + 1);
    if held.get() < 3 { Err(Busy) } else { Ok(held.get()) }
}

#[tokio::test(start_paused = true)]
async fn p29_a_body_that_is_not_send_runs_on_one_thread() {
    let local = tokio::task::LocalSet::new();
    let task = local
        .run_until(async { tokio::task::spawn_local(p29_not_send(Rc::default())).await.unwrap() });
    assert_eq!(task.await.unwrap(), 3);
}

/// A body that uses up what tokio gives a task at every turn, and never ends.
#[retryable(idempotent, max_attempts = 1, deadline = "20ms")]
async fn greedy() -> Result<(), Stopped<Busy>> {
    loop {
        tokio::task::consume_budget().await;
    }
}

#[tokio::test]
async fn a_body_without_budget_is_cut_all_the_same() {
    assert_eq!(greedy().await.unwrap_err().reason(), StopReason::DeadlineExceeded);
}

/// Runs back by a minute at every reading.
struct Backward(Instant, std::sync::atomic::AtomicU64);

impl Clock for Backward {
    fn now(&self) -> Instant {
        let minutes = self.1.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        self.0 + Duration::from_secs(60 * minutes)
    }

    fn sleep_until(&self, _: Instant) -> Sleep {
        Box::pin(std::future::ready(()))
    }
}

#[test]
fn the_time_of_an_operation_never_runs_back() {
    let clock = Backward(Instant::now(), 1000.into());
    let policy = Policy::new(5, 600 * SECOND);
    let operation = Operation::idempotent("op", policy).run(|_| async { Err::<(), _>(Busy) });
    let stopped = futures::executor::block_on(clock.scope(operation)).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
    let times: Vec<_> = stopped.failures().iter().map(|failed| failed.elapsed()).collect();
    assert!(times.is_sorted(), "{times:?}");
}
