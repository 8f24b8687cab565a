//! The schedule of an operation, before it runs.

use std::fmt;
use std::time::Duration;

use crate::backoff::{Draw, Extreme};
use crate::nanos::Nanos;
use crate::operation_id::OperationId;
use crate::policy::Policy;

/// What an operation of this id would do if every attempt failed at once and
/// the other side asked for nothing: the whole schedule, as data and as a table.
///
/// Made by [`Policy::explain`].
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Backoff, Policy};
///
/// let backoff = Backoff::exponential(Duration::from_secs(2))
///     .cap(Duration::from_secs(60))
///     .quantum(Duration::from_secs(1));
/// let policy = Policy::new(4, Duration::from_secs(60)).backoff(backoff);
/// let plan = policy.explain("flight-1");
/// assert_eq!(plan.to_string(), "\
/// flight-1: at most 4 calls in 60s
/// attempt        starts          left       ceiling        unit    then waits
///       1            0s           60s            2s  3393237682            1s
///       2            1s           59s            4s  1980757788            2s
///       3            3s           57s            8s   697703615            4s
///       4            7s           53s             -           -             -
/// ");
/// ```
#[derive(Clone, Debug)]
pub struct Explanation {
    id: OperationId,
    policy: Policy,
}

impl Policy {
    /// The schedule of the operation with this id.
    pub fn explain(&self, id: impl Into<OperationId>) -> Explanation {
        Explanation { id: id.into(), policy: *self }
    }

    /// The most that one operation under this policy can cost, whatever its
    /// id is and whatever the other side answers. Nothing where the policy is
    /// not valid: then no attempt is made.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::Policy;
    ///
    /// let worst = Policy::new(5, Duration::from_secs(30)).worst_case();
    /// assert_eq!((worst.calls, worst.time), (5, Duration::from_secs(30)));
    /// ```
    pub const fn worst_case(&self) -> WorstCase {
        if self.validate().is_err() {
            return WorstCase { calls: 0, time: Duration::ZERO, waits: Duration::ZERO };
        }
        let (calls, deadline) = (self.get_max_attempts(), self.deadline_nanos());
        // Hints may lengthen every wait, so only the deadline bounds more than one attempt.
        let time = match self.attempt_timeout_nanos() {
            Some(timeout) if calls == 1 => timeout.min(deadline),
            _ => deadline,
        };
        WorstCase { calls, time: time.duration(), waits: self.longest_waits(calls).duration() }
    }

    /// Without hints, and within the deadline.
    const fn longest_waits(&self, calls: u32) -> Nanos {
        self.backoff_ref().sum(calls.saturating_sub(1), Extreme::Longest).min(self.deadline_nanos())
    }
}

/// The most that one operation can cost. Made by [`Policy::worst_case`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorstCase {
    /// Runs of the body.
    pub calls: u32,
    /// From the first start to the answer.
    pub time: Duration,
    /// Waits that the backoff itself can add up to.
    pub waits: Duration,
}

/// One attempt of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedAttempt {
    attempt: u32,
    start: Nanos,
    left: Nanos,
    then: Option<Draw>,
}

impl PlannedAttempt {
    /// The number, from 1.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// When it starts, counted from the start of attempt 1.
    pub const fn start(&self) -> Duration {
        self.start.duration()
    }

    /// What is left of the deadline then.
    pub const fn left(&self) -> Duration {
        self.left.duration()
    }

    /// The longest delay after it; `None` where no attempt follows.
    pub fn ceiling(&self) -> Option<Duration> {
        self.then.map(|draw| draw.ceiling.duration())
    }

    /// The draw of the delay after it; `None` where no attempt follows.
    pub fn unit(&self) -> Option<u32> {
        self.then.map(|draw| draw.unit)
    }

    /// The delay after it; `None` where no attempt follows.
    pub fn delay(&self) -> Option<Duration> {
        self.then.map(|draw| draw.delay.duration())
    }
}

impl Explanation {
    /// The operation's id.
    pub const fn id(&self) -> &OperationId {
        &self.id
    }

    /// The attempts in order, as far as the policy lets them start; none where
    /// it is not valid.
    pub fn attempts(&self) -> impl Iterator<Item = PlannedAttempt> + '_ {
        let first = self.policy.validate().is_ok().then(|| self.planned(1, Nanos::ZERO));
        std::iter::successors(first, |before| {
            let start = before.start.plus(before.then?.delay);
            Some(self.planned(before.attempt + 1, start))
        })
    }

    fn planned(&self, attempt: u32, start: Nanos) -> PlannedAttempt {
        let left = self.policy.deadline_nanos().minus(start);
        let then = (attempt < self.policy.get_max_attempts())
            .then(|| self.policy.backoff_ref().draw(attempt, self.id.unit(attempt)))
            .filter(|draw| draw.delay < left);
        PlannedAttempt { attempt, start, left, then }
    }
}

const HEADING: &str = "attempt        starts          left       ceiling        unit    then waits";

/// How many attempts a table shows.
const ROWS: usize = 100;

/// A table of the first hundred attempts.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Err(error) = self.policy.validate() {
            return writeln!(f, "{}: invalid_policy: {error}", self.id);
        }
        let WorstCase { calls, time, .. } = self.policy.worst_case();
        writeln!(
            f,
            "{}: at most {calls} call{} in {time:?}",
            self.id,
            if calls == 1 { "" } else { "s" }
        )?;
        writeln!(f, "{}", HEADING)?;
        let mut attempts = self.attempts();
        for row in attempts.by_ref().take(ROWS) {
            write!(f, "{:>7}  {:>12?}  {:>12?}  ", row.attempt, row.start, row.left)?;
            match row.then {
                Some(Draw { ceiling, unit, delay }) => {
                    writeln!(f, "{ceiling:>12?}  {unit:>10}  {delay:>12?}")?;
                }
                None => writeln!(f, "{:>12}  {:>10}  {:>12}", "-", "-", "-")?,
            }
        }
        match attempts.next() {
            Some(next) => writeln!(f, "… and on from attempt {}", next.attempt),
            None => Ok(()),
        }
    }
}
