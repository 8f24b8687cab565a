//! The dependency: one store that works off calls one after the other.
//!
//! What is asked of it beyond its capacity waits in a queue, and is turned away
//! where the queue is full. It does not know who still waits: a call that its
//! caller has given up is worked on all the same. That is what keeps it down when
//! the outage is over and the retries are not.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use retry_core::clock::{Clock, VirtualClock};
use retry_core::{Classify, IdempotencyKey};

use crate::book::{Answer, Book};
use crate::world::{DROPS, HANGS, MENDED, Order, QUEUE, Tenant, capacity};

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Classify)]
pub(crate) enum StoreError {
    #[error("the connection was reset")]
    #[retry(transient, kind = connect)]
    Reset,
    #[error("the store answered with an error")]
    #[retry(transient, kind = server)]
    Broken,
    #[error("the store turned the call away")]
    #[retry(transient, no_effect, kind = throttled)]
    Full,
    /// Only where the caller watches the time itself.
    #[error("no answer in time")]
    #[retry(transient, kind = timeout)]
    TooLate,
}

pub(crate) struct Store {
    clock: VirtualClock,
    origin: Instant,
    /// What one call takes.
    work: Duration,
    /// When it has done what it took on.
    busy_until: Cell<Duration>,
    book: RefCell<Book>,
}

impl Store {
    pub(crate) fn new(clock: &VirtualClock, callers: u32) -> Self {
        Self {
            clock: clock.clone(),
            origin: clock.now(),
            work: Duration::from_secs(1) / capacity(callers),
            busy_until: Cell::new(Duration::ZERO),
            book: RefCell::default(),
        }
    }

    pub(crate) fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    /// A real store recognizes a repeated call by its key; this one only counts.
    pub(crate) async fn reserve(
        &self,
        order: &Order,
        _key: Option<IdempotencyKey>,
    ) -> Result<(), StoreError> {
        let call = self.book.borrow_mut().arrived(order, self.clock.elapsed());
        let result = self.answer().await;
        let answer = match result {
            Ok(()) => Answer::Result,
            Err(StoreError::Broken) => Answer::Error,
            Err(_) => Answer::None,
        };
        self.book.borrow_mut().ended(call, answer, self.clock.elapsed());
        result
    }

    async fn answer(&self) -> Result<(), StoreError> {
        let now = self.clock.elapsed();
        if (HANGS..DROPS).contains(&now) {
            self.sleep_until(DROPS).await;
            return Err(StoreError::Reset);
        }
        let begin = self.busy_until.get().max(now);
        if begin - now >= QUEUE {
            return Err(StoreError::Full);
        }
        let done = begin + self.work;
        self.busy_until.set(done);
        self.sleep_until(done).await;
        if (HANGS..MENDED).contains(&done) { Err(StoreError::Broken) } else { Ok(()) }
    }

    pub(crate) async fn sleep_until(&self, at: Duration) {
        self.clock.sleep_until(self.origin + at).await;
    }

    pub(crate) async fn sleep(&self, span: Duration) {
        self.sleep_until(self.clock.elapsed() + span).await;
    }

    /// The book, of a store that is called no more.
    pub(crate) fn into_book(self) -> Book {
        self.book.into_inner()
    }

    pub(crate) fn refused(&self, order: &Order) {
        self.book.borrow_mut().refused(order.tenant, self.clock.elapsed());
    }

    /// Gives the next request its number.
    pub(crate) fn asked(&self, tenant: Tenant) -> Order {
        self.book.borrow_mut().asked(tenant, self.clock.elapsed())
    }
}
