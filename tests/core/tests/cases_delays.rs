//! Delays: cases B1 to B8.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use retry_core::clock::VirtualClock;
use retry_core::observe::{Event, Recorder};
use retry_core::{
    Backoff, Failure, Jitter, Operation, OperationId, Policy, Retrier, StopReason, Stopped,
};
use retry_core_tests::{BUSY, Failed, block_on, sleep};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

const CURVES: [fn(Duration) -> Backoff; 4] =
    [Backoff::fixed, Backoff::linear, Backoff::exponential, Backoff::fibonacci];

#[test]
fn b1_a_ceiling_never_falls_and_never_passes_the_cap() {
    let attempts = [1, 2, 31, 32, 33, 63, 64, 65, 1024, 1025, u32::MAX];
    let factors = [None, Some((3, 2)), Some((1000, 1)), Some((1000, 999)), Some((1, 1))];
    for base in [Duration::from_nanos(1), SECOND, Duration::MAX] {
        let curves = CURVES.map(|curve| curve(base)).into_iter();
        let grown = factors.iter().flatten().map(|&(p, q)| Backoff::exponential(base).factor(p, q));
        for backoff in curves.chain(grown) {
            for cap in [None, Some(base), Some(3600 * SECOND), Some(Duration::MAX)] {
                let backoff = cap.map_or(backoff, |cap| backoff.cap(cap));
                let top = cap.unwrap_or(base.max(20 * SECOND));
                let ceilings = attempts.map(|attempt| backoff.ceiling(attempt));
                assert!(ceilings.is_sorted(), "{backoff:?}: {ceilings:?}");
                assert!(
                    ceilings.iter().all(|ceiling| *ceiling <= top),
                    "{backoff:?}: {ceilings:?}"
                );
            }
        }
    }
}

#[test]
fn b2_at_the_cap_no_draw_is_above_it_and_few_are_equal() {
    let cap = 20 * SECOND;
    for jitter in [Jitter::Equal, Jitter::Full] {
        let backoff = Backoff::exponential(100 * MS).cap(cap).jitter(jitter);
        for attempt in [9, 64, u32::MAX] {
            assert_eq!(backoff.ceiling(attempt), cap);
            let delays = (0..10_000).map(|key| backoff.delay(&format!("op/{key}"), attempt));
            let delays: Vec<_> = delays.collect();
            assert!(delays.iter().all(|delay| *delay <= cap));
            let below = delays.iter().filter(|delay| **delay < cap).count();
            assert!(below >= 9500, "{below}");
        }
    }
}

#[test]
fn b3_a_small_base_grows_by_a_rational_factor() {
    let backoff = Backoff::exponential(MS).factor(3, 2);
    let ceilings = [1, 2, 3].map(|attempt| backoff.ceiling(attempt).as_micros());
    assert_eq!(ceilings, [1000, 1500, 2250]);
    // The kind: whatever the base, a factor above 1 gets away from it.
    for (p, q) in [(3, 2), (1000, 999), (1000, 1), (7, 5)] {
        for base in [1, 2, 3, 999, 1_000_000] {
            let base = Duration::from_nanos(base);
            let backoff = Backoff::exponential(base).factor(p, q);
            assert_eq!(backoff.ceiling(1), base);
            assert_eq!(backoff.ceiling(u32::MAX), 20 * SECOND, "{base:?} {p}/{q}");
        }
    }
}

#[test]
fn b4_the_first_wait_is_made_of_the_base() {
    for curve in CURVES {
        let backoff = curve(100 * MS);
        assert_eq!(backoff.ceiling(1), 100 * MS);
        assert_eq!(backoff.ceiling(0), Duration::ZERO);
        assert_eq!(backoff.jitter(Jitter::None).delay("any", 1), 100 * MS);
        assert_eq!(backoff.delays("any").next(), Some(backoff.delay("any", 1)));
    }
}

/// When each of the operations starts its second attempt.
fn second_starts(recorder: &Recorder) -> Vec<Duration> {
    let events = recorder.take().into_iter();
    let starts = events.filter_map(|(_, event)| match event {
        Event::AttemptStarted { attempt: 2, elapsed, .. } => Some(elapsed),
        _ => None,
    });
    starts.collect()
}

/// Different buckets of 10 ms.
fn buckets(starts: &[Duration]) -> usize {
    starts.iter().map(|start| start.as_millis() / 10).collect::<HashSet<_>>().len()
}

/// Under a ceiling of 800 ms equal jitter has 40 buckets, full jitter 80.
fn spread() -> [(Backoff, usize); 2] {
    let backoff = Backoff::fixed(800 * MS);
    [(backoff, 35), (backoff.jitter(Jitter::Full), 70)]
}

async fn fails(operation: Operation) -> Stopped<Failed> {
    operation.run(|_| async { Err::<(), _>(BUSY) }).await.unwrap_err()
}

#[test]
fn b5_operations_with_different_keys_do_not_return_together() {
    for (backoff, least) in spread() {
        let (clock, recorder) = (VirtualClock::new(), Recorder::new());
        let retrier = Retrier::builder().observer(recorder.clone()).build();
        let policy = Policy::new(2, 10 * SECOND).backoff(backoff);
        let calls = (0..1000).map(|key| fails(Operation::keyed("op", key, policy).with(&retrier)));
        let stopped = block_on(&clock, join_all(calls));
        assert!(stopped.iter().all(|stopped| stopped.attempts() == 2));
        let starts = second_starts(&recorder);
        assert_eq!(starts.len(), 1000);
        assert!(buckets(&starts) >= least, "{}", buckets(&starts));
    }
}

#[test]
fn b6_calls_without_a_key_do_not_return_together() {
    for (backoff, least) in spread() {
        let (clock, recorder) = (VirtualClock::new(), Recorder::new());
        let retrier = Retrier::builder().observer(recorder.clone()).build();
        let policy = Policy::new(2, 10 * SECOND).backoff(backoff);
        let calls = (0..1000).map(|_| fails(Operation::idempotent("op", policy).with(&retrier)));
        let stopped = block_on(&clock, join_all(calls));
        let ids: HashSet<_> = stopped.iter().map(|stopped| stopped.operation_id()).collect();
        assert_eq!(ids.len(), 1000);
        let starts = second_starts(&recorder);
        assert!(buckets(&starts) >= least, "{}", buckets(&starts));
    }
}

#[test]
fn b6b_the_first_calls_of_many_processes_do_not_return_together() {
    for (backoff, least) in spread() {
        let policy = Policy::new(2, 10 * SECOND).backoff(backoff);
        let starts: Vec<_> = (0..1000)
            .map(|process| {
                let clock = VirtualClock::of_process(process);
                let stopped = block_on(&clock, fails(Operation::idempotent("op", policy)));
                let id = OperationId::counted("op", process, 1);
                assert_eq!(stopped.operation_id(), &id);
                stopped.elapsed()
            })
            .collect();
        assert!(buckets(&starts) >= least, "{}", buckets(&starts));
    }
}

/// Real processes draw their ids; neither a process number nor a host name
/// makes two of them equal.
#[test]
fn b6b_a_process_draws_its_id() {
    let clock = retry_core::clock::Process::current();
    assert_eq!(clock.id(), retry_core::clock::Process::current().id());
    let first = clock.count();
    assert!(clock.count() > first);
}

#[test]
fn b7_the_same_operation_waits_equally_long_in_every_process() {
    let policy = Policy::new(8, 120 * SECOND);
    let schedule = |process| {
        let (clock, recorder) = (VirtualClock::of_process(process), Recorder::new());
        let retrier = Retrier::builder().observer(recorder.clone()).build();
        let operation = Operation::keyed("payments.charge", "order-1", policy).with(&retrier);
        let stopped = block_on(&clock, fails(operation));
        assert_eq!(
            stopped.operation_id().to_string(),
            "payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec",
        );
        recorder.take()
    };
    let first = schedule(1);
    assert_eq!(first, schedule(u64::MAX));
    // Pinned: the same on every host and in every release.
    let Some((_, Event::Stopped { elapsed, .. })) = first.last() else {
        unreachable!("the last event of a stop");
    };
    assert_eq!(elapsed.as_nanos(), PINNED);
}

/// The waits of that operation after its attempts 1 to 7, added up by the
/// generator of the vectors.
const PINNED: u128 = 11_115_907_021;

/// An error that counts how many of its kind are alive.
struct Alive(#[allow(dead_code, reason = "counted")] Arc<()>);

#[test]
fn b8_a_hundred_thousand_attempts_take_constant_memory_and_stack() {
    const ATTEMPTS: u32 = 100_000;
    // A stack that could not hold a frame an attempt.
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(|| {
        let policy = Policy::new(ATTEMPTS, SECOND).backoff(Backoff::fixed(Duration::ZERO));
        let (alive, most) = (Arc::new(()), std::cell::Cell::new(0));
        let operation =
            Operation::idempotent("op", policy).classify(|_: &Alive| Failure::transient());
        let running = operation.run(|_| {
            let error = Alive(Arc::clone(&alive));
            most.set(most.get().max(Arc::strong_count(&alive)));
            async { Err::<(), _>(error) }
        });
        let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
        assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
        assert_eq!(stopped.attempts(), ATTEMPTS);
        let kept: Vec<_> = stopped.failures().iter().map(|failed| failed.attempt()).collect();
        assert_eq!(kept, (ATTEMPTS - 7..=ATTEMPTS).collect::<Vec<_>>());
        // Eight that are kept, the next one, and the test's own.
        assert_eq!(most.get(), 10);
        assert!(stopped.story().to_string().contains("99992 earlier attempts are not remembered"));
    });
    thread.unwrap().join().unwrap();
}

/// The same where every attempt waits and every wait is slept: one timer at a
/// time, and none is left behind.
#[test]
fn b8_waits_leave_nothing_behind() {
    let clock = VirtualClock::new();
    let policy = Policy::new(20_000, 3600 * SECOND).backoff(Backoff::fixed(MS));
    let running = Operation::idempotent("op", policy).run(|_| async {
        sleep(&clock, MS).await;
        Err::<(), _>(BUSY)
    });
    let stopped = block_on(&clock, running).unwrap_err();
    assert_eq!((stopped.attempts(), stopped.failures().len()), (20_000, 8));
    let end = clock.elapsed();
    // Nothing is left that a scope would move the clock for.
    let waits = clock.clone();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut idle = Box::pin(retry_core::Clock::scope(waits, std::future::pending::<()>()));
    assert!(Future::poll(idle.as_mut(), &mut context).is_pending());
    assert_eq!(clock.elapsed(), end);
}

#[test]
fn b8_the_iterator_is_as_large_for_any_attempt() {
    for backoff in CURVES.map(|curve| curve(MS).cap(3600 * SECOND)) {
        let mut delays = backoff.delays("op/1");
        assert!(std::mem::size_of_val(&delays) <= 256);
        let last = delays.nth(99_999);
        assert_eq!(last, Some(backoff.delay("op/1", 100_000)));
    }
}
