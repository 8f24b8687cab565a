//! Generators: mostly sensible numbers, and every boundary.

use std::time::Duration;

use proptest::prelude::*;
use retry_core::{
    Backoff, Class, Effect, Failure, Hint, Jitter, Kind, Ledger, OperationId, Policy, Safety,
    Situation,
};

/// The longest time of the pure layer.
pub(crate) const LONGEST: Duration = Duration::from_nanos(i64::MAX as u64);

/// From nothing to beyond what the pure layer counts.
pub(crate) fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        2 => Just(Duration::ZERO),
        1 => Just(Duration::from_nanos(1)),
        8 => (0..10_000_u64).prop_map(Duration::from_millis),
        4 => (0..100_000_u64).prop_map(Duration::from_secs),
        2 => any::<u64>().prop_map(Duration::from_nanos),
        1 => Just(LONGEST - Duration::from_nanos(1)),
        1 => Just(LONGEST),
        1 => Just(Duration::MAX),
    ]
}

/// From 0 to `u32::MAX`, small ones mostly.
pub(crate) fn count() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0..12_u32, 2 => 0..2000_u32, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

pub(crate) fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::Equal),
        Just(Jitter::Full),
        Just(Jitter::None),
        span().prop_map(Jitter::Additive),
    ]
}

fn curve() -> impl Strategy<Value = Backoff> {
    prop_oneof![
        span().prop_map(Backoff::fixed),
        span().prop_map(Backoff::linear),
        span().prop_map(Backoff::fibonacci),
        span().prop_map(Backoff::exponential),
        (span(), 1..=1000_u32, 1..=1000_u32)
            .prop_map(|(base, p, q)| Backoff::exponential(base).factor(p.max(q), p.min(q))),
        Just(Backoff::custom(|attempt| Duration::from_millis(7) * (attempt % 1000))),
        Just(Backoff::custom(|_| Duration::MAX)),
    ]
}

/// Sensible and senseless ones; see [`valid`].
pub(crate) fn backoff() -> impl Strategy<Value = Backoff> {
    let quantum = prop_oneof![3 => Just(Duration::ZERO), 1 => span()];
    (curve(), prop::option::of(span()), quantum, jitter()).prop_map(
        |(curve, cap, quantum, jitter)| {
            let backoff = curve.quantum(quantum).jitter(jitter);
            cap.map_or(backoff, |cap| backoff.cap(cap))
        },
    )
}

/// Whether a policy of one attempt accepts the backoff.
pub(crate) fn valid(backoff: &Backoff) -> bool {
    Policy::new(1, Duration::MAX).backoff(*backoff).validate().is_ok()
}

/// Sensible and senseless ones.
pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    (count(), span(), prop::option::of(span()), backoff(), span()).prop_map(
        |(max_attempts, deadline, timeout, backoff, limit)| {
            let policy = Policy::new(max_attempts, deadline).backoff(backoff).hint_limit(limit);
            timeout.map_or(policy, |timeout| policy.attempt_timeout(timeout))
        },
    )
}

pub(crate) fn hint() -> impl Strategy<Value = Hint> {
    prop_oneof![9 => span().prop_map(Hint::Wait), 1 => Just(Hint::DoNotRetry)]
}

pub(crate) fn failure() -> impl Strategy<Value = Failure> {
    let class = prop_oneof![
        8 => Just(Class::Transient),
        1 => Just(Class::Permanent),
        1 => Just(Class::Unknown),
    ];
    let effect = prop_oneof![Just(Effect::None), Just(Effect::Possible)];
    let kind = prop_oneof![
        Just(Kind::Timeout),
        Just(Kind::Throttled),
        Just(Kind::Connect),
        Just(Kind::Server),
        Just(Kind::Other),
    ];
    (class, effect, kind, prop::option::of(any::<i64>()), prop::option::of(hint())).prop_map(
        |(class, effect, kind, code, hint)| {
            let failure = Failure::new(class).with_effect(effect).with_kind(kind);
            let failure = code.map_or(failure, |code| failure.with_code(code));
            hint.map_or(failure, |hint| failure.with_hint(hint))
        },
    )
}

pub(crate) fn safety() -> impl Strategy<Value = Safety> {
    prop_oneof![Just(Safety::Idempotent), Just(Safety::Keyed), Just(Safety::AtMostOnce)]
}

pub(crate) fn situation() -> impl Strategy<Value = Situation> {
    let effects = prop_oneof![8 => Just(0_u32), 2 => 0..4_u32];
    let nesting = prop_oneof![3 => Just((1, 1)), 1 => (0..5_u32, count())];
    let disabled = prop::bool::weighted(0.1);
    (safety(), effects, prop::option::of(span()), disabled, nesting, count()).prop_map(
        |(safety, effects, left, disabled, (depth, product), limit)| {
            let situation = Situation::new()
                .safety(safety)
                .effects(effects)
                .disabled(disabled)
                .nested(depth, product)
                .nesting_limit(limit);
            left.map_or(situation, |left| situation.left_outside(left))
        },
    )
}

/// A ledger after this many attempts and this much time.
pub(crate) fn ledger(attempts: u32, elapsed: Duration) -> Ledger {
    let mut ledger = Ledger::new();
    (0..attempts).for_each(|_| ledger.attempt_started());
    ledger.reached(elapsed);
    ledger
}

/// The number of attempts of a ledger: small enough to be counted up to.
pub(crate) fn attempts() -> impl Strategy<Value = u32> {
    prop_oneof![9 => 0..12_u32, 1 => 0..3000_u32]
}

pub(crate) fn id() -> impl Strategy<Value = OperationId> {
    prop_oneof![
        ("[a-z.]{0,8}", "[^\\x00]{1,8}").prop_map(|(name, key)| {
            let key = retry_core::IdempotencyKey::derive(&name, &key).unwrap();
            OperationId::keyed(name, key)
        }),
        ("[a-z.:]{0,8}", any::<u64>(), any::<u64>())
            .prop_map(|(name, process, sequence)| OperationId::counted(name, process, sequence)),
        "\\PC{0,12}".prop_map(OperationId::from),
    ]
}
