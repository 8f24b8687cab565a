//! Every shape of function that the attribute takes.
#![allow(missing_docs)]

use std::cell::Cell;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use retry_core::clock::{Clock, VirtualClock};
use retry_core::{
    Backoff, Classify, IdempotencyKey, Policies, Policy, Retrier, StopReason, Stopped, retryable,
};

#[derive(Debug, PartialEq, thiserror::Error, Classify)]
pub enum Fault {
    #[error("busy")]
    #[retry(transient)]
    Busy,
    #[error("refused")]
    #[retry(permanent)]
    Refused,
}

impl From<std::num::ParseIntError> for Fault {
    fn from(_: std::num::ParseIntError) -> Self {
        Self::Refused
    }
}

fn run<F: Future>(future: F) -> F::Output {
    futures::executor::block_on(VirtualClock::new().scope(future))
}

const THREE: u32 = 3;
const LIMIT: Duration = Duration::from_secs(5);

struct Config {
    deadline: Duration,
    attempts: u32,
    policy: Policy,
}

struct Service {
    config: Config,
    retries: Retrier,
    calls: Cell<u32>,
    log: Vec<String>,
}

impl Service {
    fn new() -> Self {
        let policy = Policy::new(4, Duration::from_secs(9));
        Self {
            config: Config { deadline: LIMIT, attempts: 2, policy },
            retries: Retrier::new(),
            calls: Cell::new(0),
            log: Vec::new(),
        }
    }

    fn call(&self) -> Result<u32, Fault> {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() < 3 { Err(Fault::Busy) } else { Ok(self.calls.get()) }
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries)]
    async fn literal(&self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    #[retryable(idempotent, max_attempts = self.config.attempts, deadline = self.config.deadline)]
    async fn configured(&self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    #[retryable(idempotent, max_attempts = THREE, deadline = LIMIT, backoff = Backoff::linear(LIMIT / 100))]
    async fn constants(&self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    #[retryable(idempotent, policy = self.config.policy)]
    async fn by_policy(&self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    #[retryable(idempotent, policy = &self.config.policy, max_attempts = 1)]
    async fn numbers_win(&self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    #[retryable(idempotent, max_attempts = attempts, deadline = deadline)]
    async fn arguments(&self, attempts: u32, deadline: Duration) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    #[retryable(name = "mutable", key = id, max_attempts = 3, deadline = "5s", with = &self.retries)]
    async fn mutable(&mut self, id: &str) -> Result<usize, Stopped<Fault>> {
        self.log.push(key.to_string());
        if self.log.len() < 3 {
            return Err(Fault::Busy);
        }
        Ok(self.log.len())
    }

    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn owned(self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }
}

#[test]
fn values_come_from_anywhere() {
    assert_eq!(run(Service::new().literal()).unwrap(), 3);
    let stopped = run(Service::new().configured()).unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 2));
    assert_eq!(run(Service::new().constants()).unwrap(), 3);
    assert_eq!(run(Service::new().by_policy()).unwrap(), 3);
    assert_eq!(run(Service::new().numbers_win()).unwrap_err().attempts(), 1);
    assert_eq!(run(Service::new().arguments(3, LIMIT)).unwrap(), 3);
    assert_eq!(
        run(Service::new().arguments(0, LIMIT)).unwrap_err().reason(),
        StopReason::InvalidPolicy
    );
    assert_eq!(run(Service::new().owned()).unwrap(), 3);
}

#[test]
fn one_key_for_every_attempt() {
    let mut service = Service::new();
    assert_eq!(run(service.mutable("order-1")).unwrap(), 3);
    let key = IdempotencyKey::derive("mutable", "order-1").unwrap().to_string();
    assert_eq!(service.log, [key.clone(), key.clone(), key]);
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn by_reference(text: String, calls: &AtomicU32) -> Result<usize, Stopped<Fault>> {
    if calls.fetch_add(1, Ordering::Relaxed) == 0 {
        Err(Fault::Busy)?
    }
    Ok(text.len())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn counted(count: &mut u64) -> Result<u64, Stopped<Fault>> {
    *count += 1;
    if *count < 3 { Err(Fault::Busy) } else { Ok(*count) }
}

struct NotClone(u8);

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn not_clone(
    value: NotClone,
    (a, b): (u8, u8),
    c: impl Into<u64> + Copy,
) -> Result<u64, Stopped<Fault>> {
    Ok(u64::from(value.0) + u64::from(a) + u64::from(b) + c.into())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn generic<'a, T>(text: &'a T) -> Result<&'a str, Stopped<Fault>>
where
    T: 'a + AsRef<str> + ?Sized,
{
    Ok(text.as_ref())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn opaque(n: u8) -> Result<impl Iterator<Item = u8>, Stopped<Fault>> {
    Ok(0..n)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn boxed() -> Result<Box<dyn std::fmt::Debug>, Stopped<Fault>> {
    Ok(Box::new(1))
}

/// P4: names that the expansion might use.
#[allow(clippy::too_many_arguments)]
#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn hygienic(
    run: u8,
    spec: u8,
    derived: u8,
    outcome: u8,
    body: u8,
    cx: u8,
    done: u8,
    policy: u8,
    attempt: u8,
    key: u8,
    output: u8,
    current: u8,
    hook: u8,
) -> Result<u8, Stopped<Fault>> {
    Ok(run
        + spec
        + derived
        + outcome
        + body
        + cx
        + done
        + policy
        + attempt
        + key
        + output
        + current
        + hook)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn inner_returns(text: &str) -> Result<u32, Stopped<Fault>> {
    let parsed = (|| -> Result<u32, std::num::ParseIntError> {
        let n: u32 = text.parse()?;
        Ok(n)
    })();
    let nested = async { Err::<u32, Fault>(Fault::Busy) }.await;
    let none = (|| {
        let n: Option<u32> = None;
        Some(n? + 1)
    })();
    if nested.is_err() && none.is_none() {
        return Ok(parsed?);
    }
    Err(Fault::Busy)
}

#[retryable(idempotent, attempt, max_attempts = 3, deadline = "5s")]
async fn sees_attempt() -> Result<u32, Stopped<Fault>> {
    assert_eq!(attempt.previous().is_some(), attempt.number() > 1);
    if attempt.is_last() { Ok(attempt.number()) } else { Err(Fault::Busy) }
}

#[test]
fn arguments_of_every_kind() {
    assert_eq!(run(by_reference("abc".to_owned(), &AtomicU32::new(0))).unwrap(), 3);
    assert_eq!(run(counted(&mut 0)).unwrap(), 3);
    assert_eq!(run(not_clone(NotClone(1), (2, 3), 4_u32)).unwrap(), 10);
    assert_eq!(run(generic("x")).unwrap(), "x");
    assert_eq!(run(opaque(3)).unwrap().sum::<u8>(), 3);
    assert_eq!(format!("{:?}", run(boxed()).unwrap()), "1");
    assert_eq!(run(hygienic(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)).unwrap(), 13);
    assert_eq!(run(inner_returns("7")).unwrap(), 7);
    assert_eq!(run(inner_returns("x")).unwrap_err().reason(), StopReason::FailPermanent);
    assert_eq!(run(sees_attempt()).unwrap(), 3);
}

/// A signature that cannot change.
#[derive(Debug, PartialEq)]
struct Status(StopReason);

impl From<Stopped<Fault>> for Status {
    fn from(stopped: Stopped<Fault>) -> Self {
        Self(stopped.reason())
    }
}

#[retryable(idempotent, error = Fault, max_attempts = 2, deadline = "5s")]
async fn converted() -> Result<(), Status> {
    Err(Fault::Busy)
}

#[retryable(idempotent, classify = |error: &String| if error == "busy" { retry_core::Class::Transient } else { retry_core::Class::Permanent }, max_attempts = 2, deadline = "5s")]
async fn foreign() -> Result<(), Stopped<String>> {
    Err("busy".to_owned())
}

#[test]
fn written_errors() {
    assert_eq!(run(converted()).unwrap_err(), Status(StopReason::AttemptsExhausted));
    let stopped = run(foreign()).unwrap_err();
    assert_eq!((stopped.attempts(), stopped.error()), (2, Some(&"busy".to_owned())));
}

struct Token(Cell<u32>);

impl Token {
    async fn refresh(&self) {
        self.0.set(self.0.get() + 1);
    }

    #[retryable(idempotent, before_retry = self.refresh(), max_attempts = 3, deadline = "5s")]
    async fn fetch(&self) -> Result<u32, Stopped<Fault>> {
        if self.0.get() < 2 { Err(Fault::Busy) } else { Ok(self.0.get()) }
    }

    #[retryable(idempotent, reject = |ready: &bool| !ready, max_attempts = 3, deadline = "5s")]
    async fn poll(&self) -> Result<bool, Stopped<Fault>> {
        self.refresh().await;
        Ok(self.0.get() == 2)
    }

    #[retryable(idempotent, reject = |n| *n < 9, max_attempts = 3, deadline = "5s")]
    async fn never_good(&self) -> Result<u32, Stopped<Fault>> {
        self.refresh().await;
        Ok(self.0.get())
    }
}

#[test]
fn hooks_and_rejections() {
    assert_eq!(run(Token(Cell::new(0)).fetch()).unwrap(), 2);
    assert!(run(Token(Cell::new(0)).poll()).unwrap());
    assert_eq!(run(Token(Cell::new(0)).never_good()).unwrap(), 3);
}

trait Store {
    fn get(&self, id: u32) -> impl Future<Output = Result<u32, Stopped<Fault>>> + Send;

    #[allow(async_fn_in_trait)]
    #[retryable(idempotent, max_attempts = 2, deadline = "5s")]
    async fn default_method(&self) -> Result<u32, Stopped<Fault>> {
        Ok(self.get(1).await.unwrap_or(0))
    }
}

#[async_trait::async_trait]
trait Dynamic {
    async fn get(&self, id: u32) -> Result<u32, Stopped<Fault>>;
    async fn put(&mut self, id: u32, text: String) -> Result<usize, Stopped<Fault>>;
    async fn find(&self) -> Result<(), Stopped<Fault>>;
}

struct Memory {
    calls: AtomicU32,
    attempts: u32,
    puts: Vec<String>,
    retries: Retrier,
}

impl Memory {
    fn new() -> Self {
        let policy = Policy::new(4, Duration::from_secs(5));
        let policies = Policies::new().with("memory", policy).unwrap_or_default();
        let retries = Retrier::builder().policies(policies).build();
        Self { calls: AtomicU32::new(0), attempts: 3, puts: Vec::new(), retries }
    }
}

impl Store for Memory {
    #[retryable(idempotent, max_attempts = self.attempts, deadline = "5s")]
    async fn get(&self, id: u32) -> Result<u32, Stopped<Fault>> {
        if self.calls.fetch_add(1, Ordering::Relaxed) < 2 { Err(Fault::Busy) } else { Ok(id) }
    }
}

#[async_trait::async_trait]
impl Dynamic for Memory {
    #[retryable(idempotent, attempt, max_attempts = self.attempts, deadline = "5s")]
    async fn get(&self, id: u32) -> Result<u32, Stopped<Fault>> {
        if self.calls.fetch_add(1, Ordering::Relaxed) < 2 {
            Err(Fault::Busy)?
        }
        Ok(id + attempt.number())
    }

    #[retryable(name = "put", key = id, max_attempts = 3, deadline = "5s")]
    async fn put(&mut self, id: u32, text: String) -> Result<usize, Stopped<Fault>> {
        self.puts.push(format!("{text}{key}"));
        if self.puts.len() < 3 {
            return Err(Fault::Busy);
        }
        Ok(self.puts.len())
    }

    #[retryable(idempotent, policy = "memory", with = self.retries)]
    async fn find(&self) -> Result<(), Stopped<Fault>> {
        Err(Fault::Busy)
    }
}

#[test]
fn traits_of_every_kind() {
    assert_eq!(run(Store::get(&Memory::new(), 7)).unwrap(), 7);
    assert_eq!(run(Memory::new().default_method()).unwrap(), 1);
    let mut dynamic: Box<dyn Dynamic> = Box::new(Memory::new());
    assert_eq!(run(dynamic.get(7)).unwrap(), 10);
    assert_eq!(run(dynamic.put(7, "x".to_owned())).unwrap(), 3);
    assert_eq!(run(dynamic.find()).unwrap_err().attempts(), 4);
}

#[tokio::test(start_paused = true)]
async fn spawned_on_tokio() {
    let result = tokio::spawn(async { Memory::new().default_method().await }).await.unwrap();
    assert_eq!(result.unwrap(), 1);
    let start = tokio::time::Instant::now();
    assert_eq!(counted(&mut 0).await.unwrap(), 3);
    assert!(start.elapsed() >= Duration::from_millis(150));
}
