//! Three services, each asking the next: a deadline and a "do not retry" travel
//! through them.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use reqwest::Client;
use retry_core::clock::VirtualClock;
use retry_core::http::{Inbound, InboundLayer, RETRY_FORBIDDEN};
use retry_core::reqwest::SendError;
use retry_core::{Attempt, Backoff, Operation, Policy, Retrier, StopReason, Stopped};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::waits::retrier;

/// Longer than any machine needs: nothing here waits for it.
const HOUR: Duration = Duration::from_secs(3600);
const POLICY: Policy = Policy::new(3, HOUR).backoff(Backoff::fixed(Duration::ZERO));

/// Asks a service, with attempts of its own.
#[derive(Clone)]
struct Caller {
    client: Client,
    url: String,
    policy: Policy,
    retries: Retrier,
}

impl Caller {
    fn new(url: &str, policy: Policy, clock: &VirtualClock) -> Self {
        let client = crate::client().build().unwrap();
        Self { client, url: url.to_owned(), policy, retries: retrier(clock) }
    }

    async fn ask(&self) -> Result<String, Stopped<SendError>> {
        Operation::idempotent("ask", self.policy)
            .with(&self.retries)
            .run(async |attempt: Attempt| {
                let response = attempt.send(self.client.get(&self.url)).await?;
                Ok(response.text().await?)
            })
            .await
    }
}

/// What a service does when it is asked.
#[derive(Clone)]
enum Role {
    /// Asks the next one, and passes on what came of it.
    Asks(Caller),
    /// The same, but says only that it failed.
    Hides(Caller),
    Fails(StatusCode),
    Forbids(StatusCode),
    /// Lets this time pass, and never answers: the first call, or each.
    Hangs(VirtualClock, Duration, Until),
}

#[derive(Clone, Copy, PartialEq)]
enum Until {
    SecondCall,
    Forever,
}

/// What a service was asked, and what came of it.
#[derive(Default)]
struct Log {
    inbound: Vec<Inbound>,
    stops: Vec<(StopReason, u32)>,
}

struct Service {
    url: String,
    log: Arc<Mutex<Log>>,
    task: JoinHandle<()>,
}

impl Service {
    /// Listens on a free port of its own.
    async fn start(role: Role) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let log = Arc::<Mutex<Log>>::default();
        let router = Router::new()
            .fallback(handle)
            .layer(InboundLayer::new())
            .with_state((role, Arc::clone(&log)));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, log, task }
    }

    fn calls(&self) -> usize {
        self.log.lock().unwrap().inbound.len()
    }

    fn attempts(&self) -> Vec<u32> {
        self.log.lock().unwrap().inbound.iter().map(|inbound| inbound.attempt().unwrap()).collect()
    }

    fn remaining(&self) -> Duration {
        self.log.lock().unwrap().inbound[0].remaining().unwrap()
    }

    fn stops(&self) -> Vec<(StopReason, u32)> {
        self.log.lock().unwrap().stops.clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn handle(State((role, log)): State<(Role, Arc<Mutex<Log>>)>, inbound: Inbound) -> Response {
    log.lock().unwrap().inbound.push(inbound);
    match role {
        Role::Asks(next) => match next.ask().await {
            Ok(text) => text.into_response(),
            Err(stopped) => {
                log.lock().unwrap().stops.push((stopped.reason(), stopped.attempts()));
                stopped.answer().into_response()
            }
        },
        Role::Hides(next) => match next.ask().await {
            Ok(text) => text.into_response(),
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        },
        Role::Fails(status) => status.into_response(),
        Role::Forbids(status) => (status, [(RETRY_FORBIDDEN, "1")]).into_response(),
        Role::Hangs(clock, span, until) => {
            if until == Until::SecondCall && inbound.attempt() != Some(1) {
                return "late, but here".into_response();
            }
            clock.advance(span);
            std::future::pending().await
        }
    }
}

/// A asks B, which asks C. Each has a clock of its own.
struct Chain {
    a: Caller,
    b: Service,
    c: Service,
    b_clock: VirtualClock,
}

impl Chain {
    /// With A's policy and B's.
    async fn start(a: Policy, b: Policy, c: impl FnOnce(&VirtualClock) -> Role) -> Self {
        let b_clock = VirtualClock::manual();
        let c = Service::start(c(&b_clock)).await;
        let b = Service::start(Role::Asks(Caller::new(&c.url, b, &b_clock))).await;
        let a = Caller::new(&b.url, a, &VirtualClock::manual());
        Self { a, b, c, b_clock }
    }

    /// A test that waits for a clock that stands still fails, in the end.
    async fn ask(&self) -> Result<String, Stopped<SendError>> {
        tokio::time::timeout(Duration::from_secs(60), self.a.ask()).await.unwrap()
    }
}

#[tokio::test]
async fn the_callers_deadline_is_seen_by_all_services_and_stops_the_one_that_waits() {
    let once = Policy::new(1, HOUR);
    let own = Policy::new(3, HOUR * 24).backoff(Backoff::fixed(Duration::ZERO));
    let hangs = |clock: &VirtualClock| Role::Hangs(clock.clone(), HOUR, Until::Forever);
    let chain = Chain::start(once, own, hangs).await;

    let stopped = chain.ask().await.unwrap_err();
    let Chain { b, c, b_clock, .. } = chain;
    // B has stopped by A's hour, not by its own day.
    assert_eq!(b.stops(), [(StopReason::DeadlineExceeded, 1)]);
    assert_eq!(b_clock.elapsed(), HOUR);
    assert_eq!(stopped.error().unwrap().status(), Some(StatusCode::GATEWAY_TIMEOUT));
    assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);

    // Time only passes on the way.
    assert_eq!(b.remaining(), HOUR);
    assert!(c.remaining() <= b.remaining(), "{:?}", c.remaining());
    assert!(c.remaining() > Duration::ZERO);
    assert_eq!((b.attempts(), c.attempts()), (vec![1], vec![1]));
}

#[tokio::test]
async fn a_caller_that_cuts_its_attempt_may_make_another() {
    // An hour for an attempt, and time for three.
    let patient =
        Policy::new(3, HOUR * 4).attempt_timeout(HOUR).backoff(Backoff::fixed(Duration::ZERO));
    let own = Policy::new(1, HOUR * 24);
    // On B's clock the hour passes; on A's it does not, so that A hears of it.
    let chain =
        Chain::start(patient, own, |clock| Role::Hangs(clock.clone(), HOUR, Until::Forever)).await;
    let stopped = chain.ask().await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 3));
    assert_eq!(chain.b.attempts(), [1, 2, 3]);
    assert_eq!(chain.b.stops(), [(StopReason::DeadlineExceeded, 1); 3]);
}

#[tokio::test]
async fn an_operation_whose_own_time_is_over_is_not_asked_again() {
    let own = Policy::new(3, HOUR / 2).backoff(Backoff::fixed(Duration::ZERO));
    let hangs = |clock: &VirtualClock| Role::Hangs(clock.clone(), HOUR / 2, Until::Forever);
    let chain = Chain::start(POLICY, own, hangs).await;
    let stopped = chain.ask().await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DoNotRetry, 1));
    assert_eq!(chain.b.stops(), [(StopReason::DeadlineExceeded, 1)]);
}

#[tokio::test]
async fn a_do_not_retry_travels_through_all_services() {
    for status in [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS] {
        let chain = Chain::start(POLICY, POLICY, |_| Role::Forbids(status)).await;
        let stopped = chain.ask().await.unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DoNotRetry, 1));
        assert_eq!(chain.b.stops(), [(StopReason::DoNotRetry, 1)]);
        assert_eq!((chain.b.calls(), chain.c.calls()), (1, 1));
    }
}

#[tokio::test]
async fn three_attempts_in_each_service_call_the_last_one_three_times() {
    let fails = |_: &VirtualClock| Role::Fails(StatusCode::SERVICE_UNAVAILABLE);
    let chain = Chain::start(POLICY, POLICY, fails).await;
    let stopped = chain.ask().await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DoNotRetry, 1));
    assert_eq!(chain.b.stops(), [(StopReason::AttemptsExhausted, 3)]);
    assert_eq!(chain.b.calls(), 1);
    assert_eq!(chain.c.attempts(), [1, 2, 3]);
}

#[tokio::test]
async fn a_retry_that_is_nobodys_but_the_callers_succeeds() {
    let own = Policy::new(2, HOUR * 24).attempt_timeout(HOUR / 2);
    let chain = Chain::start(POLICY, own.backoff(Backoff::fixed(Duration::ZERO)), |clock| {
        Role::Hangs(clock.clone(), HOUR / 2, Until::SecondCall)
    })
    .await;
    assert_eq!(chain.ask().await.unwrap(), "late, but here");
    assert_eq!((chain.b.attempts(), chain.c.attempts()), (vec![1], vec![1, 2]));
}

#[tokio::test]
async fn a_service_that_hides_its_stop_is_not_asked_again_either() {
    let c = Service::start(Role::Fails(StatusCode::SERVICE_UNAVAILABLE)).await;
    let next = Caller::new(&c.url, POLICY, &VirtualClock::manual());
    let b = Service::start(Role::Hides(next)).await;
    let stopped = Caller::new(&b.url, POLICY, &VirtualClock::manual()).ask().await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DoNotRetry, 1));
    assert_eq!((b.calls(), c.calls()), (1, 3));
}
