//! What one's own server answers when an operation that it made has stopped.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, StatusCode, header};

use super::RETRY_FORBIDDEN;
use crate::hint::Hint;
use crate::stop::StopReason;
use crate::stopped::Stopped;

/// The answer of one's own server to its caller, after a stop. Made by
/// [`Stopped::answer`], or by [`answer()`] where only the reason is at hand.
///
/// | reason | status | `retry-forbidden: 1` | `Retry-After` |
/// |---|---|---|---|
/// | `fail_permanent`, `manual_review`, `do_not_retry`, `not_idempotent`, `nesting_limit`, `invalid_policy`, `key_reused` | 503 | yes | no |
/// | `attempts_exhausted`, `budget_exhausted`, `disabled` | 503 | yes | where a wait is known |
/// | `deadline_exceeded` | 504 | yes, unless it was the caller's time | where a wait is known |
/// | `hint_too_long`, `circuit_open` | 503 | where no wait is known | where a wait is known |
/// | `cancelled`, `in_flight`, `store_failed`, `lease_lost` | 503 | no | where a wait is known |
///
/// An operation does not retry what one inside it has given up, whether there is
/// a network between them or not: otherwise three services of three attempts
/// each would call the last one 27 times. Hence, row by row:
///
/// 1. The same call cannot succeed, or must not be made: a person is asked, the
///    effect would double, or the tries would multiply.
/// 2. The tries are made, or retries are what this process must not add: a
///    caller's retry would be a first attempt here, which no budget and no
///    switch refuses. A `Retry-After` is for the next call, not for this one again.
/// 3. The same, where the operation's own time is over. What the caller, or
///    anything else around the operation, left it is for the caller to judge:
///    it may have cut one attempt of several.
/// 4. Nothing is sent until a known time, so that a retry after that multiplies
///    nothing.
/// 5. It is about this process, not the call: another one may answer, or this
///    one may have the result by then.
///
/// The status is no 4xx, because a stop is no fault of the caller's; where it is
/// (a declined card, an unknown account), look at the error before asking here
/// and answer it in your own terms. With the feature `axum`, this is a response.
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
/// A `deadline_exceeded` counts as the operation's own; [`Stopped::answer`]
/// knows better.
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
/// let given_up = answer(StopReason::AttemptsExhausted, None);
/// assert_eq!(given_up.headers()["retry-forbidden"], "1");
/// ```
pub fn answer(reason: StopReason, retry_after: Option<Duration>) -> Answer {
    use StopReason as R;
    let retry_after = retry_after.map(whole_seconds);
    let (forbidden, retry_after) = match reason {
        R::FailPermanent
        | R::ManualReview
        | R::DoNotRetry
        | R::NotIdempotent
        | R::NestingLimit
        | R::InvalidPolicy
        | R::KeyReused => (true, None),
        R::AttemptsExhausted | R::BudgetExhausted | R::Disabled | R::DeadlineExceeded => {
            (true, retry_after)
        }
        R::HintTooLong | R::CircuitOpen => (retry_after.is_none(), retry_after),
        R::Cancelled | R::InFlight | R::StoreFailed | R::LeaseLost => (false, retry_after),
    };
    let status = match reason {
        R::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    Answer { status, retry_after, forbidden }
}

impl<E> Stopped<E> {
    /// What one's own server answers after this stop: [`answer()`] of the
    /// reason. The wait is what the last failure's hint asked for, or until the
    /// budget or breaker that refused lets the next one through, the longer one.
    /// A caller whose own time was over is not told not to retry. Feature `http`.
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
        let hint = self.failures().last().and_then(|last| match last.failure().hint() {
            Some(Hint::Wait(wait)) => Some(wait),
            Some(Hint::DoNotRetry) | None => None,
        });
        let permit = self.stop().next_permit();
        let permit = permit.map(|next| next.duration().saturating_sub(self.elapsed()));
        let wait = hint.into_iter().chain(permit).max();
        let answer = answer(self.reason(), wait);
        let time_of_others =
            self.reason() == StopReason::DeadlineExceeded && self.stop().is_bounded_from_outside();
        Answer { forbidden: answer.forbidden && !time_of_others, ..answer }
    }
}

impl Answer {
    /// 503 or 504.
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Seconds for `Retry-After`, where a wait is known and the call may be made
    /// again.
    pub const fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// Whether the caller is told not to retry.
    pub const fn is_retry_forbidden(&self) -> bool {
        self.forbidden
    }

    /// The headers of the answer: `Retry-After`, `retry-forbidden: 1`, both or
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

/// The status and the headers, without a body. Feature `axum`.
#[cfg(feature = "axum")]
impl axum_core::response::IntoResponse for Answer {
    fn into_response(self) -> axum_core::response::Response {
        (self.status, self.headers()).into_response()
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
    use crate::nanos::Nanos;
    use crate::operation::Operation;
    use crate::policy::Policy;
    use crate::stop::{Detail, Stop};
    use crate::stopped::{FailedAttempt, Report};
    use crate::within::within;

    const WAIT: Option<Duration> = Some(Duration::from_secs(3));

    #[test]
    fn every_stop_is_503_or_504() {
        for reason in StopReason::ALL {
            let expected = if *reason == StopReason::DeadlineExceeded { 504 } else { 503 };
            assert_eq!(answer(*reason, WAIT).status().as_u16(), expected, "{reason}");
        }
    }

    /// Pinned: callers rely on it. With a known wait, and without.
    #[test]
    fn each_reason_forbids_the_retry_or_says_when() {
        use StopReason as R;
        let said = |reason, wait| {
            let answer = answer(reason, wait);
            (answer.is_retry_forbidden(), answer.retry_after())
        };
        for reason in StopReason::ALL {
            let (with_wait, without) = match reason {
                R::FailPermanent
                | R::ManualReview
                | R::DoNotRetry
                | R::NotIdempotent
                | R::NestingLimit
                | R::InvalidPolicy
                | R::KeyReused => ((true, None), (true, None)),
                R::AttemptsExhausted | R::BudgetExhausted | R::Disabled | R::DeadlineExceeded => {
                    ((true, Some(3)), (true, None))
                }
                R::HintTooLong | R::CircuitOpen => ((false, Some(3)), (true, None)),
                R::Cancelled | R::InFlight | R::StoreFailed | R::LeaseLost => {
                    ((false, Some(3)), (false, None))
                }
            };
            assert_eq!(said(*reason, WAIT), with_wait, "{reason}");
            assert_eq!(said(*reason, None), without, "{reason}");
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
        let busy = read(StopReason::CircuitOpen).unwrap();
        assert_eq!(busy.hint(), WAIT.map(Hint::Wait));
        let review = read(StopReason::ManualReview).unwrap();
        assert_eq!(review.hint(), Some(Hint::DoNotRetry));
        // Both are said, and the one that forbids is heard.
        let given_up = read(StopReason::AttemptsExhausted).unwrap();
        assert_eq!(given_up.hint(), Some(Hint::DoNotRetry));
    }

    async fn fails(max_attempts: u32, failure: Failure) -> Stopped<()> {
        let policy = Policy::new(max_attempts, Duration::from_secs(5));
        let operation = Operation::idempotent("prices", policy).classify(move |(): &()| failure);
        operation.run(|_| async { Err::<(), ()>(()) }).await.unwrap_err()
    }

    fn stop(max_attempts: u32, failure: Failure) -> Stopped<()> {
        block_on(VirtualClock::new().scope(fails(max_attempts, failure)))
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

    #[test]
    fn a_stop_by_a_breaker_says_when_it_lets_the_next_one_through() {
        let refused = |next: Option<Duration>, failure| {
            let next = next.map(Nanos::from_duration);
            let failed = FailedAttempt {
                attempt: 1,
                elapsed: Nanos::ZERO,
                failure,
                error: Some(()),
                delay: None,
            };
            let stopped = Stopped::new(Report {
                id: "prices".into(),
                stop: Stop::with(StopReason::CircuitOpen, Detail::Refused { next }),
                attempts: 1,
                elapsed: Nanos::from_duration(Duration::from_secs(2)),
                failures: [failed].into_iter().collect(),
                deferrals: Default::default(),
                resource: None,
                recorded: None,
            });
            (stopped.answer().retry_after(), stopped.answer().is_retry_forbidden())
        };
        let (busy, at) = (Failure::transient(), |secs| Some(Duration::from_secs(secs)));
        assert_eq!(refused(at(30), busy), (Some(28), false));
        // It was time meanwhile.
        assert_eq!(refused(at(1), busy), (Some(0), false));
        assert_eq!(refused(None, busy), (None, true));
        assert_eq!(refused(at(30), busy.after(Duration::from_secs(60))), (Some(60), false));
    }

    #[test]
    fn a_caller_whose_own_time_was_over_is_not_told_not_to_retry() {
        let slow = Failure::transient().after(Duration::from_secs(4));
        let own = block_on(VirtualClock::new().scope(fails(3, slow)));
        assert_eq!(
            own.answer(),
            answer(StopReason::DeadlineExceeded, Some(Duration::from_secs(4)))
        );
        assert!(own.answer().is_retry_forbidden());

        let left =
            |span, inside| VirtualClock::new().scope(within(Duration::from_secs(span), inside));
        let callers = block_on(left(3, fails(3, slow)));
        assert_eq!(callers.reason(), StopReason::DeadlineExceeded);
        assert!(!callers.answer().is_retry_forbidden());
        // More than it would have had.
        assert!(block_on(left(9, fails(3, slow))).answer().is_retry_forbidden());
    }

    #[test]
    fn that_holds_for_a_nested_stop_too() {
        async fn outer() -> Stopped<Stopped<()>> {
            let slow = Failure::transient().after(Duration::from_secs(4));
            let operation = Operation::idempotent("route", Policy::new(3, Duration::from_secs(3)));
            operation.run(|_| async { Err::<(), _>(fails(3, slow).await) }).await.unwrap_err()
        }
        let own = block_on(VirtualClock::new().scope(outer()));
        assert_eq!(own.reason(), StopReason::DeadlineExceeded);
        assert!(own.answer().is_retry_forbidden());
        let callers = VirtualClock::new().scope(within(Duration::from_secs(2), outer()));
        assert!(!block_on(callers).answer().is_retry_forbidden());
    }
}
