//! Hints: cases H7 to H9 and H11. The forms that are parsed are tested beside
//! their parsers.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use http::{HeaderMap, HeaderValue, StatusCode};
use retry_core::clock::VirtualClock;
use retry_core::http::Profile;
use retry_core::observe::{Event, Recorder};
use retry_core::{
    Backoff, Class, Classify, Decision, Failure, Hint, Jitter, Operation, Policy, Retrier,
    StopReason,
};
use retry_core_tests::{Failed, block_on};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn asked(wait: Duration) -> Failed {
    Failed(Failure::transient().with_hint(Hint::Wait(wait)))
}

/// The delay after the first attempt, or why there is none.
fn first_wait(policy: Policy, failed: Failed) -> Result<Duration, StopReason> {
    let clock = VirtualClock::new();
    let operation = Operation::idempotent("op", policy.max_attempts(2));
    let running = operation
        .run(|attempt| async move { if attempt.number() == 1 { Err(failed) } else { Ok(()) } });
    block_on(&clock, running).map(|()| clock.elapsed()).map_err(|stopped| stopped.reason())
}

#[test]
fn h7_nobody_returns_before_the_hint_and_they_do_not_all_return_at_once() {
    let hint = 10 * SECOND;
    for jitter in [Jitter::Equal, Jitter::Full, Jitter::None] {
        let clock = VirtualClock::new();
        let recorder = Recorder::new();
        let retrier = Retrier::builder().observer(recorder.clone()).build();
        let backoff = Backoff::fixed(SECOND).jitter(jitter);
        let policy = Policy::new(2, 10 * MINUTE).backoff(backoff);
        let calls = (0..1000).map(|key| {
            Operation::keyed("op", key, policy)
                .with(&retrier)
                .run(move |_| async move { Err::<(), _>(asked(hint)) })
        });
        block_on(&clock, join_all(calls));
        let starts: Vec<_> = recorder
            .take()
            .into_iter()
            .filter_map(|(_, event)| match event {
                Event::AttemptStarted { attempt: 2, elapsed, .. } => Some(elapsed),
                _ => None,
            })
            .collect();
        assert_eq!(starts.len(), 1000);
        assert!(starts.iter().all(|start| *start >= hint && *start < hint * 3 / 2));
        let buckets: HashSet<_> = starts.iter().map(|start| start.as_millis() / 100).collect();
        assert!(buckets.len() >= 45, "{} of the 50 tenths of a second", buckets.len());
    }
}

#[test]
fn h8_a_hint_below_the_computed_delay_changes_nothing() {
    let policy = Policy::new(2, MINUTE).backoff(Backoff::fixed(8 * SECOND).jitter(Jitter::None));
    for hint in [Duration::ZERO, SECOND, 8 * SECOND] {
        assert_eq!(first_wait(policy, asked(hint)), Ok(8 * SECOND));
    }
    assert!(first_wait(policy, asked(8 * SECOND + Duration::from_nanos(2))).unwrap() > 8 * SECOND);
}

#[test]
fn h9_a_hint_over_the_limit_stops() {
    let policy = Policy::new(2, 7 * 24 * 60 * MINUTE);
    assert_eq!(first_wait(policy, asked(86_400 * SECOND)), Err(StopReason::HintTooLong));
    // The limit itself is allowed; the cap, 20 s here, bounds computed delays only.
    assert!(first_wait(policy, asked(MINUTE)).unwrap() >= MINUTE);
    let over = MINUTE + Duration::from_nanos(1);
    assert_eq!(first_wait(policy, asked(over)), Err(StopReason::HintTooLong));
    assert_eq!(first_wait(policy, asked(Duration::MAX)), Err(StopReason::HintTooLong));
    let unlimited = policy.hint_limit(Duration::MAX);
    assert_eq!(first_wait(unlimited, asked(Duration::MAX)), Err(StopReason::DeadlineExceeded));
}

/// The kind of H7 and H9: an absurd hint never becomes a hot loop or a day of
/// silence.
#[test]
fn h9_no_hint_shortens_a_wait_or_outlasts_the_limit() {
    let policy =
        Policy::new(2, 365 * 24 * 60 * MINUTE).backoff(Backoff::fixed(SECOND).jitter(Jitter::None));
    for exponent in 0..80 {
        let hint = Duration::from_nanos(1_u64.checked_shl(exponent).unwrap_or(u64::MAX));
        match first_wait(policy, asked(hint)) {
            Ok(wait) => assert!(wait >= SECOND && wait >= hint && wait <= MINUTE * 3 / 2),
            Err(reason) => assert!(reason == StopReason::HintTooLong && hint > MINUTE),
        }
    }
}

fn answer(status: u16, retry_after: &'static str) -> Failure {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static(retry_after));
    let status = StatusCode::from_u16(status).unwrap();
    Profile::STANDARD.failure(status, &headers, SystemTime::UNIX_EPOCH).unwrap()
}

#[test]
fn h11_a_hint_on_any_status_is_used() {
    let policy = Policy::new(2, MINUTE);
    for status in [500, 502, 503, 504, 429, 408] {
        let failure = answer(status, "7");
        assert_eq!(failure.hint(), Some(Hint::Wait(7 * SECOND)), "{status}");
        assert!(first_wait(policy, Failed(failure)).unwrap() >= 7 * SECOND, "{status}");
    }
}

/// An error of one's own around the one that knows.
struct Outer(Failed);

impl Classify for Outer {
    fn classify(&self) -> Failure {
        self.0.classify()
    }
}

#[test]
fn h11_a_hint_of_an_inner_error_is_used() {
    let clock = VirtualClock::new();
    let running = Operation::idempotent("op", Policy::new(2, MINUTE))
        .run(|_| async { Err::<(), _>(Outer(asked(7 * SECOND))) });
    let stopped = block_on(&clock, running).unwrap_err();
    assert!(stopped.elapsed() >= 7 * SECOND);

    // A nested operation that has stopped hands its last hint on, to an author
    // who says that the outer one retries all the same.
    let inner = || {
        Operation::idempotent("inner", Policy::new(1, MINUTE))
            .run(|_| async { Err::<(), _>(asked(7 * SECOND)) })
    };
    let recorder = Recorder::new();
    let retrier = Retrier::builder().observer(recorder.clone()).build();
    let outer = Operation::idempotent("outer", Policy::new(2, MINUTE)).with(&retrier).classify(
        |stopped: &retry_core::Stopped<Failed>| stopped.classify().with_class(Class::Transient),
    );
    let stopped = block_on(&VirtualClock::new(), outer.run(|_| inner())).unwrap_err();
    assert_eq!(stopped.attempts(), 2);
    let events = recorder.events(stopped.operation_id());
    let Event::AttemptFailed { decision: Decision::ScheduleRetry(wait), .. } = events[1] else {
        unreachable!("{events:?}");
    };
    assert_eq!(wait.hint(), Some(7 * SECOND));
    assert!(wait.delay() >= 7 * SECOND);
}
