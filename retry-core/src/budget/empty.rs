//! A budget's no.

use std::fmt;
use std::time::Instant;

use crate::nanos::Nanos;

/// Why a budget gives no permit, and when it will.
///
/// Its text is one sentence, and says that nobody asked the other side:
///
/// ```
/// use std::time::Instant;
/// use retry_core::{Budget, Kind};
///
/// let budget = Budget::ratio(0.2).build()?;
/// let (caller, now) = (budget.caller("payments.charge"), Instant::now());
/// caller.take(Kind::Server, now).expect("the floor's first token").spend();
/// let empty = caller.take(Kind::Server, now).unwrap_err();
/// assert_eq!(
///     empty.to_string(),
///     "the local retry budget is empty, the other side was not asked; the next token comes in 100ms",
/// );
/// # Ok::<(), retry_core::budget::BudgetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Empty {
    pub(super) what: Lack,
    pub(super) next: Option<Instant>,
    pub(super) wait: Nanos,
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    Tokens,
    /// Too many attempts failed.
    Successes,
    Permits(u64),
}

impl Empty {
    /// When the next permit is there at the latest, or `None` where only further
    /// calls can bring it: without a floor no time is known.
    ///
    /// It holds while no other caller joins, and while no first attempt and no
    /// other caller's retry uses up the capacity.
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }
}

impl fmt::Display for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, next) = match self.what {
            Lack::Tokens => ("the local retry budget is empty", "token comes"),
            Lack::Successes => ("the local retry budget is at its threshold or below", "one comes"),
            Lack::Permits(permits) => {
                write!(f, "all {permits} permits of this second are in use here, ")?;
                ("none is left for a retry", "permit comes")
            }
        };
        write!(f, "{what}, the other side was not asked; ")?;
        match self.next {
            Some(_) => write!(f, "the next {next} in {:?}", self.wait),
            None => f.write_str("only further calls bring tokens in"),
        }
    }
}

impl std::error::Error for Empty {}
