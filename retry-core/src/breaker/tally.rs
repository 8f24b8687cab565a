//! What a closed breaker counts.

use std::time::Instant;

use super::window::{Extent, Share};
use crate::nanos::Nanos;

/// When a closed breaker opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trip {
    Consecutive(u32),
    Rate { share: Share, minimum: u32, extent: Extent },
}

/// The outcomes that matter for it.
#[derive(Debug)]
pub(super) enum Tally {
    Consecutive { failures: u32, limit: u32 },
    Rate { share: Share, minimum: u32, recent: Recent },
}

#[derive(Debug)]
pub(super) enum Recent {
    Calls(LastCalls),
    Time(LastSlices),
}

/// Sums over a window.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    calls: u64,
    failed: u64,
}

impl Tally {
    pub(super) fn new(trip: Trip) -> Self {
        match trip {
            Trip::Consecutive(limit) => Self::Consecutive { failures: 0, limit },
            Trip::Rate { share, minimum, extent } => {
                let recent = match extent {
                    Extent::Calls(calls) => Recent::Calls(LastCalls::new(calls)),
                    Extent::Time(span) => Recent::Time(LastSlices::new(span)),
                };
                Self::Rate { share, minimum, recent }
            }
        }
    }

    /// Counts an outcome, and says whether the breaker opens by it.
    pub(super) fn count(&mut self, now: Instant, failed: bool) -> bool {
        match self {
            Self::Consecutive { failures, limit } => {
                *failures = if failed { failures.saturating_add(1) } else { 0 };
                *failures >= *limit
            }
            Self::Rate { share, minimum, recent } => {
                let sum = match recent {
                    Recent::Calls(calls) => calls.count(failed),
                    Recent::Time(slices) => slices.count(now, failed),
                };
                sum.calls >= u64::from(*minimum) && share.is_reached(sum.failed, sum.calls)
            }
        }
    }

    /// Whether a success changes nothing.
    pub(super) const fn is_clean(&self) -> bool {
        matches!(self, Self::Consecutive { failures: 0, .. })
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Consecutive { failures, .. } => *failures = 0,
            Self::Rate { recent: Recent::Calls(calls), .. } => calls.clear(),
            Self::Rate { recent: Recent::Time(slices), .. } => slices.clear(),
        }
    }
}

/// The last n outcomes, a bit each.
#[derive(Debug)]
pub(super) struct LastCalls {
    failed: Box<[u64]>,
    capacity: u32,
    /// Where the next outcome goes: over the oldest once all places are taken.
    next: u32,
    sum: Sum,
}

impl LastCalls {
    fn new(capacity: u32) -> Self {
        let words = capacity.div_ceil(u64::BITS) as usize;
        Self { failed: vec![0; words].into(), capacity, next: 0, sum: Sum::default() }
    }

    fn count(&mut self, failed: bool) -> Sum {
        let (word, bit) = ((self.next / u64::BITS) as usize, 1 << (self.next % u64::BITS));
        if self.sum.calls == u64::from(self.capacity) {
            self.sum.failed -= u64::from(self.failed[word] & bit != 0);
        } else {
            self.sum.calls += 1;
        }
        if failed {
            self.failed[word] |= bit;
            self.sum.failed += 1;
        } else {
            self.failed[word] &= !bit;
        }
        self.next = (self.next + 1) % self.capacity;
        self.sum
    }

    fn clear(&mut self) {
        (self.next, self.sum) = (0, Sum::default());
    }
}

/// The outcomes of the last span, summed by slices of it.
#[derive(Debug)]
pub(super) struct LastSlices {
    span: Nanos,
    /// The first outcome's time.
    origin: Option<Instant>,
    /// The newest slice, counted from the origin.
    newest: u128,
    slices: Box<[Sum; SLICES]>,
    sum: Sum,
}

/// Slices of a window of time.
const SLICES: usize = 60;

impl LastSlices {
    fn new(span: Nanos) -> Self {
        let slices = Box::new([Sum::default(); SLICES]);
        Self { span, origin: None, newest: 0, slices, sum: Sum::default() }
    }

    fn count(&mut self, now: Instant, failed: bool) -> Sum {
        let origin = *self.origin.get_or_insert(now);
        let elapsed = Nanos::from_duration(now.saturating_duration_since(origin));
        self.advance(elapsed.wide() * SLICES as u128 / self.span.wide());
        let slice = &mut self.slices[(self.newest % SLICES as u128) as usize];
        for sum in [slice, &mut self.sum] {
            sum.calls += 1;
            sum.failed += u64::from(failed);
        }
        self.sum
    }

    /// Forgets what is too old. A time before the newest one is that of a
    /// caller who read the clock earlier and was slower; it counts as now.
    fn advance(&mut self, to: u128) {
        let steps = to.saturating_sub(self.newest).min(SLICES as u128);
        self.newest = self.newest.max(to);
        for step in 0..steps {
            let old =
                std::mem::take(&mut self.slices[((self.newest - step) % SLICES as u128) as usize]);
            self.sum.calls -= old.calls;
            self.sum.failed -= old.failed;
        }
    }

    fn clear(&mut self) {
        (self.origin, self.newest, self.sum) = (None, 0, Sum::default());
        self.slices.fill(Sum::default());
    }
}
