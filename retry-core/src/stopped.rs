//! An operation that stopped without a result.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thin_vec::ThinVec;

use crate::classify::fields::{Field, HoldsStop};
use crate::classify::{Class, Classify, Effect, Failure};
use crate::decide::Deferral;
use crate::key::IdempotencyKey;
use crate::nanos::Nanos;
use crate::operation_id::OperationId;
use crate::stop::{Stop, StopReason};

/// Why an operation stopped without a result, and what it had tried: the error
/// of every `#[retryable]` function. As large as a pointer.
///
/// Its text is one sentence. `Debug`, `Display` and `Error` follow those of
/// `E`, whose value is the [`source`](Error::source).
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Failure, Operation, Policy, StopReason};
/// use retry_core::clock::{Clock, VirtualClock};
///
/// # futures::executor::block_on(async {
/// let policy = Policy::new(2, Duration::from_secs(5));
/// let fetch = Operation::idempotent("prices.fetch", policy)
///     .classify(|_: &String| Failure::transient());
/// let attempt = |_| async { Err::<(), _>("no route".to_owned()) };
/// let stopped = VirtualClock::new().scope(fetch.run(attempt)).await.unwrap_err();
///
/// assert_eq!(stopped.reason(), StopReason::AttemptsExhausted);
/// assert_eq!((stopped.attempts(), stopped.failures().len()), (2, 2));
/// assert_eq!(
///     stopped.to_string(),
///     "prices.fetch#0000000000000000-1 stopped with attempts_exhausted after 2 attempts \
///      in 85.518066ms, because all 2 attempts are used up; the last error was: no route",
/// );
/// # });
/// ```
pub struct Stopped<E>(Box<Report<E>>);

pub(crate) struct Report<E> {
    pub(crate) id: OperationId,
    pub(crate) stop: Stop,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Nanos,
    /// The most recent ones, oldest first; among them the last with an error.
    pub(crate) failures: ThinVec<FailedAttempt<E>>,
    /// Oldest first.
    pub(crate) deferrals: ThinVec<Deferral>,
    pub(crate) resource: Option<Arc<str>>,
    /// The last error's text, where only a record has it.
    pub(crate) recorded: Option<Arc<str>>,
}

/// An attempt that failed: what it meant, and the error if the body returned one.
#[derive(Clone)]
pub struct FailedAttempt<E> {
    pub(crate) attempt: u32,
    pub(crate) elapsed: Nanos,
    pub(crate) failure: Failure,
    pub(crate) error: Option<E>,
    pub(crate) delay: Option<Nanos>,
}

/// How many failed attempts an operation remembers.
pub(crate) const REMEMBERED: usize = 8;

impl<E> FailedAttempt<E> {
    /// Its number, from 1.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// What it meant for the retry.
    pub const fn failure(&self) -> &Failure {
        &self.failure
    }

    /// The error, if the body returned one: an attempt that was cut, or whose
    /// value was rejected, has none.
    pub const fn error(&self) -> Option<&E> {
        self.error.as_ref()
    }

    /// When it failed, counted from the start of attempt 1.
    pub const fn elapsed(&self) -> Duration {
        self.elapsed.duration()
    }

    /// The wait that followed; `None` after the last attempt.
    pub fn delay(&self) -> Option<Duration> {
        self.delay.map(Nanos::duration)
    }

    fn map_error<F>(self, map: &mut impl FnMut(E) -> F) -> FailedAttempt<F> {
        let Self { attempt, elapsed, failure, error, delay } = self;
        FailedAttempt { attempt, elapsed, failure, error: error.map(map), delay }
    }
}

impl<E> Stopped<E> {
    pub(crate) fn new(report: Report<E>) -> Self {
        Self(Box::new(report))
    }

    /// Why no further attempt followed.
    pub fn reason(&self) -> StopReason {
        self.0.stop.reason()
    }

    /// The reason with the numbers that led to it.
    pub fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Attempts started.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// From the start of attempt 1 to the stop.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed.duration()
    }

    /// The id of the operation.
    pub fn operation_id(&self) -> &OperationId {
        &self.0.id
    }

    /// The operation's idempotency key, if it has one.
    pub fn key(&self) -> Option<IdempotencyKey> {
        self.0.id.key()
    }

    /// The last error that an attempt returned. `None` where none did: no
    /// attempt was made, or each was cut.
    pub fn error(&self) -> Option<&E> {
        self.0.failures.iter().rev().find_map(FailedAttempt::error)
    }

    /// The last error that an attempt returned, by value.
    pub fn into_error(self) -> Option<E> {
        self.0.failures.into_iter().rev().find_map(|failed| failed.error)
    }

    /// The text of the last error, where it was an attempt of an earlier process, or
    /// of an earlier call, that gave it: a durable operation remembers texts, not
    /// values.
    pub fn recorded_error(&self) -> Option<&str> {
        self.0.recorded.as_deref()
    }

    /// The failed attempts, oldest first: the most recent eight, of which the
    /// oldest gives way to the last one with an error where none of them has one.
    pub fn failures(&self) -> &[FailedAttempt<E>] {
        &self.0.failures
    }

    /// The resource that the operation called, if it named one or the retrier has a
    /// default.
    pub fn resource(&self) -> Option<&str> {
        self.0.resource.as_deref()
    }

    /// How often, why and until when the operation had to wait for permission,
    /// oldest first.
    pub fn deferrals(&self) -> &[Deferral] {
        &self.0.deferrals
    }

    /// The same stop with other errors, for a caller that speaks its own.
    ///
    /// ```
    /// # use retry_core::Stopped;
    /// fn for_people(stopped: Stopped<std::io::Error>) -> Stopped<String> {
    ///     stopped.map_error(|error| error.to_string())
    /// }
    /// ```
    pub fn map_error<F>(self, mut map: impl FnMut(E) -> F) -> Stopped<F> {
        let Report { id, stop, attempts, elapsed, failures, deferrals, resource, recorded } =
            *self.0;
        let failures = failures.into_iter().map(|failed| failed.map_error(&mut map)).collect();
        Stopped::new(Report {
            id,
            stop,
            attempts,
            elapsed,
            failures,
            deferrals,
            resource,
            recorded,
        })
    }

    /// Whether the same call, made again, would fail again: `fail_permanent`,
    /// `do_not_retry`, `invalid_policy`, `key_reused`.
    pub fn is_permanent(&self) -> bool {
        use StopReason::{DoNotRetry, FailPermanent, InvalidPolicy, KeyReused};
        matches!(self.reason(), FailPermanent | DoNotRetry | InvalidPolicy | KeyReused)
    }

    /// Whether a person must find out what happened: `manual_review`,
    /// `not_idempotent`.
    pub fn is_review(&self) -> bool {
        matches!(self.reason(), StopReason::ManualReview | StopReason::NotIdempotent)
    }

    /// Whether the operation used up what it was given: `attempts_exhausted`,
    /// `deadline_exceeded`, `hint_too_long`, `nesting_limit`.
    pub fn is_exhausted(&self) -> bool {
        use StopReason::{AttemptsExhausted, DeadlineExceeded, HintTooLong, NestingLimit};
        matches!(self.reason(), AttemptsExhausted | DeadlineExceeded | HintTooLong | NestingLimit)
    }

    /// Whether this process stopped the operation to protect itself or the
    /// other side: `budget_exhausted`, `circuit_open`, `disabled`, `cancelled`.
    pub fn is_local(&self) -> bool {
        use StopReason::{BudgetExhausted, Cancelled, CircuitOpen, Disabled};
        matches!(self.reason(), BudgetExhausted | CircuitOpen | Disabled | Cancelled)
    }

    /// What happened, a line an attempt: for logs and tickets.
    ///
    /// ```text
    /// prices.fetch/e3c4b417-f22e-8d73-b6ed-08fd2be399ec
    ///   attempt 1 failed at 12ms: transient, effect possible, server 503; waited 87ms
    ///   attempt 2 failed at 140ms: permanent, effect possible, other
    ///   stopped at 140ms: fail_permanent, the error is permanent
    /// ```
    pub fn story(&self) -> impl fmt::Display + '_ {
        Story(&self.0)
    }
}

impl Deferral {
    /// Its line of a story.
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  deferred at {:?} until {:?}: {}", self.at, self.until, self.reason)
    }
}

impl<E> Report<E> {
    /// Which resource, where its budget or breaker said no.
    fn tell_resource(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use StopReason::{BudgetExhausted, CircuitOpen};
        match (&self.resource, self.stop.reason()) {
            (Some(resource), BudgetExhausted | CircuitOpen) => {
                write!(f, " (resource `{}`)", resource.escape_debug())
            }
            _ => Ok(()),
        }
    }
}

struct Story<'a, E>(&'a Report<E>);

impl<E> fmt::Display for Story<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { id, stop, attempts, elapsed, failures, deferrals, .. } = self.0;
        let mut deferrals = deferrals.iter().peekable();
        writeln!(f, "{id}")?;
        let forgotten = *attempts as usize - failures.len().min(*attempts as usize);
        match forgotten {
            0 => {}
            1 => writeln!(f, "  1 earlier attempt is not remembered")?,
            _ => writeln!(f, "  {forgotten} earlier attempts are not remembered")?,
        }
        for FailedAttempt { attempt, elapsed, failure, delay, .. } in failures {
            while let Some(deferral) = deferrals.next_if(|deferral| deferral.at < *elapsed) {
                deferral.tell(f)?;
            }
            write!(f, "  attempt {attempt} failed at {elapsed:?}: {failure}")?;
            match delay {
                Some(delay) => writeln!(f, "; waited {delay:?}")?,
                None => writeln!(f)?,
            }
        }
        deferrals.try_for_each(|deferral| deferral.tell(f))?;
        write!(f, "  stopped at {elapsed:?}: {}, {stop}", stop.reason())?;
        self.0.tell_resource(f)?;
        writeln!(f)
    }
}

/// What the operation around it makes of the stop: `manual_review` and
/// `not_idempotent` are unknown, all others permanent, so that nobody retries
/// what an inner operation has given up. The inner reason is kept, and the
/// kind, code and hint of the last attempt; the effect is none only where that
/// of every attempt was.
///
/// An author who wants the outer operation to retry what has run out of attempts
/// or time writes `nested = retry` in its attribute; `#[retry(transient)]` at the
/// variant retries every stop, reviews and permanent errors included.
impl<E> Classify for Stopped<E> {
    fn classify(&self) -> Failure {
        let class = if self.is_review() { Class::Unknown } else { Class::Permanent };
        let Report { attempts, failures, .. } = &*self.0;
        let forgotten = failures.len() < *attempts as usize;
        let may_have = |failed: &FailedAttempt<E>| failed.failure.effect() == Effect::Possible;
        let certain = !forgotten && !failures.iter().any(may_have);
        let effect = if certain { Effect::None } else { Effect::Possible };
        let mut failure = Failure::new(class).with_effect(effect);
        if let Some(FailedAttempt { failure: last, .. }) = failures.last() {
            failure = failure.with_kind(last.kind());
            failure = last.code().map_or(failure, |code| failure.with_code(code));
            failure = last.hint().map_or(failure, |hint| failure.with_hint(hint));
        }
        failure.nested(self.reason())
    }
}

impl<E> HoldsStop for Field<Stopped<E>> {}
impl<E> HoldsStop for Field<&Stopped<E>> {}
impl<E> HoldsStop for Field<Box<Stopped<E>>> {}
impl<E> HoldsStop for Field<Arc<Stopped<E>>> {}

impl<E: fmt::Display> fmt::Display for Stopped<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { id, stop, attempts, elapsed, failures, .. } = &*self.0;
        write!(f, "{id} stopped with {} ", stop.reason())?;
        match attempts {
            0 => f.write_str("before its first attempt")?,
            1 => write!(f, "after 1 attempt in {elapsed:?}")?,
            _ => write!(f, "after {attempts} attempts in {elapsed:?}")?,
        }
        write!(f, ", because {stop}")?;
        self.0.tell_resource(f)?;
        if let Some(FailedAttempt { attempt, error: None, failure, .. }) = failures.last() {
            let end =
                if failure.is_rejected() { "gave a value that was rejected" } else { "was cut" };
            write!(f, "; attempt {attempt} {end}")?;
        }
        match (self.error(), self.recorded_error()) {
            (Some(error), _) => write!(f, "; the last error was: {error}"),
            (None, Some(error)) => write!(f, "; the last error was: {error}"),
            (None, None) => Ok(()),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for Stopped<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { id, stop, attempts, elapsed, failures, .. } = &*self.0;
        f.debug_struct("Stopped")
            .field("reason", &format_args!("{}", stop.reason()))
            .field("because", &format_args!("{stop}"))
            .field("operation_id", &format_args!("{id}"))
            .field("attempts", attempts)
            .field("elapsed", elapsed)
            .field("failures", failures)
            .finish()
    }
}

impl<E: fmt::Debug> fmt::Debug for FailedAttempt<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailedAttempt")
            .field("attempt", &self.attempt)
            .field("elapsed", &self.elapsed)
            .field("failure", &format_args!("{}", self.failure))
            .field("error", &self.error)
            .field("delay", &self.delay)
            .finish()
    }
}

impl<E: Error + 'static> Error for Stopped<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error().map(|error| error as &(dyn Error + 'static))
    }
}
