//! What each operation does: a function of its number.

use std::time::Duration;

use retry_core::record::Phase;

use crate::point::Boundary;

/// What an operation is for. Its number tells: the kinds take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Succeeds at once. A second call attaches to the first.
    Charged,
    /// Fails twice, without an effect.
    Flaky,
    /// Takes a few signs of life.
    Slow,
    /// Is refused for good, after a retry.
    Declined,
    /// Fails until its few attempts are used up.
    Exhausted,
    /// Gives what a person has to look at.
    Garbled,
    /// Runs at most once.
    Once,
    /// Runs at most once, and nobody knows whether it did.
    OnceUnsure,
    /// Its resource has a breaker, which its failure opens.
    Deferred,
    /// Its first caller goes away before it has an answer.
    LeftAlone,
    /// Is removed soon after it is done.
    Forgotten,
    /// Is handed out by a queue; its first attempt is abandoned.
    Queued,
    /// Its body waits for the book's [gate](crate::Book::open).
    Gated,
    /// So does its first attempt, and blocks its thread: it gives no signs of life.
    Starved,
    /// As `Gated`, with a deadline of a second.
    Hurried,
    /// Fails once, and waits for a second and a half.
    Parked,
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a receipt.
    Succeeds,
    /// Transient, and nothing happened.
    Busy,
    /// Transient, and something may have happened.
    Unsure,
    /// Permanent.
    Declined,
    /// Not to be understood.
    Garbled,
}

impl Kind {
    /// Each, in the order of the numbers.
    pub const ALL: [Self; 16] = [
        Self::Charged,
        Self::Flaky,
        Self::Slow,
        Self::Declined,
        Self::Exhausted,
        Self::Garbled,
        Self::Once,
        Self::OnceUnsure,
        Self::Deferred,
        Self::LeftAlone,
        Self::Forgotten,
        Self::Queued,
        Self::Gated,
        Self::Starved,
        Self::Hurried,
        Self::Parked,
    ];

    /// Those that come to an end without anybody's help.
    pub fn unattended() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| !kind.is_asked_by_name())
    }

    /// One that passes this boundary, wherever it is needed for that.
    pub const fn passing(boundary: Boundary) -> &'static [Self] {
        match boundary {
            Boundary::Enqueue | Boundary::Claim | Boundary::Success => &[Self::Charged, Self::Slow],
            Boundary::Retry => &[Self::Flaky],
            Boundary::Defer => &[Self::Deferred, Self::LeftAlone],
            Boundary::Stop => &[Self::Declined, Self::Garbled],
            Boundary::Heartbeat => &[Self::Slow],
            Boundary::Reclaim => &[],
            Boundary::Retain => &[Self::Forgotten],
        }
    }

    /// Of the operation with this number.
    pub const fn of(operation: u32) -> Self {
        Self::ALL[operation as usize % Self::ALL.len()]
    }

    /// The number of an operation of this kind.
    pub fn number(self, nth: u32) -> u32 {
        let place = Self::ALL.iter().position(|kind| *kind == self).unwrap_or_default();
        nth * Self::ALL.len() as u32 + place as u32
    }

    const fn is_asked_by_name(self) -> bool {
        matches!(self, Self::Gated | Self::Starved | Self::Hurried | Self::Parked)
    }

    /// Whether this attempt waits for the book.
    pub const fn is_gated(self, attempt: u32) -> bool {
        match self {
            Self::Gated | Self::Hurried => true,
            Self::Starved => attempt == 1,
            _ => false,
        }
    }

    /// Whether it is removed once it is done.
    pub const fn is_removed(self) -> bool {
        matches!(self, Self::Forgotten)
    }

    /// Whether repeating it is safe only where nothing has happened.
    pub const fn is_at_most_once(self) -> bool {
        matches!(self, Self::Once | Self::OnceUnsure)
    }

    /// The attempts that its policy allows.
    pub const fn max_attempts(self) -> u32 {
        match self {
            Self::Exhausted => 3,
            _ => 12,
        }
    }

    /// What the attempt of this number comes to, if its process lives.
    pub const fn outcome(self, attempt: u32) -> Outcome {
        match (self, attempt) {
            (Self::Flaky, 1 | 2) => Outcome::Busy,
            (Self::Flaky, 3) => Outcome::Unsure,
            (Self::Declined | Self::Deferred | Self::Once | Self::Parked, 1) => Outcome::Busy,
            (Self::Declined, _) => Outcome::Declined,
            (Self::Exhausted, _) | (Self::Queued, 1) => Outcome::Unsure,
            (Self::Garbled, _) => Outcome::Garbled,
            (Self::OnceUnsure, 1) => Outcome::Busy,
            (Self::OnceUnsure, _) => Outcome::Unsure,
            _ => Outcome::Succeeds,
        }
    }

    /// How long its body takes.
    pub const fn span(self) -> Duration {
        match self {
            Self::Slow => Duration::from_millis(150),
            Self::Charged => Duration::ZERO,
            _ => Duration::from_millis(2),
        }
    }

    /// Where it may stand at the end, whatever happened to its processes.
    pub const fn may_end(self, phase: Phase) -> bool {
        match (self, phase) {
            (Self::Declined | Self::Exhausted, Phase::Done) => false,
            (Self::Garbled | Self::OnceUnsure, Phase::Done) => false,
            (Self::Garbled | Self::Once | Self::OnceUnsure, Phase::Review) => true,
            // Killed too often, or too late.
            (_, Phase::Done | Phase::Dead) => true,
            _ => false,
        }
    }
}
