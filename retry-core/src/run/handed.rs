//! What an operation got with its retrier.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use super::Spec;
use super::protection::Protection;
use crate::decide::Situation;
use crate::nanos::Nanos;
use crate::observe::Observers;
use crate::policy::Policy;
use crate::retrier::Retrier;
use crate::stop::UnknownName;
use crate::switch::{Position, Ticket};

/// Allocated when the operation begins, so that one without a retrier is small.
pub(super) struct Handed {
    retrier: Retrier,
    protection: Option<Protection>,
    /// A resource that the retrier does not know.
    unknown: Option<Arc<UnknownName>>,
    /// Whether an attempt has begun.
    pub(super) has_begun: bool,
    /// What the record of the operation brings along.
    pub(super) carried: Option<Carried>,
    /// The operation waits, and the switch knows.
    ticket: Option<Ticket>,
}

/// What an operation that survives its process brings along.
pub(crate) struct Carried {
    /// The numbers that it began with.
    pub(crate) policy: Policy,
    /// Logical time before this process began with it.
    pub(crate) elapsed: Nanos,
    /// Attempts that were given back.
    pub(crate) released: u32,
}

impl Handed {
    /// `outside` is the resource of the attempt around.
    pub(super) fn new(retrier: Retrier, spec: &Spec, outside: u16) -> Self {
        let (resource, unknown) = match retrier.resources().find(spec.get_resource()) {
            Ok(resource) => (resource, None),
            Err(unknown) => (None, Some(unknown)),
        };
        let protection =
            resource.map(|resource| Protection::new(resource, spec.get_on_refusal(), outside));
        Self { retrier, protection, unknown, has_begun: false, carried: None, ticket: None }
    }

    pub(super) fn observers(&self) -> &Observers {
        self.retrier.observers()
    }

    /// What it holds of its resource, and who hears of it.
    pub(super) fn protection(&mut self) -> Option<(&mut Protection, &Observers)> {
        let observers = self.retrier.observers();
        self.protection.as_mut().map(|protection| (protection, observers))
    }

    /// An attempt begins; gives the resource that operations inside are told.
    pub(super) fn begin(&mut self, is_first: bool, now: Instant) -> Option<u16> {
        let protection = self.protection.as_mut()?;
        protection.begin(is_first, now);
        self.has_begun = true;
        Some(protection.resource_id())
    }

    /// Whether an attempt was asked for, and none has begun.
    pub(super) const fn is_deferred_first(&self) -> bool {
        self.protection.is_some() && !self.has_begun
    }

    pub(super) fn resource_id(&self) -> Option<u16> {
        self.protection.as_ref().map(Protection::resource_id)
    }

    pub(super) fn resource(&self) -> Option<&str> {
        self.protection.as_ref().map(Protection::resource)
    }

    pub(super) fn unknown(&self) -> Option<Arc<UnknownName>> {
        self.unknown.clone()
    }

    /// What the retrier adds to how the operation is judged.
    pub(super) fn situation(&self, situation: Situation) -> Situation {
        let situation = situation.nesting_limit(self.retrier.nesting_limit());
        match self.retrier.switch().position() {
            Position::On => situation,
            Position::Off => situation.disabled(true),
            Position::ShutDown => situation.shut_down(),
        }
    }

    /// Whether the wait may go on; wakes it when it may not.
    pub(super) fn may_wait(&mut self, waker: &Waker) -> bool {
        self.retrier.switch().watch(&mut self.ticket, waker) == Position::On
    }

    pub(super) fn waited(&mut self) {
        self.retrier.switch().leave(&mut self.ticket);
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.waited();
    }
}
