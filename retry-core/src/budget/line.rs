//! Those of one caller who wait, first come first served.
//!
//! A line is asked how many are ahead of a place and what they cost. The sums stand
//! in a binary indexed tree (Fenwick 1994), beside the places in the order of
//! their numbers: to join, to leave from anywhere and to ask takes a number of
//! steps that grows with the logarithm of the line's length. A place that was
//! left stands empty until they are the half of all.

use std::task::Waker;

use crate::nanos::Nanos;

#[derive(Debug, Default)]
pub(super) struct Line {
    places: Vec<Place>,
    /// At `i` the sum of the places up to `i`, as many as the lowest bit of
    /// `i + 1` says.
    sums: Vec<Sum>,
    /// Empty places before the first that is not.
    passed: usize,
    all: Sum,
    /// How often its places became earlier than their holders were told.
    news: u64,
    /// Its turn among the lines whose first could be served, had it a permit.
    pub(super) turn: Option<u64>,
}

#[derive(Debug)]
struct Place {
    number: u64,
    cost: u128,
    is_empty: bool,
    waker: Option<Waker>,
    told: Told,
}

/// How many wait, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) places: usize,
    pub(super) cost: u128,
}

impl Sum {
    const fn one(cost: u128) -> Self {
        Self { places: 1, cost }
    }

    const fn plus(self, other: Self) -> Self {
        Self { places: self.places + other.places, cost: self.cost + other.cost }
    }

    const fn minus(self, other: Self) -> Self {
        Self { places: self.places - other.places, cost: self.cost - other.cost }
    }
}

/// What the holder of a place was told when it last asked.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// The time that it waits for, if one was known.
    at: Option<Nanos>,
    /// The news that are in it.
    news: u64,
}

impl Line {
    pub(super) const fn all(&self) -> Sum {
        self.all
    }

    /// What the first in line waits for.
    pub(super) fn first_cost(&self) -> Option<u128> {
        self.places.get(self.passed).map(|first| first.cost)
    }

    /// Takes the last place. Numbers rise.
    pub(super) fn join(&mut self, number: u64, cost: u128) {
        self.places.push(Place {
            number,
            cost,
            is_empty: false,
            waker: None,
            told: Told::default(),
        });
        self.index(self.places.len() - 1);
        self.all = self.all.plus(Sum::one(cost));
    }

    /// Those ahead of a place.
    pub(super) fn ahead(&self, number: u64) -> Sum {
        let mut end = self.places.partition_point(|place| place.number < number);
        let mut sum = Sum::default();
        while end > 0 {
            sum = sum.plus(self.sums[end - 1]);
            end -= lowest_bit(end);
        }
        sum
    }

    /// Notes what the holder of a place is told, and its waker; returns the one
    /// before, or this one where there is no such place.
    pub(super) fn tell(&mut self, number: u64, at: Option<Nanos>, waker: Waker) -> Option<Waker> {
        let news = self.news;
        let Some(place) = self.find(number).map(|found| &mut self.places[found]) else {
            return Some(waker);
        };
        place.told = Told { at, news };
        place.waker.replace(waker)
    }

    /// Its places became earlier. Only the first in line is told, and each of
    /// the others when it becomes the first.
    pub(super) const fn has_news(&mut self) {
        self.news += 1;
    }

    /// Whether the first in line may wait for a later time than it has to.
    pub(super) fn first_knows_less(&self) -> bool {
        self.places.get(self.passed).is_some_and(|first| {
            first.waker.is_some() && (first.told.at.is_none() || first.told.news != self.news)
        })
    }

    #[cfg(all(test, not(retry_loom)))]
    pub(super) fn first_knows_no_time(&self) -> bool {
        let first = &self.places[self.passed];
        first.waker.is_some() && first.told.at.is_none()
    }

    /// The waker of the first in line, if it waits for a time later than `at`.
    pub(super) fn wake_first(&mut self, at: Nanos) -> Option<Waker> {
        let first = self.places.get_mut(self.passed)?;
        if first.told.at.is_some_and(|told| told <= at) {
            return None;
        }
        first.waker.take()
    }

    /// Removes the first in line, and returns its number and its waker.
    pub(super) fn serve(&mut self) -> Option<(u64, Option<Waker>)> {
        let number = self.places.get(self.passed)?.number;
        Some((number, self.leave(self.passed)))
    }

    /// Removes who gives up, and returns its waker.
    pub(super) fn give_up(&mut self, number: u64) -> Option<Waker> {
        let found = self.find(number)?;
        self.has_news();
        self.leave(found)
    }

    fn find(&self, number: u64) -> Option<usize> {
        let found = self.places.binary_search_by_key(&number, |place| place.number).ok()?;
        (!self.places[found].is_empty).then_some(found)
    }

    fn leave(&mut self, found: usize) -> Option<Waker> {
        let place = &mut self.places[found];
        place.is_empty = true;
        let gone = Sum::one(place.cost);
        let waker = place.waker.take();
        self.all = self.all.minus(gone);
        let mut end = found + 1;
        while let Some(sum) = self.sums.get_mut(end - 1) {
            *sum = sum.minus(gone);
            end += lowest_bit(end);
        }
        while self.places.get(self.passed).is_some_and(|place| place.is_empty) {
            self.passed += 1;
        }
        if self.places.len() > 2 * self.all.places {
            self.close_up();
        }
        waker
    }

    /// Removes the empty places.
    fn close_up(&mut self) {
        self.places.retain(|place| !place.is_empty);
        self.passed = 0;
        self.sums.clear();
        (0..self.places.len()).for_each(|at| self.index(at));
    }

    /// Adds the place at `at`, which is not empty, to the sums, which end before it.
    fn index(&mut self, at: usize) {
        let start = at + 1 - lowest_bit(at + 1);
        let mut sum = Sum::one(self.places[at].cost);
        let mut end = at;
        while end > start {
            sum = sum.plus(self.sums[end - 1]);
            end -= lowest_bit(end);
        }
        self.sums.push(sum);
    }
}

const fn lowest_bit(number: usize) -> usize {
    number & number.wrapping_neg()
}

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_ahead_costs_what_those_cost_who_are_still_there(
            steps in proptest::collection::vec((0..5_u8, 0..1000_usize, 0..15_u128), 0..400),
        ) {
            let mut line = Line::default();
            let mut known: Vec<(u64, u128)> = Vec::new();
            for (number, (what, who, cost)) in (0..).zip(steps) {
                match what {
                    0..=2 => {
                        line.join(number, cost);
                        known.push((number, cost));
                    }
                    3 if !known.is_empty() => {
                        let at = who % known.len();
                        let (gone, _) = known.remove(at);
                        // Once more is no more.
                        (0..2).for_each(|_| drop(line.give_up(gone)));
                    }
                    _ => {
                        let first = (!known.is_empty()).then(|| known.remove(0));
                        let served = line.serve().map(|(number, _)| number);
                        prop_assert_eq!(served, first.map(|(number, _)| number));
                    }
                }
                prop_assert_eq!(line.first_cost(), known.first().map(|first| first.1));
                let mut sum = Sum::default();
                for &(number, cost) in &known {
                    prop_assert_eq!(line.ahead(number), sum);
                    sum = Sum { places: sum.places + 1, cost: sum.cost + cost };
                }
                prop_assert_eq!(line.all(), sum);
                prop_assert!(line.places.len() <= 2 * known.len());
            }
        }
    }
}
