//! The numbers that bound an operation.

mod display;
mod error;
#[cfg(feature = "serde")]
pub(crate) mod form;
mod message;

use std::time::Duration;

use crate::backoff::{Backoff, Curve, Extreme};
use crate::nanos::Nanos;

pub use error::PolicyError;

/// The numbers that bound an operation: attempts, time, and how to wait.
///
/// Both bounds must be given; there is no unlimited mode.
///
/// | setting | meaning | default |
/// |---|---|---|
/// | max attempts | runs of the body, the first included | none |
/// | deadline | from the start of attempt 1 to the start of the last one, waits included; a body that runs into it is cut | none |
/// | attempt timeout | time of one attempt | none |
/// | backoff | how long to wait between attempts | [`Backoff::DEFAULT`] |
/// | hint limit | the longest wait that the other side may ask for | 60 s |
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Backoff, Policy};
///
/// const POLICY: Policy = Policy::new(5, Duration::from_secs(30))
///     .attempt_timeout(Duration::from_secs(5))
///     .backoff(Backoff::exponential(Duration::from_millis(200)));
/// assert_eq!(POLICY.validate(), Ok(()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Policy {
    max_attempts: u32,
    deadline: Nanos,
    attempt_timeout: Option<Nanos>,
    backoff: Backoff,
    hint_limit: Nanos,
}

impl Policy {
    /// At most `max_attempts` attempts (the first included; 1 means no retry)
    /// within `deadline`.
    pub const fn new(max_attempts: u32, deadline: Duration) -> Self {
        Self {
            max_attempts,
            deadline: Nanos::from_duration(deadline),
            attempt_timeout: None,
            backoff: Backoff::DEFAULT,
            hint_limit: Nanos::from_duration(Duration::from_secs(60)),
        }
    }

    /// Sets the number of attempts, the first included.
    pub const fn max_attempts(self, max_attempts: u32) -> Self {
        Self { max_attempts, ..self }
    }

    /// Sets the time for everything: attempts and waits.
    pub const fn deadline(self, deadline: Duration) -> Self {
        Self { deadline: Nanos::from_duration(deadline), ..self }
    }

    /// Cuts each attempt after `timeout`. What it was doing may have taken
    /// effect.
    pub const fn attempt_timeout(self, timeout: Duration) -> Self {
        Self { attempt_timeout: Some(Nanos::from_duration(timeout)), ..self }
    }

    /// Sets how long to wait between attempts.
    pub const fn backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// Sets the longest wait that the other side may ask for. A longer one
    /// stops the operation.
    pub const fn hint_limit(self, limit: Duration) -> Self {
        Self { hint_limit: Nanos::from_duration(limit), ..self }
    }

    /// Judges the numbers.
    ///
    /// An attribute of literals is judged when it is compiled. Elsewhere the
    /// first call judges, and stops with
    /// [`invalid_policy`](crate::StopReason::InvalidPolicy) before any attempt;
    /// call this where the policy is made to hear of it earlier.
    ///
    /// # Errors
    /// The first number that cannot be right, with the value and the fix.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::{Backoff, Policy};
    ///
    /// let backoff = Backoff::fixed(Duration::from_secs(20));
    /// let policy = Policy::new(5, Duration::from_secs(30)).backoff(backoff);
    /// assert_eq!(
    ///     policy.validate().unwrap_err().to_string(),
    ///     "attempts 4 to 5 can never run: the shortest waits before the last add up to 40s, \
    ///      and deadline is 30s; lower max_attempts to 3, shorten the backoff or raise deadline",
    /// );
    /// ```
    pub const fn validate(&self) -> Result<(), PolicyError> {
        if self.max_attempts == 0 {
            return Err(PolicyError::NoAttempts);
        }
        if self.deadline.is_zero() {
            return Err(PolicyError::ZeroDeadline);
        }
        if let Some(timeout) = self.attempt_timeout {
            if timeout.is_zero() {
                return Err(PolicyError::ZeroAttemptTimeout);
            }
            if timeout.get() >= self.deadline.get() {
                return Err(PolicyError::AttemptTimeoutTooLong {
                    attempt_timeout: timeout.duration(),
                    deadline: self.deadline.duration(),
                });
            }
        }
        match self.backoff.validate() {
            Ok(()) => self.validate_schedule(),
            error => error,
        }
    }

    /// Refuses attempts that no draw could bring to a start.
    const fn validate_schedule(&self) -> Result<(), PolicyError> {
        let waits = self.backoff.sum(self.max_attempts - 1, Extreme::Shortest);
        if waits.get() < self.deadline.get() {
            return Ok(());
        }
        Err(PolicyError::ScheduleTooLong {
            reach: self.backoff.reach(self.max_attempts, self.deadline),
            max_attempts: self.max_attempts,
            waits: waits.duration(),
            deadline: self.deadline.duration(),
        })
    }

    /// The number of attempts, the first included.
    pub const fn get_max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// The time for everything.
    pub const fn get_deadline(&self) -> Duration {
        self.deadline.duration()
    }

    /// The time of one attempt, if it is bounded.
    pub const fn get_attempt_timeout(&self) -> Option<Duration> {
        match self.attempt_timeout {
            Some(timeout) => Some(timeout.duration()),
            None => None,
        }
    }

    /// How to wait between attempts.
    pub const fn get_backoff(&self) -> Backoff {
        self.backoff
    }

    /// The longest wait that the other side may ask for.
    pub const fn get_hint_limit(&self) -> Duration {
        self.hint_limit.duration()
    }

    pub(crate) const fn deadline_nanos(&self) -> Nanos {
        self.deadline
    }

    pub(crate) const fn attempt_timeout_nanos(&self) -> Option<Nanos> {
        self.attempt_timeout
    }

    pub(crate) const fn hint_limit_nanos(&self) -> Nanos {
        self.hint_limit
    }

    pub(crate) const fn backoff_ref(&self) -> &Backoff {
        &self.backoff
    }
}

/// Which settings of a backoff can be right.
impl Backoff {
    /// What can be judged without bounds.
    pub(crate) const fn validate(&self) -> Result<(), PolicyError> {
        match self.curve() {
            Curve::Factor(numerator, denominator)
                if denominator < 1 || numerator < denominator || numerator > 1000 =>
            {
                return Err(PolicyError::Factor { numerator, denominator });
            }
            Curve::Misplaced(numerator, denominator) => {
                return Err(PolicyError::MisplacedFactor { numerator, denominator });
            }
            _ => {}
        }
        if let Some(cap) = self.written_cap()
            && cap.get() < self.base().get()
        {
            return Err(PolicyError::CapBelowBase {
                cap: cap.duration(),
                base: self.base().duration(),
            });
        }
        let (quantum, cap) = (self.quantum_nanos(), self.effective_cap());
        if quantum.get() > cap.get() {
            return Err(PolicyError::QuantumAboveCap {
                quantum: quantum.duration(),
                cap: cap.duration(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::Jitter;

    const SECOND: Duration = Duration::from_secs(1);

    fn error(policy: Policy) -> String {
        policy.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_pinned() {
        let policy = Policy::new(3, SECOND);
        assert_eq!(policy.get_hint_limit(), 60 * SECOND);
        assert_eq!(policy.get_attempt_timeout(), None);
        assert_eq!(policy.get_backoff().ceiling(1), Duration::from_millis(100));
        assert_eq!(policy.validate(), Ok(()));
    }

    #[test]
    fn every_number_that_cannot_be_right_is_named() {
        let policy = Policy::new(3, 30 * SECOND);
        let fixed = Backoff::fixed(5 * SECOND);
        for (policy, text) in [
            (policy.max_attempts(0), "max_attempts is 0"),
            (policy.deadline(Duration::ZERO), "deadline is 0s"),
            (policy.attempt_timeout(Duration::ZERO), "attempt_timeout is 0s"),
            (
                policy.attempt_timeout(30 * SECOND),
                "attempt_timeout (30s) must be shorter than deadline (30s)",
            ),
            (policy.backoff(fixed.cap(SECOND)), "cap (1s) is below base (5s)"),
            (policy.backoff(fixed.quantum(21 * SECOND)), "quantum (21s) is above cap (20s)"),
            (policy.backoff(Backoff::default().factor(1, 2)), "factor 1/2"),
            (policy.backoff(Backoff::default().factor(1001, 1)), "factor 1001/1"),
            (policy.backoff(fixed.factor(2, 1)), "factor 2/1"),
        ] {
            assert!(error(policy).starts_with(text), "{}", error(policy));
        }
    }

    #[test]
    fn a_schedule_is_refused_only_when_no_draw_fits() {
        let second = Backoff::fixed(2 * SECOND);
        let policy = Policy::new(4, 3 * SECOND);
        // Three waits of one second at least: the last starts at the deadline.
        assert!(policy.backoff(second).validate().is_err());
        assert!(policy.deadline(Duration::from_millis(3001)).backoff(second).validate().is_ok());
        assert!(policy.backoff(second.jitter(Jitter::Full)).validate().is_ok());
        let quantum = second.jitter(Jitter::Full).quantum(SECOND);
        assert!(policy.backoff(quantum).validate().is_err());
        assert!(policy.backoff(Backoff::custom(|_| Duration::MAX)).validate().is_ok());
    }

    #[test]
    fn the_largest_numbers_are_judged_at_once() {
        for curve in [Backoff::fixed, Backoff::linear, Backoff::exponential, Backoff::fibonacci] {
            for base in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
                let _ = Policy::new(u32::MAX, Duration::MAX).backoff(curve(base)).validate();
            }
        }
    }

    /// Judged while this file is compiled.
    const _: () = assert!(Policy::new(5, Duration::from_secs(30)).validate().is_ok());
}
