//! Numbers for operators.

#[cfg(test)]
mod tests;

use metrics::{
    Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

use super::{
    AttemptStarted, BreakerChanged, BreakerState, BudgetChanged, Cancelled, Deferred, Observer,
    OperationStopped, Succeeded,
};
use crate::operation_id::OperationId;
use crate::stop::StopReason;

/// Counts what operations do, by the [`metrics`] facade. Feature `metrics`.
///
/// The names are stable; none is renamed or given another meaning.
///
/// | name | type | labels | what |
/// |---|---|---|---|
/// | `retry_attempts_total` | counter | operation, resource | attempts started |
/// | `retry_retries_total` | counter | operation, resource | attempts started that are not the first |
/// | `retry_delay_seconds` | histogram | operation, resource | the wait before each of these: the delay, deferrals, what ran before the retry |
/// | `retry_successes_total` | counter | operation, resource | operations that gave their result |
/// | `retry_successes_after_retry_total` | counter | operation, resource | those of them that took more than one attempt |
/// | `retry_stops_total` | counter | operation, resource, reason | operations that ended without; the reason is the code of [`StopReason`] |
/// | `retry_deferrals_total` | counter | operation, resource, reason | attempts put off: `budget_exhausted` or `circuit_open` |
/// | `retry_budget_tokens` | gauge | resource | whole tokens that are left for retries |
/// | `retry_budget_refusals_total` | counter | resource | retries that the budget refused |
/// | `retry_breaker_state` | gauge | resource | 0 closed, 1 half-open, 2 open |
/// | `retry_breaker_openings_total` | counter | resource | how often the breaker opened |
///
/// `operation` is the operation's name, `resource` the name of what it calls; an
/// operation without a resource has no such label. A key, an id, an error's text
/// or its code is never a label, so the number of series is bounded by the names
/// that are written in the code.
///
/// # Ratios
///
/// In PromQL, over five minutes:
///
/// ```text
/// # success of retries: how many of them were worth it
///   sum by (operation) (rate(retry_successes_after_retry_total[5m]))
/// / sum by (operation) (rate(retry_retries_total[5m]))
///
/// # mean delay: how long a retry was waited for, in seconds
///   sum by (operation) (rate(retry_delay_seconds_sum[5m]))
/// / sum by (operation) (rate(retry_retries_total[5m]))
///
/// # openings: how often a breaker gave up on its resource
///   sum by (resource) (increase(retry_breaker_openings_total[5m]))
/// ```
///
/// The counters of these ratios are there, at zero, as soon as an operation has
/// begun. A stop or an opening is not, until the first; `increase` does not see a
/// counter's first value, so an alarm on a single stop adds
/// `or (… unless … offset 5m)`. The example `metrics` has such rules.
///
/// # Use
///
/// Install the exporter first: what is counted before it is there is lost.
/// Exporters print a histogram as a summary unless they are given buckets.
///
/// ```
/// use retry_core::Retrier;
/// use retry_core::observe::Metrics;
///
/// // PrometheusBuilder::new().set_buckets(&[0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0])?.install()?;
/// let retrier = Retrier::builder().observer(Metrics::new()).build();
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Metrics;

const ATTEMPTS: &str = "retry_attempts_total";
const RETRIES: &str = "retry_retries_total";
const DELAY: &str = "retry_delay_seconds";
const SUCCESSES: &str = "retry_successes_total";
const SUCCESSES_AFTER_RETRY: &str = "retry_successes_after_retry_total";
const STOPS: &str = "retry_stops_total";
const DEFERRALS: &str = "retry_deferrals_total";
const BUDGET_TOKENS: &str = "retry_budget_tokens";
const BUDGET_REFUSALS: &str = "retry_budget_refusals_total";
const BREAKER_STATE: &str = "retry_breaker_state";
const BREAKER_OPENINGS: &str = "retry_breaker_openings_total";

impl Metrics {
    /// Describes the metrics to the exporter that is installed, if one is.
    pub fn new() -> Self {
        let count = Unit::Count;
        describe_counter!(ATTEMPTS, count, "Attempts started");
        describe_counter!(RETRIES, count, "Attempts started that are not the first");
        describe_histogram!(DELAY, Unit::Seconds, "The wait before each retry");
        describe_counter!(SUCCESSES, count, "Operations that gave their result");
        describe_counter!(SUCCESSES_AFTER_RETRY, count, "Those that took more than one attempt");
        describe_counter!(STOPS, count, "Operations that ended without a result, by reason");
        describe_counter!(DEFERRALS, count, "Attempts put off by a budget or a breaker");
        describe_gauge!(BUDGET_TOKENS, count, "Whole tokens left for retries");
        describe_counter!(BUDGET_REFUSALS, count, "Retries that the budget refused");
        describe_gauge!(BREAKER_STATE, count, "0 closed, 1 half-open, 2 open");
        describe_counter!(BREAKER_OPENINGS, count, "How often the breaker opened");
        Self
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Metrics {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        let labels = of_operation(event.operation, event.resource);
        counter!(ATTEMPTS, labels.iter()).increment(1);
        if event.attempt > 1 {
            counter!(RETRIES, labels.iter()).increment(1);
            histogram!(DELAY, labels).record(event.waited);
        } else {
            // There from the start, so that a ratio over none is zero.
            counter!(RETRIES, labels.iter()).increment(0);
            counter!(SUCCESSES, labels.iter()).increment(0);
            counter!(SUCCESSES_AFTER_RETRY, labels).increment(0);
        }
    }

    fn deferred(&self, event: &Deferred<'_>) {
        let labels = with_reason(of_operation(event.operation, event.resource), event.reason);
        counter!(DEFERRALS, labels).increment(1);
    }

    fn succeeded(&self, event: &Succeeded<'_>) {
        let labels = of_operation(event.operation, event.resource);
        counter!(SUCCESSES, labels.iter()).increment(1);
        if event.attempts > 1 {
            counter!(SUCCESSES_AFTER_RETRY, labels).increment(1);
        }
    }

    fn stopped(&self, event: &OperationStopped<'_>) {
        let labels = of_operation(event.operation, event.resource);
        counter!(STOPS, with_reason(labels, event.stop.reason())).increment(1);
    }

    fn cancelled(&self, event: &Cancelled<'_>) {
        let labels = of_operation(event.operation, event.resource);
        counter!(STOPS, with_reason(labels, event.reason())).increment(1);
    }

    fn breaker_changed(&self, event: &BreakerChanged<'_>) {
        let labels = vec![of_resource(event.resource)];
        gauge!(BREAKER_STATE, labels.iter()).set(match event.state {
            BreakerState::Closed => 0.0,
            BreakerState::HalfOpen => 1.0,
            BreakerState::Open => 2.0,
        });
        // Counted here: `openings` starts anew with each breaker that is made.
        let opened = u64::from(event.state == BreakerState::Open);
        counter!(BREAKER_OPENINGS, labels).increment(opened);
    }

    fn budget_changed(&self, event: &BudgetChanged<'_>) {
        let labels = vec![of_resource(event.resource)];
        gauge!(BUDGET_TOKENS, labels.iter()).set(event.tokens as f64);
        counter!(BUDGET_REFUSALS, labels).increment(u64::from(event.refused));
    }
}

fn of_operation(operation: &OperationId, resource: Option<&str>) -> Vec<Label> {
    let name = Label::new("operation", operation.name_text().clone());
    std::iter::once(name).chain(resource.map(of_resource)).collect()
}

fn of_resource(resource: &str) -> Label {
    Label::new("resource", resource.to_owned())
}

fn with_reason(mut labels: Vec<Label>, reason: StopReason) -> Vec<Label> {
    labels.push(Label::from_static_parts("reason", reason.code()));
    labels
}
