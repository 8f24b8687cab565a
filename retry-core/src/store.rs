//! Where records are kept.
//!
//! A store keeps; it decides nothing. Each change of a record is a pure function
//! of what is kept ([`Change::apply`](crate::record::Change::apply)), and a store
//! applies it inside one transaction of its own, with its own clock.
//!
//! [`MemoryStore`] is for tests: it forgets with the process. `retry-sqlite` keeps
//! a file that several processes of one machine share.

mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod memory;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::operation_id::OperationId;
use crate::record::{Arguments, Change, Head, Holder, New, Phase, Record, RecordId, Refused};

pub use clock::StoreClock;
pub use error::StoreError;
pub use memory::MemoryStore;

/// What a store answers, once it is kept.
pub type Reply<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// Keeps the records of durable operations.
///
/// What every method promises:
///
/// - An answer comes after what it says is kept as safely as the store keeps
///   anything: whatever is acknowledged survives a crash.
/// - What one method writes is one transaction. A change that is refused writes
///   nothing.
/// - Writes take effect in the order in which their methods are called, also
///   where a reply is dropped before it is ready. A write that was asked for may
///   happen although its reply was dropped.
/// - Time is the store's own, and never runs back: where several processes share
///   a store, they share its clock.
/// - Records are verified when they are read ([`Record::read`]), and one that is
///   damaged is an error that names it, never an answer.
///
/// A backend is tested by [`conformance`], feature `conformance`.
///
/// The trait is object-safe: a [`Retrier`](crate::Retrier) holds one of any kind.
pub trait Store: Send + Sync + 'static {
    /// Begins an operation, unless there is one with its id whose record has not
    /// expired. Only an id with a key is unique. Arguments over the
    /// [limit](Self::limits) begin none: [`StoreError::TooLarge`].
    fn enqueue(&self, new: New) -> Reply<Enqueued>;

    /// Applies changes, each to one record and each by itself: one that is refused
    /// does not hold back another.
    fn commit(&self, writes: Vec<Write>) -> Reply<Vec<Result<Head, Refused>>>;

    /// Applies one change without an answer, for a caller that cannot wait: behind
    /// whatever was asked for before. It is lost where the process ends first, and
    /// what it says is then found by the end of the lease.
    fn post(&self, write: Write);

    /// Claims operations of a queue that are due, the earliest first, and charges an
    /// attempt of each: [`Change::Claim`]. One whose time is over is dead by that,
    /// counts against the limit, and is handed out to nobody. The empty queue hands
    /// out nothing.
    fn claim(&self, due: Due) -> Reply<Vec<Claimed>>;

    /// Judges operations whose lease is over, the earliest first:
    /// [`Change::Reclaim`].
    fn reclaim(&self, limit: usize) -> Reply<Vec<Head>>;

    /// The record of the operation with this id, which has a key, unless that has
    /// expired.
    fn find(&self, operation: OperationId) -> Reply<Option<Record>>;

    /// The record of this id.
    fn read(&self, record: RecordId) -> Reply<Option<Record>>;

    /// Heads, the latest record first.
    fn list(&self, list: List) -> Reply<Vec<Head>>;

    /// Ready once nobody holds the record: its lease has ended or is over, or there
    /// is no such record.
    fn freed(&self, record: RecordId) -> Reply<()>;

    /// Removes records that are done and have expired, the oldest first, and frees
    /// the keys of dead ones that have. Nothing in review or dead is removed.
    /// Answers how many records and keys it was, `limit` at most: fewer where
    /// nothing is left to do.
    fn retain(&self, limit: usize) -> Reply<usize>;

    /// How large what it keeps may be.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// One change of one record.
#[derive(Clone, Debug)]
pub struct Write {
    /// The record.
    pub record: RecordId,
    /// The change.
    pub change: Change,
}

/// What became of an operation that was to begin.
#[derive(Clone, Debug)]
pub enum Enqueued {
    /// It exists now.
    New(Box<Head>),
    /// It existed already, and nothing was written.
    Existing(Box<Record>),
}

/// Which operations to claim.
#[derive(Clone, Debug)]
pub struct Due {
    /// The queue.
    pub queue: String,
    /// How many at most.
    pub limit: usize,
    /// Who claims.
    pub holder: Holder,
    /// For how long.
    pub lease: Duration,
}

/// An operation whose attempt was charged, and what it is called with.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The head, under the lease.
    pub head: Head,
    /// The arguments.
    pub arguments: Arguments,
}

/// Which heads to list.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// Only of operations of this name.
    pub name: Option<String>,
    /// Only of operations with this id.
    pub operation: Option<OperationId>,
    /// Only in this phase.
    pub phase: Option<Phase>,
    /// Only records before this one.
    pub before: Option<RecordId>,
    /// How many at most.
    pub limit: usize,
}

/// How large what a store keeps may be, in bytes of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The arguments of an operation, refused by [`Store::enqueue`].
    pub arguments: usize,
    /// Its result, looked at by who runs it: instead of a larger one, a review is
    /// kept.
    pub result: usize,
}

impl Limits {
    /// Whether the arguments may be kept.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`].
    pub fn check_arguments(&self, arguments: &Arguments) -> Result<(), StoreError> {
        at_most("the arguments", arguments.json().len(), self.arguments)
    }

    /// Whether the result, which is JSON, may be kept.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`].
    pub fn check_result(&self, result: &str) -> Result<(), StoreError> {
        at_most("the result", result.len(), self.result)
    }
}

const fn at_most(what: &'static str, bytes: usize, limit: usize) -> Result<(), StoreError> {
    if bytes > limit { Err(StoreError::TooLarge { what, bytes, limit }) } else { Ok(()) }
}

/// 64 KiB of arguments, 1 MiB of result.
impl Default for Limits {
    fn default() -> Self {
        Self { arguments: 64 << 10, result: 1 << 20 }
    }
}
