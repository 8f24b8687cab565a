//! A policy in words.

use std::fmt;

use super::Policy;
use crate::backoff::{Backoff, Curve, Jitter};
use crate::nanos::Nanos;

/// One line:
///
/// ```
/// use std::time::Duration;
/// use retry_core::Policy;
///
/// assert_eq!(
///     Policy::new(5, Duration::from_secs(30)).to_string(),
///     "at most 5 attempts in 30s; waits exponential from 100ms, factor 2, cap 20s, equal jitter; \
///      hints up to 60s",
/// );
/// ```
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (attempts, deadline) = (self.max_attempts, self.deadline);
        let s = if attempts == 1 { "" } else { "s" };
        write!(f, "at most {attempts} attempt{s} in {deadline:?}")?;
        if let Some(timeout) = self.attempt_timeout {
            write!(f, ", each cut after {timeout:?}")?;
        }
        write!(f, "; waits {}; hints up to {:?}", self.backoff, self.hint_limit)
    }
}

/// One clause: `exponential from 100ms, factor 2, cap 20s, equal jitter`.
impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.base();
        match self.curve() {
            Curve::Exponential => write!(f, "exponential from {base:?}, factor 2")?,
            Curve::Factor(numerator, 1) => {
                write!(f, "exponential from {base:?}, factor {numerator}")?;
            }
            Curve::Factor(numerator, denominator) => {
                write!(f, "exponential from {base:?}, factor {numerator}/{denominator}")?;
            }
            Curve::Linear => write!(f, "linear from {base:?}")?,
            Curve::Fibonacci => write!(f, "fibonacci from {base:?}")?,
            Curve::Fixed => write!(f, "fixed at {base:?}")?,
            Curve::Custom(_) => f.write_str("by a function")?,
            Curve::Misplaced(numerator, denominator) => {
                write!(
                    f,
                    "from {base:?}, with a factor {numerator}/{denominator} that is misplaced"
                )?;
            }
        }
        if self.effective_cap() < Nanos::MAX {
            write!(f, ", cap {:?}", self.effective_cap())?;
        }
        if !self.quantum_nanos().is_zero() {
            write!(f, ", quantum {:?}", self.quantum_nanos())?;
        }
        match self.get_jitter() {
            Jitter::Equal => f.write_str(", equal jitter"),
            Jitter::Full => f.write_str(", full jitter"),
            Jitter::None => f.write_str(", no jitter"),
            Jitter::Additive(most) => {
                write!(f, ", jitter of up to {:?} more", Nanos::from_duration(most))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_setting_has_its_words() {
        let second = Duration::from_secs(1);
        for (backoff, text) in [
            (
                Backoff::DEFAULT.factor(3, 2),
                "exponential from 100ms, factor 3/2, cap 20s, equal jitter",
            ),
            (
                Backoff::DEFAULT.factor(3, 1),
                "exponential from 100ms, factor 3, cap 20s, equal jitter",
            ),
            (Backoff::linear(second).jitter(Jitter::Full), "linear from 1s, cap 20s, full jitter"),
            (Backoff::fibonacci(second).cap(5 * second), "fibonacci from 1s, cap 5s, equal jitter"),
            (Backoff::fixed(second).jitter(Jitter::None), "fixed at 1s, cap 20s, no jitter"),
            (
                Backoff::fixed(second).quantum(second).jitter(Jitter::Additive(second)),
                "fixed at 1s, cap 20s, quantum 1s, jitter of up to 1s more",
            ),
            (Backoff::custom(|_| Duration::ZERO), "by a function, equal jitter"),
        ] {
            assert_eq!(backoff.to_string(), text);
        }
        let policy = Policy::new(1, second).attempt_timeout(second / 2).hint_limit(second);
        let text = policy.to_string();
        assert!(
            text.starts_with("at most 1 attempt in 1s, each cut after 500ms; waits "),
            "{text}"
        );
        assert!(text.ends_with("; hints up to 1s"), "{text}");
    }
}
