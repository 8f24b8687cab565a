//! The clock of the calendar, as the machine or a test has it.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use retry_core::Clock;
use retry_core::record::Timestamp;

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

    /// May run back: a store's time is at least its floor.
    pub(crate) fn now(&self) -> Timestamp {
        let utc = self.0.as_ref().map_or_else(SystemTime::now, |clock| clock.utc());
        Timestamp::from(utc)
    }
}

impl fmt::Debug for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "given" } else { "the machine's" })
    }
}
