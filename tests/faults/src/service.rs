//! The service: what is kept, and may be killed.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::time::Duration;

use anyhow::Result;
use retry_core::record::{Arguments, Finality, New, RecordError, RecordId};
use retry_core::store::{Enqueued, Store, StoreError};
use retry_core::{
    Backoff, Breaker, Classify, IdempotencyKey, Jitter, OperationId, Policy, Resource, Retrier,
    Safety, StopReason, Stopped, retryable,
};
use retry_faults::{Answer, Faults, Kind, Outcome, Pen, Receipt, Said};
use retry_sqlite::SqliteStore;
use serde::Serialize;
use tokio::time::sleep;

/// The name of what a queue hands out.
pub(crate) const QUEUED: &str = "faults.queued";
/// The name of what is removed.
pub(crate) const FORGOTTEN: &str = "faults.forgotten";

/// How long a caller waits before it asks again.
const PAUSE: Duration = Duration::from_millis(40);
const WAITS: Backoff =
    Backoff::exponential(Duration::from_millis(5)).cap(Duration::from_millis(40));
const LONG_WAITS: Backoff = Backoff::fixed(Duration::from_millis(1_500)).jitter(Jitter::None);
/// Of what a queue hands out.
const QUEUED_POLICY: Policy = Policy::new(12, Duration::from_secs(60))
    .backoff(Backoff::fixed(Duration::from_millis(5)).jitter(Jitter::None));

/// What is charged: the arguments that are kept.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Order {
    pub(crate) number: u32,
}

#[derive(Debug, thiserror::Error, Classify)]
pub(crate) enum ChargeError {
    #[error("busy")]
    #[retry(transient, no_effect)]
    Busy,
    #[error("no answer")]
    #[retry(transient)]
    NoAnswer,
    #[error("declined")]
    #[retry(permanent)]
    Declined,
    #[error("garbled")]
    #[retry(unknown)]
    Garbled,
}

type Charged = std::result::Result<Receipt, Stopped<ChargeError>>;

#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) store: Faults<SqliteStore>,
    pen: Pen,
    retries: Retrier,
    /// Keeps what has ended for a moment only.
    forgetful: Retrier,
}

impl Service {
    pub(crate) fn new(store: Faults<SqliteStore>, pen: Pen, lease: Duration) -> Result<Self> {
        let open_for = Duration::from_millis(100);
        // Whoever is refused meanwhile waits for the end of the probe's lease.
        let breaker = Breaker::consecutive(1, open_for).lease(open_for);
        let shaky = Resource::new("shaky").breaker(breaker)?;
        let retries = || Retrier::builder().store(store.clone()).lease(lease);
        let forgetful = retries().keep(Duration::from_millis(1)).build();
        let retries = retries().resource(shaky)?.build();
        Ok(Self { store, pen, retries, forgetful })
    }

    /// Calls until there is an answer that stays.
    pub(crate) async fn ask(&self, number: u32) -> Answer {
        if Kind::of(number) == Kind::LeftAlone {
            // As often as it takes to come to each of its awaits.
            let polls = 1 + number / Kind::ALL.len() as u32 % 8;
            leave(self.charge(Order { number }), polls).await;
        }
        let mut last = None;
        loop {
            let answer = match self.call(Order { number }).await {
                Ok(receipt) => Answer::receipt(number, receipt),
                Err(stopped) => stopped_answer(number, &stopped),
            };
            if !is_resumable(&answer) {
                return answer;
            }
            if last.as_ref() != Some(&answer) {
                Said::Again(answer.clone()).say();
                last = Some(answer);
            }
            sleep(PAUSE).await;
        }
    }

    async fn call(&self, order: Order) -> Charged {
        match Kind::of(order.number) {
            Kind::Charged => self.attach(order).await,
            Kind::Exhausted => self.exhaust(order).await,
            Kind::Once | Kind::OnceUnsure => self.print(order).await,
            Kind::Deferred => self.call_shaky(order).await,
            Kind::Forgotten => self.forget(order).await,
            Kind::Hurried => self.hurry(order).await,
            Kind::Parked => self.park(order).await,
            _ => self.charge(order).await,
        }
    }

    #[retryable(
        durable, name = "faults.charge", key = order.number, attempt, with = self.retries,
        max_attempts = 12, deadline = "60s", backoff = WAITS,
    )]
    async fn charge(&self, order: Order) -> Charged {
        self.work(order, attempt.number(), Some(key)).await
    }

    #[retryable(
        durable, name = "faults.attach", key = order.number, attempt, with = self.retries,
        max_attempts = 12, deadline = "60s", backoff = WAITS, on_in_flight = attach,
    )]
    async fn attach(&self, order: Order) -> Charged {
        self.work(order, attempt.number(), Some(key)).await
    }

    #[retryable(
        durable, name = "faults.exhaust", key = order.number, attempt, with = self.retries,
        max_attempts = 3, deadline = "60s", backoff = WAITS,
    )]
    async fn exhaust(&self, order: Order) -> Charged {
        self.work(order, attempt.number(), Some(key)).await
    }

    #[retryable(
        durable, name = "faults.print", at_most_once, id = order.number, attempt,
        with = self.retries, max_attempts = 12, deadline = "60s", backoff = WAITS,
    )]
    async fn print(&self, order: Order) -> Charged {
        self.work(order, attempt.number(), None).await
    }

    #[retryable(
        durable, name = "faults.shaky", key = order.number, attempt, with = self.retries,
        resource = "shaky", max_attempts = 12, deadline = "60s", backoff = WAITS,
    )]
    async fn call_shaky(&self, order: Order) -> Charged {
        self.work(order, attempt.number(), Some(key)).await
    }

    #[retryable(
        durable, name = "faults.forgotten", key = order.number, attempt, with = self.forgetful,
        max_attempts = 12, deadline = "60s", backoff = WAITS,
    )]
    async fn forget(&self, order: Order) -> Charged {
        self.work(order, attempt.number(), Some(key)).await
    }

    #[retryable(
        durable, name = "faults.hurry", key = order.number, attempt, with = self.retries,
        max_attempts = 12, deadline = "1s", backoff = WAITS,
    )]
    async fn hurry(&self, order: Order) -> Charged {
        self.work(order, attempt.number(), Some(key)).await
    }

    #[retryable(
        durable, name = "faults.park", key = order.number, attempt, with = self.retries,
        max_attempts = 12, deadline = "2h", backoff = LONG_WAITS,
    )]
    async fn park(&self, order: Order) -> Charged {
        self.work(order, attempt.number(), Some(key)).await
    }

    /// One attempt, by the script. It is in the book when this is first polled.
    pub(crate) async fn work(
        &self,
        order: Order,
        attempt: u32,
        key: Option<IdempotencyKey>,
    ) -> std::result::Result<Receipt, ChargeError> {
        let Order { number } = order;
        let kind = Kind::of(number);
        let outcome = kind.outcome(attempt);
        let key = key.map(|key| key.to_string());
        let receipt = self.pen.polled(number, attempt, key, outcome == Outcome::Succeeds);
        let receipt = orphaned(receipt);
        match (kind.is_gated(attempt), kind) {
            (true, Kind::Starved) => orphaned(self.pen.block_at_gate(number)),
            (true, _) => orphaned(self.pen.wait_at_gate(number).await),
            (false, _) => sleep(kind.span()).await,
        }
        match (outcome, receipt) {
            (Outcome::Succeeds, Some(receipt)) => Ok(receipt),
            (Outcome::Busy, _) => Err(ChargeError::Busy),
            (Outcome::Declined, _) => Err(ChargeError::Declined),
            (Outcome::Garbled, _) => Err(ChargeError::Garbled),
            (Outcome::Unsure | Outcome::Succeeds, _) => Err(ChargeError::NoAnswer),
        }
    }

    /// Puts an order into the queue, and waits for what it comes to.
    pub(crate) async fn queue(&self, number: u32) -> std::result::Result<Answer, StoreError> {
        let order = Order { number };
        let operation = operation_of_queued(number);
        let new = New {
            record: RecordId::new(),
            operation: operation.clone(),
            safety: Safety::Keyed,
            policy: QUEUED_POLICY,
            arguments: Arguments::of(&Named { order })?,
            queue: QUEUED.to_owned(),
            code_version: None,
            keep: Duration::from_secs(86_400),
            held: None,
            started: false,
        };
        let mut found = match self.store.enqueue(new).await? {
            Enqueued::New(_) => None,
            Enqueued::Existing(record) => Some(*record),
        };
        loop {
            if let Some(record) = &found {
                if let Some(receipt) = record.result().map(serde_json::from_str) {
                    let receipt = receipt.map_err(|error| RecordError::Unreadable {
                        record: record.head().record,
                        entry: record.head().seq,
                        what: error.to_string(),
                    })?;
                    return Ok(Answer::receipt(number, receipt));
                }
                let stop = record.head().stop.as_ref();
                if let Some(stop) = stop.filter(|_| record.head().phase.is_settled()) {
                    return Ok(Answer::stopped(number, stop.reason));
                }
            }
            sleep(PAUSE).await;
            found = self.store.find(operation.clone()).await?;
        }
    }
}

/// As the attribute names an argument.
#[derive(Serialize)]
struct Named {
    order: Order,
}

/// The id of what a queue hands out.
fn operation_of_queued(number: u32) -> OperationId {
    OperationId::keyed(QUEUED, key_of_queued(number))
}

pub(crate) fn key_of_queued(number: u32) -> IdempotencyKey {
    // A number is never empty.
    let key = IdempotencyKey::derive(QUEUED, &number.to_string());
    key.unwrap_or_else(|error| unreachable!("{error}"))
}

/// Without its book, a worker is of no use.
fn orphaned<T>(answer: io::Result<T>) -> T {
    answer.unwrap_or_else(|error| {
        eprintln!("the book is gone: {error}");
        std::process::exit(1)
    })
}

fn is_resumable(answer: &Answer) -> bool {
    let reason = answer.stopped.as_deref().and_then(|reason| reason.parse::<StopReason>().ok());
    reason.is_some_and(|reason| {
        reason.finality() == Finality::Resumable
            // Of these, a second call makes nothing better.
            && !matches!(reason, StopReason::InvalidPolicy | StopReason::KeyReused)
    })
}

fn stopped_answer(number: u32, stopped: &Stopped<ChargeError>) -> Answer {
    let error = stopped.stop().store_error().map(|error| format!("{error:?}"));
    Answer { error, ..Answer::stopped(number, stopped.reason()) }
}

/// Polls so often at most, then goes away.
async fn leave<F: Future>(call: F, polls: u32) {
    let mut call = pin!(call);
    let mut left = polls;
    poll_fn(|cx| {
        let is_over = call.as_mut().poll(cx).is_ready();
        left = left.saturating_sub(1);
        if is_over || left == 0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
