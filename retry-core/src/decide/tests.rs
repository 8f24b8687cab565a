//! What only this crate can build: numbers that nobody counts up to, and the
//! stop of a nested operation for every reason. The rest is tested from outside.

use super::*;
use crate::backoff::{Backoff, Jitter};

const LONGEST: Duration = Duration::from_nanos(i64::MAX as u64);
const NANO: Duration = Duration::from_nanos(1);

fn judge(policy: &Policy, ledger: &Ledger, situation: &Situation, failure: Failure) -> Decision {
    decide(policy, ledger, situation, &OperationId::from("x"), Some(&failure))
}

#[test]
fn the_largest_numbers_decide_without_panic() {
    let jitters = [Jitter::Equal, Jitter::Full, Jitter::None, Jitter::Additive(Duration::MAX)];
    let curves = [Backoff::fixed, Backoff::linear, Backoff::exponential, Backoff::fibonacci];
    for base in [Duration::ZERO, NANO, LONGEST, Duration::MAX] {
        for backoff in curves.map(|curve| curve(base).cap(Duration::MAX)) {
            for jitter in jitters {
                for attempts in [0, u32::MAX - 1, u32::MAX] {
                    for elapsed in [Duration::ZERO, LONGEST - NANO, Duration::MAX] {
                        check(backoff.jitter(jitter), &Ledger::at(attempts, elapsed));
                    }
                }
            }
        }
    }
}

fn check(backoff: Backoff, ledger: &Ledger) {
    let policy = Policy::new(u32::MAX, Duration::MAX).backoff(backoff).hint_limit(Duration::MAX);
    let nested = Situation::new().nested(u32::MAX, u32::MAX).nesting_limit(u32::MAX);
    for situation in [Situation::new(), nested.left_outside(Duration::MAX)] {
        for hint in [None, Some(Duration::ZERO), Some(LONGEST - NANO), Some(Duration::MAX)] {
            let decision = judge(&policy, ledger, &situation, Failure::transient().after(hint));
            if let Decision::ScheduleRetry(wait) = decision {
                assert!(wait.start() < LONGEST && ledger.attempts() < u32::MAX, "{wait:?}");
            }
        }
        let _ = decide(&policy, ledger, &situation, &OperationId::from("x"), None);
    }
}

#[test]
fn the_last_attempt_of_all_is_the_last() {
    let policy = Policy::new(u32::MAX, Duration::MAX).backoff(Backoff::fixed(Duration::ZERO));
    let alone = Situation::new();
    let judge = |attempts| {
        let ledger = Ledger::at(attempts, Duration::ZERO);
        judge(&policy, &ledger, &alone, Failure::transient()).stop_reason()
    };
    assert_eq!(judge(u32::MAX - 1), None);
    assert_eq!(judge(u32::MAX), Some(StopReason::AttemptsExhausted));
}

/// A nested stop keeps its reason whatever else holds, until the author gives
/// the failure a class.
#[test]
fn every_nested_reason_is_handed_on() {
    let policy = Policy::new(1, NANO);
    let ledger = Ledger::at(1, Duration::MAX);
    let situation = Situation::new().effects(2).disabled(true).nested(9, 9);
    for &reason in StopReason::ALL {
        for class in [Class::Transient, Class::Permanent, Class::Unknown] {
            for hint in [Hint::DoNotRetry, Hint::Wait(Duration::MAX)] {
                let failure = Failure::new(class).with_hint(hint).nested(reason);
                for safety in [Safety::Idempotent, Safety::Keyed, Safety::AtMostOnce] {
                    let decision = judge(&policy, &ledger, &situation.safety(safety), failure);
                    assert_eq!(decision.stop_reason(), Some(reason));
                }
                let said = failure.with_class(Class::Permanent);
                let decision = judge(&policy, &ledger, &situation, said);
                assert_eq!(decision.stop_reason(), Some(StopReason::FailPermanent));
            }
        }
    }
}
