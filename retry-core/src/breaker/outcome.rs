//! What a call says about the service.

use crate::classify::{Class, Failure};

/// What a call that was let through came to. The fourth outcome, dropped, is a
/// [`Permit`](super::Permit) that is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The service answered.
    Success,
    /// It did not, or not in a usable way.
    Failure,
    /// The call says nothing about the service.
    Ignored,
}

impl Outcome {
    pub(super) const fn of(failure: &Failure, permanent: Self) -> Self {
        // A nested stop has a breaker of its own to tell.
        if failure.inner().is_some() {
            return Self::Ignored;
        }
        // A rejected value is among the transient ones.
        match failure.class() {
            Class::Transient => Self::Failure,
            Class::Permanent => permanent,
            Class::Unknown => Self::Ignored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::StopReason;

    #[test]
    fn a_rejected_value_is_a_failure_and_a_nested_stop_is_none() {
        let of = |failure: Failure| Outcome::of(&failure, Outcome::Success);
        assert_eq!(of(Failure::rejected()), Outcome::Failure);
        for reason in StopReason::ALL {
            assert_eq!(of(Failure::permanent().nested(*reason)), Outcome::Ignored);
            assert_eq!(of(Failure::transient().nested(*reason)), Outcome::Ignored);
        }
        // An author who calls a nested stop transient means it.
        let meant =
            Failure::permanent().nested(StopReason::CircuitOpen).with_class(Class::Transient);
        assert_eq!(of(meant), Outcome::Failure);
    }
}
