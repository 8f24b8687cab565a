//! All records of a store, in pages.

use std::collections::VecDeque;

use futures::executor::block_on;
use retry_core::record::{Head, RecordError, RecordId};
use retry_core::store::{List, Store, StoreError};

/// The heads of the records that a list asks for, the latest first, whatever its
/// limit is. One that cannot be read is an error that names it, and the walk goes
/// on behind it; any other error ends it.
pub(crate) struct Walk<'a> {
    store: &'a dyn Store,
    list: List,
    page: VecDeque<Head>,
    has_ended: bool,
}

impl<'a> Walk<'a> {
    /// How many heads are read at a time.
    const PAGE: usize = 500;

    /// Begins at the latest, or where the list says.
    pub(crate) fn of(store: &'a dyn Store, list: List) -> Self {
        let list = List { limit: Self::PAGE, ..list };
        Self { store, list, page: VecDeque::new(), has_ended: false }
    }

    /// Reads until there is a head, an error to tell, or the end.
    fn fill(&mut self) -> Result<(), StoreError> {
        while self.page.is_empty() && !self.has_ended {
            match block_on(self.store.list(self.list.clone())) {
                Ok(heads) => {
                    self.has_ended = heads.len() < self.list.limit;
                    self.list.before = heads.last().map(|head| head.record).or(self.list.before);
                    self.page = heads.into();
                }
                // Somewhere in the page: nearer to it, one by one.
                Err(StoreError::Record(_)) if self.list.limit > 1 => self.list.limit = 1,
                Err(error) => {
                    self.go_behind(&error);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The record that comes next cannot be read. What comes after it perhaps can.
    fn go_behind(&mut self, error: &StoreError) {
        let record = record_of(error).filter(|record| {
            // Otherwise the walk would turn in a circle.
            self.list.before.is_none_or(|before| *record < before)
        });
        match record {
            Some(record) => (self.list.before, self.list.limit) = (Some(record), Self::PAGE),
            None => self.has_ended = true,
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Head, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.fill() {
            Ok(()) => self.page.pop_front().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}

/// The record that an error is about.
pub(crate) const fn record_of(error: &StoreError) -> Option<RecordId> {
    match error {
        StoreError::Record(
            RecordError::Damaged { record, .. }
            | RecordError::Unreadable { record, .. }
            | RecordError::NewerRules { record, .. },
        ) => Some(*record),
        _ => None,
    }
}
