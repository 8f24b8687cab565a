//! The clock of the calendar, as the machine or a test has it.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use retry_core::Clock;

/// The machine's clock, unless another was given.
#[derive(Clone, Default)]
pub(crate) struct Wall(Option<Arc<dyn Clock>>);

impl Wall {
    pub(crate) fn of(clock: impl Clock) -> Self {
        Self(Some(Arc::new(clock)))
    }

    pub(crate) fn given(&self) -> Option<&Arc<dyn Clock>> {
        self.0.as_ref()
    }

    /// The calendar, which may run back, and a time that does not.
    pub(crate) fn now(&self) -> (SystemTime, Instant) {
        match &self.0 {
            Some(clock) => (clock.utc(), clock.now()),
            None => (SystemTime::now(), Instant::now()),
        }
    }
}

impl fmt::Debug for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "given" } else { "the machine's" })
    }
}
