//! Tracing, where it is not compiled in.

use crate::observe::{
    AttemptFailed, AttemptStarted, Cancelled, Deferred, OperationStopped, Succeeded,
};

/// Nothing.
pub(super) struct Trace;

#[allow(clippy::unused_self, reason = "stands in for spans")]
impl Trace {
    pub(super) const fn new() -> Self {
        Self
    }

    pub(super) const fn is_enabled(&self) -> bool {
        false
    }

    pub(super) const fn enter(&self) -> Option<()> {
        None
    }

    pub(super) const fn attempt_started(&mut self, _: &AttemptStarted<'_>) {}

    pub(super) const fn attempt_failed(&mut self, _: &AttemptFailed<'_>) {}

    pub(super) const fn deferred(&mut self, _: &Deferred<'_>) {}

    pub(super) const fn succeeded(&mut self, _: &Succeeded<'_>) {}

    pub(super) const fn stopped(&mut self, _: &OperationStopped<'_>) {}

    pub(super) const fn cancelled(&mut self, _: &Cancelled<'_>) {}
}
