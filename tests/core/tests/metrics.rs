//! What is counted while operations run.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshot};
use retry_core::clock::VirtualClock;
use retry_core::observe::Metrics;
use retry_core::{
    Backoff, Breaker, Budget, Classify, Failure, Jitter, OnRefusal, Operation, Policy, Resource,
    Retrier, RetrierBuilder, Stopped, retryable,
};
use retry_core_tests::{BUSY, Failed, block_on};

const SECOND: Duration = Duration::from_secs(1);

/// What is counted while a flow runs on virtual time.
fn counted<F: Future>(flow: impl FnOnce(Retrier) -> F) -> Snapshot {
    counted_by(Retrier::builder(), flow)
}

fn counted_by<F: Future>(builder: RetrierBuilder, flow: impl FnOnce(Retrier) -> F) -> Snapshot {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || {
        let retrier = builder.observer(Metrics::new()).build();
        block_on(&VirtualClock::new(), flow(retrier));
    });
    recorder.snapshotter().snapshot()
}

/// Counters by name, and by reason where they have one.
fn counters(snapshot: Snapshot) -> BTreeMap<String, u64> {
    let counter = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| {
        let reason = key.key().labels().find(|label| label.key() == "reason");
        let reason = reason.map(|label| format!(" {}", label.value())).unwrap_or_default();
        let name = key.key().name().trim_start_matches("retry_").trim_end_matches("_total");
        match value {
            DebugValue::Counter(count) => Some((format!("{name}{reason}"), count)),
            _ => None,
        }
    };
    let mut counters = BTreeMap::new();
    for (name, count) in snapshot.into_vec().into_iter().filter_map(counter) {
        *counters.entry(name).or_default() += count;
    }
    counters
}

fn operation(retrier: &Retrier) -> Operation<impl retry_core::Classifier<Failed> + Clone> {
    let waits = Backoff::exponential(SECOND).jitter(Jitter::None).cap(600 * SECOND);
    Operation::idempotent("op", Policy::new(3, 3600 * SECOND).backoff(waits)).with(retrier)
}

#[test]
fn attempts_retries_and_outcomes_are_counted() {
    let snapshot = counted(|retrier| async move {
        for good in 1..=4 {
            let running = operation(&retrier).run(|attempt| async move {
                if attempt.number() < good { Err(BUSY) } else { Ok(()) }
            });
            assert_eq!(running.await.is_ok(), good <= 3);
        }
        let declined =
            operation(&retrier).run(|_| async { Err::<(), _>(Failed(Failure::permanent())) });
        declined.await.unwrap_err();
        let mut dropped =
            Box::pin(operation(&retrier).run(|_| std::future::pending::<Result<(), Failed>>()));
        assert!(futures::poll!(&mut dropped).is_pending());
    });
    let expected = [
        ("attempts", 11),
        ("retries", 5),
        ("stops attempts_exhausted", 1),
        ("stops cancelled", 1),
        ("stops fail_permanent", 1),
        ("successes", 3),
        ("successes_after_retry", 2),
    ];
    assert_eq!(counters(snapshot), expected.map(|(name, count)| (name.to_owned(), count)).into());
}

/// So that the mean delay is its sum over the retries.
/// One operation whose budget runs dry, and one whose breaker opens.
fn protected() -> Snapshot {
    let budget = Budget::ratio(0.0).floor(1).size(1).build().unwrap();
    let waits = Backoff::fixed(10 * SECOND).jitter(Jitter::None);
    let bank = Resource::new("bank").budget(budget).on_refusal(OnRefusal::Defer);
    let gateway = Resource::new("gateway").breaker(Breaker::consecutive(2, waits)).unwrap();
    let builder = Retrier::builder().resource(bank).unwrap().resource(gateway).unwrap();
    counted_by(builder, |retrier| async move {
        let fails = |resource| {
            let policy = Policy::new(4, 60 * SECOND).backoff(Backoff::fixed(Duration::ZERO));
            let operation = Operation::idempotent("op", policy).with(&retrier).resource(resource);
            operation.run(|_| async { Err::<(), _>(BUSY) })
        };
        fails("bank").await.unwrap_err();
        fails("gateway").await.unwrap_err();
    })
}

#[test]
fn refusals_deferrals_and_openings_are_counted_by_resource() {
    let counters = counters(protected());
    for (name, count) in [
        ("attempts", 6),
        ("breaker_openings", 1),
        ("budget_refusals", 2),
        ("deferrals budget_exhausted", 2),
        ("stops attempts_exhausted", 1),
        ("stops circuit_open", 1),
    ] {
        assert_eq!(counters.get(name), Some(&count), "{name} in {counters:?}");
    }
    let keys = protected().into_vec().into_iter().map(|(key, ..)| key.key().clone());
    let labelled: BTreeSet<_> = keys
        .filter_map(|key| {
            let resource = key.labels().find(|label| label.key() == "resource")?;
            Some((key.name().to_owned(), resource.value().to_owned()))
        })
        .collect();
    for (name, resource) in [
        ("retry_breaker_openings_total", "gateway"),
        ("retry_breaker_state", "gateway"),
        ("retry_budget_tokens", "bank"),
        ("retry_attempts_total", "bank"),
    ] {
        assert!(labelled.contains(&(name.to_owned(), resource.to_owned())), "{labelled:?}");
    }
}

#[test]
fn the_histogram_has_one_wait_for_each_retry() {
    let snapshot = counted(|retrier| async move {
        operation(&retrier).run(|_| async { Err::<(), _>(BUSY) }).await.unwrap_err();
        // The wait that it is dropped in leads to no retry.
        let mut dropped = Box::pin(operation(&retrier).run(|_| async { Err::<(), _>(BUSY) }));
        assert!(futures::poll!(&mut dropped).is_pending());
    });
    let mut waits = Vec::new();
    for (.., value) in snapshot.into_vec() {
        if let DebugValue::Histogram(values) = value {
            waits.extend(values.into_iter().map(|value| value.into_inner()));
        }
    }
    assert_eq!(waits, [1.0, 2.0]);
}

/// An error whose text and code differ each time.
#[derive(Debug)]
struct Noisy(u64);

impl fmt::Display for Noisy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "card {:016} declined", self.0)
    }
}

impl Classify for Noisy {
    fn classify(&self) -> Failure {
        let code = i64::try_from(self.0 >> 1).unwrap_or_default();
        let failure =
            if self.0.is_multiple_of(2) { Failure::permanent() } else { Failure::transient() };
        failure.with_code(code)
    }

    fn text(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

#[retryable(name = "cards.charge", key = card, attempt, max_attempts = 2, deadline = "1m", with = retrier)]
async fn charge(retrier: &Retrier, card: u64) -> Result<(), Stopped<Noisy>> {
    let _ = key;
    if card.is_multiple_of(3) && attempt.is_last() { Ok(()) } else { Err(Noisy(card)) }
}

/// Every series after each tenth of the keys.
#[test]
fn ten_thousand_keys_and_messages_add_no_series() {
    let recorder = DebuggingRecorder::new();
    let series = || -> BTreeSet<String> {
        let snapshot = recorder.snapshotter().snapshot().into_vec();
        snapshot.into_iter().map(|(key, ..)| format!("{}", key.key())).collect()
    };
    // A generator of the splitmix kind is random enough, and the same each time.
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    };
    metrics::with_local_recorder(&recorder, || {
        let retrier = Retrier::builder().observer(Metrics::new()).build();
        let clock = VirtualClock::new();
        let mut charge_some = |cards: usize| {
            for _ in 0..cards {
                let _ = block_on(&clock, charge(&retrier, random()));
            }
            series()
        };
        let first = charge_some(100);
        assert_eq!(first.len(), 7, "{first:#?}");
        assert_eq!(charge_some(9_900), first);
    });
    for (key, ..) in recorder.snapshotter().snapshot().into_vec() {
        for label in key.key().labels() {
            assert!(["operation", "resource", "reason"].contains(&label.key()), "{label:?}");
        }
    }
}

/// A caller's name can come from a request: it is no label.
#[test]
fn a_thousand_callers_of_a_resource_add_no_series() {
    let recorder = DebuggingRecorder::new();
    let series = || -> BTreeSet<String> {
        let snapshot = recorder.snapshotter().snapshot().into_vec();
        snapshot.into_iter().map(|(key, ..)| format!("{}", key.key())).collect()
    };
    metrics::with_local_recorder(&recorder, || {
        let waits = Backoff::fixed(10 * SECOND).jitter(Jitter::None);
        let resource = Resource::new("gateway").budget(Budget::ratio(0.2).build().unwrap());
        let resource = resource.breaker(Breaker::consecutive(2, waits)).unwrap();
        let retrier =
            Retrier::builder().observer(Metrics::new()).resource(resource).unwrap().build();
        let clock = VirtualClock::new();
        let charge_some = |tenants: std::ops::Range<u32>| {
            for tenant in tenants {
                let operation = operation(&retrier).resource("gateway");
                let operation = operation.caller(format!("tenant-{tenant}"));
                // One in two succeeds; of the others some are refused.
                let running = operation.run(|_| async move {
                    if tenant.is_multiple_of(2) { Ok(()) } else { Err(BUSY) }
                });
                let _ = block_on(&clock, running);
            }
            series()
        };
        let first = charge_some(0..100);
        assert!(first.iter().any(|series| series.contains("resource = gateway")), "{first:#?}");
        assert_eq!(charge_some(100..1000), first);
    });
    for name in series() {
        assert!(!name.contains("tenant"), "{name}");
    }
}
