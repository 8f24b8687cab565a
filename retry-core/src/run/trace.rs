//! One span an operation and one an attempt.

use tracing::span::EnteredSpan;
use tracing::{Level, Span, field};

use crate::observe::{AttemptFailed, AttemptStarted, Cancelled, OperationStopped};
use crate::operation_id::OperationId;

/// The spans of an operation. Boxed, so that the operation's future stays small.
pub(super) struct Trace(Option<Box<Spans>>);

struct Spans {
    operation: Span,
    attempt: Span,
}

impl Trace {
    pub(super) fn new() -> Self {
        let enabled = tracing::enabled!(target: "retry_core", Level::INFO);
        let spans = || Box::new(Spans { operation: Span::none(), attempt: Span::none() });
        Self(enabled.then(spans))
    }

    pub(super) const fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// The attempt's span, and thereby the operation's, while it is polled.
    pub(super) fn enter(&self) -> Option<EnteredSpan> {
        self.0.as_ref().map(|spans| spans.attempt.clone().entered())
    }

    pub(super) fn attempt_started(&mut self, event: &AttemptStarted<'_>) {
        let Some(spans) = &mut self.0 else { return };
        spans.begin(event.operation);
        spans.attempt = tracing::info_span!(
            target: "retry_core",
            parent: &spans.operation,
            "attempt",
            attempt = event.attempt,
            failure = field::Empty,
            error = field::Empty,
            decision = field::Empty,
            delay_ms = field::Empty,
        );
    }

    pub(super) fn attempt_failed(&mut self, event: &AttemptFailed<'_>) {
        let Some(spans) = &mut self.0 else { return };
        let span = &spans.attempt;
        span.record("failure", field::display(event.failure));
        span.record("decision", event.decision.code());
        if let Some(error) = event.error {
            span.record("error", field::display(error));
        }
        if let Some(delay) = event.delay() {
            span.record("delay_ms", u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        }
        spans.attempt = Span::none();
    }

    pub(super) fn succeeded(&mut self, operation: &OperationId, attempts: u32) {
        self.end(operation, attempts, "succeeded");
    }

    pub(super) fn stopped(&mut self, event: &OperationStopped<'_>) {
        self.end(event.operation, event.attempts, event.stop.reason().code());
    }

    pub(super) fn cancelled(&mut self, event: &Cancelled<'_>) {
        self.end(event.operation, event.attempts, event.reason().code());
    }

    fn end(&mut self, operation: &OperationId, attempts: u32, reason: &'static str) {
        if let Some(mut spans) = self.0.take() {
            spans.begin(operation);
            spans.operation.record("attempts", attempts);
            spans.operation.record("reason", reason);
        }
    }
}

impl Spans {
    /// An operation that stops before its first attempt has a span too.
    fn begin(&mut self, operation: &OperationId) {
        if self.operation.is_none() {
            self.operation = tracing::info_span!(
                target: "retry_core",
                "operation",
                operation.name = operation.name(),
                operation.id = %operation,
                attempts = field::Empty,
                reason = field::Empty,
            );
        }
    }
}
