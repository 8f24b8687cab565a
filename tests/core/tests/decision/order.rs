//! Which reason wins: every subset of the conditions, in the order of the rule.

use std::time::Duration;

use retry_core::clock::VirtualClock;
use retry_core::{
    Backoff, Class, Classify as _, Decision, Failure, Hint, Jitter, Ledger, Operation, OperationId,
    Policy, Safety, Situation, StopReason, decide,
};
use retry_core_tests::{BUSY, Failed, block_on};

const SECOND: Duration = Duration::from_secs(1);

/// What can hold after a failure, in the order in which it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Condition {
    Nested,
    Permanent,
    Unknown,
    DoNotRetry,
    Tainted,
    DeadlinePassed,
    AttemptsUsed,
    HintTooLong,
    NextStartsLate,
    Disabled,
    NestingOver,
}

use Condition::*;

const ORDER: [Condition; 11] = [
    Nested,
    Permanent,
    Unknown,
    DoNotRetry,
    Tainted,
    DeadlinePassed,
    AttemptsUsed,
    HintTooLong,
    NextStartsLate,
    Disabled,
    NestingOver,
];

/// The reason of each condition alone. The nested stop of this test is that of
/// an operation whose policy was not valid, a reason that nothing else gives.
fn reason(condition: Condition) -> StopReason {
    match condition {
        Nested => StopReason::InvalidPolicy,
        Permanent => StopReason::FailPermanent,
        Unknown => StopReason::ManualReview,
        DoNotRetry => StopReason::DoNotRetry,
        Tainted => StopReason::NotIdempotent,
        DeadlinePassed | NextStartsLate => StopReason::DeadlineExceeded,
        AttemptsUsed => StopReason::AttemptsExhausted,
        HintTooLong => StopReason::HintTooLong,
        Disabled => StopReason::Disabled,
        NestingOver => StopReason::NestingLimit,
    }
}

fn subsets() -> impl Iterator<Item = Vec<Condition>> {
    (0..1_u32 << ORDER.len())
        .map(|bits| (0..).zip(ORDER).filter(move |(n, _)| bits >> n & 1 == 1))
        .map(|set| set.map(|(_, condition)| condition).collect::<Vec<_>>())
        .filter(|set| can_hold_together(set))
}

/// A failure has one class and one hint. A nested stop is permanent or unknown;
/// here it is permanent.
fn can_hold_together(set: &[Condition]) -> bool {
    let has = |condition| set.contains(&condition);
    let two = |one, other| has(one) && has(other);
    let impossible =
        two(Permanent, Unknown) || two(DoNotRetry, HintTooLong) || (has(Nested) && !has(Permanent));
    !impossible
}

fn nested_stop() -> Failure {
    let invalid = Operation::idempotent("inner", Policy::new(0, SECOND));
    let stopped =
        block_on(&VirtualClock::new(), invalid.run(|_| async { Err::<(), Failed>(BUSY) }));
    stopped.unwrap_err().classify()
}

/// Judges a failure for which exactly the conditions of the set hold.
fn judge(set: &[Condition], safety: Safety) -> Decision {
    let has = |condition| set.contains(&condition);
    let class = match (has(Permanent), has(Unknown)) {
        (true, _) => Class::Permanent,
        (_, true) => Class::Unknown,
        _ => Class::Transient,
    };
    let failure = if has(Nested) { nested_stop() } else { Failure::new(class) };
    assert_eq!(failure.class(), class);
    let failure = match (has(DoNotRetry), has(HintTooLong)) {
        (true, _) => failure.with_hint(Hint::DoNotRetry),
        (_, true) => failure.with_hint(Hint::Wait(11 * SECOND)),
        _ => failure.with_hint(Hint::Wait(10 * SECOND)),
    };

    // 100 s in all, 50 s used; a wait of 1 s fits, one of 50 s does not, and
    // neither hint alone makes it late.
    let wait = if has(NextStartsLate) { 50 * SECOND } else { SECOND };
    let policy = Policy::new(3, 100 * SECOND)
        .hint_limit(10 * SECOND)
        .backoff(Backoff::fixed(wait).jitter(Jitter::None));
    let mut ledger = Ledger::new();
    (0..if has(AttemptsUsed) { 3 } else { 2 }).for_each(|_| ledger.attempt_started());
    let elapsed = if has(DeadlinePassed) { 100 * SECOND } else { 50 * SECOND };
    ledger.attempt_failed(elapsed, &failure);

    // The next attempt within the third or the fourth of the operation around.
    let limit = 3 * (ledger.attempts() + 1);
    let situation = Situation::new()
        .safety(safety)
        .effects(u32::from(has(Tainted)))
        .disabled(has(Disabled))
        .nested(2, if has(NestingOver) { 4 } else { 3 })
        .nesting_limit(limit);
    decide(&policy, &ledger, &situation, &OperationId::from("order"), Some(&failure))
}

#[test]
fn the_first_condition_in_order_gives_the_reason() {
    let mut judged = 0;
    for set in subsets() {
        judged += 1;
        for safety in [Safety::Idempotent, Safety::Keyed] {
            let decision = judge(&set, safety);
            let expected = set.first().copied().map(reason);
            assert_eq!(decision.stop_reason(), expected, "{set:?}: {decision:?}");
            assert_eq!(decision.code(), expected.map_or("schedule_retry", StopReason::code));
        }
    }
    // Two classes beside none, and a nested stop beside one of them; two hints
    // beside none; six that are free.
    assert_eq!(judged, 4 * 3 * 64);
}

/// The same set in an operation that runs at most once: only the taint is not
/// asked about, and a possible effect is asked about in the place of the class.
#[test]
fn at_most_once_replaces_the_taint_by_the_effect() {
    for set in subsets() {
        let expected = match set.first() {
            Some(first @ (Nested | Permanent | Unknown)) => reason(*first),
            _ => StopReason::ManualReview,
        };
        assert_eq!(judge(&set, Safety::AtMostOnce).stop_reason(), Some(expected), "{set:?}");
    }
}

/// Before an attempt only time and attempts are asked about, in this order, and
/// before a retry the switch, whatever else holds.
#[test]
fn before_an_attempt_only_the_bounds_decide() {
    let policy = Policy::new(2, 10 * SECOND);
    let id = OperationId::from("order");
    for attempts in 0..4 {
        for elapsed in [0, 9, 10, 11] {
            for left in [None, Some(0), Some(9), Some(20)] {
                for tainted in [false, true] {
                    let mut ledger = Ledger::new();
                    (0..attempts).for_each(|_| ledger.attempt_started());
                    ledger.reached(elapsed * SECOND);
                    let mut situation = Situation::new()
                        .effects(u32::from(tainted))
                        .disabled(tainted)
                        .nested(if tainted { 3 } else { 1 }, u32::MAX);
                    if let Some(left) = left {
                        situation = situation.left_outside(left * SECOND);
                    }
                    let late = elapsed >= left.map_or(10, |left: u32| left.min(10));
                    let expected = if late {
                        Some(StopReason::DeadlineExceeded)
                    } else if attempts >= 2 {
                        Some(StopReason::AttemptsExhausted)
                    } else {
                        (attempts > 0 && tainted).then_some(StopReason::Disabled)
                    };
                    let decision = decide(&policy, &ledger, &situation, &id, None);
                    assert_eq!(decision.stop_reason(), expected, "{attempts} {elapsed} {left:?}");
                    let code = expected.map_or("start_attempt", StopReason::code);
                    assert_eq!(decision.code(), code);
                }
            }
        }
    }
}
