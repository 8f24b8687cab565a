//! Hearing what operations do.
//!
//! | for | there is |
//! |---|---|
//! | tests, and showing what an operation did | [`Recorder`] |
//! | dashboards and alarms | `Metrics`, with the feature `metrics` |
//! | traces and logs | spans, with the feature `tracing` |
//! | anything else | an [`Observer`] of yours, behind a [`Buffered`] if it is slow |
//!
//! # Spans
//!
//! With the feature `tracing`, an operation is a span, and each of its attempts
//! one inside it, in which the body runs; both have the target `retry_core` and
//! the level `INFO`. They need no retrier. `tracing-opentelemetry` exports them as
//! they are; where OpenTelemetry's semantic conventions (1.45) have a name, it is
//! that one.
//!
//! | span | field | value |
//! |---|---|---|
//! | `operation` | `otel.name` | the operation's name: what the exported span is called |
//! | | `retry.operation` | the operation's name |
//! | | `retry.operation_id` | its id |
//! | | `retry.resource` | the resource that it names, or the default |
//! | | `retry.attempts` | attempts started |
//! | | `retry.outcome` | `succeeded`, or the code of the [`StopReason`](crate::StopReason) |
//! | | `error.type` | that code, where it stopped; `panic` |
//! | `attempt` | `retry.attempt` | its number, from 1 |
//! | | `retry.failure` | class, effect, kind, code and hint, as text |
//! | | `retry.decision` | `schedule_retry`, or the code of the stop reason |
//! | | `retry.delay_ms` | the delay before the next attempt |
//! | | `error.type` | `timeout`, `throttled`, `connect`, `server`, `rejected`, the code of an inner operation's stop; `panic`; else `_OTHER` |
//! | both | `otel.status_code` | `ERROR`, with `error.type`; else not set |
//! | both | `otel.status_description` | the error's text, where its type has one; the stop's |
//!
//! An attempt that failed is an error also where a later one succeeds; the
//! operation then is none. A future that its caller drops is `cancelled`, and no
//! error. The kind is internal, which is the default: a request inside is its own
//! client span, from whatever instruments the HTTP client, and
//! `http.request.resend_count` belongs on that one. It is
//! [`Attempt::number`](crate::Attempt::number) − 1, not set on the first.
//!
//! An error's text can hold what its author wrote into it. Nothing else here comes
//! from a caller; a key is in the id as a hash.

mod buffered;
mod event;
#[cfg(test)]
mod every_event;
#[cfg(feature = "metrics")]
mod metrics;
mod recorder;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub use buffered::Buffered;
pub use event::{
    AttemptFailed, AttemptStarted, BreakerChanged, BreakerState, BudgetChanged, Cancelled,
    Deferred, OperationStopped, Succeeded,
};
#[cfg(feature = "metrics")]
pub use metrics::Metrics;
pub use recorder::{Event, Recorder};

/// Hears what operations do: for logs, metrics and tests.
///
/// Every method has an empty default. They run on the operation's own task and
/// must not block; one that does goes behind a [`Buffered`]. One that panics harms
/// neither the operation nor the other observers.
///
/// An operation ends with exactly one of `succeeded`, `stopped` and
/// `cancelled`. One that was never polled tells nothing.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use retry_core::Observer;
/// use retry_core::observe::AttemptFailed;
///
/// #[derive(Default)]
/// struct Retries(AtomicU32);
///
/// impl Observer for Retries {
///     fn attempt_failed(&self, event: &AttemptFailed<'_>) {
///         if event.will_retry() {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
/// ```
pub trait Observer: Send + Sync + 'static {
    /// The body is about to run.
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        let _ = event;
    }

    /// The body failed, was cut, or gave a value that was rejected; the
    /// decision is made.
    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        let _ = event;
    }

    /// The next attempt was refused for now, and its time is waited for.
    fn deferred(&self, event: &Deferred<'_>) {
        let _ = event;
    }

    /// The operation has its result. Never called for a rejected value.
    fn succeeded(&self, event: &Succeeded<'_>) {
        let _ = event;
    }

    /// The operation stopped for a reason.
    fn stopped(&self, event: &OperationStopped<'_>) {
        let _ = event;
    }

    /// The operation's future was dropped, or its body panicked.
    fn cancelled(&self, event: &Cancelled<'_>) {
        let _ = event;
    }

    /// A resource's circuit breaker has another state. Not part of one
    /// operation.
    fn breaker_changed(&self, event: &BreakerChanged<'_>) {
        let _ = event;
    }

    /// A resource's retry budget gave a token, or refused one. Not part of one
    /// operation.
    fn budget_changed(&self, event: &BudgetChanged<'_>) {
        let _ = event;
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        (**self).attempt_started(event);
    }

    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        (**self).attempt_failed(event);
    }

    fn deferred(&self, event: &Deferred<'_>) {
        (**self).deferred(event);
    }

    fn succeeded(&self, event: &Succeeded<'_>) {
        (**self).succeeded(event);
    }

    fn stopped(&self, event: &OperationStopped<'_>) {
        (**self).stopped(event);
    }

    fn cancelled(&self, event: &Cancelled<'_>) {
        (**self).cancelled(event);
    }

    fn breaker_changed(&self, event: &BreakerChanged<'_>) {
        (**self).breaker_changed(event);
    }

    fn budget_changed(&self, event: &BudgetChanged<'_>) {
        (**self).budget_changed(event);
    }
}

/// The observers of a retrier, each kept from harming the operation.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    pub(crate) fn push(&mut self, observer: impl Observer) {
        self.0.push(Arc::new(observer));
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn tell(&self, event: impl Fn(&dyn Observer)) {
        for observer in &self.0 {
            contain(|| event(&**observer));
        }
    }
}

/// Keeps a panic of what is told, or of an error's text that it asks for, from the
/// operation. What panicked left only its own state behind.
pub(crate) fn contain(tell: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(tell));
}

#[cfg(test)]
mod tests {
    use super::every_event::{Lines, tell_all};
    use super::*;

    /// Tells the observers of a retrier one of each event.
    struct All(Observers);

    macro_rules! forward {
        ($($event:ident: $type:ident),*) => {
            impl Observer for All {
                $(fn $event(&self, event: &$type<'_>) {
                    self.0.tell(|observer| observer.$event(event));
                })*
            }
        };
    }
    forward!(
        attempt_started: AttemptStarted,
        attempt_failed: AttemptFailed,
        deferred: Deferred,
        succeeded: Succeeded,
        stopped: OperationStopped,
        cancelled: Cancelled,
        breaker_changed: BreakerChanged,
        budget_changed: BudgetChanged
    );

    #[test]
    fn an_observer_that_panics_on_every_event_keeps_none_from_the_others() {
        let direct = Lines::default();
        tell_all(&direct);
        let (first, last) = (Lines::default(), Lines::default());
        let mut observers = Observers::default();
        observers.push(first.clone());
        observers.push(Lines::that_panics());
        // Shared, as one that its owner asks later.
        observers.push(Arc::new(last.clone()));
        tell_all(&All(observers));
        for heard in [first, last] {
            assert_eq!(heard.lines(), direct.lines());
        }
        assert_eq!(direct.lines().len(), 8);
    }
}
