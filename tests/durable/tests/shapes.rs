//! `durable` with every other option, on every shape of function. What it keeps,
//! other tests try: here each operation runs to its end, and is found again.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::executor::block_on;
use retry_core::clock::{Clock, VirtualClock};
use retry_core::store::MemoryStore;
use retry_core::{
    Class, Classify, Effect, Failure, Policy, Resource, Retrier, StopReason, Stopped,
    non_idempotent, retryable,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, thiserror::Error, Classify)]
pub enum PostError {
    #[error("the line is busy")]
    #[retry(transient, no_effect)]
    Busy,
    #[error("refused")]
    #[retry(permanent)]
    Refused,
}

/// An error without a class of its own.
#[derive(Debug, thiserror::Error)]
#[error("jammed")]
pub struct Jammed;

fn no_effect(_: &PostError) -> Failure {
    Failure::new(Class::Transient).with_effect(Effect::None)
}

#[derive(Debug, PartialEq)]
pub struct Status(StopReason);

impl<E> From<Stopped<E>> for Status {
    fn from(stopped: Stopped<E>) -> Self {
        Self(stopped.reason())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    id: u64,
    to: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    parcel: u64,
    bodies: u32,
}

fn parcel(id: u64) -> Parcel {
    Parcel { id, to: "Bo".to_owned() }
}

struct Post {
    retries: Retrier,
    policy: Policy,
    bodies: AtomicU32,
    hooks: AtomicU32,
}

impl Post {
    fn new(clock: &VirtualClock) -> Self {
        let retries = Retrier::builder()
            .clock(clock.clone())
            .store(MemoryStore::with_clock(clock.clone()))
            .resource(Resource::new("post"))
            .unwrap()
            .build();
        let policy = Policy::new(3, Duration::from_secs(60));
        Self { retries, policy, bodies: AtomicU32::new(0), hooks: AtomicU32::new(0) }
    }

    fn bodies(&self) -> u32 {
        self.bodies.load(Ordering::Relaxed)
    }

    /// Succeeds at the second body.
    fn hand_in(&self, id: u64) -> Result<Receipt, PostError> {
        match self.bodies.fetch_add(1, Ordering::Relaxed) {
            0 => Err(PostError::Busy),
            before => Ok(Receipt { parcel: id, bodies: before + 1 }),
        }
    }

    async fn refresh(&self) {
        self.hooks.fetch_add(1, Ordering::Relaxed);
    }

    #[retryable(name = "post.send", durable, key = parcel.id, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn send(&self, parcel: &Parcel, fast: bool) -> Result<Receipt, Stopped<PostError>> {
        assert!(!key.to_string().is_empty() && !fast);
        self.hand_in(parcel.id)
    }

    #[retryable(
        name = "post.everything",
        durable,
        at_most_once,
        id = parcel.id,
        fingerprint = (parcel.id, &parcel.to),
        on_in_flight = attach,
        attempt,
        classify = no_effect,
        before_retry = self.refresh(),
        error = PostError,
        caller = parcel.to,
        resource = "post",
        on_refusal = stop,
        nested = retry,
        policy = self.policy,
        attempt_timeout = "1s",
        with = self.retries
    )]
    async fn everything(&self, parcel: &Parcel, _: &Retrier) -> Result<Receipt, Status> {
        assert_eq!(attempt.number(), self.bodies() + 1);
        self.hand_in(parcel.id)
    }

    #[retryable(name = "post.jammed", durable, key = id, classify = |_| Class::Permanent, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn jammed(&self, id: u64) -> Result<(), Stopped<Jammed>> {
        let _ = key;
        self.bodies.fetch_add(1, Ordering::Relaxed);
        Err(Jammed)
    }

    #[non_idempotent]
    #[retryable(name = "post.marked", durable, at_most_once, id = id, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn marked(&self, id: u64) -> Result<Receipt, Stopped<PostError>> {
        self.hand_in(id)
    }

    #[retryable(name = "post.sent_to", durable, key = to, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn sent_to(
        &self,
        to: &str,
        parcels: impl Iterator<Item = u64> + Clone + Serialize,
        r#type: Option<&'static str>,
    ) -> Result<Vec<Receipt>, Stopped<PostError>> {
        let _ = (key, r#type, to);
        parcels.clone().map(|id| self.hand_in(id)).collect()
    }

    /// JSON has no keys that are not text.
    #[retryable(name = "post.weighed", durable, key = id, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn weighed(
        &self,
        id: u64,
        grams: &BTreeMap<(u8, u8), u64>,
    ) -> Result<Receipt, Stopped<PostError>> {
        let _ = (key, grams);
        self.hand_in(id)
    }
}

#[retryable(name = "post.free", durable, key = "only", fingerprint = parcel, max_attempts = 3, deadline = "1h", with = post.retries)]
async fn free<P>(post: &Post, parcel: &P) -> Result<Receipt, Stopped<PostError>>
where
    P: Serialize + Clone + Into<Parcel>,
{
    let _ = key;
    post.hand_in(parcel.clone().into().id)
}

trait Sender {
    fn post(&self) -> &Post;

    #[retryable(name = "post.by_default", durable, key = id, max_attempts = 3, deadline = "1h", with = self.post().retries)]
    async fn by_default(&self, id: u64) -> Result<Receipt, Stopped<PostError>> {
        let _ = key;
        self.post().hand_in(id)
    }
}

impl Sender for Post {
    fn post(&self) -> &Post {
        self
    }
}

#[async_trait::async_trait]
trait Boxed {
    async fn boxed(&self, parcel: Parcel, fast: bool) -> Result<Receipt, Stopped<PostError>>;
}

#[async_trait::async_trait]
impl Boxed for Post {
    #[retryable(name = "post.boxed", durable, key = parcel.id, attempt, max_attempts = 3, deadline = "1h", with = self.retries)]
    async fn boxed(&self, parcel: Parcel, fast: bool) -> Result<Receipt, Stopped<PostError>> {
        let _ = (key, attempt.number(), fast);
        self.hand_in(parcel.id)
    }
}

/// A service's executor may move it between threads.
fn send<F: Future + Send>(future: F) -> F {
    future
}

/// Twice: the second call is answered from the record.
fn twice(call: impl AsyncFn(&Post) -> Result<Receipt, Stopped<PostError>>) {
    let clock = VirtualClock::new();
    let post = Post::new(&clock);
    for _ in 0..2 {
        let receipt = block_on(clock.clone().scope(call(&post))).unwrap();
        assert_eq!(receipt, Receipt { parcel: 7, bodies: 2 });
    }
    assert_eq!(post.bodies(), 2);
}

#[test]
fn each_shape_is_found_again() {
    twice(async |post| send(post.send(&parcel(7), false)).await);
    twice(async |post| post.marked(7).await);
    twice(async |post| send(free(post, &parcel(7))).await);
    twice(async |post| post.by_default(7).await);
    twice(async |post| (post as &dyn Boxed).boxed(parcel(7), true).await);
}

#[test]
fn other_arguments_are_another_call() {
    let clock = VirtualClock::new();
    let post = Post::new(&clock);
    let run = |id, fast| block_on(clock.clone().scope(post.send(&parcel(id), fast)));
    assert_eq!(run(7, false).unwrap().bodies, 2);
    let stopped = block_on(
        clock.clone().scope(post.send(&Parcel { to: "Al".to_owned(), ..parcel(7) }, false)),
    );
    assert_eq!(stopped.unwrap_err().reason(), StopReason::KeyReused);
    assert_eq!(run(7, true).unwrap_err().reason(), StopReason::KeyReused);
    assert_eq!(run(7, false).unwrap().bodies, 2);
    // Another key.
    assert_eq!(run(8, false).unwrap().bodies, 3);
}

#[test]
fn a_fingerprint_stands_in_for_the_arguments() {
    let clock = VirtualClock::new();
    let post = Post::new(&clock);
    let run = |parcel: &Parcel| {
        block_on(clock.clone().scope(send(post.everything(parcel, &Retrier::new()))))
    };
    for _ in 0..2 {
        assert_eq!(run(&parcel(7)), Ok(Receipt { parcel: 7, bodies: 2 }));
    }
    assert_eq!((post.bodies(), post.hooks.load(Ordering::Relaxed)), (2, 1));
    let other = Parcel { to: "Al".to_owned(), ..parcel(7) };
    assert_eq!(run(&other), Err(Status(StopReason::KeyReused)));
}

#[test]
fn a_recorded_stop_answers_too() {
    let clock = VirtualClock::new();
    let post = Post::new(&clock);
    for _ in 0..2 {
        let stopped = block_on(clock.clone().scope(post.jammed(7))).unwrap_err();
        assert_eq!(stopped.reason(), StopReason::FailPermanent);
    }
    assert_eq!(post.bodies(), 1);
}

#[test]
fn arguments_may_be_of_any_type() {
    let clock = VirtualClock::new();
    let post = Post::new(&clock);
    let run = |ids, kind| block_on(clock.clone().scope(send(post.sent_to("Bo", ids, kind))));
    assert_eq!(run(1..3, None).unwrap().len(), 2);
    assert_eq!(run(1..3, None).unwrap().len(), 2);
    assert_eq!(run(1..4, None).unwrap_err().reason(), StopReason::KeyReused);
    assert_eq!(run(1..3, Some("fragile")).unwrap_err().reason(), StopReason::KeyReused);
    assert_eq!(post.bodies(), 3);
}

#[test]
fn an_argument_that_cannot_be_kept_is_named_before_anything_runs() {
    let clock = VirtualClock::new();
    let post = Post::new(&clock);
    let grams = BTreeMap::from([((1, 2), 300)]);
    let stopped = block_on(clock.clone().scope(send(post.weighed(7, &grams)))).unwrap_err();
    assert_eq!(stopped.reason(), StopReason::InvalidPolicy);
    assert_eq!(
        stopped.stop().to_string(),
        "the arguments cannot be kept as JSON: `grams`: key must be a string; a `fingerprint` can stand in for them"
    );
    assert_eq!(post.bodies(), 0);
}
