//! What waits add up to, without a loop over the number of attempts.

use super::{Backoff, Ceiling, Curve, Jitter};
use crate::nanos::Nanos;

/// Which draw is assumed for every wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Shortest,
    Longest,
}

impl Backoff {
    /// The sum of the first `waits` delays, each with the extreme draw. A
    /// custom curve is not asked here: its shortest wait counts as zero, its
    /// longest as the cap.
    pub(crate) const fn sum(&self, waits: u32, extreme: Extreme) -> Nanos {
        let draw = match extreme {
            Extreme::Shortest => 0,
            Extreme::Longest => u32::MAX,
        };
        match self.curve {
            Curve::Custom(_) => {
                let each = match extreme {
                    Extreme::Shortest => Nanos::ZERO,
                    Extreme::Longest => self.effective_cap(),
                };
                Nanos::saturating(each.wide() * waits as u128)
            }
            Curve::Linear if !self.base().is_zero() => self.linear_sum(waits, extreme),
            _ => {
                let mut total = Nanos::ZERO;
                let mut ceiling = Ceiling::START;
                while ceiling.attempt < waits && !ceiling.settled {
                    ceiling = self.next(ceiling);
                    total = total.plus(self.jittered(ceiling.value, draw));
                }
                let rest = (waits - ceiling.attempt) as u128;
                let each = self.jittered(ceiling.value, draw);
                total.plus(Nanos::saturating(each.wide() * rest))
            }
        }
    }

    /// The longest run of attempts whose waits, each the shortest possible,
    /// leave the last one a start before `deadline`.
    pub(crate) const fn reach(&self, max_attempts: u32, deadline: Nanos) -> u32 {
        let (mut can, mut cannot) = (1, max_attempts as u64 + 1);
        while cannot - can > 1 {
            let middle = can + (cannot - can) / 2;
            // At most u32::MAX attempts have one wait fewer.
            if self.sum((middle - 1) as u32, Extreme::Shortest).get() < deadline.get() {
                can = middle;
            } else {
                cannot = middle;
            }
        }
        can as u32
    }

    /// The n-th wait of a linear backoff is ⌊(base·n + more)/share⌋ floored to
    /// the quantum, until base·n + more reaches the cap.
    const fn linear_sum(&self, waits: u32, extreme: Extreme) -> Nanos {
        let (more, share) = match (self.jitter, extreme) {
            (Jitter::Full, Extreme::Shortest) => {
                return Nanos::saturating(self.quantum_nanos().wide() * waits as u128);
            }
            (Jitter::Equal, Extreme::Shortest) => (0, 2),
            (Jitter::Additive(more), Extreme::Longest) => (Nanos::from_duration(more).wide(), 1),
            _ => (0, 1),
        };
        let base = self.base().wide();
        let cap = self.effective_cap();
        let below = if more > cap.wide() { 0 } else { (cap.wide() - more) / base };
        let growing = if below < waits as u128 { below as u32 } else { waits };
        let capped = self.quantized(Nanos::saturating(cap.wide() / share));
        let rest = capped.wide() * (waits - growing) as u128;

        let quantum = self.quantum_nanos().max(Nanos::saturating(1)).wide();
        let step = share * quantum;
        let mut quanta = floor_sum(growing as u128 + 1, step, base, more) - more / step;
        if !self.quantum_nanos().is_zero() && more < step {
            // Waits below one quantum count as one.
            let small = (step - more - 1) / base;
            quanta += if small < growing as u128 { small } else { growing as u128 };
        }
        Nanos::saturating((quanta * quantum).saturating_add(rest))
    }
}

/// Σ ⌊(a·i + b)/m⌋ over 0 ≤ i < n, by Euclid's descent. Below 2¹²⁷ for
/// n ≤ 2³² and a, b, m ≤ 2⁶⁵.
const fn floor_sum(n: u128, m: u128, a: u128, b: u128) -> u128 {
    let (mut n, mut m, mut a, mut b) = (n, m, a, b);
    let mut sum = 0;
    loop {
        if a >= m {
            sum += n * (n - 1) / 2 * (a / m);
            a %= m;
        }
        if b >= m {
            sum += n * (b / m);
            b %= m;
        }
        let last = a * n + b;
        if last < m {
            return sum;
        }
        n = last / m;
        b = last % m;
        (m, a) = (a, m);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const fn ns(nanos: u64) -> Duration {
        Duration::from_nanos(nanos)
    }

    /// Every curve, jitter and quantum against the sum of its parts.
    #[test]
    fn a_sum_is_the_sum_of_its_parts() {
        let jitters = [
            Jitter::Equal,
            Jitter::Full,
            Jitter::None,
            Jitter::Additive(ns(13)),
            Jitter::Additive(ns(500)),
        ];
        for base in [0, 1, 7, 10, 101] {
            for curve in [Backoff::fixed, Backoff::linear, Backoff::exponential, Backoff::fibonacci]
            {
                for jitter in jitters {
                    for quantum in [0, 1, 5, 32] {
                        let backoff =
                            curve(ns(base)).cap(ns(300)).quantum(ns(quantum)).jitter(jitter);
                        check(backoff);
                    }
                }
            }
        }
    }

    fn check(backoff: Backoff) {
        for (extreme, draw) in [(Extreme::Shortest, 0), (Extreme::Longest, u32::MAX)] {
            let mut total = Nanos::ZERO;
            for waits in 0..80 {
                if waits > 0 {
                    total = total.plus(backoff.draw(waits, draw).delay);
                }
                assert_eq!(backoff.sum(waits, extreme), total, "{backoff:?} {extreme:?} {waits}");
            }
        }
    }

    #[test]
    fn the_largest_numbers_saturate() {
        for curve in [Backoff::fixed, Backoff::linear, Backoff::exponential, Backoff::fibonacci] {
            for (base, cap) in [(ns(1), Duration::MAX), (Duration::MAX, Duration::MAX)] {
                for quantum in [Duration::ZERO, ns(1), Duration::MAX] {
                    let backoff = curve(base).cap(cap).quantum(quantum);
                    backoff.sum(u32::MAX, Extreme::Longest);
                    backoff.sum(u32::MAX, Extreme::Shortest);
                    assert!(backoff.reach(u32::MAX, Nanos::MAX) >= 1);
                }
            }
        }
    }

    #[test]
    fn reach_is_the_last_attempt_that_can_start() {
        let backoff = Backoff::fixed(ns(10)).jitter(Jitter::None);
        for (deadline, reach) in [(1, 1), (10, 1), (11, 2), (20, 2), (21, 3), (1000, 5)] {
            assert_eq!(backoff.reach(5, Nanos::saturating(deadline)), reach, "{deadline}");
        }
        assert_eq!(Backoff::fixed(ns(0)).reach(u32::MAX, Nanos::saturating(1)), u32::MAX);
    }
}
