//! What names a record, and who holds it.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ulid::Ulid;

use super::RecordError;
use crate::clock::Process;

/// The name of one record: a ULID, so that later ones sort behind earlier ones.
///
/// It is not the operation's id: when the record of a finished operation has
/// expired, the same call is a new operation with the same id.
///
/// ```
/// use retry_core::record::RecordId;
///
/// let id = RecordId::new();
/// assert_eq!(id.to_string().len(), 26);
/// assert_eq!(id.to_string().parse(), Ok(id));
/// assert!("order-1".parse::<RecordId>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(Ulid);

impl RecordId {
    /// A new one: the time, 64 random bits of this process, and a count.
    #[expect(clippy::new_without_default, reason = "two are never equal")]
    pub fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        // The count comes first, so that those of one millisecond sort too.
        let process = u128::from(Process::current().id());
        let random = u128::from(made & 0xffff) << 64 | process;
        Self(Ulid::from_parts(millis, random))
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0; ulid::ULID_LEN];
        f.pad(self.0.array_to_str(&mut buffer))
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordId({self})")
    }
}

impl FromStr for RecordId {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let parsed = Ulid::from_string(text).map(Self).ok();
        // 26 digits hold two bits more than an id has; nor is an `O` a zero here.
        parsed
            .filter(|id| id.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| RecordError::not("a record's id", text))
    }
}

/// Who holds an operation: one call in one process. Whatever writes under a
/// lease names its holder, so that two calls with one epoch cannot be confused.
///
/// ```
/// use retry_core::record::Holder;
///
/// let holder = Holder::new();
/// assert_ne!(holder, Holder::new());
/// assert_eq!(holder.worker(), Holder::new().worker());
/// assert_eq!(holder.to_string().parse(), Ok(holder));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder {
    worker: RecordId,
    call: u64,
}

impl Holder {
    /// A holder that never was.
    #[expect(clippy::new_without_default, reason = "two are never equal")]
    pub fn new() -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Self { worker: Self::this_worker(), call }
    }

    /// The process: an id drawn when it first asks, never a host's name or a pid,
    /// which come again.
    pub fn this_worker() -> RecordId {
        static WORKER: OnceLock<RecordId> = OnceLock::new();
        *WORKER.get_or_init(RecordId::new)
    }

    /// The process that holds.
    pub const fn worker(&self) -> RecordId {
        self.worker
    }
}

/// `{worker}-{call}`
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.worker, self.call)
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Holder({self})")
    }
}

impl FromStr for Holder {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let parts = text.split_once('-').and_then(|(worker, call)| {
            Some(Self { worker: worker.parse().ok()?, call: call.parse().ok()? })
        });
        // Only as it is written: a `+5` is no number of a call.
        parts
            .filter(|holder| holder.to_string() == text)
            .ok_or_else(|| RecordError::not("the holder of a lease", text))
    }
}
