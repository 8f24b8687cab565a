//! Which process an operation without a key belongs to.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process, as far as operation ids go: 64 random bits and a count.
///
/// Neither the operating system's process number nor the host's name is used:
/// both repeat within a fleet, and operations whose ids repeat wait equally
/// long.
///
/// ```
/// use retry_core::clock::Process;
///
/// let process = Process::new(0xff);
/// assert_eq!((process.id(), process.count(), process.count()), (0xff, 1, 2));
/// ```
#[derive(Debug)]
pub struct Process {
    id: u64,
    counted: AtomicU64,
}

impl Process {
    /// A process with an id of your choice, for tests.
    pub const fn new(id: u64) -> Self {
        Self { id, counted: AtomicU64::new(0) }
    }

    /// The process that this code runs in. Its id is drawn on the first call.
    pub fn current() -> &'static Self {
        static CURRENT: OnceLock<Process> = OnceLock::new();
        CURRENT.get_or_init(|| Self::new(RandomState::new().hash_one(0)))
    }

    /// The 64 bits, shown as 16 hex digits.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The number of the next operation, from 1.
    pub fn count(&self) -> u64 {
        self.counted.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }
}
