//! How many retries a resource is asked to bear: a budget shared by all its
//! callers.
//!
//! A policy bounds the retries of one operation. When a resource fails for
//! everybody at once, all operations retry at once, and the resource gets a
//! multiple of its load when it can bear it least. A [`Budget`] bounds the sum:
//! a bucket of tokens that first attempts fill and retries empty.
//!
//! ```
//! use std::time::Instant;
//! use retry_core::{Budget, Kind};
//!
//! // At most one retry in five calls, and ten a second in any case.
//! let budget = Budget::ratio(0.2).floor(10).build()?;
//! let charge = budget.caller("payments.charge");
//!
//! let now = Instant::now();
//! charge.first_attempt(now); // never refused
//! let mut token = charge.take(Kind::Server, now)?; // the retry is decided …
//! token.spend(); // … and begins; dropped before, the token would be given back
//! assert!(charge.take(Kind::Server, now).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Schemes
//!
//! | preset | size | in | out, when a retry is decided | back |
//! |---|---|---|---|---|
//! | [`Budget::ratio`] (Finagle, tower, Linkerd) | 10 s of the floor | 0.2 a first attempt, and a floor of 10 a second | 1 | – |
//! | [`Budget::aws_2_0`] (AWS SDKs, retry mode standard 2.0) | 500 | 1 a success of the first attempt | 5, after a timeout 10 | a success after retries: what the last one took |
//! | [`Budget::aws_2_1`] (the same, 2.1) | 500 | 1 a success of the first attempt | 14, throttled 5 | as 2.0 |
//! | [`Budget::grpc`] (gRFC A6, retry throttling) | `maxTokens` | `tokenRatio` a success | nothing; a transient failure takes 1, and at half or less there is no retry | – |
//!
//! A retry that is decided and never begins gives its tokens back, in all of
//! them. In all of them a permanent or unknown error costs nothing.
//!
//! # Fair share
//!
//! A [`Caller`] is an operation, by its name, or a tenant. With
//! [`fair_share`](BudgetBuilder::fair_share), which is on for `ratio`, no caller
//! can use up what belongs to another. Of *n* callers, caller *i* with weight
//! *wᵢ* gets at least
//!
//! > min(what it asks for, *wᵢ*/Σ*w* · (tokens that came in − *r*)) − 1
//!
//! while no caller joins or leaves. Here *r* is size/(*n*+1): a stock that is
//! filled first, never lent, and found at once by a caller who joins. What comes
//! in beyond it fills a share for each caller, by weight. A share that is full is
//! passed by, and what its caller leaves unused runs to the others.
//!
//! What a caller asks for while it is refused is not remembered, and what it
//! leaves unused while its share is full is not owed to it. However many callers
//! there are, each share has room for two retries. The published schemes of
//! AWS and gRPC know no callers: there all draw on one bucket, first come first
//! served, unless told otherwise.
//!
//! At most [`max_callers`](BudgetBuilder::max_callers) callers have a share of
//! their own. One that makes no call for [`FORGET_AFTER`] leaves. Where the
//! caller's name comes from a request, the number of names is bounded by this,
//! and what is kept of each; no name gets more tokens into the bucket.
//!
//! # Waiting for a token
//!
//! [`Caller::reserve`] stands in line for the next token, instead of being
//! refused: see [`Reservation`].
//!
//! # Costs
//!
//! A first attempt, and a success, is one atomic addition (with a capacity, and
//! one compare-and-swap). A retry takes a lock once: it is decided after a
//! failure, when nobody is in a hurry. Only the callers that have become full and
//! those who are served are looked at there, so its cost does not grow with the
//! number of callers. Shares are computed anew when a caller joins or leaves, at
//! no other call.
//!
//! While somebody waits in line, a first attempt and a success take the lock too.
//! To join a line, to ask and to give up takes a number of steps that grows with
//! the logarithm of its length.
//!
//! No clock is read and no floating point is kept: a token is a whole number of
//! grains, and a time that seems to run back is ignored.

mod book;
mod capacity;
mod empty;
mod error;
#[cfg(all(test, retry_loom))]
mod interleavings;
mod line;
mod name;
mod reservation;
mod settings;
mod shares;
#[cfg(all(test, not(retry_loom)))]
mod tests;
mod token;

use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::classify::{Class, Failure, Kind};
use crate::nanos::Nanos;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};

use book::{Book, Slot};
use capacity::Capacity;
use empty::Lack;
use name::known_as;
use settings::{Income, Scheme};

pub use empty::Empty;
pub use error::BudgetError;
pub use reservation::Reservation;
pub use settings::BudgetBuilder;
pub use token::Token;

/// A caller that makes no call for so long leaves, and its share goes to the
/// others. It joins again by its next call.
pub const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The retry budget of a resource, shared by its callers. A clone is the same
/// budget.
///
/// A budget is a value that an author makes and hands on. None is looked up by a
/// name, so none can come from a request.
///
/// [The module](self) says how it counts.
#[derive(Clone)]
pub struct Budget(Arc<Shared>);

struct Shared {
    scheme: Scheme,
    capacity: Option<Capacity>,
    /// The first time that was seen: times are counted from it.
    origin: OnceLock<Instant>,
    /// What came in: twice the number, and 1 where someone waits for it. Both
    /// are one atomic, so that whoever brings something in while a caller starts
    /// to wait is seen by it, or sees it.
    income: AtomicU64,
    /// The callers that have no share of their own.
    rest: Arc<Slot>,
    book: Mutex<Book>,
}

/// The part of [`Shared::income`] that says that someone waits.
const WAITED_FOR: u64 = 1;

impl Budget {
    /// Each first attempt deposits `ratio` of a token, 0.2 for one retry in five
    /// calls; each retry takes one.
    ///
    /// A floor of 10 tokens a second comes in beside it. The bucket holds 10
    /// seconds of the floor. It starts with the stock that the next caller will
    /// find, half of its size, and with the floor's first token.
    ///
    /// The scheme of Finagle's `RetryBudget`, tower's `TpsBudget` and Linkerd,
    /// with their numbers; there tokens are lost 10 seconds after they came in,
    /// here what does not fit in the bucket is.
    pub fn ratio(ratio: f64) -> BudgetBuilder {
        BudgetBuilder::ratio(ratio)
    }

    /// The retry quota of the AWS SDKs' standard mode 2.0: 500 tokens, full at
    /// the start. A retry takes 5, after a timeout 10. A success of the first
    /// attempt brings 1 in; one after retries gives back what the last took. All
    /// callers draw on one bucket.
    pub fn aws_2_0() -> BudgetBuilder {
        BudgetBuilder::aws(5, Kind::Timeout, 10)
    }

    /// The retry quota of the AWS SDKs' standard mode 2.1: as
    /// [`aws_2_0`](Self::aws_2_0), but a retry takes 14, after throttling 5.
    pub fn aws_2_1() -> BudgetBuilder {
        BudgetBuilder::aws(14, Kind::Throttled, 5)
    }

    /// gRPC's retry throttling (gRFC A6): `max_tokens` at the start, between 1
    /// and 1000. Each transient failure takes 1, each success brings
    /// `token_ratio` in. There is no retry while half of the tokens or less are
    /// there. A retry itself takes nothing.
    pub fn grpc(max_tokens: u32, token_ratio: f64) -> BudgetBuilder {
        BudgetBuilder::grpc(max_tokens, token_ratio)
    }

    fn new(scheme: Scheme) -> Self {
        let capacity = scheme.capacity.map(|(permits, retries)| Capacity::new(permits, retries));
        let book = Mutex::new(Book::new(&scheme));
        let rest = Arc::new(Slot::new("", 1));
        let income = AtomicU64::new(0);
        Self(Arc::new(Shared { scheme, capacity, origin: OnceLock::new(), income, rest, book }))
    }

    /// A caller: an operation by its name, or a tenant. Look it up once an
    /// operation.
    ///
    /// Any name will do. One longer than 256 bytes is kept as its beginning and
    /// its SHA-256, so that names from requests take no more memory than that.
    pub fn caller(&self, name: &str) -> Caller {
        let shared = &self.0;
        let slot = if shared.scheme.fair {
            let name = known_as(name);
            shared.open(|book| book.slot(shared, &name))
        } else {
            Arc::clone(&shared.rest)
        };
        Caller { shared: Arc::clone(shared), slot }
    }

    /// What is in the budget, for a dashboard.
    pub fn stats(&self, now: Instant) -> Stats {
        let now = self.0.nanos(now);
        self.0.open(|book| {
            book.advance(&self.0, now);
            book.stats()
        })
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Budget").field(&self.0.scheme).finish()
    }
}

/// What is in a budget. Made by [`Budget::stats`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Whole tokens, the stock included. With many callers, or a long line, it
    /// may be above the [`size`](BudgetBuilder::size).
    pub tokens: u64,
    /// Whole tokens without the stock: what the callers that there are can take
    /// between them. At 0 every one of them is refused.
    pub held: u64,
    /// The callers that have a share.
    pub callers: usize,
    /// How often a caller was looked up that had to be folded into the share
    /// of the rest. A number that rises asks for a higher
    /// [`max_callers`](BudgetBuilder::max_callers).
    pub folded: u64,
    /// Retries that wait for a token.
    pub waiting: usize,
}

/// One caller of a budget: what the loop tells it, and asks. Made by
/// [`Budget::caller`].
///
/// Times come from outside. One that is earlier than another seen before counts
/// as that one.
#[derive(Clone)]
pub struct Caller {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
}

impl Caller {
    /// A first attempt begins. It needs no token and is never refused.
    pub fn first_attempt(&self, now: Instant) {
        let now = self.shared.nanos(now);
        self.slot.seen_at(now);
        if let Some(capacity) = &self.shared.capacity {
            capacity.first_attempt(now);
        }
        if self.slot.is_away() {
            self.shared.open(|book| {
                book.advance(&self.shared, now);
                book.place(&self.shared, &self.slot);
            });
        }
        if self.shared.scheme.on == Income::FirstAttempt {
            self.shared.receive(now);
        }
    }

    /// An attempt failed: where failures take tokens, a transient one does.
    pub fn failed(&self, failure: &Failure, now: Instant) {
        let charge = self.shared.scheme.charge;
        if charge == 0 || failure.class() != Class::Transient {
            return;
        }
        self.in_book(self.shared.nanos(now), |book, place| book.shares.charge(place, charge));
    }

    /// The operation succeeded with its `attempts`th attempt.
    pub fn succeeded(&self, attempts: u32, now: Instant) {
        match self.shared.scheme.on {
            Income::FirstAttempt => {}
            Income::FirstTry if attempts != 1 => {}
            Income::FirstTry | Income::Success => self.shared.receive(self.shared.nanos(now)),
        }
    }

    /// A retry after a failure of this kind is decided: takes what it costs, once.
    ///
    /// # Errors
    /// There is too little, and nothing is taken. Who waits in line comes first.
    pub fn take(&self, kind: Kind, now: Instant) -> Result<Token, Empty> {
        let at = self.shared.nanos(now);
        self.slot.seen_at(at);
        let cost = self.shared.scheme.cost(kind);
        self.in_book(at, |book, place| match book.grant(&self.shared, place, cost) {
            Ok(granted) => Ok(self.token(cost, granted)),
            Err(lack) => {
                let next = book.next(&self.shared, place, cost);
                Err(self.shared.refuse(lack, next, at))
            }
        })
    }

    /// A retry after a failure of this kind is decided, and may wait: takes what
    /// it costs, or the next place in line.
    ///
    /// # Errors
    /// There is too little, and no time is known at which there will be enough.
    pub fn reserve(&self, kind: Kind, now: Instant) -> Result<Reservation, Empty> {
        let at = self.shared.nanos(now);
        self.slot.seen_at(at);
        let cost = self.shared.scheme.cost(kind);
        self.in_book(at, |book, place| {
            let lack = match book.grant(&self.shared, place, cost) {
                Ok(granted) => {
                    let token = self.token(cost, granted);
                    return Ok(Reservation::ready(self.clone(), token, now));
                }
                Err(lack) => lack,
            };
            let refusal = |next| self.shared.refuse(lack, next, at);
            let next = book.next(&self.shared, place, cost);
            let Some(until) = next.and_then(|next| self.shared.instant(next)) else {
                return Err(refusal(None));
            };
            let ticket = book.wait(&self.shared, place, cost);
            Ok(Reservation::waiting(self.clone(), ticket, cost, until, refusal(next)))
        })
    }

    /// Whether it has to share with other callers, because there are more than
    /// [`max_callers`](BudgetBuilder::max_callers).
    pub fn is_folded(&self) -> bool {
        self.shared.scheme.fair && Arc::ptr_eq(&self.slot, &self.shared.rest)
    }

    /// What is asked or told as of a time, at the caller's place in the book.
    fn in_book<T>(&self, at: Nanos, ask: impl FnOnce(&mut Book, usize) -> T) -> T {
        self.shared.open(|book| {
            book.advance(&self.shared, at);
            let place = book.place(&self.shared, &self.slot);
            ask(book, place)
        })
    }

    fn token(&self, cost: u128, granted: Nanos) -> Token {
        Token::new(self.clone(), cost, granted)
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("name", &self.slot.name())
            .field("folded", &self.is_folded())
            .finish()
    }
}

impl Shared {
    /// Runs `change` under the lock, and wakes without it whom it let go: a
    /// waker may poll at once.
    fn open<R>(&self, change: impl FnOnce(&mut Book) -> R) -> R {
        let (result, woken) = {
            let mut book = self.lock();
            let result = change(&mut book);
            (result, std::mem::take(&mut book.woken))
        };
        woken.into_iter().for_each(Waker::wake);
        result
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something comes in that is not the floor's.
    fn receive(&self, now: Nanos) {
        let before = self.income.fetch_add(2, Ordering::Relaxed);
        if before & WAITED_FOR != 0 {
            self.open(|book| book.advance(self, now));
        }
    }

    fn nanos(&self, now: Instant) -> Nanos {
        let origin = *self.origin.get_or_init(|| now);
        Nanos::from_duration(now.saturating_duration_since(origin))
    }

    /// `None` beyond what the platform's clock can count.
    fn instant(&self, at: Nanos) -> Option<Instant> {
        self.origin.get()?.checked_add(at.duration())
    }

    fn refuse(&self, what: Lack, next: Option<Nanos>, now: Nanos) -> Empty {
        let wait = next.map_or(Nanos::ZERO, |next| next.minus(now));
        Empty { what, next: next.and_then(|next| self.instant(next)), wait }
    }
}
