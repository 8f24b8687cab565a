//! Whether there is time enough to send a request.

use std::fmt;
use std::time::Duration;

use crate::classify::{Class, Classify, Failure};
use crate::nanos::Nanos;
use crate::scope;
use crate::stop::StopReason;

/// What a request may say is left: `remaining`, or what is left around where
/// that is less. At least `least`, the smallest time that the header can say.
pub(super) fn time_left(remaining: Duration, least: Duration) -> Result<Duration, NoTimeLeft> {
    let around = scope::left().map_or(Duration::MAX, Nanos::duration);
    // Asked first: where both are over, no attempt can follow.
    if around < least {
        return Err(NoTimeLeft { of: Of::Operation, least });
    }
    if remaining < least {
        return Err(NoTimeLeft { of: Of::Attempt, least });
    }
    Ok(remaining.min(around))
}

/// So little time is left that the request was not sent. Nothing happened.
///
/// | whose time | failure |
/// |---|---|
/// | the attempt's, by its timeout | transient, effect none, timeout: the next attempt has time of its own |
/// | the operation's, or what a [`within`](crate::within()) or a caller around left | as a nested stop with `deadline_exceeded`, effect none: no attempt follows |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTimeLeft {
    of: Of,
    least: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Attempt,
    Operation,
}

impl fmt::Display for NoTimeLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = match self.of {
            Of::Attempt => "attempt",
            Of::Operation => "operation",
        };
        let least = self.least;
        write!(f, "less than {least:?} is left of the {whose}'s time; the request was not sent")
    }
}

impl std::error::Error for NoTimeLeft {}

impl Classify for NoTimeLeft {
    fn classify(&self) -> Failure {
        let late = Failure::timeout().no_effect();
        match self.of {
            Of::Attempt => late,
            Of::Operation => late.with_class(Class::Permanent).nested(StopReason::DeadlineExceeded),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::attempt::Attempt;
    use crate::backoff::Backoff;
    use crate::classify::Effect;
    use crate::clock::{Clock, VirtualClock};
    use crate::operation::Operation;
    use crate::policy::Policy;
    use crate::stopped::Stopped;
    use crate::within::within;

    const MS: Duration = Duration::from_millis(1);
    const SECOND: Duration = Duration::from_secs(1);

    /// An operation whose attempts take this long, and then ask.
    fn asks_after(spent: Duration, policy: Policy) -> Stopped<NoTimeLeft> {
        let clock = VirtualClock::manual();
        let operation = Operation::at_most_once("labels.print", policy);
        let asks = operation.run(async |attempt: Attempt| {
            clock.advance(spent);
            time_left(attempt.remaining(), MS).map(drop)
        });
        block_on(clock.clone().scope(asks)).unwrap_err()
    }

    #[test]
    fn a_deadline_that_is_over_stops_the_operation() {
        let policy = Policy::new(3, SECOND).backoff(Backoff::fixed(Duration::ZERO));
        let stopped = asks_after(SECOND - Duration::from_nanos(1), policy);
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DeadlineExceeded, 1));
        let failure = stopped.failures()[0].failure();
        assert_eq!(failure.effect(), Effect::None);
        assert_eq!(
            stopped.error().unwrap().to_string(),
            "less than 1ms is left of the operation's time; the request was not sent"
        );
    }

    #[test]
    fn an_attempt_whose_own_time_is_over_may_be_followed_by_another() {
        let policy = Policy::new(2, SECOND * 60)
            .attempt_timeout(SECOND)
            .backoff(Backoff::fixed(Duration::ZERO));
        let stopped = asks_after(SECOND - Duration::from_nanos(1), policy);
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::AttemptsExhausted, 2));
        let failure = stopped.failures()[0].failure();
        assert_eq!((failure.class(), failure.effect()), (Class::Transient, Effect::None));
        assert_eq!(
            stopped.error().unwrap().to_string(),
            "less than 1ms is left of the attempt's time; the request was not sent"
        );
    }

    #[test]
    fn the_shorter_of_the_attempt_and_what_is_around_counts() {
        let clock = VirtualClock::manual();
        let operation = Operation::idempotent("prices", Policy::new(1, SECOND * 30));
        let asks = operation.run(async |attempt: Attempt| {
            let ask = || time_left(attempt.remaining(), MS);
            assert_eq!(ask(), Ok(SECOND * 30));
            assert_eq!(within(SECOND * 5, async { ask() }).await, Ok(SECOND * 5));
            assert_eq!(within(SECOND * 50, async { ask() }).await, Ok(SECOND * 30));
            clock.advance(SECOND * 10);
            ask()
        });
        assert_eq!(block_on(clock.clone().scope(asks)).unwrap(), SECOND * 20);
        // Nothing is around.
        assert_eq!(time_left(SECOND, MS), Ok(SECOND));
    }
}
