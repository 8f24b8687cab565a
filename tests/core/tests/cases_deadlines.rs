//! Deadlines: cases D1 to D9 and N2.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use retry_core::clock::VirtualClock;
use retry_core::observe::{Event, Recorder};
use retry_core::{
    Backoff, Clock as _, Decision, Failure, Hint, Jitter, Operation, Policy, Retrier, StopReason,
    Stopped, within,
};
use retry_core_tests::{BUSY, Failed, block_on, sleep};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// No draw: every wait is as long as the other.
fn every(wait: Duration) -> Backoff {
    Backoff::fixed(wait).jitter(Jitter::None)
}

/// A body that takes `busy`, then fails as told.
fn fails(
    clock: &VirtualClock,
    policy: Policy,
    busy: Duration,
    failure: Failure,
) -> (Stopped<Failed>, Vec<Event>) {
    let recorder = Recorder::new();
    let retrier = Retrier::builder().observer(recorder.clone()).build();
    let operation = Operation::idempotent("op", policy).with(&retrier);
    let running = operation.run(|_| async move {
        sleep(clock, busy).await;
        Err::<(), _>(Failed(failure))
    });
    let stopped = block_on(clock, running).unwrap_err();
    let events = recorder.events(stopped.operation_id());
    (stopped, events)
}

fn starts(events: &[Event]) -> Vec<Duration> {
    let starts = events.iter().filter_map(|event| match event {
        Event::AttemptStarted { elapsed, .. } => Some(*elapsed),
        _ => None,
    });
    starts.collect()
}

#[test]
fn d1_a_hint_over_the_limit_stops_at_once_and_names_both() {
    let clock = VirtualClock::new();
    let policy = Policy::new(5, 15 * MINUTE);
    let asked = Failure::transient().with_hint(Hint::Wait(30 * MINUTE));

    let (stopped, _) = fails(&clock, policy, Duration::ZERO, asked);
    assert_eq!(stopped.reason(), StopReason::HintTooLong);
    assert_eq!(
        stopped.stop().to_string(),
        "the other side asked for a wait of 1800s, and the hint limit is 60s",
    );

    let (stopped, _) = fails(&clock, policy.hint_limit(60 * MINUTE), Duration::ZERO, asked);
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    let text = stopped.stop().to_string();
    assert!(text.contains("asked for a wait of 1800s"), "{text}");
    assert!(text.contains("hint limit of 3600s"), "{text}");
    assert!(text.contains("the deadline is 900s"), "{text}");
    assert_eq!((stopped.attempts(), clock.elapsed()), (1, Duration::ZERO));
}

#[test]
fn d2_a_first_attempt_that_outlasts_the_deadline_is_the_only_one() {
    // One that waits is cut; one that holds the thread is judged when it ends.
    let clock = VirtualClock::new();
    let (stopped, _) = fails(&clock, Policy::new(3, SECOND), 5 * SECOND, Failure::transient());
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert_eq!((stopped.attempts(), stopped.elapsed()), (1, SECOND));

    let clock = VirtualClock::manual();
    let holds = Operation::idempotent("op", Policy::new(3, SECOND)).run(|_| {
        clock.advance(5 * SECOND);
        async { Err::<(), _>(BUSY) }
    });
    let stopped = block_on(&clock, holds).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert_eq!((stopped.attempts(), stopped.elapsed()), (1, 5 * SECOND));
    // What the body said is not lost.
    assert_eq!(stopped.error(), Some(&BUSY));
}

#[test]
fn d3_a_delay_beyond_the_deadline_is_not_slept() {
    let clock = VirtualClock::new();
    // The shortest draw would fit, so the policy is valid; this one does not.
    let backoff = Backoff::fixed(10 * SECOND).jitter(Jitter::Full);
    let id = (0..).map(|n| format!("order-{n}"));
    let key = id.into_iter().find(|key| {
        let key = retry_core::IdempotencyKey::derive("op", key).unwrap();
        backoff.delay(&format!("op/{key}"), 1) > 9 * SECOND
    });
    let policy = Policy::new(2, 5 * SECOND).backoff(backoff);
    let operation = Operation::keyed("op", key.unwrap(), policy);
    let stopped = block_on(&clock, operation.run(|_| async { Err::<(), _>(BUSY) })).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert_eq!((stopped.attempts(), clock.elapsed()), (1, Duration::ZERO));
    assert_eq!(stopped.failures()[0].delay(), None);
}

#[test]
fn d4_a_body_that_hangs_returns_at_the_deadline() {
    let clock = VirtualClock::new();
    let hangs = Operation::idempotent("op", Policy::new(3, SECOND))
        .run(|_| std::future::pending::<Result<(), Failed>>());
    let stopped = block_on(&clock, hangs).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert_eq!((stopped.elapsed(), clock.elapsed()), (SECOND, SECOND));
    assert_eq!(stopped.failures()[0].failure(), &Failure::timeout());
}

#[tokio::test(start_paused = true)]
async fn d4_the_same_on_tokios_clock() {
    let begun = tokio::time::Instant::now();
    let stopped = Operation::idempotent("op", Policy::new(3, SECOND))
        .run(|_| std::future::pending::<Result<(), Failed>>())
        .await
        .unwrap_err();
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert_eq!(begun.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn d5_an_outer_timeout_ends_the_operation_between_attempts() {
    let recorder = Recorder::new();
    let retrier = Retrier::builder().observer(recorder.clone()).build();
    let calls = Arc::new(AtomicU32::new(0));
    let policy = Policy::new(5, MINUTE).backoff(every(10 * SECOND));
    let operation = Operation::idempotent("op", policy).with(&retrier);
    let running = operation.run(|_| {
        calls.fetch_add(1, Ordering::SeqCst);
        async { Err::<(), _>(BUSY) }
    });
    assert!(tokio::time::timeout(15 * SECOND, running).await.is_err());
    tokio::time::sleep(10 * MINUTE).await;

    assert_eq!(calls.load(Ordering::SeqCst), 2);
    let (_, last) = recorder.take().pop().unwrap();
    let cancelled = Event::Cancelled {
        attempts: 2,
        elapsed: 15 * SECOND,
        in_attempt: false,
        failure: Some(Failure::transient()),
    };
    assert_eq!(last, cancelled);
}

#[test]
fn d6_every_attempt_has_its_own_timeout() {
    let clock = VirtualClock::new();
    let policy = Policy::new(3, MINUTE).attempt_timeout(SECOND).backoff(every(500 * MS));
    let (stopped, events) = fails(&clock, policy, MINUTE, Failure::transient());
    assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
    assert_eq!(starts(&events), [0, 1500, 3000].map(|ms| ms * MS));
    let ends: Vec<_> = stopped.failures().iter().map(|failed| failed.elapsed()).collect();
    assert_eq!(ends, [1000, 2500, 4000].map(|ms| ms * MS));
}

#[test]
fn d7_the_next_attempt_gets_what_is_left_after_the_wait() {
    let clock = VirtualClock::new();
    let policy = Policy::new(3, 2 * SECOND).attempt_timeout(SECOND).backoff(every(800 * MS));
    let given = std::sync::Mutex::new(Vec::new());
    let operation = Operation::idempotent("op", policy).run(|attempt| {
        given.lock().unwrap().push(attempt.remaining());
        std::future::pending::<Result<(), Failed>>()
    });
    let stopped = block_on(&clock, operation).unwrap_err();
    assert_eq!(given.into_inner().unwrap(), [SECOND, 200 * MS]);
    assert_eq!((stopped.attempts(), stopped.elapsed()), (2, 2 * SECOND));
}

#[test]
fn d8_a_jump_of_the_wall_clock_changes_nothing() {
    let story = |jump: fn(SystemTime) -> SystemTime| {
        let clock = VirtualClock::new();
        clock.set_utc(SystemTime::UNIX_EPOCH + 1000 * MINUTE);
        let recorder = Recorder::new();
        let retrier = Retrier::builder().observer(recorder.clone()).build();
        let policy = Policy::new(20, SECOND).backoff(Backoff::fixed(80 * MS));
        let running = Operation::idempotent("op", policy).with(&retrier).run(|_| async {
            sleep(&clock, 10 * MS).await;
            clock.set_utc(jump(clock.utc()));
            Err::<(), _>(BUSY)
        });
        let stopped = block_on(&clock, running).unwrap_err();
        assert!(clock.elapsed() < SECOND);
        recorder.story(stopped.operation_id())
    };
    let still = story(|utc| utc);
    assert_eq!(story(|utc| utc + 60 * MINUTE), still);
    assert_eq!(story(|utc| utc - 60 * MINUTE), still);
}

/// The delay that is checked is slept, told, kept and explained: even where
/// the author's function answers differently whenever it is asked.
#[test]
fn d9_one_draw_is_checked_slept_told_and_kept() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let fickle = Backoff::custom(|_| SECOND * (1 + ASKED.fetch_add(1, Ordering::SeqCst) * 7 % 5));

    let clock = VirtualClock::new();
    let policy = Policy::new(6, MINUTE).backoff(fickle);
    let (stopped, events) = fails(&clock, policy, Duration::ZERO, Failure::transient());
    assert_eq!(ASKED.load(Ordering::SeqCst), 5, "asked once for each wait");

    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::AttemptFailed { decision: Decision::ScheduleRetry(wait), .. } => {
                Some(wait.delay())
            }
            _ => None,
        })
        .collect();
    let slept: Vec<_> = starts(&events).windows(2).map(|two| two[1] - two[0]).collect();
    let kept: Vec<_> = stopped.failures().iter().filter_map(|failed| failed.delay()).collect();
    assert_eq!((&told, &told), (&slept, &kept));
}

#[test]
fn d9_what_is_explained_is_what_happens() {
    let valid = Policy::new(8, 20 * SECOND).backoff(Backoff::exponential(300 * MS));
    let refused = valid.max_attempts(9);
    assert!(valid.validate().is_ok() && refused.validate().is_err());
    for (key, policy) in (0..50).flat_map(|key| [(key, valid), (key, refused)]) {
        let clock = VirtualClock::new();
        let recorder = Recorder::new();
        let retrier = Retrier::builder().observer(recorder.clone()).build();
        let operation = Operation::keyed("op", key, policy).with(&retrier);
        let running = operation.run(|_| async { Err::<(), _>(BUSY) });
        let stopped = block_on(&clock, running).unwrap_err();

        let plan = policy.explain(stopped.operation_id().clone());
        let planned: Vec<_> = plan.attempts().map(|attempt| attempt.start()).collect();
        assert_eq!(starts(&recorder.events(stopped.operation_id())), planned);
        let worst = policy.worst_case();
        assert!(stopped.attempts() <= worst.calls && stopped.elapsed() <= worst.time);
        assert!(stopped.elapsed() <= worst.waits);
    }
}

#[test]
fn n2_a_nested_operation_has_what_is_left_outside() {
    let clock = VirtualClock::new();
    let inner_policy = Policy::new(1000, 60 * MINUTE).backoff(every(700 * MS));
    let inner = |clock: VirtualClock| {
        Operation::idempotent("inner", inner_policy).run(move |_| {
            let busy = sleep(&clock, 100 * MS);
            async move {
                busy.await;
                Err::<(), _>(BUSY)
            }
        })
    };
    let outer = Operation::idempotent("outer", Policy::new(3, 5 * SECOND)).run(|_| async {
        sleep(&clock, 2 * SECOND).await;
        inner(clock.clone()).await
    });
    let stopped = block_on(&clock, outer).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DeadlineExceeded, 1));
    assert!(clock.elapsed() < 5 * SECOND, "{:?}", clock.elapsed());

    let nested = stopped.into_error().unwrap();
    assert_eq!(nested.reason(), StopReason::DeadlineExceeded);
    // Four attempts, 800 ms apart, in the three seconds that were left; the
    // next would have been the fifth.
    assert_eq!((nested.attempts(), nested.elapsed()), (4, 2500 * MS));
    let text = nested.stop().to_string();
    assert!(text.contains("left it 3s"), "{text}");
}

/// A nested body that hangs ends with the operation around it, and that one at
/// its own deadline.
#[test]
fn n2_a_nested_body_that_hangs_ends_with_the_outer_deadline() {
    let clock = VirtualClock::new();
    let outer = Operation::idempotent("outer", Policy::new(3, 5 * SECOND)).run(|_| {
        Operation::idempotent("inner", Policy::new(3, 60 * MINUTE))
            .run(|_| std::future::pending::<Result<(), Failed>>())
    });
    let stopped = block_on(&clock, outer).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
    assert_eq!(clock.elapsed(), 5 * SECOND);
}

#[test]
fn n2_nothing_starts_where_nothing_is_left() {
    let clock = VirtualClock::new();
    let flow = within(SECOND, async {
        sleep(&clock, 3 * SECOND).await;
        Operation::idempotent("op", Policy::new(3, MINUTE))
            .run(|_| async { Err::<(), _>(BUSY) })
            .await
    });
    let stopped = block_on(&clock, flow).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DeadlineExceeded, 0));
    assert_eq!(clock.elapsed(), 3 * SECOND, "a workflow's deadline cuts nothing");
}
