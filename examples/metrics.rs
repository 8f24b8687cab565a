//! Metrics: what Prometheus reads of a hundred charges on virtual time, and rules
//! that alert on permanent failures and on what a person must look at.

use std::error::Error;

use metrics_exporter_prometheus::PrometheusBuilder;
use retry_core::clock::{Clock, VirtualClock};
use retry_core::observe::Metrics;
use retry_core::{Classify, IdempotencyKey, Retrier, Stopped, retryable};

/// One in twenty may fail for good; a review is one too many. `increase` does not
/// see the first value of a counter, so the second rule asks for new ones too.
const RULES: &str = r#"groups:
  - name: retries
    rules:
      - alert: OperationsFailForGood
        expr: |
          sum by (operation) (increase(retry_stops_total{reason="fail_permanent"}[10m]))
            > 0.05 * sum by (operation)
              (increase(retry_attempts_total[10m]) - increase(retry_retries_total[10m]))
        annotations: { summary: "more than 5 % of {{ $labels.operation }} fail for good" }
      - alert: OperationsNeedReview
        expr: |
          sum by (operation, reason) (
            increase(retry_stops_total{reason=~"manual_review|not_idempotent"}[10m]) > 0
            or (retry_stops_total{reason=~"manual_review|not_idempotent"}
              unless retry_stops_total{reason=~"manual_review|not_idempotent"} offset 10m)
          )
        annotations: { summary: "find out whether {{ $labels.operation }} took effect" }
"#;

#[derive(Debug, thiserror::Error, Classify)]
enum PayError {
    #[error("gateway busy")]
    #[retry(transient, no_effect, kind = throttled)]
    Busy,
    #[error("declined")]
    #[retry(permanent)]
    Declined,
    #[error("answer not understood")]
    #[retry(unknown)]
    Garbled,
}

#[retryable(name = "payments.charge", key = order, attempt, max_attempts = 4, deadline = "30s", with = retries)]
async fn charge(retries: &Retrier, order: u32) -> Result<(), Stopped<PayError>> {
    gateway(order, key, attempt.number()).await
}

/// Stands in for the other side.
async fn gateway(order: u32, _key: IdempotencyKey, attempt: u32) -> Result<(), PayError> {
    match order % 20 {
        0 => Err(PayError::Declined),
        1 if attempt == 2 => Err(PayError::Garbled),
        1..=8 if attempt <= order % 3 + 1 => Err(PayError::Busy),
        9 => Err(PayError::Busy),
        _ => Ok(()),
    }
}

/// What Prometheus reads after a hundred charges.
async fn exported() -> Result<String, Box<dyn Error>> {
    let exporter = PrometheusBuilder::new().set_buckets(&[0.1, 0.2, 0.5, 1.0, 5.0])?;
    let exporter = exporter.install_recorder()?;
    let retries = Retrier::builder().observer(Metrics::new()).build();
    for order in 0..100 {
        // The outcome is counted.
        let _ = VirtualClock::new().scope(charge(&retries, order)).await;
    }
    Ok(exporter.render())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}\n{RULES}", exported().await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_rules_ask_for_what_is_exported() {
        let exported = exported().await.unwrap();
        let words = RULES.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let asked: Vec<_> = words.filter(|word| word.starts_with("retry_")).collect();
        assert_eq!(asked.len(), 6);
        for name in asked {
            assert!(exported.contains(&format!("\n{name}{{")), "{name} is not exported");
        }
        for reason in ["fail_permanent", "manual_review"] {
            let stops =
                format!("retry_stops_total{{operation=\"payments.charge\",reason=\"{reason}\"}} 5");
            assert!(exported.contains(&stops), "{stops} is not exported");
        }
    }
}
