//! What running other crates showed: cases P1 to P21, as far as closures can
//! show them.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::time::{Duration, Instant};

use retry_core::clock::{Clock, Sleep, VirtualClock};
use retry_core::observe::{Event, Recorder};
use retry_core::{
    Backoff, Decision, Failure, Hint, Jitter, Operation, Policy, PolicyError, Retrier, StopReason,
};
use retry_core_tests::{BUSY, Failed, block_on, sleep, turn};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn recorded(policy: Policy) -> (Operation, Recorder) {
    let recorder = Recorder::new();
    let retrier = Retrier::builder().observer(recorder.clone()).build();
    (Operation::idempotent("op", policy).with(&retrier), recorder)
}

fn starts(recorder: &Recorder) -> Vec<Duration> {
    let events = recorder.take().into_iter();
    let starts = events.filter_map(|(_, event)| match event {
        Event::AttemptStarted { elapsed, .. } => Some(elapsed),
        _ => None,
    });
    starts.collect()
}

#[test]
fn p1_three_attempts_are_three_calls() {
    for max_attempts in 1..10 {
        let calls = Cell::new(0);
        let operation = Operation::idempotent("op", Policy::new(max_attempts, MINUTE * 10));
        let running = operation.run(|attempt| {
            calls.set(calls.get() + 1);
            assert_eq!(attempt.number(), calls.get());
            assert_eq!(attempt.is_last(), calls.get() == max_attempts);
            async { Err::<(), _>(BUSY) }
        });
        let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
        assert_eq!((stopped.attempts(), calls.get()), (max_attempts, max_attempts));
    }
}

#[test]
fn p6_a_cap_below_the_base_is_refused() {
    const POLICY: Policy = Policy::new(3, MINUTE)
        .backoff(Backoff::exponential(Duration::from_secs(5)).cap(Duration::from_secs(1)));
    // Judged by the compiler too.
    const REFUSED: bool = POLICY.validate().is_err();
    const { assert!(REFUSED) };
    let error = PolicyError::CapBelowBase { cap: SECOND, base: 5 * SECOND };
    assert_eq!(POLICY.validate(), Err(error));
    assert_eq!(error.to_string(), "cap (1s) is below base (5s); raise the cap or lower the base",);

    let called = Cell::new(false);
    let running = Operation::idempotent("op", POLICY).run(|_| {
        called.set(true);
        async { Err::<(), _>(BUSY) }
    });
    let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
    assert!(!called.get());
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::InvalidPolicy, 0));
    assert_eq!(stopped.stop().policy_error(), Some(error));
}

/// χ² over 100 bins, for 100 000 keys. With 99 degrees of freedom 99.9 % of
/// uniform samples are below 148.2 and 99.9 % above 61.1; the keys are fixed,
/// so that the test gives the same answer every time.
#[test]
fn p8_the_jitter_is_uniform() {
    const KEYS: u32 = 100_000;
    let n = Duration::from_nanos(u64::from(u32::MAX));
    let unit = Backoff::fixed(n).jitter(Jitter::Full);
    for attempt in [1, 2, 7] {
        let mut bins = [0_u32; 100];
        for key in 0..KEYS {
            let draw = unit.delay(&format!("payments.charge/{key}"), attempt).as_nanos();
            bins[usize::try_from(draw * 100 / (1 << 32)).unwrap()] += 1;
        }
        let expected = f64::from(KEYS) / 100.0;
        let squares = bins.map(|bin| (f64::from(bin) - expected).powi(2) / expected);
        let chi = squares.iter().sum::<f64>();
        assert!((61.1..148.2).contains(&chi), "χ² = {chi} of attempt {attempt}");
    }
}

/// The draws of one operation do not follow each other.
#[test]
fn p8_the_draws_of_one_operation_are_uniform_too() {
    let n = Duration::from_nanos(u64::from(u32::MAX));
    let unit = Backoff::fixed(n).jitter(Jitter::Full);
    let draws: Vec<_> = unit.delays("op/1").take(100_000).map(|draw| draw.as_nanos()).collect();
    let rises = draws.windows(2).filter(|two| two[0] < two[1]).count();
    assert!((49_000..51_000).contains(&rises), "{rises}");
    let mean = draws.iter().sum::<u128>() / draws.len() as u128;
    let middle = u128::from(u32::MAX / 2);
    assert!(mean.abs_diff(middle) < middle / 100, "{mean}");
}

#[test]
fn p10_base_and_factor_are_two_parameters() {
    let backoff = Backoff::exponential(100 * MS).factor(2, 1);
    assert_eq!([1, 2, 3].map(|n| backoff.ceiling(n)), [100, 200, 400].map(|ms| ms * MS));
    let backoff = Backoff::exponential(100 * MS);
    assert_eq!([1, 2, 3].map(|n| backoff.ceiling(n)), [100, 200, 400].map(|ms| ms * MS));
    let backoff = Backoff::exponential(100 * MS).factor(3, 1);
    assert_eq!([1, 2, 3].map(|n| backoff.ceiling(n)), [100, 300, 900].map(|ms| ms * MS));
}

#[test]
fn p12_the_largest_numbers_saturate() {
    let huge = [
        Backoff::fixed(Duration::MAX),
        Backoff::linear(Duration::MAX),
        Backoff::fibonacci(Duration::MAX).jitter(Jitter::Full),
        Backoff::exponential(MS).factor(1000, 1).cap(Duration::MAX),
        Backoff::exponential(Duration::MAX).jitter(Jitter::Additive(Duration::MAX)),
        Backoff::custom(|_| Duration::MAX),
    ];
    for backoff in huge {
        for max_attempts in [1, 2, 3, 100] {
            let clock = VirtualClock::new();
            let policy =
                Policy::new(max_attempts, Duration::MAX).backoff(backoff).hint_limit(Duration::MAX);
            let running = Operation::keyed("op", max_attempts, policy).run(|attempt| {
                let hint = attempt.number() == 2;
                let failure = Failure::transient().after(hint.then_some(Duration::MAX));
                assert!(attempt.remaining() > Duration::ZERO);
                async move { Err::<(), _>(Failed(failure)) }
            });
            let stopped = block_on(&clock, running).unwrap_err();
            assert!(stopped.is_exhausted() || stopped.is_permanent(), "{stopped}");
            assert!(clock.elapsed() <= Duration::from_nanos(i64::MAX as u64));
        }
    }
}

/// Nothing overflows where tokio adds the delay to its instant, and a body that
/// waits beside a deadline of centuries is not disturbed.
#[tokio::test(start_paused = true)]
async fn p12_tokio_waits_for_a_year_and_a_deadline_of_centuries() {
    let year = 365 * 24 * 60 * MINUTE;
    let begun = tokio::time::Instant::now();
    let policy = Policy::new(3, Duration::MAX).backoff(Backoff::fixed(year).jitter(Jitter::None));
    let running = Operation::idempotent("op", policy).run(|_| async {
        tokio::time::sleep(SECOND).await;
        Err::<(), _>(BUSY)
    });
    let stopped = running.await.unwrap_err();
    assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
    let elapsed = begun.elapsed();
    // tokio's timer counts whole milliseconds.
    assert!(elapsed >= 2 * year + 3 * SECOND && elapsed < 2 * year + 3 * SECOND + 9 * MS);
}

#[test]
fn p14_two_hints_are_waited_for_and_the_slept_delay_is_told() {
    let clock = VirtualClock::new();
    let policy = Policy::new(3, MINUTE).backoff(Backoff::fixed(5 * MS));
    let (operation, recorder) = recorded(policy);
    let asked = Failure::transient().with_hint(Hint::Wait(200 * MS));
    let running = operation.run(|_| async { Err::<(), _>(Failed(asked)) });
    let stopped = block_on(&clock, running).unwrap_err();
    assert_eq!(stopped.attempts(), 3);
    assert!(clock.elapsed() >= 400 * MS);

    let events = recorder.events(stopped.operation_id());
    let told = events.iter().filter_map(|event| match event {
        Event::AttemptFailed { decision: Decision::ScheduleRetry(wait), .. } => Some(wait.delay()),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    let slept: Vec<_> = starts(&recorder).windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(told, slept);
    assert!(told.iter().all(|delay| *delay >= 200 * MS && *delay < 300 * MS), "{told:?}");
}

#[test]
fn p15_hints_do_not_lead_past_the_deadline() {
    let clock = VirtualClock::new();
    let policy = Policy::new(100, 50 * MS).backoff(Backoff::fixed(Duration::ZERO));
    let asked = Failure::transient().with_hint(Hint::Wait(30 * MS));
    let running =
        Operation::idempotent("op", policy).run(|_| async { Err::<(), _>(Failed(asked)) });
    let stopped = block_on(&clock, running).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DeadlineExceeded, 2));
    assert!(clock.elapsed() >= 30 * MS && clock.elapsed() < 50 * MS);
}

#[test]
fn p16_the_next_attempt_is_made_after_the_wait() {
    let clock = VirtualClock::new();
    let policy = Policy::new(3, MINUTE).backoff(Backoff::fixed(SECOND).jitter(Jitter::None));
    let (operation, recorder) = recorded(policy);
    // When the closure makes the future, and when the future is first polled.
    let made = RefCell::new(Vec::new());
    let polled = RefCell::new(Vec::new());
    let left = RefCell::new(Vec::new());
    let running = operation.run(|attempt| {
        made.borrow_mut().push(clock.elapsed());
        left.borrow_mut().push(attempt.remaining());
        async {
            polled.borrow_mut().push(clock.elapsed());
            Err::<(), _>(BUSY)
        }
    });
    block_on(&clock, running).unwrap_err();
    let after_the_waits = [0, 1, 2].map(|second| second * SECOND);
    assert_eq!(made.into_inner(), after_the_waits);
    assert_eq!(polled.into_inner(), after_the_waits);
    assert_eq!(left.into_inner(), after_the_waits.map(|start| MINUTE - start));
    assert_eq!(starts(&recorder), after_the_waits);
}

#[test]
fn p18_an_attempt_that_takes_longer_than_the_deadline_is_one_call() {
    let clock = VirtualClock::new();
    let calls = Cell::new(0);
    let policy = Policy::new(10, 50 * MS).backoff(Backoff::fixed(Duration::ZERO));
    let running = Operation::idempotent("op", policy).run(|_| {
        calls.set(calls.get() + 1);
        let busy = sleep(&clock, 60 * MS);
        async move {
            busy.await;
            Err::<(), _>(BUSY)
        }
    });
    let stopped = block_on(&clock, running).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert_eq!((calls.get(), clock.elapsed()), (1, 50 * MS));
}

/// A clock whose waits are over before they begin.
struct Hasty;

impl Clock for Hasty {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep_until(&self, _: Instant) -> Sleep {
        Box::pin(std::future::ready(()))
    }
}

/// Polls the operation and counts the turns that the executor gets; the body
/// fails the test where it runs twice in one turn. So the test ends on any
/// machine, also where the loop does not yield.
async fn counting_turns<T>(turns: &Cell<u32>, operation: impl Future<Output = T>) -> T {
    let mut operation = pin!(operation);
    poll_fn(|cx| {
        turns.set(turns.get() + 1);
        operation.as_mut().poll(cx)
    })
    .await
}

#[tokio::test]
async fn p20_a_hasty_clock_does_not_hold_the_thread() {
    let retrier = Retrier::builder().clock(Hasty).build();
    // So many attempts that it never ends by itself; full jitter may be zero,
    // so the policy is valid.
    let backoff = Backoff::fixed(SECOND).jitter(Jitter::Full);
    let policy = Policy::new(u32::MAX, Duration::MAX).backoff(backoff);
    for waits in [false, true] {
        let (turns, calls) = (Cell::new(0), Cell::new(0));
        let running = Operation::idempotent("op", policy).with(&retrier).run(|_| {
            calls.set(calls.get() + 1);
            assert!(calls.get() <= turns.get(), "two attempts in one turn of the executor");
            async move {
                if waits {
                    // The timer that cuts the attempt is hasty too.
                    turn().await;
                }
                Err::<(), _>(BUSY)
            }
        });
        let cut = tokio::time::timeout(5 * MS, counting_turns(&turns, running)).await;
        assert!(cut.is_err(), "the timeout fires");
        assert!(calls.get() >= 1);
    }
}

/// The cut of an attempt does not believe a hasty clock: time decides.
#[tokio::test]
async fn p20_a_hasty_clock_cuts_no_attempt() {
    let retrier = Retrier::builder().clock(Hasty).build();
    let policy = Policy::new(1, Duration::MAX).attempt_timeout(365 * 24 * 60 * MINUTE);
    let running = Operation::idempotent("op", policy).with(&retrier).run(|_| async {
        for _ in 0..1000 {
            turn().await;
        }
        Ok::<_, Failed>(7)
    });
    assert_eq!(running.await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn p20b_a_zero_delay_takes_no_time_and_gives_a_turn() {
    for waits in [false, true] {
        let begun = tokio::time::Instant::now();
        let (turns, calls) = (Cell::new(0), Cell::new(0));
        let policy = Policy::new(1000, SECOND)
            .attempt_timeout(100 * MS)
            .backoff(Backoff::fixed(Duration::ZERO));
        let running = Operation::idempotent("op", policy).run(|_| {
            calls.set(calls.get() + 1);
            assert!(calls.get() <= turns.get(), "two attempts in one turn of the executor");
            async move {
                if waits {
                    // Sets the timer that cuts the attempt, which the wait of
                    // zero must not wait for.
                    turn().await;
                }
                Err::<(), _>(BUSY)
            }
        });
        let stopped = counting_turns(&turns, running).await.unwrap_err();
        assert_eq!(stopped.attempts(), 1000);
        assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
        // tokio's timer would round every wait up to a millisecond.
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}

/// Another task gets its turns between attempts on one thread.
#[tokio::test(start_paused = true)]
async fn p20b_a_zero_delay_starves_nobody() {
    let policy = Policy::new(100, SECOND).backoff(Backoff::fixed(Duration::ZERO));
    let log = RefCell::new(Vec::new());
    let retries = Operation::idempotent("op", policy).run(|_| {
        log.borrow_mut().push('a');
        async { Err::<(), _>(BUSY) }
    });
    let other = async {
        for _ in 0..100 {
            log.borrow_mut().push('b');
            turn().await;
        }
    };
    let (stopped, ()) = futures::future::join(retries, other).await;
    assert_eq!(stopped.unwrap_err().attempts(), 100);
    let log: String = log.into_inner().into_iter().collect();
    assert!(!log.contains("aaa") && !log.contains("bbb"), "{log}");
}

#[test]
fn p21_calls_that_share_a_policy_have_schedules_of_their_own() {
    let (operation, recorder) = recorded(Policy::new(6, MINUTE));
    let run = |clock: &VirtualClock, operation: Operation| {
        let running = operation.run(|_| async { Err::<(), _>(BUSY) });
        block_on(clock, running).unwrap_err();
        starts(&recorder)
    };
    let three = || {
        let clock = VirtualClock::new();
        [(); 3].map(|()| run(&clock, operation.clone()))
    };
    let [a, b, c] = three();
    assert!(a != b && b != c && c != a);
    assert_eq!(three(), [a, b, c]);
}
