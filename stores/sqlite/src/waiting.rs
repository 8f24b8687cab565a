//! Who waits for a record that somebody holds.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use retry_core::record::RecordId;

/// Told when their record is free.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<HashMap<RecordId, Vec<oneshot::Sender<()>>>>);

impl Waiting {
    pub(crate) fn add(&self, record: RecordId, waiter: oneshot::Sender<()>) {
        self.waiters().entry(record).or_default().push(waiter);
    }

    /// Those that are waited for, without those whose waiters have gone.
    pub(crate) fn records(&self) -> Vec<RecordId> {
        let mut waiters = self.waiters();
        waiters.retain(|_, waiters| {
            waiters.retain(|waiter| !waiter.is_canceled());
            !waiters.is_empty()
        });
        waiters.keys().copied().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiters().is_empty()
    }

    pub(crate) fn free(&self, records: &[RecordId]) {
        if records.is_empty() {
            return;
        }
        let mut waiters = self.waiters();
        if waiters.is_empty() {
            return;
        }
        let freed: Vec<_> =
            records.iter().filter_map(|record| waiters.remove(record)).flatten().collect();
        // Told without the lock: a waker may ask again at once.
        drop(waiters);
        for waiter in freed {
            let _ = waiter.send(());
        }
    }

    /// Nothing panics under the lock.
    fn waiters(&self) -> MutexGuard<'_, HashMap<RecordId, Vec<oneshot::Sender<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
