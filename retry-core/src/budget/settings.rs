//! A budget's numbers, and their judgement.

use std::collections::HashMap;

use super::Budget;
use super::error::BudgetError;
use super::name::known_as;
use super::shares::TOKEN;
use crate::classify::Kind;

/// A budget under construction. Made by [`Budget::ratio`] and the other presets.
#[derive(Clone, Debug)]
#[must_use = "end with `build`"]
pub struct BudgetBuilder {
    scheme: Preset,
    floor: u32,
    /// Whether the floor is the author's own, and not the preset's.
    own_floor: bool,
    size: Option<u32>,
    costs: [u32; KINDS.len()],
    refund: bool,
    fair: bool,
    weights: Vec<(Box<str>, u32)>,
    max_callers: usize,
    capacity: Option<(u32, f64)>,
}

#[derive(Clone, Copy, Debug)]
enum Preset {
    Ratio(f64),
    Aws,
    Grpc { token_ratio: f64 },
}

const KINDS: [Kind; 5] = [Kind::Timeout, Kind::Throttled, Kind::Connect, Kind::Server, Kind::Other];

const fn index(kind: Kind) -> usize {
    match kind {
        Kind::Timeout => 0,
        Kind::Throttled => 1,
        Kind::Connect => 2,
        Kind::Server => 3,
        Kind::Other => 4,
    }
}

impl BudgetBuilder {
    const fn new(scheme: Preset, cost: u32) -> Self {
        Self {
            scheme,
            floor: 0,
            own_floor: false,
            size: None,
            costs: [cost; KINDS.len()],
            refund: false,
            fair: false,
            weights: Vec::new(),
            max_callers: 1024,
            capacity: None,
        }
    }

    pub(super) fn ratio(ratio: f64) -> Self {
        let new = Self::new(Preset::Ratio(ratio), 1);
        Self { floor: 10, fair: true, ..new }
    }

    pub(super) fn aws(cost: u32, kind: Kind, other_cost: u32) -> Self {
        let new = Self::new(Preset::Aws, cost);
        Self { size: Some(500), refund: true, ..new }.cost(kind, other_cost)
    }

    pub(super) fn grpc(max_tokens: u32, token_ratio: f64) -> Self {
        let new = Self::new(Preset::Grpc { token_ratio }, 0);
        Self { size: Some(max_tokens), ..new }
    }

    /// Sets the tokens that come in each second, whatever is called, so that a
    /// quiet service can retry at all. 0 for none: then no wait for a token is
    /// known, and a refusal is a stop.
    pub fn floor(self, retries_per_second: u32) -> Self {
        Self { floor: retries_per_second, own_floor: true, ..self }
    }

    /// Sets how many tokens the bucket holds. For [`Budget::ratio`] it is 10
    /// seconds of the floor if not set, and 100 where there is no floor.
    ///
    /// The bucket holds more in two cases. A share of several is never smaller
    /// than two of the dearest retries, so that many callers together may hold
    /// more. And what comes in for retries in line is kept until they are served
    /// or leave, above the share where it is too small for them.
    pub fn size(self, tokens: u32) -> Self {
        Self { size: Some(tokens), ..self }
    }

    /// Sets what a retry costs after a failure of this kind.
    pub fn cost(mut self, kind: Kind, tokens: u32) -> Self {
        self.costs[index(kind)] = tokens;
        self
    }

    /// Sets whether a success gives back what the last retry took.
    pub fn refund(self, refund: bool) -> Self {
        Self { refund, ..self }
    }

    /// Sets whether each caller has a share of its own, which no other can use
    /// up, or all draw on one bucket, first come first served.
    pub fn fair_share(self, fair: bool) -> Self {
        Self { fair, ..self }
    }

    /// Sets a caller's weight; without one it is 1.
    pub fn weight(mut self, caller: impl Into<Box<str>>, weight: u32) -> Self {
        self.weights.push((caller.into(), weight));
        self
    }

    /// Sets how many callers have a share of their own, 1024 if not set. Those
    /// beyond it have one share together: see [`Caller::is_folded`](super::Caller::is_folded).
    pub fn max_callers(self, callers: usize) -> Self {
        Self { max_callers: callers, ..self }
    }

    /// Limits retries to what the resource has left: within a second at most
    /// `permits_per_second` · (1 − `reserved`), rounded down, and at most what
    /// first attempts leave of `permits_per_second`. First attempts are counted
    /// and never refused.
    ///
    /// A second is the current sixteenth of a second and the sixteen before it.
    /// A retry counts from the moment when it is decided.
    pub fn capacity(self, permits_per_second: u32, reserved: f64) -> Self {
        Self { capacity: Some((permits_per_second, reserved)), ..self }
    }

    /// Judges the numbers, and makes the budget.
    ///
    /// # Errors
    /// The first number that cannot be right, with the value and the fix.
    ///
    /// ```
    /// use retry_core::Budget;
    ///
    /// assert_eq!(
    ///     Budget::ratio(20.0).build().unwrap_err().to_string(),
    ///     "ratio is 20, and a first attempt deposits between 0 and 1 token; \
    ///      write 0.2 for one retry in five calls",
    /// );
    /// ```
    pub fn build(self) -> Result<Budget, BudgetError> {
        let size = self.judged_size()?;
        let (on, income) = self.judged_income(size)?;
        let grpc = matches!(self.scheme, Preset::Grpc { .. });
        if grpc && (self.floor > 0 || self.fair || self.costs != [0; KINDS.len()]) {
            return Err(BudgetError::RetriesAreFree);
        }
        let dearest = if grpc { 0 } else { self.judged_costs(size)? };
        let retries = self.judged_capacity()?;
        if self.fair && self.max_callers == 0 {
            return Err(BudgetError::NoCallers);
        }
        let weights = self.judged_weights()?;

        let size = u128::from(size) * TOKEN;
        let start = match self.scheme {
            Preset::Aws | Preset::Grpc { .. } => size,
            // The next caller's stock, and the floor's first token.
            Preset::Ratio(_) => {
                let stock = if self.fair { size / 2 } else { 0 };
                stock + if self.floor > 0 { TOKEN } else { 0 }
            }
        };
        Ok(Budget::new(Scheme {
            size,
            start,
            least: 2 * dearest,
            on,
            income,
            floor: self.floor,
            costs: self.costs.map(|tokens| u128::from(tokens) * TOKEN),
            charge: if grpc { TOKEN } else { 0 },
            threshold: grpc.then_some(size / 2),
            refund: self.refund,
            fair: self.fair,
            weights,
            max_callers: self.max_callers,
            capacity: retries,
        }))
    }

    fn judged_size(&self) -> Result<u32, BudgetError> {
        let size = match self.size {
            Some(size) => size,
            None if self.floor == 0 => 100,
            None => self.floor.saturating_mul(10),
        };
        let grpc = matches!(self.scheme, Preset::Grpc { .. });
        match size {
            _ if grpc && !(1..=1000).contains(&size) => Err(BudgetError::MaxTokens(size)),
            0 => Err(BudgetError::NoSize),
            _ if self.floor > size => Err(BudgetError::FloorAboveSize { floor: self.floor, size }),
            _ => Ok(size),
        }
    }

    fn judged_income(&self, size: u32) -> Result<(Income, u128), BudgetError> {
        match self.scheme {
            Preset::Ratio(ratio) if !(0.0..=1.0).contains(&ratio) => Err(BudgetError::Ratio(ratio)),
            Preset::Ratio(ratio) => match grains(ratio) {
                0 if self.floor == 0 => Err(BudgetError::NoIncome),
                income => Ok((Income::FirstAttempt, income)),
            },
            Preset::Aws => Ok((Income::FirstTry, TOKEN)),
            Preset::Grpc { token_ratio } => match grains(token_ratio) {
                income if income > 0 && token_ratio <= f64::from(size) => {
                    Ok((Income::Success, income))
                }
                _ => Err(BudgetError::TokenRatio(token_ratio)),
            },
        }
    }

    /// The dearest retry.
    fn judged_costs(&self, size: u32) -> Result<u128, BudgetError> {
        for (kind, cost) in KINDS.into_iter().zip(self.costs) {
            if cost == 0 {
                return Err(BudgetError::NoCost(kind));
            }
            if cost > size {
                return Err(BudgetError::CostAboveSize { kind, cost, size });
            }
        }
        Ok(self.costs.into_iter().max().map_or(TOKEN, |cost| u128::from(cost) * TOKEN))
    }

    fn judged_capacity(&self) -> Result<Option<(u32, u32)>, BudgetError> {
        let Some((permits, reserved)) = self.capacity else { return Ok(None) };
        if permits == 0 {
            return Err(BudgetError::NoCapacity);
        }
        if !(0.0..1.0).contains(&reserved) {
            return Err(BudgetError::Reserved(reserved));
        }
        if self.own_floor && self.floor > permits {
            return Err(BudgetError::FloorAboveCapacity { floor: self.floor, permits });
        }
        let left = TOKEN - grains(reserved);
        match u32::try_from(u128::from(permits) * left / TOKEN) {
            Ok(retries) if retries > 0 => Ok(Some((permits, retries))),
            _ => Err(BudgetError::CapacityForNoRetry { permits, reserved }),
        }
    }

    fn judged_weights(&self) -> Result<HashMap<Box<str>, u32>, BudgetError> {
        for (caller, weight) in &self.weights {
            if !self.fair {
                return Err(BudgetError::WeightWithoutShares(caller.clone()));
            }
            if *weight == 0 {
                return Err(BudgetError::NoWeight(caller.clone()));
            }
        }
        let known = |(name, weight): &(Box<str>, u32)| (known_as(name).into(), *weight);
        Ok(self.weights.iter().map(known).collect())
    }
}

/// A part of a token, to nine decimals; nothing for what is no number.
fn grains(tokens: f64) -> u128 {
    // The only floating point: a conversion that saturates.
    ((tokens * 1e9).round() as u128) << 32
}

/// The numbers of a budget, in grains, judged.
#[derive(Debug)]
pub(super) struct Scheme {
    pub(super) size: u128,
    pub(super) start: u128,
    /// No share is smaller.
    pub(super) least: u128,
    pub(super) on: Income,
    pub(super) income: u128,
    /// Tokens a second.
    pub(super) floor: u32,
    costs: [u128; KINDS.len()],
    /// What a transient failure takes.
    pub(super) charge: u128,
    /// No retry at or below it.
    pub(super) threshold: Option<u128>,
    pub(super) refund: bool,
    pub(super) fair: bool,
    pub(super) weights: HashMap<Box<str>, u32>,
    pub(super) max_callers: usize,
    /// Permits a second, and those of them that retries may use.
    pub(super) capacity: Option<(u32, u32)>,
}

impl Scheme {
    pub(super) const fn cost(&self, kind: Kind) -> u128 {
        self.costs[index(kind)]
    }
}

/// What brings tokens in, beside the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Income {
    FirstAttempt,
    /// A success of the first attempt.
    FirstTry,
    Success,
}

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_number_that_cannot_be_right_is_named() {
        let ratio = || Budget::ratio(0.2);
        for (builder, text) in [
            (Budget::ratio(-0.1), "ratio is -0.1"),
            (Budget::ratio(1.1), "ratio is 1.1"),
            (Budget::ratio(f64::NAN), "ratio is NaN"),
            (Budget::ratio(f64::INFINITY), "ratio is inf"),
            (Budget::ratio(0.0).floor(0), "ratio and floor are both 0"),
            (ratio().size(0), "size is 0"),
            (ratio().size(5), "floor (10 a second) is above size (5)"),
            (
                ratio().floor(10).capacity(5, 0.0),
                "floor (10 a second) is above the capacity (5 a second)",
            ),
            (ratio().cost(Kind::Other, 0), "the cost of a retry after other is 0"),
            (ratio().cost(Kind::Server, 101), "the cost of a retry after server (101) is above"),
            (Budget::aws_2_0().size(9), "the cost of a retry after timeout (10) is above"),
            (ratio().weight("a", 0), "the weight of \"a\" is 0"),
            (ratio().fair_share(false).weight("a", 2), "\"a\" has a weight"),
            (ratio().max_callers(0), "max_callers is 0"),
            (ratio().capacity(0, 0.5), "capacity is 0"),
            (ratio().capacity(100, 1.0), "the reserved share of the capacity is 1"),
            (ratio().capacity(100, f64::NAN), "the reserved share of the capacity is NaN"),
            (ratio().capacity(1, 0.5), "a capacity of 1 a second with 0.5"),
            (Budget::grpc(0, 0.1), "maxTokens is 0"),
            (Budget::grpc(1001, 0.1), "maxTokens is 1001"),
            (Budget::grpc(10, 0.0), "tokenRatio is 0"),
            (Budget::grpc(10, f64::NAN), "tokenRatio is NaN"),
            (Budget::grpc(10, 10.5), "tokenRatio is 10.5"),
            (Budget::grpc(10, 0.1).floor(1), "this scheme charges failures"),
            (Budget::grpc(10, 0.1).fair_share(true), "this scheme charges failures"),
            (Budget::grpc(10, 0.1).cost(Kind::Other, 1), "this scheme charges failures"),
        ] {
            let error = builder.build().unwrap_err().to_string();
            assert!(error.starts_with(text), "{error}");
        }
    }

    #[test]
    fn the_extremes_are_judged_without_a_panic() {
        for size in [1, u32::MAX] {
            for floor in [0, 1, u32::MAX] {
                let builder = Budget::ratio(1.0).floor(floor).size(size);
                let _ = builder.capacity(u32::MAX, 0.0).weight("a", u32::MAX).build();
            }
        }
        assert!(Budget::ratio(1e-300).floor(0).build().is_err());
    }

    #[test]
    fn a_ratio_is_converted_to_nine_decimals() {
        for (ratio, nanos) in [(0.2, 200_000_000), (0.6, 600_000_000), (0.1 + 0.2, 300_000_000)] {
            assert_eq!(grains(ratio), nanos << 32);
        }
        assert_eq!(grains(1e300), u128::MAX << 32);
    }
}
