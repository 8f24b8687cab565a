//! One span an operation and one an attempt.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::HashMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use retry_core::clock::{Clock, VirtualClock};
use retry_core::{Classify, Failure, Kind, Operation, Policy};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

/// What a span was told, and the span around it.
#[derive(Clone, Debug, Default)]
struct Seen {
    name: &'static str,
    parent: Option<u64>,
    fields: HashMap<&'static str, String>,
    /// Events inside, by the body.
    lines: u32,
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(u64, Seen)>>>);

impl Spans {
    /// A panic while it is held poisons it.
    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Seen)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, id: &Id, change: impl FnOnce(&mut Seen)) {
        let mut spans = self.lock();
        // The registry uses an id again once its span is closed.
        let seen = spans.iter_mut().rfind(|(known, _)| *known == id.into_u64());
        change(&mut seen.expect("the span is known").1);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| span.parent().map(|parent| parent.id()));
        let mut seen = Seen {
            name: attributes.metadata().name(),
            parent: parent.map(|id| id.into_u64()),
            ..Seen::default()
        };
        attributes.record(&mut seen);
        self.lock().push((id.into_u64(), seen));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.with(id, |seen| values.record(seen));
    }

    fn on_event(&self, _: &tracing::Event<'_>, context: Context<'_, S>) {
        if let Some(span) = context.lookup_current() {
            self.with(&span.id(), |seen| seen.lines += 1);
        }
    }
}

/// The spans that a flow makes on virtual time.
fn spans_of<F: Future>(flow: impl FnOnce() -> F) -> Vec<Seen> {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    tracing::subscriber::with_default(subscriber, || {
        futures::executor::block_on(VirtualClock::new().scope(flow()));
    });
    let seen = spans.lock();
    seen.iter().map(|(_, seen)| seen.clone()).collect()
}

fn operation(max_attempts: u32) -> Operation<impl retry_core::Classifier<&'static str>> {
    let policy = Policy::new(max_attempts, Duration::from_secs(5));
    Operation::idempotent("prices.fetch", policy)
        .classify(|_: &&str| Failure::transient().with_kind(Kind::Server).with_code(503))
}

/// Attempts, and how it ended.
fn outcome(span: &Seen) -> (&str, &str) {
    (&span.fields["retry.attempts"], &span.fields["retry.outcome"])
}

#[test]
fn an_operation_is_a_span_around_one_for_each_attempt() {
    let spans = spans_of(|| {
        operation(3).run(|attempt| async move {
            tracing::info!("asking");
            if attempt.is_last() { Ok(()) } else { Err("busy") }
        })
    });
    let names: Vec<_> = spans.iter().map(|span| span.name).collect();
    assert_eq!(names, ["operation", "attempt", "attempt", "attempt"]);

    let operation = &spans[0].fields;
    for name in ["otel.name", "retry.operation"] {
        assert_eq!(operation[name], "prices.fetch");
    }
    assert_eq!(operation["retry.operation_id"], "prices.fetch#0000000000000000-1");
    assert_eq!(outcome(&spans[0]), ("3", "succeeded"));
    assert!(!operation.contains_key("error.type"));
    assert!(!operation.contains_key("otel.status_code"));

    for attempt in &spans[1..] {
        // What the body logs is inside the attempt, and that in the operation.
        assert!(attempt.parent.is_some());
        assert_eq!(attempt.lines, 1);
    }
    assert_eq!(spans[1].fields["retry.attempt"], "1");
    assert_eq!(spans[1].fields["retry.decision"], "schedule_retry");
    assert_eq!(spans[1].fields["retry.failure"], "transient, effect possible, server 503");
    assert_eq!(spans[1].fields["retry.delay_ms"], "85");
    assert_eq!(spans[1].fields["error.type"], "server");
    assert_eq!(spans[1].fields["otel.status_code"], "ERROR");
    let succeeded: Vec<_> = spans[3].fields.keys().copied().collect();
    assert_eq!(succeeded, ["retry.attempt"]);
}

#[test]
fn a_stop_is_named_on_both() {
    let spans = spans_of(|| operation(1).run(|_| async { Err::<(), _>("busy") }));
    assert_eq!(outcome(&spans[0]), ("1", "attempts_exhausted"));
    assert_eq!(spans[0].fields["error.type"], "attempts_exhausted");
    assert_eq!(spans[0].fields["otel.status_description"], "the one attempt is used up");
    assert_eq!(spans[1].fields["retry.decision"], "attempts_exhausted");
    assert!(!spans[1].fields.contains_key("retry.delay_ms"));
}

#[test]
fn a_stop_before_the_first_attempt_has_a_span_too() {
    let spans = spans_of(|| operation(0).run(|_| async { Err::<(), _>("busy") }));
    assert_eq!(spans.len(), 1);
    assert_eq!(outcome(&spans[0]), ("0", "invalid_policy"));
    assert_eq!(spans[0].fields["error.type"], "invalid_policy");
}

#[test]
fn a_dropped_operation_is_cancelled_and_no_error() {
    let spans = spans_of(|| async {
        let mut flow = Box::pin(operation(3).run(|_| std::future::pending::<Result<(), _>>()));
        assert!(futures::poll!(&mut flow).is_pending());
        drop(flow);
    });
    assert_eq!(outcome(&spans[0]), ("1", "cancelled"));
    for span in &spans {
        assert!(!span.fields.contains_key("error.type"), "{span:?}");
    }
}

#[test]
fn a_panic_is_an_error_of_both() {
    let spans = spans_of(|| async {
        let flow = operation(3).run(|attempt| async move {
            assert!(attempt.number() > 1, "the body's own");
            Ok(())
        });
        assert!(AssertUnwindSafe(flow).catch_unwind().await.is_err());
    });
    assert_eq!(outcome(&spans[0]), ("1", "cancelled"));
    for span in &spans {
        assert_eq!(span.fields["error.type"], "panic");
        assert_eq!(span.fields["otel.status_code"], "ERROR");
    }
}

/// The words are few, whatever the failures are.
#[test]
fn the_error_type_of_an_attempt_is_a_known_word() {
    let nested = |max_attempts| async move {
        let inner = operation(max_attempts).run(|_| async { Err::<(), _>("busy") }).await;
        inner.map_err(|stopped| stopped.classify())
    };
    let failed = [
        (Failure::transient(), "_OTHER"),
        (Failure::unknown().with_code(-7), "_OTHER"),
        (Failure::transient().with_kind(Kind::Connect), "connect"),
        (Failure::permanent().with_kind(Kind::Throttled), "throttled"),
        (Failure::timeout(), "timeout"),
    ];
    for (failure, word) in failed {
        let spans = spans_of(|| {
            let operation = Operation::idempotent("op", Policy::new(1, Duration::from_secs(5)));
            operation.classify(move |_: &&str| failure).run(|_| async { Err::<(), _>("failed") })
        });
        assert_eq!(spans[1].fields["error.type"], word);
    }
    let rejected = spans_of(|| operation(1).reject(|()| true).run(|_| async { Ok(()) }));
    assert_eq!(rejected[1].fields["error.type"], "rejected");
    let around = spans_of(|| {
        let operation = Operation::idempotent("outer", Policy::new(2, Duration::from_secs(5)));
        operation.classify(|failure: &Failure| *failure).run(move |_| nested(1))
    });
    assert_eq!(around[0].fields["retry.outcome"], "attempts_exhausted");
    assert_eq!(around[1].fields["error.type"], "attempts_exhausted");
}

/// Its text cannot be shown.
#[derive(Debug, PartialEq)]
struct Untold;

impl std::fmt::Display for Untold {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("the error's own");
    }
}

impl Classify for Untold {
    fn classify(&self) -> Failure {
        Failure::transient()
    }

    fn text(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}

#[test]
fn an_error_whose_text_panics_is_told_without_it() {
    let spans = spans_of(|| async {
        let operation = Operation::idempotent("op", Policy::new(3, Duration::from_secs(5)));
        let running = operation.run(|attempt| async move {
            tracing::info!("asking");
            if attempt.is_last() { Ok(attempt.number()) } else { Err(Untold) }
        });
        assert_eq!(running.await.unwrap(), 3);
    });
    assert_eq!(outcome(&spans[0]), ("3", "succeeded"));
    let told = [
        "error.type",
        "otel.status_code",
        "retry.attempt",
        "retry.decision",
        "retry.delay_ms",
        "retry.failure",
    ];
    for attempt in &spans[1..3] {
        let mut fields: Vec<_> = attempt.fields.keys().copied().collect();
        fields.sort_unstable();
        assert_eq!((&*fields, attempt.lines), (&told[..], 1));
    }
}
