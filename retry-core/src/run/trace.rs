//! One span an operation and one an attempt. What they carry is documented at
//! [`observe`](crate::observe).

use std::fmt;

use tracing::span::EnteredSpan;
use tracing::{Level, Span, field};

use crate::classify::{Failure, Kind};
use crate::observe::{
    AttemptFailed, AttemptStarted, Cancelled, Deferred, OperationStopped, Succeeded,
};
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
        spans.begin(event.operation, event.resource);
        spans.attempt = tracing::info_span!(
            target: "retry_core",
            parent: &spans.operation,
            "attempt",
            "retry.attempt" = event.attempt,
            "retry.failure" = field::Empty,
            "retry.decision" = field::Empty,
            "retry.delay_ms" = field::Empty,
            "error.type" = field::Empty,
            "otel.status_code" = field::Empty,
            "otel.status_description" = field::Empty,
        );
    }

    pub(super) fn attempt_failed(&mut self, event: &AttemptFailed<'_>) {
        let Some(spans) = &mut self.0 else { return };
        let span = std::mem::replace(&mut spans.attempt, Span::none());
        span.record("retry.failure", field::display(event.failure));
        span.record("retry.decision", event.decision.code());
        if let Some(delay) = event.delay() {
            span.record("retry.delay_ms", u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        }
        fail(&span, error_type(event.failure), event.error);
    }

    pub(super) fn deferred(&mut self, event: &Deferred<'_>) {
        let Some(spans) = &mut self.0 else { return };
        spans.begin(event.operation, event.resource);
        tracing::info!(
            target: "retry_core",
            parent: &spans.operation,
            {
                retry.reason = event.reason.code(),
                retry.until_ms = u64::try_from(event.until.as_millis()).unwrap_or(u64::MAX)
            },
            "deferred"
        );
    }

    pub(super) fn succeeded(&mut self, event: &Succeeded<'_>) {
        let &Succeeded { operation, attempts, resource, .. } = event;
        self.end(operation, resource, attempts, "succeeded");
    }

    pub(super) fn stopped(&mut self, event: &OperationStopped<'_>) {
        let &OperationStopped { operation, attempts, resource, stop, .. } = event;
        let code = stop.reason().code();
        if let Some(spans) = self.end(operation, resource, attempts, code) {
            fail(&spans.operation, code, Some(stop));
        }
    }

    /// Dropped by its caller, which is no error; unless its body panicked.
    pub(super) fn cancelled(&mut self, event: &Cancelled<'_>) {
        let &Cancelled { operation, attempts, resource, panicked, .. } = event;
        let ended = self.end(operation, resource, attempts, event.reason().code());
        if let Some(spans) = ended.filter(|_| panicked) {
            fail(&spans.attempt, "panic", None);
            fail(&spans.operation, "panic", None);
        }
    }

    /// The spans close when what this answers is dropped.
    fn end(
        &mut self,
        operation: &OperationId,
        resource: Option<&str>,
        attempts: u32,
        outcome: &'static str,
    ) -> Option<Box<Spans>> {
        let mut spans = self.0.take()?;
        spans.begin(operation, resource);
        spans.operation.record("retry.attempts", attempts);
        spans.operation.record("retry.outcome", outcome);
        Some(spans)
    }
}

impl Spans {
    /// An operation that stops before its first attempt has a span too.
    fn begin(&mut self, operation: &OperationId, resource: Option<&str>) {
        if self.operation.is_none() {
            self.operation = tracing::info_span!(
                target: "retry_core",
                "operation",
                "otel.name" = operation.name(),
                "retry.operation" = operation.name(),
                "retry.operation_id" = %operation,
                "retry.resource" = resource,
                "retry.attempts" = field::Empty,
                "retry.outcome" = field::Empty,
                "error.type" = field::Empty,
                "otel.status_code" = field::Empty,
                "otel.status_description" = field::Empty,
            );
        }
    }
}

/// Few and known words: `error.type` is grouped by.
const fn error_type(failure: &Failure) -> &'static str {
    match (failure.inner(), failure.kind()) {
        (Some(reason), _) => reason.code(),
        _ if failure.is_rejected() => "rejected",
        // What the conventions say where there is no word.
        (None, Kind::Other) => "_OTHER",
        (None, kind) => kind.as_str(),
    }
}

fn fail(span: &Span, error_type: &'static str, text: Option<&dyn fmt::Display>) {
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
    if let Some(text) = text {
        span.record("otel.status_description", field::display(text));
    }
}
