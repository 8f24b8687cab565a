//! What a caller gets of an operation that stopped.
#![allow(clippy::unwrap_used, clippy::panic, reason = "in helpers of tests")]

use std::error::Error;
use std::fmt;
use std::time::Duration;

use retry_core::clock::VirtualClock;
use retry_core::{
    Backoff, Class, Classify, Effect, Failure, Hint, Jitter, Kind, Operation, Policy, StopReason,
    Stopped, within,
};
use retry_core_tests::{BUSY, Failed, block_on, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn policy(max_attempts: u32) -> Policy {
    Policy::new(max_attempts, 60 * SECOND).backoff(Backoff::fixed(SECOND).jitter(Jitter::None))
}

/// An operation whose attempts fail with these, one after the other.
fn stop_with<E: Clone>(
    operation: Operation,
    errors: &[E],
    classify: impl Fn(&E) -> Failure,
) -> Stopped<E> {
    let running = operation.classify(classify).run(|attempt| {
        let error = errors[(attempt.number() as usize - 1).min(errors.len() - 1)].clone();
        async { Err::<(), _>(error) }
    });
    block_on(&VirtualClock::new(), running).unwrap_err()
}

fn stop(operation: Operation, failures: &[Failure]) -> Stopped<Failed> {
    let errors: Vec<_> = failures.iter().copied().map(Failed).collect();
    stop_with(operation, &errors, Failed::classify)
}

/// Nothing is asked of an error but that somebody classifies it.
mod any_error {
    use super::*;

    fn run<E>(error: impl Fn() -> E) -> Stopped<E> {
        let running = Operation::idempotent("op", policy(2))
            .classify(|_: &E| Class::Transient)
            .run(|_| std::future::ready(Err::<(), _>(error())));
        block_on(&VirtualClock::new(), running).unwrap_err()
    }

    #[test]
    fn anyhow_errors_work_and_stops_become_anyhow_errors() {
        let stopped = run(|| anyhow::anyhow!("no route").context("while asking"));
        assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
        assert!(stopped.to_string().ends_with("the last error was: while asking"), "{stopped}");
        assert!(format!("{stopped:?}").contains("no route"));
        assert_eq!(stopped.into_error().unwrap().root_cause().to_string(), "no route");

        // The usual way out of `main`.
        fn main() -> anyhow::Result<()> {
            Err(run(|| std::io::Error::other("disk")))?;
            Ok(())
        }
        let error = main().unwrap_err();
        assert!(error.downcast_ref::<Stopped<std::io::Error>>().is_some());
        assert_eq!(error.root_cause().to_string(), "disk");
    }

    #[test]
    fn boxed_errors_work() {
        type Boxed = Box<dyn Error + Send + Sync>;
        let stopped = run(|| Boxed::from("no route"));
        assert!(stopped.to_string().ends_with("the last error was: no route"), "{stopped}");
        assert!(format!("{stopped:?}").contains("no route"));
        assert_eq!(stopped.error().unwrap().to_string(), "no route");
        let outer = Boxed::from(run(|| std::io::Error::other("disk")));
        assert_eq!(outer.source().unwrap().to_string(), "disk");
    }

    #[test]
    fn strings_work() {
        let stopped = run(|| String::from("no route"));
        assert!(stopped.to_string().ends_with("the last error was: no route"), "{stopped}");
        assert!(format!("{stopped:?}").contains("\"no route\""));
        assert_eq!(stopped.into_error().as_deref(), Some("no route"));
        let stopped = run(|| "no route");
        assert_eq!(stopped.error(), Some(&"no route"));
    }

    /// Not even `Debug`.
    #[test]
    fn errors_that_can_do_nothing_work() {
        struct Mute;
        let stopped = run(|| Mute);
        assert_eq!((stopped.attempts(), stopped.failures().len()), (2, 2));
        assert!(stopped.failures()[0].error().is_some());
        assert!(stopped.story().to_string().contains("attempt 2 failed at 1s"));
        let stopped = stopped.map_error(|Mute| "mapped");
        assert_eq!(stopped.into_error(), Some("mapped"));
    }

    /// Errors that borrow are classified and given back.
    #[test]
    fn errors_that_borrow_work() {
        let text = String::from("local");
        let stopped = run(|| text.as_str());
        assert_eq!(stopped.into_error(), Some("local"));
    }
}

/// A result is not made larger by what an operation remembers.
#[test]
fn a_stop_is_as_large_as_a_pointer() {
    type Large = Stopped<[u8; 1000]>;
    assert_eq!(size_of::<Large>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Large>>(), size_of::<usize>());
    assert_eq!(size_of::<Result<(), Large>>(), size_of::<usize>());
    assert!(size_of::<Result<u8, Large>>() <= 2 * size_of::<usize>());
}

#[test]
fn auto_traits_follow_the_error() {
    fn all<T: Send + Sync + Unpin + 'static>() {}
    all::<Stopped<Failed>>();
    all::<Stopped<std::io::Error>>();
    fn send<T: Send>(_: T) {}
    send(Operation::idempotent("op", policy(1)).run(|_| async { Err::<(), _>(BUSY) }));
    send(within(SECOND, async {}));
    send(retry_core::Clock::scope(VirtualClock::new(), async {}));
}

/// Every reason that can be reached, as one sentence a person reads.
mod sentences {
    use super::*;

    const ID: &str = "op#0000000000000000-1";

    fn check(stopped: &Stopped<Failed>, reason: StopReason, sentence: &str) {
        assert_eq!(stopped.reason(), reason);
        assert_eq!(stopped.to_string(), format!("{ID} stopped with {sentence}"));
        // One sentence in every log: no line break, no full stop, no reason twice.
        assert!(!stopped.to_string().contains('\n') && !sentence.ends_with('.'));
    }

    fn idempotent(max_attempts: u32) -> Operation {
        Operation::idempotent("op", policy(max_attempts))
    }

    #[test]
    fn of_errors_that_are_not_retried() {
        check(
            &stop(idempotent(3), &[Failure::permanent()]),
            StopReason::FailPermanent,
            "fail_permanent after 1 attempt in 0s, because the error is permanent; \
             the last error was: permanent, effect possible, other",
        );
        check(
            &stop(idempotent(3), &[Failure::transient(), Failure::unknown()]),
            StopReason::ManualReview,
            "manual_review after 2 attempts in 1s, because a person must find out whether it \
             took effect; the last error was: unknown, effect possible, other",
        );
        check(
            &stop(Operation::at_most_once("op", policy(3)), &[Failure::transient()]),
            StopReason::ManualReview,
            "manual_review after 1 attempt in 0s, because the attempt may have taken effect and \
             runs at most once, so a person must find out; \
             the last error was: transient, effect possible, other",
        );
        check(
            &stop(idempotent(3), &[Failure::transient().with_hint(Hint::DoNotRetry)]),
            StopReason::DoNotRetry,
            "do_not_retry after 1 attempt in 0s, because the other side said not to retry; \
             the last error was: transient, effect possible, other, told not to retry",
        );
    }

    #[test]
    fn of_bounds() {
        check(
            &stop(idempotent(2), &[Failure::transient()]),
            StopReason::AttemptsExhausted,
            "attempts_exhausted after 2 attempts in 1s, because all 2 attempts are used up; \
             the last error was: transient, effect possible, other",
        );
        check(
            &stop(idempotent(1), &[Failure::transient()]),
            StopReason::AttemptsExhausted,
            "attempts_exhausted after 1 attempt in 0s, because the one attempt is used up; \
             the last error was: transient, effect possible, other",
        );
        check(
            &stop(idempotent(3), &[Failure::transient().after(61 * SECOND)]),
            StopReason::HintTooLong,
            "hint_too_long after 1 attempt in 0s, because the other side asked for a wait of \
             61s, and the hint limit is 60s; \
             the last error was: transient, effect possible, other, hint 61s",
        );
        check(
            &stop(idempotent(3), &[Failure::transient().after(60 * SECOND)]),
            StopReason::DeadlineExceeded,
            "deadline_exceeded after 1 attempt in 0s, because the next attempt would start 60s \
             from now, 0s have passed, and the deadline is 60s (the other side asked for a wait \
             of 60s, within the hint limit of 60s); \
             the last error was: transient, effect possible, other, hint 60s",
        );
        let hangs = idempotent(3).run(|_| std::future::pending::<Result<(), Failed>>());
        check(
            &block_on(&VirtualClock::new(), hangs).unwrap_err(),
            StopReason::DeadlineExceeded,
            "deadline_exceeded after 1 attempt in 60s, because 60s have passed, and the deadline \
             is 60s; attempt 1 was cut",
        );
    }

    #[test]
    fn of_operations_that_never_began() {
        check(
            &stop(Operation::idempotent("op", policy(0)), &[BUSY.0]),
            StopReason::InvalidPolicy,
            "invalid_policy before its first attempt, because max_attempts is 0, and the first \
             attempt counts; write 1 for no retry, more to retry",
        );
        check(
            &stop(Operation::keyed("op", "", policy(2)), &[BUSY.0]),
            StopReason::InvalidPolicy,
            "invalid_policy before its first attempt, because the idempotency key is empty; give \
             each logical call a value of its own",
        );
        let stopped = stop(Operation::keyed("", "order-1", policy(2)), &[BUSY.0]);
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::InvalidPolicy, 0));
        assert!(stopped.to_string().contains("has a key and no name"), "{stopped}");
        let late = within(Duration::ZERO, idempotent(2).run(|_| async { Err::<(), _>(BUSY) }));
        check(
            &block_on(&VirtualClock::new(), late).unwrap_err(),
            StopReason::DeadlineExceeded,
            "deadline_exceeded before its first attempt, because 0s have passed, and what is \
             around the operation left it 0s",
        );
    }

    #[test]
    fn of_a_call_that_must_not_run_twice() {
        let outer = idempotent(3).classify(|_: &Stopped<Failed>| Failure::transient().afresh());
        let running = outer.run(|_| {
            Operation::at_most_once("label", policy(1)).run(|_| async { Err::<(), _>(BUSY) })
        });
        let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::NotIdempotent, 1));
        assert!(
            stopped.to_string().starts_with(
                "op#0000000000000000-1 stopped with not_idempotent after 1 attempt in 0s, because \
                 the failed attempt made a call that must not run twice; the last error was: \
                 label#0000000000000000-2 stopped with manual_review after 1 attempt in 0s, because"
            ),
            "{stopped}"
        );
    }

    #[test]
    fn of_nested_attempts() {
        // The inner one may be tried four times in each of four outer ones.
        let outer = Operation::idempotent("op", policy(4))
            .classify(|stopped: &Stopped<Failed>| stopped.classify().with_class(Class::Transient));
        let running = outer.run(|_| {
            Operation::idempotent("inner", policy(4)).run(|_| async { Err::<(), _>(BUSY) })
        });
        let stopped = block_on(&VirtualClock::new(), running).unwrap_err();
        let inner: Vec<_> = stopped
            .failures()
            .iter()
            .map(|failed| failed.error().unwrap())
            .map(|inner| (inner.attempts(), inner.reason()))
            .collect();
        assert_eq!(
            inner,
            [
                (4, StopReason::AttemptsExhausted),
                (4, StopReason::AttemptsExhausted),
                (3, StopReason::NestingLimit),
                (2, StopReason::NestingLimit),
            ]
        );
        assert_eq!(
            stopped.into_error().unwrap().stop().to_string(),
            "another attempt would bring the product of the nested attempt numbers to 12, and the \
             limit is 10",
        );
    }

    #[test]
    fn of_a_rejected_value() {
        // The value of attempt 1 was dropped before the wait, in which the time ran out.
        let clock = VirtualClock::manual();
        let running = idempotent(3).reject(|_: &u8| true).run(|_| async { Ok::<_, Failed>(1) });
        let mut running = Box::pin(retry_core::Clock::scope(clock.clone(), running));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(running.as_mut().poll(&mut context).is_pending());
        clock.advance(100 * SECOND);
        let std::task::Poll::Ready(result) = running.as_mut().poll(&mut context) else {
            panic!("the deadline has passed");
        };
        check(
            &result.unwrap_err(),
            StopReason::DeadlineExceeded,
            "deadline_exceeded after 1 attempt in 100s, because 100s have passed, and the \
             deadline is 60s; attempt 1 gave a value that was rejected",
        );
    }
}

#[test]
fn debug_is_for_engineers_and_follows_the_error() {
    let stopped = stop(Operation::idempotent("op", policy(2)), &[BUSY.0]);
    let debug = format!("{stopped:?}");
    for part in ["attempts_exhausted", "op#0000000000000000-1", "Failed(Failure", "elapsed: 1s"] {
        assert!(debug.contains(part), "{part} in {debug}");
    }
}

#[test]
fn the_story_has_a_line_an_attempt() {
    let failures = [
        Failure::transient().with_kind(Kind::Server).with_code(503),
        Failure::transient().no_effect().with_kind(Kind::Throttled).after(3 * SECOND),
        Failure::permanent(),
    ];
    let stopped = stop(Operation::keyed("payments.charge", "order-1", policy(5)), &failures);
    let wait = stopped.failures()[1].delay().unwrap();
    let end = SECOND + wait;
    assert_eq!(
        stopped.story().to_string(),
        format!(
            "payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec
  attempt 1 failed at 0s: transient, effect possible, server 503; waited 1s
  attempt 2 failed at 1s: transient, effect none, throttled, hint 3s; waited {wait:?}
  attempt 3 failed at {end:?}: permanent, effect possible, other
  stopped at {end:?}: fail_permanent, the error is permanent
"
        )
    );
    assert_eq!(stopped.key().unwrap().to_string(), "e3c4b417-f22e-8d73-b6ed-08fd2be399ec");
}

#[test]
fn failures_are_bounded_and_counted_on() {
    for attempts in [1, 2, 7, 8, 9, 30] {
        let stopped = stop(Operation::idempotent("op", policy(attempts)), &[BUSY.0]);
        let kept: Vec<_> = stopped.failures().iter().map(|failed| failed.attempt()).collect();
        assert_eq!(kept, (attempts.saturating_sub(8) + 1..=attempts).collect::<Vec<_>>());
        assert_eq!(stopped.attempts(), attempts);
        let last = stopped.failures().last().unwrap();
        assert_eq!((last.delay(), last.elapsed()), (None, stopped.elapsed()));
    }
}

#[test]
fn map_error_keeps_everything_else() {
    let failures = [Failure::transient().with_code(1), Failure::permanent().with_code(2)];
    let stopped = stop(Operation::idempotent("op", policy(3)), &failures);
    let story = stopped.story().to_string();
    let mapped = stopped.map_error(|failed| failed.0.code());
    assert_eq!(mapped.story().to_string(), story);
    assert_eq!((mapped.reason(), mapped.attempts()), (StopReason::FailPermanent, 2));
    let codes: Vec<_> = mapped.failures().iter().filter_map(|failed| failed.error()).collect();
    assert_eq!(codes, [&Some(1), &Some(2)]);
}

#[test]
fn every_stop_is_of_one_kind() {
    // What can be reached here; the rest is known by its code.
    let operation = || Operation::idempotent("op", policy(2));
    for (stopped, kinds) in [
        (stop(operation(), &[Failure::permanent()]), [true, false, false, false]),
        (stop(operation(), &[Failure::unknown()]), [false, true, false, false]),
        (stop(operation(), &[Failure::transient()]), [false, false, true, false]),
        (stop(operation(), &[BUSY.0.after(Duration::MAX)]), [false, false, true, false]),
        (stop(Operation::idempotent("op", policy(0)), &[BUSY.0]), [true, false, false, false]),
    ] {
        let is = [
            stopped.is_permanent(),
            stopped.is_review(),
            stopped.is_exhausted(),
            stopped.is_local(),
        ];
        assert_eq!(is, kinds, "{stopped}");
    }
}

/// What the operation around it makes of a stop.
mod nested {
    use super::*;

    fn outer_failure(inner: Operation, failures: &[Failure]) -> Failure {
        stop(inner, failures).classify()
    }

    fn idempotent() -> Operation {
        Operation::idempotent("inner", policy(2))
    }

    #[test]
    fn reviews_are_unknown_and_the_rest_is_permanent() {
        for (failure, class, reason) in [
            (Failure::unknown(), Class::Unknown, StopReason::ManualReview),
            (Failure::permanent(), Class::Permanent, StopReason::FailPermanent),
            (Failure::transient(), Class::Permanent, StopReason::AttemptsExhausted),
            (BUSY.0.after(3600 * SECOND), Class::Permanent, StopReason::HintTooLong),
            (BUSY.0.with_hint(Hint::DoNotRetry), Class::Permanent, StopReason::DoNotRetry),
        ] {
            let outer = outer_failure(idempotent(), &[failure]);
            assert_eq!((outer.class(), outer.inner()), (class, Some(reason)));
        }
    }

    #[test]
    fn kind_code_and_hint_are_those_of_the_last_failure() {
        let last = Failure::transient().with_kind(Kind::Throttled).with_code(429).after(SECOND);
        let outer = outer_failure(idempotent(), &[Failure::transient(), last]);
        assert_eq!(outer.kind(), Kind::Throttled);
        assert_eq!(outer.code(), Some(429));
        assert_eq!(outer.hint(), Some(Hint::Wait(SECOND)));
    }

    /// The outer attempt changed nothing only where no inner one may have.
    #[test]
    fn the_effect_is_that_of_all_attempts() {
        let (none, possible) = (Failure::transient().no_effect(), Failure::transient());
        for (failures, effect) in [
            (&[none, none][..], Effect::None),
            (&[none, possible], Effect::Possible),
            (&[possible, none], Effect::Possible),
        ] {
            assert_eq!(outer_failure(idempotent(), failures).effect(), effect, "{failures:?}");
        }
        // None was made.
        let refused = outer_failure(Operation::idempotent("inner", policy(0)), &[possible]);
        assert_eq!(refused.effect(), Effect::None);
        // More than are remembered: what the first did is not known any more.
        let many = Operation::idempotent("inner", policy(9));
        assert_eq!(outer_failure(many, &[none]).effect(), Effect::Possible);
        let eight = Operation::idempotent("inner", policy(8));
        assert_eq!(outer_failure(eight, &[none]).effect(), Effect::None);
    }

    /// A value that the inner operation rejected is not one that the outer one
    /// rejected.
    #[test]
    fn a_rejection_stays_inside() {
        let clock = VirtualClock::manual();
        let inner = idempotent().reject(|_: &u8| true).run(|_| async { Ok::<_, Failed>(1) });
        let mut inner = Box::pin(retry_core::Clock::scope(clock.clone(), inner));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(inner.as_mut().poll(&mut context).is_pending());
        clock.advance(100 * SECOND);
        let std::task::Poll::Ready(result) = inner.as_mut().poll(&mut context) else {
            panic!("the deadline has passed");
        };
        let stopped = result.unwrap_err();
        assert!(stopped.failures()[0].failure().is_rejected());
        let outer = stopped.classify();
        assert!(!outer.is_rejected(), "{outer}");
        assert_eq!(outer.inner(), Some(StopReason::DeadlineExceeded));
    }

    #[test]
    fn an_outer_operation_does_not_retry_what_an_inner_one_gave_up() {
        let clock = VirtualClock::new();
        let calls = std::cell::Cell::new(0);
        let layer = |name: &'static str| Operation::idempotent(name, policy(3));
        let running = layer("a").run(|_| {
            layer("b").run(|_| {
                layer("c").run(|_| {
                    calls.set(calls.get() + 1);
                    async {
                        sleep(&clock, SECOND).await;
                        Err::<(), _>(BUSY)
                    }
                })
            })
        });
        let stopped = block_on(&clock, running).unwrap_err();
        assert_eq!(calls.get(), 3);
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 1));
        assert_eq!(
            stopped.stop().to_string(),
            "a nested operation had stopped: all attempts are used up",
        );
        let error = anyhow::Error::from(stopped);
        assert_eq!(error.chain().count(), 4);
        assert_eq!(error.root_cause().downcast_ref(), Some(&BUSY));
    }
}

/// The text of an error may be anything, and is quoted as it is.
#[test]
fn a_text_with_line_breaks_is_the_errors_own() {
    #[derive(Clone, Debug)]
    struct Lines;
    impl fmt::Display for Lines {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("one\ntwo")
        }
    }
    let operation = Operation::idempotent("op", policy(1));
    let stopped = stop_with(operation, &[Lines], |_| Failure::transient());
    assert!(stopped.to_string().ends_with("the last error was: one\ntwo"));
}
