//! How long to wait between attempts.

mod sums;
mod unit;

use std::time::Duration;

use crate::nanos::Nanos;

pub(crate) use sums::Extreme;
pub(crate) use unit::unit;

/// How long to wait after each failed attempt: a pure function of the
/// operation's id, the attempt's number and these settings.
///
/// A delay is made in three steps. The *ceiling* grows with the attempt's
/// number up to the cap. The *jitter* shortens it by a share that is drawn from
/// SHA-256 of `"{operation id}:{attempt}"`, so that operations which failed
/// together do not return together, and so that the same operation waits
/// equally long in a test, in production, after a restart and on another host.
/// The *quantum*, if there is one, floors it to a multiple.
///
/// | setting | default |
/// |---|---|
/// | factor (exponential only) | 2 |
/// | cap | 20 s, or the base where that is larger |
/// | jitter | equal: between half the ceiling and the ceiling |
/// | quantum | none |
///
/// ```
/// use std::time::Duration;
/// use retry_core::Backoff;
///
/// const BACKOFF: Backoff = Backoff::exponential(Duration::from_secs(2))
///     .cap(Duration::from_secs(60))
///     .quantum(Duration::from_secs(1));
///
/// let waits: Vec<u64> = (1..=6).map(|n| BACKOFF.delay("flight-1", n).as_secs()).collect();
/// assert_eq!(waits, [1, 2, 4, 11, 16, 35]);
/// ```
///
/// The settings are judged by [`Policy::validate`](crate::Policy::validate),
/// at compile time in an attribute of literals. The functions here never
/// panic and saturate at 292 years, whatever the settings are.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Backoff {
    curve: Curve,
    base: Nanos,
    cap: Option<Nanos>,
    /// Zero: none.
    quantum: Nanos,
    jitter: Jitter,
}

/// How the ceiling grows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Curve {
    Exponential,
    /// Exponential by a ratio of the author's.
    Factor(u32, u32),
    Fixed,
    Linear,
    Fibonacci,
    Custom(fn(u32) -> Duration),
    /// A factor was set on a curve that has none; refused by validation.
    Misplaced(u32, u32),
}

/// Functions are compared by address, which says "another" at worst.
impl PartialEq for Curve {
    fn eq(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Self::Custom(one), Self::Custom(other)) => std::ptr::fn_addr_eq(one, other),
            (Self::Factor(p, q), Self::Factor(r, s))
            | (Self::Misplaced(p, q), Self::Misplaced(r, s)) => (p, q) == (r, s),
            (one, other) => std::mem::discriminant(&one) == std::mem::discriminant(&other),
        }
    }
}

/// Which share of the ceiling is waited. `unit` is the operation's draw,
/// between 0 and N = 2³²−1.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Backoff, Jitter};
///
/// let backoff = Backoff::fixed(Duration::from_secs(1)).jitter(Jitter::None);
/// assert_eq!(backoff.delay("any", 7), Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// ⌊ceiling·(N+unit)/(2N)⌋: half the ceiling for certain, the rest by draw.
    #[default]
    Equal,
    /// ⌊ceiling·unit/N⌋: anything up to the ceiling.
    Full,
    /// The ceiling itself. Operations that fail together return together.
    None,
    /// min(cap, ceiling + ⌊d·unit/N⌋): up to `d` more than the ceiling.
    Additive(Duration),
}

/// One draw: what is checked, slept, logged and recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    pub(crate) ceiling: Nanos,
    pub(crate) unit: u32,
    pub(crate) delay: Nanos,
}

/// N of the formulas: the largest draw.
const N: u128 = u32::MAX as u128;

impl Backoff {
    /// The default: exponential from 100 ms by 2, cap 20 s, equal jitter.
    pub const DEFAULT: Self = Self::exponential(Duration::from_millis(100));

    /// The cap where none is written.
    const DEFAULT_CAP: Nanos = Nanos::from_duration(Duration::from_secs(20));

    /// base, base·2, base·4, …; see [`factor`](Self::factor).
    pub const fn exponential(base: Duration) -> Self {
        Self::new(Curve::Exponential, base)
    }

    /// base, base, base, …
    pub const fn fixed(base: Duration) -> Self {
        Self::new(Curve::Fixed, base)
    }

    /// base, base·2, base·3, …
    pub const fn linear(base: Duration) -> Self {
        Self::new(Curve::Linear, base)
    }

    /// base·1, base·1, base·2, base·3, base·5, …
    pub const fn fibonacci(base: Duration) -> Self {
        Self::new(Curve::Fibonacci, base)
    }

    /// The ceiling of attempt n (from 1) by a function of the author's. Cap,
    /// jitter and quantum apply to it as to any other; with
    /// [`Jitter::None`] the function gives the delay itself.
    ///
    /// The schedule is then as reproducible as the function is. What was drawn
    /// is in the events and in the record of the operation.
    pub const fn custom(ceiling: fn(attempt: u32) -> Duration) -> Self {
        Self::new(Curve::Custom(ceiling), Duration::ZERO)
    }

    const fn new(curve: Curve, base: Duration) -> Self {
        Self {
            curve,
            base: Nanos::from_duration(base),
            cap: None,
            quantum: Nanos::ZERO,
            jitter: Jitter::Equal,
        }
    }

    /// The growth of an exponential backoff as a ratio: `factor(3, 2)` is 1.5.
    /// Whole numbers, numerator ≥ denominator ≥ 1, numerator ≤ 1000.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_core::Backoff;
    ///
    /// let backoff = Backoff::exponential(Duration::from_millis(1)).factor(3, 2);
    /// let ceilings = [1, 2, 3].map(|n| backoff.ceiling(n).as_micros());
    /// assert_eq!(ceilings, [1000, 1500, 2250]);
    /// ```
    pub const fn factor(self, numerator: u32, denominator: u32) -> Self {
        let curve = match self.curve {
            Curve::Exponential | Curve::Factor(..) => Curve::Factor(numerator, denominator),
            _ => Curve::Misplaced(numerator, denominator),
        };
        Self { curve, ..self }
    }

    /// The longest computed delay. A hint of the other side may be longer; the
    /// policy's hint limit bounds that.
    pub const fn cap(self, cap: Duration) -> Self {
        Self { cap: Some(Nanos::from_duration(cap)), ..self }
    }

    /// Floors every delay to a multiple of `quantum`, and to one at least.
    /// Zero means none.
    pub const fn quantum(self, quantum: Duration) -> Self {
        Self { quantum: Nanos::from_duration(quantum), ..self }
    }

    /// How the ceiling is shortened.
    pub const fn jitter(self, jitter: Jitter) -> Self {
        Self { jitter, ..self }
    }

    /// The longest delay after attempt `attempt` before jitter and quantum.
    /// Attempts are numbered from 1; attempt 0 gives zero.
    pub fn ceiling(&self, attempt: u32) -> Duration {
        self.ceiling_of(attempt).duration()
    }

    /// The delay after attempt `attempt` of the operation with this id.
    /// Attempts are numbered from 1; attempt 0 gives zero.
    pub fn delay(&self, operation_id: &str, attempt: u32) -> Duration {
        self.draw(attempt, unit(&[operation_id], attempt)).delay.duration()
    }

    /// The delays of the operation with this id after attempts 1, 2, 3, …,
    /// without end: the common currency of other retry crates.
    ///
    /// ```
    /// use retry_core::Backoff;
    ///
    /// let delays: Vec<_> = Backoff::DEFAULT.delays("order-7").take(3).collect();
    /// assert_eq!(delays[2], Backoff::DEFAULT.delay("order-7", 3));
    /// ```
    pub fn delays<'a>(&self, operation_id: &'a str) -> Delays<'a> {
        Delays { backoff: *self, operation_id, attempt: 0, ceiling: Ceiling::START }
    }

    pub(crate) fn draw(&self, attempt: u32, unit: u32) -> Draw {
        self.draw_under(self.ceiling_of(attempt), attempt, unit)
    }

    fn draw_under(&self, ceiling: Nanos, attempt: u32, unit: u32) -> Draw {
        let delay = match attempt {
            0 => Nanos::ZERO,
            _ => self.jittered(ceiling, unit),
        };
        Draw { ceiling, unit, delay }
    }

    fn ceiling_of(&self, attempt: u32) -> Nanos {
        match (self.curve, attempt) {
            (_, 0) => Nanos::ZERO,
            (Curve::Custom(ceiling), _) => {
                Nanos::from_duration(ceiling(attempt)).min(self.effective_cap())
            }
            (Curve::Linear, _) => {
                let ceiling = self.base.wide() * u128::from(attempt);
                Nanos::saturating(ceiling).min(self.effective_cap())
            }
            _ => {
                let mut ceiling = Ceiling::START;
                while ceiling.attempt < attempt && !ceiling.settled {
                    ceiling = self.next(ceiling);
                }
                ceiling.value
            }
        }
    }

    const fn jittered(&self, ceiling: Nanos, unit: u32) -> Nanos {
        let unit = unit as u128;
        let delay = match self.jitter {
            Jitter::Equal => Nanos::saturating(ceiling.wide() * (N + unit) / (2 * N)),
            Jitter::Full => Nanos::saturating(ceiling.wide() * unit / N),
            Jitter::None => ceiling,
            Jitter::Additive(more) => {
                let more = Nanos::from_duration(more).wide() * unit / N;
                Nanos::saturating(ceiling.wide() + more).min(self.effective_cap())
            }
        };
        self.quantized(delay)
    }

    const fn quantized(&self, delay: Nanos) -> Nanos {
        if self.quantum.is_zero() {
            return delay;
        }
        let quantum = self.quantum.get();
        Nanos::saturating((delay.get() / quantum * quantum) as u128).max(self.quantum)
    }

    pub(crate) const fn effective_cap(&self) -> Nanos {
        match self.cap {
            Some(cap) => cap,
            None => match self.curve {
                Curve::Custom(_) => Nanos::MAX,
                _ => Self::DEFAULT_CAP.max(self.base),
            },
        }
    }

    const fn ratio(&self) -> (u128, u128) {
        match self.curve {
            // A factor that no policy accepts is not followed: it might divide by
            // zero, or grow too slowly to be computed.
            Curve::Factor(p, q) if q == 0 || p < q || p > 1000 => (1, 1),
            Curve::Factor(p, q) => (p as u128, q as u128),
            _ => (2, 1),
        }
    }

    /// The ceiling after the given one. Once it is settled it stays.
    const fn next(&self, now: Ceiling) -> Ceiling {
        let attempt = now.attempt.saturating_add(1);
        if now.settled {
            return Ceiling { attempt, ..now };
        }
        let cap = self.effective_cap();
        let (exact, before) = match (self.curve, now.attempt) {
            (_, 0) => (self.base.wide() << FRACTION, 0),
            (Curve::Exponential | Curve::Factor(..), _) => {
                let (p, q) = self.ratio();
                (now.exact * p / q, now.exact)
            }
            (Curve::Fibonacci, _) => (now.exact + now.before, now.exact),
            (Curve::Linear, _) => ((self.base.wide() * attempt as u128) << FRACTION, now.exact),
            _ => (now.exact, now.exact),
        };
        let grows = match self.curve {
            // The second term repeats the first.
            Curve::Fibonacci => now.attempt < 2 || exact > now.exact,
            _ => now.attempt == 0 || exact > now.exact,
        };
        // A step that does not grow is not taken: a factor below 1 is refused by
        // validation, and shortens nothing here.
        let exact = if grows { exact } else { now.exact };
        let value = Nanos::saturating(exact >> FRACTION).min(cap);
        let settled = !grows || value.get() >= cap.get();
        Ceiling { attempt, value, exact, before, settled }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Bits of a fraction of a nanosecond, so that a small base grows by a ratio.
const FRACTION: u32 = 32;

/// A ceiling and what the next one is made from. Values stay below 2⁹⁶ when
/// they are not settled, and one step multiplies by less than 2³².
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    attempt: u32,
    value: Nanos,
    exact: u128,
    before: u128,
    /// At the cap, or no longer growing: all later ones are equal.
    settled: bool,
}

impl Ceiling {
    const START: Self =
        Self { attempt: 0, value: Nanos::ZERO, exact: 0, before: 0, settled: false };
}

/// Endless delays of one operation. Made by [`Backoff::delays`].
#[derive(Clone, Debug)]
pub struct Delays<'a> {
    backoff: Backoff,
    operation_id: &'a str,
    attempt: u32,
    ceiling: Ceiling,
}

impl Iterator for Delays<'_> {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.attempt = self.attempt.saturating_add(1);
        let ceiling = match self.backoff.curve {
            Curve::Custom(_) => self.backoff.ceiling_of(self.attempt),
            _ => {
                self.ceiling = self.backoff.next(self.ceiling);
                self.ceiling.value
            }
        };
        let unit = unit(&[self.operation_id], self.attempt);
        Some(self.backoff.draw_under(ceiling, self.attempt, unit).delay.duration())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

/// What validation and serde read.
impl Backoff {
    /// Whether its ceiling is a function of the author's.
    #[cfg(feature = "durable")]
    pub(crate) const fn is_custom(&self) -> bool {
        matches!(self.curve, Curve::Custom(_))
    }

    pub(crate) const fn curve(&self) -> Curve {
        self.curve
    }

    pub(crate) const fn base(&self) -> Nanos {
        self.base
    }

    pub(crate) const fn written_cap(&self) -> Option<Nanos> {
        self.cap
    }

    pub(crate) const fn quantum_nanos(&self) -> Nanos {
        self.quantum
    }

    pub(crate) const fn get_jitter(&self) -> Jitter {
        self.jitter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn ceilings(backoff: Backoff) -> Vec<u128> {
        (0..=6).map(|n| backoff.ceiling(n).as_millis()).collect()
    }

    #[test]
    fn the_curves_start_at_the_base() {
        assert_eq!(ceilings(Backoff::exponential(100 * MS)), [0, 100, 200, 400, 800, 1600, 3200]);
        assert_eq!(ceilings(Backoff::fixed(100 * MS)), [0, 100, 100, 100, 100, 100, 100]);
        assert_eq!(ceilings(Backoff::linear(100 * MS)), [0, 100, 200, 300, 400, 500, 600]);
        assert_eq!(ceilings(Backoff::fibonacci(100 * MS)), [0, 100, 100, 200, 300, 500, 800]);
        assert_eq!(ceilings(Backoff::custom(|n| n * n * MS)), [0, 1, 4, 9, 16, 25, 36]);
    }

    #[test]
    fn the_defaults_are_pinned() {
        let backoff = Backoff::default();
        assert_eq!(backoff.ceiling(1), 100 * MS);
        assert_eq!(backoff.ceiling(2), 200 * MS);
        assert_eq!(backoff.ceiling(u32::MAX), 20 * SECOND);
        assert_eq!(backoff.jitter, Jitter::Equal);
        assert!(backoff.quantum.is_zero());
        assert_eq!(Backoff::fixed(90 * SECOND).ceiling(1), 90 * SECOND);
    }

    #[test]
    fn a_small_base_grows_by_its_fraction() {
        let backoff = Backoff::exponential(Duration::from_nanos(1)).factor(1000, 999);
        assert_eq!(backoff.ceiling(1), Duration::from_nanos(1));
        assert_eq!(backoff.ceiling(u32::MAX), 20 * SECOND);
    }

    #[test]
    fn the_iterator_gives_the_delays_in_order() {
        for backoff in [
            Backoff::exponential(3 * MS).factor(7, 5),
            Backoff::linear(3 * MS),
            Backoff::fibonacci(3 * MS).quantum(2 * MS),
            Backoff::fixed(3 * MS).jitter(Jitter::Additive(MS)),
            Backoff::custom(|n| n * MS).jitter(Jitter::Full),
        ] {
            for (delay, attempt) in backoff.delays("op/1").zip(1..200) {
                assert_eq!(delay, backoff.delay("op/1", attempt), "{backoff:?} {attempt}");
            }
        }
    }

    #[test]
    fn senseless_settings_do_not_panic() {
        for (p, q) in [(0, 0), (1, 0), (u32::MAX, 1), (1, u32::MAX), (u32::MAX, u32::MAX)] {
            for base in [Duration::ZERO, MS, Duration::MAX] {
                let backoff = Backoff::exponential(base)
                    .factor(p, q)
                    .cap(Duration::MAX)
                    .quantum(Duration::MAX)
                    .jitter(Jitter::Additive(Duration::MAX));
                for attempt in [0, 1, 2, 64, u32::MAX] {
                    backoff.delay("x", attempt);
                }
            }
        }
    }
}
