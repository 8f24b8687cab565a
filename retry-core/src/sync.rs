//! Locks and atomics: the standard library's, or loom's where every
//! interleaving is tried.

#[cfg(not(all(test, retry_loom)))]
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, atomic};

#[cfg(all(test, retry_loom))]
pub(crate) use loom::sync::{Arc, Mutex, MutexGuard, atomic};
