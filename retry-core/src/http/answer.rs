//! What one's own server answers when an operation that it made has stopped.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, StatusCode, header};

use super::RETRY_FORBIDDEN;
use crate::hint::Hint;
use crate::stop::StopReason;
use crate::stopped::{FailedAttempt, Stopped};

/// The answer of one's own server to its caller, after a stop. Made by
/// [`Stopped::answer`], or by [`answer()`] where only the reason is at hand.
///
/// | reasons | status | headers |
/// |---|---|---|
/// | `deadline_exceeded` | 504 | `Retry-After`, where a wait is known |
/// | `attempts_exhausted`, `hint_too_long`, `budget_exhausted`, `circuit_open`, `disabled`, `cancelled`, `in_flight`, `store_failed`, `lease_lost` | 503 | `Retry-After`, where a wait is known |
/// | `fail_permanent`, `manual_review`, `do_not_retry`, `not_idempotent`, `nesting_limit`, `invalid_policy`, `key_reused` | 503 | `retry-forbidden: 1`, no `Retry-After` |
///
/// In the last row the same call cannot succeed, or must not be made: a person
/// is asked, the effect would double, or the tries would multiply. These are
/// still no fault of the caller's that a 4xx could name; where they are (a
/// declined card, an unknown account), look at the error before asking here and
/// answer it in your own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Answer {
    status: StatusCode,
    retry_after: Option<u64>,
    forbidden: bool,
}

/// The answer to a stop. `retry_after` is how long the caller should wait,
/// where that is known: the hint of the last failure, or the time until a
/// breaker or a budget lets the next call through.
///
/// ```
/// use std::time::Duration;
/// use http::StatusCode;
/// use retry_core::StopReason;
/// use retry_core::http::answer;
///
/// let busy = answer(StopReason::CircuitOpen, Some(Duration::from_millis(1_200)));
/// assert_eq!(busy.status(), StatusCode::SERVICE_UNAVAILABLE);
/// assert_eq!(busy.headers()["retry-after"], "2");
///
/// let late = answer(StopReason::DeadlineExceeded, None);
/// assert_eq!(late.status(), StatusCode::GATEWAY_TIMEOUT);
///
/// let declined = answer(StopReason::FailPermanent, None);
/// assert_eq!(declined.headers()["retry-forbidden"], "1");
/// ```
pub fn answer(reason: StopReason, retry_after: Option<Duration>) -> Answer {
    use StopReason as R;
    let (status, forbidden) = match reason {
        R::DeadlineExceeded => (StatusCode::GATEWAY_TIMEOUT, false),
        R::AttemptsExhausted
        | R::HintTooLong
        | R::BudgetExhausted
        | R::CircuitOpen
        | R::Disabled
        | R::Cancelled
        | R::InFlight
        | R::StoreFailed
        | R::LeaseLost => (StatusCode::SERVICE_UNAVAILABLE, false),
        R::FailPermanent
        | R::ManualReview
        | R::DoNotRetry
        | R::NotIdempotent
        | R::NestingLimit
        | R::InvalidPolicy
        | R::KeyReused => (StatusCode::SERVICE_UNAVAILABLE, true),
    };
    let retry_after = retry_after.filter(|_| !forbidden).map(whole_seconds);
    Answer { status, retry_after, forbidden }
}

impl<E> Stopped<E> {
    /// What one's own server answers after this stop: [`answer()`] of the
    /// reason, where the last failure brought a hint with that wait. Feature
    /// `http`.
    ///
    /// ```
    /// use http::{Response, StatusCode};
    /// use retry_core::Stopped;
    ///
    /// fn unavailable<E>(stopped: &Stopped<E>) -> Response<String> {
    ///     let answer = stopped.answer();
    ///     let mut response = Response::new(stopped.reason().to_string());
    ///     *response.status_mut() = answer.status();
    ///     response.headers_mut().extend(answer.headers());
    ///     response
    /// }
    /// ```
    pub fn answer(&self) -> Answer {
        let hint = self.failures().last().map(FailedAttempt::failure).and_then(|last| last.hint());
        let wait = match hint {
            Some(Hint::Wait(wait)) => Some(wait),
            Some(Hint::DoNotRetry) | None => None,
        };
        answer(self.reason(), wait)
    }
}

impl Answer {
    /// 503 or 504.
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Seconds for `Retry-After`, where a wait is known and a retry allowed.
    pub const fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// Whether the caller is told not to retry.
    pub const fn is_retry_forbidden(&self) -> bool {
        self.forbidden
    }

    /// The headers of the answer: `Retry-After`, or `retry-forbidden: 1`, or
    /// neither.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.forbidden {
            headers.insert(RETRY_FORBIDDEN, HeaderValue::from_static("1"));
        }
        headers
    }
}

/// Rounded up: a caller that comes back early is refused again.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use futures::executor::block_on;

    use super::*;
    use crate::classify::Failure;
    use crate::clock::{Clock, VirtualClock};
    use crate::http::Profile;
    use crate::operation::Operation;
    use crate::policy::Policy;

    const WAIT: Option<Duration> = Some(Duration::from_secs(3));

    #[test]
    fn every_stop_is_503_or_504() {
        for reason in StopReason::ALL {
            let expected = if *reason == StopReason::DeadlineExceeded { 504 } else { 503 };
            assert_eq!(answer(*reason, WAIT).status().as_u16(), expected, "{reason}");
        }
    }

    #[test]
    fn an_answer_has_a_time_or_forbids_the_retry() {
        for reason in StopReason::ALL {
            let answer = answer(*reason, WAIT);
            assert_ne!(answer.retry_after().is_some(), answer.is_retry_forbidden(), "{reason}");
        }
    }

    #[test]
    fn seconds_are_rounded_up() {
        for (wait, seconds) in [
            (Duration::ZERO, 0),
            (Duration::from_nanos(1), 1),
            (Duration::from_secs(1), 1),
            (Duration::new(1, 1), 2),
            (Duration::MAX, u64::MAX),
        ] {
            let answer = answer(StopReason::CircuitOpen, Some(wait));
            assert_eq!(answer.retry_after(), Some(seconds), "{wait:?}");
        }
    }

    #[test]
    fn a_caller_reads_what_the_server_said() {
        let read = |reason| {
            let answer = answer(reason, WAIT);
            Profile::STANDARD.failure(answer.status(), &answer.headers(), SystemTime::UNIX_EPOCH)
        };
        let busy = read(StopReason::BudgetExhausted).unwrap();
        assert_eq!(busy.hint(), WAIT.map(Hint::Wait));
        let review = read(StopReason::ManualReview).unwrap();
        assert_eq!(review.hint(), Some(Hint::DoNotRetry));
    }

    fn stop(max_attempts: u32, failure: Failure) -> Stopped<()> {
        let policy = Policy::new(max_attempts, Duration::from_secs(5));
        let operation = Operation::idempotent("prices", policy).classify(move |(): &()| failure);
        block_on(VirtualClock::new().scope(operation.run(|_| async { Err::<(), ()>(()) })))
            .unwrap_err()
    }

    #[test]
    fn a_stop_passes_on_how_long_the_other_side_asked_to_wait() {
        let wait = Duration::from_millis(1_500);
        let busy = stop(1, Failure::transient().after(wait));
        assert_eq!(busy.answer(), answer(StopReason::AttemptsExhausted, Some(wait)));
        let long = Failure::transient().after(Duration::from_secs(86_400));
        assert_eq!(stop(3, long).answer().retry_after(), Some(86_400));
        // Asked for more than is left.
        let late = stop(3, Failure::transient().after(Duration::from_secs(7))).answer();
        assert_eq!((late.status().as_u16(), late.retry_after()), (504, Some(7)));
    }

    #[test]
    fn a_stop_without_a_wait_invents_none() {
        assert_eq!(stop(2, Failure::transient()).answer().retry_after(), None);
        let forbidden = stop(2, Failure::transient().with_hint(Hint::DoNotRetry));
        assert!(forbidden.answer().is_retry_forbidden());
        let invalid = stop(0, Failure::transient());
        assert_eq!(invalid.answer(), answer(StopReason::InvalidPolicy, None));
    }
}
