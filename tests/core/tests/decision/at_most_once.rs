//! What an operation that runs at most once repeats: the whole table.

use std::time::Duration;

use retry_core::{
    Class, Decision, Effect, Failure, Hint, Ledger, OperationId, Policy, Safety, Situation,
    StopReason, decide,
};

const HINTS: [Option<Hint>; 3] = [None, Some(Hint::Wait(Duration::ZERO)), Some(Hint::DoNotRetry)];

fn judge(safety: Safety, failure: Failure, effects: u32) -> Decision {
    let policy = Policy::new(3, Duration::from_secs(60));
    let mut ledger = Ledger::new();
    ledger.attempt_started();
    ledger.attempt_failed(Duration::ZERO, &failure);
    let situation = Situation::new().safety(safety).effects(effects);
    decide(&policy, &ledger, &situation, &OperationId::from("label"), Some(&failure))
}

fn failures() -> impl Iterator<Item = Failure> {
    let classes = [Class::Transient, Class::Permanent, Class::Unknown];
    classes.into_iter().flat_map(|class| {
        [Effect::None, Effect::Possible].into_iter().flat_map(move |effect| {
            HINTS.into_iter().map(move |hint| {
                let failure = Failure::new(class).with_effect(effect);
                hint.map_or(failure, |hint| failure.with_hint(hint))
            })
        })
    })
}

#[test]
fn only_what_certainly_had_no_effect_is_repeated() {
    for failure in failures() {
        for effects in [0, 1, 2, 3, u32::MAX] {
            let certain = failure.effect() == Effect::None && effects <= 1;
            let expected = match failure.class() {
                Class::Permanent => Some(StopReason::FailPermanent),
                Class::Unknown => Some(StopReason::ManualReview),
                Class::Transient if !certain => Some(StopReason::ManualReview),
                Class::Transient => {
                    (failure.hint() == Some(Hint::DoNotRetry)).then_some(StopReason::DoNotRetry)
                }
            };
            let decision = judge(Safety::AtMostOnce, failure, effects);
            assert_eq!(decision.stop_reason(), expected, "{failure} {effects}");
        }
    }
}

/// The effect of a failure is nothing to the other two; their taint is.
#[test]
fn elsewhere_the_taint_decides_and_the_effect_does_not() {
    for failure in failures() {
        for effects in [0, 1, 2, u32::MAX] {
            let expected = match (failure.class(), failure.hint()) {
                (Class::Permanent, _) => Some(StopReason::FailPermanent),
                (Class::Unknown, _) => Some(StopReason::ManualReview),
                (Class::Transient, Some(Hint::DoNotRetry)) => Some(StopReason::DoNotRetry),
                _ => (effects > 0).then_some(StopReason::NotIdempotent),
            };
            for safety in [Safety::Idempotent, Safety::Keyed] {
                let decision = judge(safety, failure, effects);
                assert_eq!(decision.stop_reason(), expected, "{failure} {effects}");
            }
        }
    }
}

/// A person is told why: the text of both is not the same.
#[test]
fn a_review_says_which_of_the_two_it_is() {
    let text = |failure| match judge(Safety::AtMostOnce, failure, 0) {
        Decision::Stop(stop) => stop.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(Failure::unknown()), "a person must find out whether it took effect");
    assert_eq!(
        text(Failure::transient()),
        "the attempt may have taken effect and runs at most once, so a person must find out",
    );
}
