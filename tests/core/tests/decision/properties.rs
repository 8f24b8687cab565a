//! What holds for every policy, ledger, situation and failure.

use std::time::Duration;

use proptest::prelude::*;
use retry_core::{
    Backoff, Class, Decision, Effect, Failure, Hint, Jitter, OperationId, Policy, PolicyError,
    Safety, Situation, StopReason, decide,
};

use crate::arbitrary::{
    LONGEST, attempts, backoff, count, failure, id, jitter, ledger, policy, situation, span, valid,
};

/// As every duration is on entering the pure layer.
fn clamped(span: Duration) -> Duration {
    span.min(LONGEST)
}

fn is_transient(failure: &Failure) -> bool {
    failure.class() == Class::Transient
}

proptest! {
    /// A retry that is scheduled starts before both deadlines, is allowed by
    /// the number of attempts, and waits as long as everybody asked.
    #[test]
    fn a_retry_stays_within_every_bound(
        policy in policy(), attempts in attempts(), elapsed in span(),
        situation in situation(), left in span(), id in id(), failure in failure(),
    ) {
        let situation = situation.left_outside(left);
        let ledger = ledger(attempts, elapsed);
        let decision = decide(&policy, &ledger, &situation, &id, Some(&failure));
        let Decision::ScheduleRetry(wait) = decision else { return Ok(()) };

        prop_assert!(wait.start() < policy.get_deadline());
        prop_assert!(wait.start() < clamped(left));
        prop_assert_eq!(wait.start(), clamped(elapsed) + wait.delay());
        prop_assert!(attempts < policy.get_max_attempts());
        prop_assert_eq!(wait.attempt(), attempts);
        prop_assert!(is_transient(&failure));
        prop_assert!(wait.delay() >= wait.computed());
        match failure.hint() {
            None => prop_assert_eq!((wait.hint(), wait.delay()), (None, wait.computed())),
            Some(Hint::DoNotRetry) => prop_assert!(false, "told not to retry"),
            Some(Hint::Wait(hint)) => {
                let hint = clamped(hint);
                prop_assert_eq!(wait.hint(), Some(hint));
                prop_assert!(hint <= policy.get_hint_limit());
                prop_assert!(wait.delay() >= hint);
                if hint <= wait.computed() {
                    prop_assert_eq!(wait.delay(), wait.computed());
                } else {
                    prop_assert!(wait.delay() <= hint + hint / 2);
                }
            }
        }
    }

    /// The wait that was decided leads to an attempt that may start.
    #[test]
    fn what_is_scheduled_may_start(
        policy in policy(), attempts in attempts(), elapsed in span(),
        situation in situation(), id in id(), failure in failure(),
    ) {
        let mut ledger = ledger(attempts, elapsed);
        let decision = decide(&policy, &ledger, &situation, &id, Some(&failure));
        let Decision::ScheduleRetry(wait) = decision else { return Ok(()) };
        ledger.reached(wait.start());
        prop_assert_eq!(decide(&policy, &ledger, &situation, &id, None), Decision::StartAttempt);
    }

    /// What is asked before an attempt knows only time and attempts.
    #[test]
    fn an_attempt_starts_within_both_bounds(
        policy in policy(), attempts in attempts(), elapsed in span(),
        situation in situation(), left in span(), id in id(),
    ) {
        let ledger = ledger(attempts, elapsed);
        let deadline = policy.get_deadline().min(clamped(left));
        let expected = if clamped(elapsed) >= deadline {
            Some(StopReason::DeadlineExceeded)
        } else {
            (attempts >= policy.get_max_attempts()).then_some(StopReason::AttemptsExhausted)
        };
        let situation = situation.disabled(false).left_outside(left);
        let decision = decide(&policy, &ledger, &situation, &id, None);
        prop_assert_eq!(decision.stop_reason(), expected);
    }

    /// Time that passes never makes a retry of a stop.
    #[test]
    fn more_time_never_revives(
        policy in policy(), attempts in attempts(), elapsed in span(), more in span(),
        situation in situation(), id in id(), failure in prop::option::of(failure()),
    ) {
        let now = ledger(attempts, elapsed);
        let later = ledger(attempts, elapsed.saturating_add(more));
        let first = decide(&policy, &now, &situation, &id, failure.as_ref());
        let second = decide(&policy, &later, &situation, &id, failure.as_ref());
        if first.stop_reason().is_some() {
            prop_assert!(second.stop_reason().is_some(), "{first:?} {second:?}");
        }
    }

    /// Attempts that were made never make a retry of a stop: with a draw of
    /// their own only where a bound was the reason, without one always.
    #[test]
    fn more_attempts_never_revive(
        policy in policy(), drawn in prop::bool::ANY, attempts in attempts(), more in 0..50_u32,
        elapsed in span(), situation in situation(), id in id(), failure in failure(),
    ) {
        let policy = if drawn {
            policy
        } else {
            policy.backoff(Backoff::exponential(Duration::from_millis(3)).jitter(Jitter::None))
        };
        let fewer = ledger(attempts, elapsed);
        let many = ledger(attempts + more, elapsed);
        let first = decide(&policy, &fewer, &situation, &id, Some(&failure));
        let second = decide(&policy, &many, &situation, &id, Some(&failure));
        let late = clamped(elapsed) >= policy.get_deadline();
        let by_draw = drawn && first.stop_reason() == Some(StopReason::DeadlineExceeded) && !late;
        if first.stop_reason().is_some() && !by_draw {
            prop_assert!(second.stop_reason().is_some(), "{first:?} {second:?}");
        }
    }

    /// What is left outside only ever shortens.
    #[test]
    fn what_is_left_outside_only_shortens(
        policy in policy(), attempts in attempts(), elapsed in span(), left in span(),
        situation in situation(), id in id(), failure in prop::option::of(failure()),
    ) {
        let ledger = ledger(attempts, elapsed);
        let outside = situation.left_outside(Duration::MAX);
        let free = decide(&policy, &ledger, &outside, &id, failure.as_ref());
        let inside = situation.left_outside(left);
        match (free, decide(&policy, &ledger, &inside, &id, failure.as_ref())) {
            (Decision::Stop(free), Decision::Stop(bound)) => {
                // The bound may be met earlier in the order, never later.
                let earlier = bound.reason() == StopReason::DeadlineExceeded;
                prop_assert!(bound.reason() == free.reason() || earlier);
            }
            (Decision::Stop(free), bound) => prop_assert!(false, "{free:?} {bound:?}"),
            (Decision::ScheduleRetry(free), Decision::ScheduleRetry(bound)) => {
                prop_assert!(bound.delay() <= free.delay());
                prop_assert_eq!(bound.computed(), free.computed());
            }
            (_, bound) => prop_assert!(
                bound == Decision::StartAttempt
                    || bound.stop_reason() == Some(StopReason::DeadlineExceeded)
            ),
        }
    }

    /// The product of the attempt numbers is judged below another operation
    /// only, and only for a retry.
    #[test]
    fn nested_attempts_multiply_up_to_the_limit(
        attempts in attempts(), depth in 0..4_u32, product in count(), limit in count(),
    ) {
        let policy = Policy::new(u32::MAX, Duration::MAX)
            .backoff(Backoff::fixed(Duration::ZERO));
        let ledger = ledger(attempts, Duration::ZERO);
        let situation = Situation::new().nested(depth, product).nesting_limit(limit);
        let id = OperationId::from("nested");
        let over = u128::from(product) * (u128::from(attempts) + 1) > u128::from(limit);
        let decision = decide(&policy, &ledger, &situation, &id, Some(&Failure::transient()));
        let expected = (depth >= 2 && over).then_some(StopReason::NestingLimit);
        prop_assert_eq!(decision.stop_reason(), expected);
        let first = decide(&policy, &ledger, &situation, &id, None);
        prop_assert_eq!(first, Decision::StartAttempt);
    }

    /// Whatever else is said, nothing that may have had an effect runs again.
    #[test]
    fn at_most_once_never_repeats_what_may_have_happened(
        policy in policy(), attempts in attempts(), elapsed in span(),
        situation in situation(), effects in 0..5_u32, id in id(), failure in failure(),
    ) {
        let ledger = ledger(attempts, elapsed);
        let situation = situation.safety(Safety::AtMostOnce).effects(effects);
        let decision = decide(&policy, &ledger, &situation, &id, Some(&failure));
        if failure.effect() == Effect::Possible || effects > 1 {
            prop_assert!(decision.stop_reason().is_some());
        }
        prop_assert_ne!(decision.stop_reason(), Some(StopReason::NotIdempotent));
    }

    /// Errors that no attempt can help are not judged by anything else.
    #[test]
    fn a_permanent_error_is_permanent_everywhere(
        policy in policy(), attempts in attempts(), elapsed in span(),
        situation in situation(), id in id(), failure in failure(),
    ) {
        let ledger = ledger(attempts, elapsed);
        for (class, reason) in [
            (Class::Permanent, StopReason::FailPermanent),
            (Class::Unknown, StopReason::ManualReview),
        ] {
            let failure = failure.with_class(class);
            let decision = decide(&policy, &ledger, &situation, &id, Some(&failure));
            prop_assert_eq!(decision.stop_reason(), Some(reason));
        }
    }

    /// The text of an id and the id itself give one decision.
    #[test]
    fn an_id_read_back_decides_alike(
        policy in policy(), attempts in attempts(), elapsed in span(),
        situation in situation(), id in id(), failure in failure(),
    ) {
        let ledger = ledger(attempts, elapsed);
        let read = OperationId::from(id.to_string());
        prop_assert_eq!(read.to_string(), id.to_string());
        prop_assert_eq!(
            decide(&policy, &ledger, &situation, &id, Some(&failure)),
            decide(&policy, &ledger, &situation, &read, Some(&failure))
        );
    }
}

proptest! {
    /// A ceiling never falls, and no delay passes the cap.
    #[test]
    fn ceilings_never_fall_and_the_cap_bounds_every_delay(
        backoff in backoff(), cap in span(), attempt in count(), more in count(), id in "\\PC{0,8}",
        senseless in prop::option::weighted(0.2, any::<(u32, u32)>()),
    ) {
        let backoff = backoff.cap(cap);
        let backoff = senseless.map_or(backoff, |(p, q)| backoff.factor(p, q));
        let later = attempt.saturating_add(more);
        let (ceiling, after) = (backoff.ceiling(attempt), backoff.ceiling(later));
        prop_assert!(ceiling <= clamped(cap) && after <= clamped(cap));
        if valid(&backoff) {
            prop_assert!(backoff.delay(&id, attempt) <= clamped(cap));
        }
        // A function of the author's may fall.
        if !format!("{backoff:?}").contains("Custom") {
            prop_assert!(ceiling <= after, "{ceiling:?} {after:?}");
        }
    }

    /// Except for the additive one, jitter only shortens; equal jitter by half
    /// at most. A quantum may lift a delay to one quantum.
    #[test]
    fn jitter_only_shortens(backoff in backoff(), attempt in count(), id in "\\PC{0,8}") {
        let backoff = backoff.quantum(Duration::ZERO);
        let ceiling = backoff.ceiling(attempt);
        let delay = |jitter| backoff.jitter(jitter).delay(&id, attempt);
        prop_assert_eq!(delay(Jitter::None), ceiling);
        prop_assert!(delay(Jitter::Full) <= ceiling);
        prop_assert!(delay(Jitter::Equal) <= ceiling);
        prop_assert!(delay(Jitter::Equal) >= ceiling / 2);
        if attempt > 0 {
            prop_assert!(delay(Jitter::Additive(Duration::MAX)) >= ceiling);
        }
        prop_assert_eq!(backoff.delay(&id, 0), Duration::ZERO);
    }

    /// A delay is a multiple of the quantum, one at least, and at most one
    /// shorter than it would be without.
    #[test]
    fn a_quantum_floors(backoff in backoff(), quantum in span(), attempt in 1..5000_u32, id in "\\PC{0,8}") {
        let free = backoff.quantum(Duration::ZERO).delay(&id, attempt).as_nanos();
        let quantum = clamped(quantum).max(Duration::from_nanos(1));
        let delay = backoff.quantum(quantum).delay(&id, attempt).as_nanos();
        let quantum = quantum.as_nanos();
        prop_assert_eq!(delay % quantum, 0);
        prop_assert_eq!(delay, (free / quantum).max(1) * quantum);
    }

    /// The iterator gives what is asked for by number.
    #[test]
    fn the_iterator_agrees_with_the_numbers(backoff in backoff(), id in "\\PC{0,8}") {
        for (delay, attempt) in backoff.delays(&id).take(40).zip(1..) {
            prop_assert_eq!(delay, backoff.delay(&id, attempt));
        }
    }

    /// A schedule is refused only where no draw could fit, and then rightly
    /// names the last attempt that can start.
    #[test]
    fn a_refused_schedule_cannot_be_reached(
        policy in policy(), jitter in jitter(), ids in prop::collection::vec("\\PC{0,8}", 8),
    ) {
        let policy = policy.max_attempts(policy.get_max_attempts().clamp(1, 400));
        let policy = policy.backoff(policy.get_backoff().jitter(jitter));
        let Err(PolicyError::ScheduleTooLong { reach, max_attempts, waits, deadline }) =
            policy.validate()
        else {
            return Ok(());
        };
        prop_assert!(reach < max_attempts);
        prop_assert!(waits >= deadline);
        for id in ids {
            let mut start = Duration::ZERO;
            let starts = policy.get_backoff().delays(&id).map(|delay| {
                start = start.saturating_add(delay);
                start
            });
            let started = 1 + starts.take_while(|start| *start < deadline).take(1000).count();
            prop_assert!(started <= reach as usize, "{started} {reach}");
        }
        prop_assert_eq!(policy.max_attempts(reach).validate(), Ok(()));
    }

    /// No number panics anywhere in the pure layer.
    #[test]
    fn nothing_panics(policy in policy(), id in id(), p in any::<u32>(), q in any::<u32>()) {
        let senseless = policy.backoff(policy.get_backoff().factor(p, q));
        for policy in [policy, senseless] {
            if let Err(error) = policy.validate() {
                prop_assert!(!error.to_string().is_empty());
            }
            policy.worst_case();
            let plan = policy.explain(id.clone());
            prop_assert!(plan.attempts().take(200).all(|attempt| attempt.left() > Duration::ZERO));
            prop_assert!(!plan.to_string().is_empty());
        }
    }
}
