//! What the OpenTelemetry layer makes of the spans.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use retry_core::clock::{Clock, VirtualClock};
use retry_core::{Backoff, Classify, Jitter, Stopped, retryable};
use tracing_subscriber::layer::SubscriberExt as _;

#[derive(Debug, thiserror::Error, Classify)]
enum PayError {
    #[error("gateway busy")]
    #[retry(transient, kind = throttled, code = status)]
    Busy { status: u16 },
    #[error("declined")]
    #[retry(permanent)]
    Declined,
}

#[retryable(
    name = "payments.charge",
    idempotent,
    attempt,
    max_attempts = 3,
    deadline = "30s",
    backoff = Backoff::fixed(Duration::from_secs(2)).jitter(Jitter::None)
)]
async fn charge(declines: bool) -> Result<(), Stopped<PayError>> {
    match attempt.number() {
        1 => Err(PayError::Busy { status: 429 }),
        _ if declines => Err(PayError::Declined),
        _ => Ok(()),
    }
}

/// The spans of a charge, in the order in which they began.
fn exported(declines: bool) -> Vec<SpanData> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    // What the layer adds by itself is not ours to test.
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("payments"))
        .with_location(false)
        .with_target(false)
        .with_threads(false)
        .with_tracked_inactivity(false);
    let subscriber = tracing_subscriber::registry().with(layer);
    // The exporter blocks on a future of its own, which `futures` forbids inside
    // its executor.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    tracing::subscriber::with_default(subscriber, || {
        let charged = runtime.block_on(VirtualClock::new().scope(charge(declines)));
        assert_eq!(charged.is_err(), declines);
    });
    let mut spans = exporter.get_finished_spans().unwrap();
    // The operation's ends last.
    spans.rotate_right(1);
    spans
}

fn attributes(span: &SpanData) -> BTreeMap<&str, String> {
    let text = |attribute: &opentelemetry::KeyValue| attribute.value.to_string();
    span.attributes.iter().map(|attribute| (attribute.key.as_str(), text(attribute))).collect()
}

fn texts<const N: usize>(expected: [(&'static str, &str); N]) -> BTreeMap<&'static str, String> {
    expected.map(|(name, value)| (name, value.to_owned())).into()
}

#[test]
fn an_operation_and_each_attempt_is_exported_as_one_span() {
    let spans = exported(false);
    let names: Vec<_> = spans.iter().map(|span| &*span.name).collect();
    assert_eq!(names, ["payments.charge", "attempt", "attempt"]);
    let operation = &spans[0];
    for span in &spans {
        assert_eq!(span.span_kind, SpanKind::Internal);
        assert_eq!(span.span_context.trace_id(), operation.span_context.trace_id());
    }
    for attempt in &spans[1..] {
        assert_eq!(attempt.parent_span_id, operation.span_context.span_id());
    }
}

#[test]
fn a_failed_attempt_is_an_error_and_the_operation_that_succeeds_is_none() {
    let spans = exported(false);
    assert_eq!(spans[0].status, Status::Unset);
    let operation = texts([
        ("retry.attempts", "2"),
        ("retry.operation", "payments.charge"),
        ("retry.operation_id", "payments.charge#0000000000000000-1"),
        ("retry.outcome", "succeeded"),
    ]);
    assert_eq!(attributes(&spans[0]), operation);

    assert_eq!(spans[1].status, Status::error("gateway busy"));
    let failed = texts([
        ("error.type", "throttled"),
        ("retry.attempt", "1"),
        ("retry.decision", "schedule_retry"),
        ("retry.delay_ms", "2000"),
        ("retry.failure", "transient, effect possible, throttled 429"),
    ]);
    assert_eq!(attributes(&spans[1]), failed);

    assert_eq!(spans[2].status, Status::Unset);
    assert_eq!(attributes(&spans[2]), texts([("retry.attempt", "2")]));
}

#[test]
fn a_stop_is_an_error_of_the_operation_with_its_code() {
    let spans = exported(true);
    assert_eq!(spans[0].status, Status::error("the error is permanent"));
    let operation = texts([
        ("error.type", "fail_permanent"),
        ("retry.attempts", "2"),
        ("retry.operation", "payments.charge"),
        ("retry.operation_id", "payments.charge#0000000000000000-1"),
        ("retry.outcome", "fail_permanent"),
    ]);
    assert_eq!(attributes(&spans[0]), operation);

    assert_eq!(spans[2].status, Status::error("declined"));
    let declined = texts([
        ("error.type", "_OTHER"),
        ("retry.attempt", "2"),
        ("retry.decision", "fail_permanent"),
        ("retry.failure", "permanent, effect possible, other"),
    ]);
    assert_eq!(attributes(&spans[2]), declined);
}
