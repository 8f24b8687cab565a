//! Generators: what can happen to an operation, and what cannot.

use proptest::prelude::*;

use super::*;
use crate::StopReason;
use crate::classify::{Class, Effect, Kind};
use crate::decide::{OnRefusal, Refusal};
use crate::hint::Hint;

/// One step of a life. What does not apply where the record stands is refused.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) what: What,
    /// How much time passes before it, by the store's clock and by the holder's.
    pub(super) passed: Duration,
    /// By how much the store's clock is stepped back before it.
    pub(super) back: Duration,
    pub(super) keeps: bool,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// The holder asks whether an attempt may start, and keeps the answer.
    Ask(Situation),
    Succeed(String),
    Fail(Failure, Situation),
    Release,
    Abandon(Option<Ended>, Situation),
    Heartbeat(Duration),
    TakeOver(Duration),
    Claim(Duration),
    Reclaim,
    /// The holder writes anything.
    Write(Vec<Event>),
}

/// Mostly short, so that a life is long.
pub(super) fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        10 => Just(Duration::ZERO),
        2 => Just(Duration::from_nanos(1)),
        30 => (0..5_000_u64).prop_map(Duration::from_millis),
        8 => (0..100_u64).prop_map(Duration::from_secs),
        1 => any::<u64>().prop_map(Duration::from_nanos),
        1 => Just(Duration::MAX),
    ]
}

pub(super) fn new() -> impl Strategy<Value = New> {
    let policy = (1..9_u32, prop_oneof![Just(20_u64), Just(600), Just(u64::MAX)], backoff())
        .prop_map(|(max_attempts, deadline, backoff)| {
            Policy::new(max_attempts, Duration::from_secs(deadline)).backoff(backoff)
        })
        .prop_filter("such a policy begins nothing", |policy| policy.validate().is_ok());
    let operation = prop_oneof![
        Just(OperationId::from(KEYED)),
        (any::<u64>(), any::<u64>()).prop_map(|(process, sequence)| {
            OperationId::counted("payments.poll", process, sequence)
        }),
        "\\PC{0,8}".prop_map(OperationId::from),
    ];
    let safety = prop_oneof![3 => Just(Safety::Keyed), 1 => Just(Safety::Idempotent), 2 => Just(Safety::AtMostOnce)];
    (policy, operation, safety, any::<bool>(), any::<bool>(), span()).prop_map(
        |(policy, operation, safety, held, started, lease)| New {
            policy,
            operation,
            safety,
            queue: if held { String::new() } else { "q".to_owned() },
            held: held.then(|| (Holder::new(), lease)),
            started,
            ..super::new()
        },
    )
}

fn backoff() -> BoxedStrategy<Backoff> {
    let jitter = prop_oneof![
        Just(Jitter::Equal),
        Just(Jitter::Full),
        Just(Jitter::None),
        Just(Jitter::Additive(SECOND)),
    ];
    let curve = prop_oneof![
        Just(Backoff::exponential(Duration::from_millis(100))),
        Just(Backoff::exponential(Duration::from_nanos(1)).factor(1000, 1)),
        Just(Backoff::linear(SECOND)),
        Just(Backoff::fibonacci(SECOND)),
        Just(Backoff::fixed(Duration::ZERO)),
        Just(Backoff::fixed(3 * SECOND).quantum(SECOND)),
    ];
    (curve, jitter).prop_map(|(curve, jitter)| curve.jitter(jitter)).boxed()
}

fn failure() -> BoxedStrategy<Failure> {
    let class = prop_oneof![
        20 => Just(Class::Transient),
        1 => Just(Class::Permanent),
        1 => Just(Class::Unknown),
    ];
    let effect = prop_oneof![Just(Effect::None), Just(Effect::Possible)];
    let hint = prop_oneof![9 => span().prop_map(Hint::Wait), 1 => Just(Hint::DoNotRetry)];
    let inner = prop::option::weighted(0.1, reason());
    (class, effect, prop::option::weighted(0.3, hint), any::<Option<i64>>(), inner)
        .prop_map(|(class, effect, hint, code, inner)| {
            let failure = Failure::new(class).with_effect(effect).with_kind(Kind::Server);
            let failure = inner.map_or(failure, |inner| failure.nested(inner));
            let failure = code.map_or(failure, |code| failure.with_code(code));
            hint.map_or(failure, |hint| failure.with_hint(hint))
        })
        .boxed()
}

fn reason() -> impl Strategy<Value = StopReason> {
    prop::sample::select(StopReason::ALL)
}

fn refusal() -> BoxedStrategy<Refusal> {
    (any::<bool>(), prop::option::weighted(0.9, span()), 0..18_u32, prop::bool::weighted(0.8))
        .prop_map(|(budget, next, deferrals, defers)| {
            let refusal = if budget { Refusal::budget(next) } else { Refusal::breaker(next) };
            let on_refusal = if defers { OnRefusal::Defer } else { OnRefusal::Stop };
            refusal.deferrals(deferrals).on_refusal(on_refusal)
        })
        .boxed()
}

/// Mostly none at all.
fn situation() -> BoxedStrategy<Situation> {
    let some = (
        prop_oneof![4 => Just(0_u32), 1 => 0..3_u32],
        prop::option::weighted(0.2, span()),
        prop::option::weighted(0.2, reason()),
        any::<bool>(),
        prop_oneof![8 => Just(0_u8), 1 => Just(1), 1 => Just(2)],
        prop_oneof![4 => Just((1_u32, 1_u32)), 1 => (1..4_u32, 1..6_u32)],
        prop::option::weighted(0.7, refusal()),
    )
        .prop_map(|(effects, left, inner, retry_nested, switch, (depth, product), refusal)| {
            let situation = Situation::new()
                .effects(effects)
                .inner_stop(inner)
                .retry_nested(retry_nested)
                .nested(depth, product);
            let situation = match switch {
                1 => situation.disabled(true),
                2 => situation.shut_down(),
                _ => situation,
            };
            let situation = left.map_or(situation, |left| situation.left_outside(left));
            refusal.map_or(situation, |refusal| situation.refused(refusal))
        });
    prop_oneof![3 => Just(Situation::new()), 1 => some].boxed()
}

fn ended() -> impl Strategy<Value = Ended> {
    prop::sample::select(vec![
        Ended::Succeeded,
        Ended::Failed,
        Ended::Cut,
        Ended::Dropped,
        Ended::Panicked,
        Ended::Crashed,
    ])
}

/// Any event, with small numbers so that some of them fit.
fn event() -> BoxedStrategy<Event> {
    let chosen = (0..4_u32, span(), any::<u32>(), span(), prop::option::of(span())).prop_map(
        |(attempt, ceiling, unit, delay, hint)| {
            let (computed, start) = (ceiling, delay);
            Event::DelayChosen(DelayChosen { attempt, ceiling, unit, computed, hint, delay, start })
        },
    );
    let text = || Just(String::new());
    prop_oneof![
        (0..4_u32, span())
            .prop_map(|(attempt, elapsed)| Event::AttemptStarted { attempt, elapsed }),
        (0..4_u32, span(), ended(), prop::option::of(failure()), situation()).prop_map(
            |(attempt, elapsed, ended, failure, situation)| {
                let error = None;
                Event::AttemptFinished { attempt, elapsed, ended, failure, error, situation }
            }
        ),
        chosen,
        (span(), reason(), span(), situation()).prop_map(|(elapsed, reason, until, situation)| {
            Event::Deferred { elapsed, reason, until, situation }
        }),
        (span(), reason(), text(), prop::option::of(span()), situation()).prop_map(
            |(elapsed, reason, text, start, situation)| {
                Event::Parked { elapsed, reason, text, start, situation }
            }
        ),
        span().prop_map(|charged| Event::Resumed { charged }),
        Just(Event::LeaseLost {}),
        (0..4_u32).prop_map(|attempt| Event::Released { attempt }),
        Just(Event::result_recorded("1")),
        (span(), reason(), text(), situation()).prop_map(|(elapsed, reason, text, situation)| {
            Event::Dead { elapsed, reason, text, situation }
        }),
        (span(), reason(), text()).prop_map(|(elapsed, reason, text)| Event::ReviewOpened {
            elapsed,
            reason,
            text
        }),
    ]
    .boxed()
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let what = prop_oneof![
        8 => situation().prop_map(What::Ask),
        1 => "\\PC{0,8}".prop_map(What::Succeed),
        16 => (failure(), situation()).prop_map(|(failure, situation)| What::Fail(failure, situation)),
        2 => Just(What::Release),
        2 => (prop::option::of(ended()), situation())
            .prop_map(|(ended, situation)| What::Abandon(ended, situation)),
        1 => span().prop_map(What::Heartbeat),
        2 => span().prop_map(What::TakeOver),
        1 => span().prop_map(What::Claim),
        2 => Just(What::Reclaim),
        2 => prop::collection::vec(event(), 1..4).prop_map(What::Write),
    ];
    let back = prop_oneof![9 => Just(Duration::ZERO), 1 => span()];
    (what, span(), back, prop::bool::weighted(0.7)).prop_map(|(what, passed, back, keeps)| Step {
        what,
        passed,
        back,
        keeps,
    })
}
