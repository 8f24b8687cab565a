//! Locks and atomics.

pub(crate) use std::sync::{Arc, Mutex, MutexGuard, atomic};
