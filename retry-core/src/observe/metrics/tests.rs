use std::collections::BTreeSet;

use metrics::with_local_recorder;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use super::*;
use crate::observe::every_event::tell_all;

fn told(tell: impl FnOnce(&Metrics)) -> Snapshotter {
    let recorder = DebuggingRecorder::new();
    with_local_recorder(&recorder, || tell(&Metrics::new()));
    recorder.snapshotter()
}

/// `name{label=value} number`, sorted.
fn lines(snapshotter: &Snapshotter) -> Vec<String> {
    let line = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| {
        let labels = key.key().labels().map(|label| format!("{}={}", label.key(), label.value()));
        let labels = labels.collect::<Vec<_>>().join(",");
        let value = match value {
            DebugValue::Counter(count) => count.to_string(),
            DebugValue::Gauge(level) => level.to_string(),
            DebugValue::Histogram(values) => format!("{values:?}"),
        };
        format!("{}{{{labels}}} {value}", key.key().name())
    };
    let mut lines: Vec<_> = snapshotter
        .snapshot()
        .into_vec()
        .into_iter()
        .map(|(k, u, d, v)| line((k, u, d, v)))
        .collect();
    lines.sort();
    lines
}

/// Pinned: dashboards and alarms name them.
#[test]
fn the_names_are_stable() {
    let told = told(|metrics| tell_all(metrics));
    let labels = "operation=payments.charge,resource=gateway";
    let expected = [
        format!("retry_attempts_total{{{labels}}} 1"),
        "retry_breaker_openings_total{resource=gateway} 0".to_owned(),
        "retry_breaker_state{resource=gateway} 1".to_owned(),
        "retry_budget_refusals_total{resource=gateway} 1".to_owned(),
        "retry_budget_tokens{resource=gateway} 6".to_owned(),
        format!("retry_deferrals_total{{{labels},reason=circuit_open}} 1"),
        format!("retry_delay_seconds{{{labels}}} [1.0]"),
        format!("retry_retries_total{{{labels}}} 1"),
        format!("retry_stops_total{{{labels},reason=budget_exhausted}} 1"),
        format!("retry_stops_total{{{labels},reason=cancelled}} 1"),
        format!("retry_successes_after_retry_total{{{labels}}} 1"),
        format!("retry_successes_total{{{labels}}} 1"),
    ];
    assert_eq!(lines(&told), expected);
}

#[test]
fn the_documentation_lists_every_name_and_no_other() {
    let source = include_str!("../metrics.rs");
    let listed = source.lines().filter_map(|line| line.strip_prefix("/// | `")?.split('`').next());
    let told = told(|metrics| tell_all(metrics));
    let counted: Vec<_> = told.snapshot().into_vec();
    let names = counted.iter().map(|(key, ..)| key.key().name());
    assert_eq!(listed.collect::<BTreeSet<_>>(), names.collect::<BTreeSet<_>>());
    // Each is described, or an exporter would print it without a word.
    assert!(
        counted.iter().all(|(_, unit, description, _)| unit.is_some() && description.is_some())
    );
}

#[test]
fn what_the_ratios_divide_by_is_there_from_the_first_attempt() {
    let operation = &OperationId::from("op");
    let told = told(|metrics| {
        metrics.attempt_started(&AttemptStarted {
            operation,
            attempt: 1,
            elapsed: std::time::Duration::ZERO,
            waited: std::time::Duration::ZERO,
            policy: &crate::Policy::new(3, std::time::Duration::from_secs(1)),
            resource: None,
            depth: 1,
            product: 1,
        });
    });
    let expected = [
        "retry_attempts_total{operation=op} 1",
        "retry_retries_total{operation=op} 0",
        "retry_successes_after_retry_total{operation=op} 0",
        "retry_successes_total{operation=op} 0",
    ];
    assert_eq!(lines(&told), expected);
}

#[test]
fn a_breaker_counts_as_often_as_it_opens() {
    use BreakerState::{Closed, HalfOpen, Open};
    // Two breakers of one resource, made one after the other.
    let states = [(Open, 1), (HalfOpen, 1), (Open, 2), (HalfOpen, 2), (Closed, 2), (Open, 1)];
    let told = told(|metrics| {
        for (state, openings) in states {
            metrics.breaker_changed(&BreakerChanged { resource: "gateway", state, openings });
        }
    });
    let expected = [
        "retry_breaker_openings_total{resource=gateway} 3",
        "retry_breaker_state{resource=gateway} 2",
    ];
    assert_eq!(lines(&told), expected);
}
