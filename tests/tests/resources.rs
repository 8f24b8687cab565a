//! The attribute's options for resources: they reach the loop.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use retry_core::clock::VirtualClock;
use retry_core::{
    Breaker, Budget, Classify, Clock as _, OnRefusal, Resource, Retrier, StopReason, Stopped,
    retryable,
};

#[derive(Debug, Classify)]
#[retry(transient)]
struct Busy;

const GATEWAY: &str = "gateway";

struct Payments {
    retries: Retrier,
    calls: AtomicU32,
}

impl Payments {
    fn new(resource: Resource) -> Self {
        let retries = Retrier::builder().resource(resource).unwrap().build();
        Self { retries, calls: AtomicU32::new(0) }
    }

    #[retryable(idempotent, max_attempts = 4, deadline = "1m", with = self.retries, resource = "gateway")]
    async fn literal(&self) -> Result<u32, Stopped<Busy>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Err(Busy)
    }

    #[retryable(
        idempotent,
        attempt,
        policy = retry_core::Policy::new(4, minutes),
        with = &self.retries,
        resource = GATEWAY,
        on_refusal = defer,
        caller = format!("tenant-{tenant}"),
    )]
    async fn computed(&self, tenant: u32, minutes: Duration) -> Result<u32, Stopped<Busy>> {
        let _ = (attempt.number(), tenant);
        self.calls.fetch_add(1, Ordering::Relaxed);
        Err(Busy)
    }

    #[retryable(
        idempotent,
        max_attempts = 4,
        deadline = "1m",
        with = self.retries,
        resource = "gateway",
        on_refusal = stop
    )]
    async fn stops(&self) -> Result<u32, Stopped<Busy>> {
        Err(Busy)
    }
}

#[async_trait::async_trait]
trait Bank {
    async fn balance(&self, tenant: &str) -> Result<u32, Stopped<Busy>>;
}

#[async_trait::async_trait]
impl Bank for Payments {
    #[retryable(
        idempotent,
        max_attempts = 4,
        deadline = "1m",
        with = self.retries,
        resource = GATEWAY,
        caller = tenant,
    )]
    async fn balance(&self, tenant: &str) -> Result<u32, Stopped<Busy>> {
        let _ = tenant;
        Err(Busy)
    }
}

/// One token that comes back within a second, and none beside it.
fn narrow() -> Resource {
    let budget = Budget::ratio(0.0).floor(1).size(1).build().unwrap();
    Resource::new(GATEWAY).budget(budget)
}

#[tokio::test]
async fn a_resource_stops_retries_that_it_has_no_token_for() {
    let payments = Payments::new(narrow());
    let clock = VirtualClock::new();
    let stopped = clock.clone().scope(payments.literal()).await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::BudgetExhausted, 2));
    assert_eq!(payments.calls.into_inner(), 2);
}

#[tokio::test]
async fn in_a_trait_with_a_tenant() {
    let payments: Arc<dyn Bank + Send + Sync> = Arc::new(Payments::new(narrow()));
    let stopped = VirtualClock::new().scope(payments.balance("acme")).await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::BudgetExhausted, 2));
}

/// Each attempt that is begun waits for its token, the body's view of it included.
#[tokio::test]
async fn defer_waits_for_each_token() {
    let payments = Payments::new(narrow());
    let clock = VirtualClock::new();
    let running = payments.computed(7, Duration::from_secs(60));
    let stopped = clock.clone().scope(running).await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 4));
    assert_eq!(stopped.deferrals().len(), 2);
    assert!(stopped.elapsed() >= Duration::from_secs(2), "{:?}", stopped.elapsed());
    assert_eq!(payments.calls.into_inner(), 4);
}

/// What the operation says comes before what the resource says.
#[tokio::test]
async fn stop_at_the_operation_overrules_defer_at_the_resource() {
    let payments = Payments::new(narrow().on_refusal(OnRefusal::Defer));
    let clock = VirtualClock::new();
    let stopped = clock.clone().scope(payments.literal()).await.unwrap_err();
    assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
    let stopped = clock.scope(payments.stops()).await.unwrap_err();
    assert_eq!(stopped.reason(), StopReason::BudgetExhausted);
}

#[tokio::test]
async fn a_breaker_opens_for_all_operations_that_name_it() {
    let breaker = Breaker::consecutive(3, Duration::from_secs(30));
    let payments = Payments::new(Resource::new(GATEWAY).breaker(breaker).unwrap());
    let clock = VirtualClock::new();
    let stopped = clock.clone().scope(payments.literal()).await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::CircuitOpen, 3));
    let stopped = clock.clone().scope(payments.stops()).await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::CircuitOpen, 0));
    // Deferred, it is the probe, and then the next one.
    let running = payments.computed(7, Duration::from_secs(3600));
    let stopped = clock.scope(running).await.unwrap_err();
    assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
    assert!(
        stopped.deferrals().iter().all(|deferral| deferral.reason() == StopReason::CircuitOpen)
    );
    assert_eq!(stopped.deferrals().len(), 4);
}
