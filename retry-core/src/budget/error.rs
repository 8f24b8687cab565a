//! Why a budget cannot be made.

use std::fmt;

use crate::classify::Kind;

/// Why a budget cannot be made: names the value and the fix.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BudgetError {
    /// A first attempt deposits no share of a token.
    Ratio(f64),
    /// gRPC's `maxTokens` is out of its range.
    MaxTokens(u32),
    /// gRPC's `tokenRatio` is out of its range.
    TokenRatio(f64),
    /// The bucket holds nothing.
    NoSize,
    /// The bucket cannot hold what its floor lets in within a second.
    FloorAboveSize {
        /// Tokens a second, as given.
        floor: u32,
        /// Tokens, as given or the preset's.
        size: u32,
    },
    /// The floor lets more retries in than the capacity has permits for.
    FloorAboveCapacity {
        /// Tokens a second, as given.
        floor: u32,
        /// Permits a second, as given.
        permits: u32,
    },
    /// Nothing ever comes in.
    NoIncome,
    /// A retry would be free, and the budget without effect.
    NoCost(Kind),
    /// A retry that the bucket can never pay.
    CostAboveSize {
        /// The kind of failure that is retried.
        kind: Kind,
        /// Tokens, as given or the preset's.
        cost: u32,
        /// Tokens, as given or the preset's.
        size: u32,
    },
    /// The scheme counts failures and takes nothing for a retry.
    RetriesAreFree,
    /// A caller would never get a share.
    NoWeight(Box<str>),
    /// A weight where all callers draw on one bucket.
    WeightWithoutShares(Box<str>),
    /// No caller could be tracked.
    NoCallers,
    /// No permit is ever given.
    NoCapacity,
    /// The reserved part is no share.
    Reserved(f64),
    /// What is reserved leaves less than one retry a second.
    CapacityForNoRetry {
        /// Permits a second, as given.
        permits: u32,
        /// The reserved share, as given.
        reserved: f64,
    },
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(ratio) => write!(
                f,
                "ratio is {ratio}, and a first attempt deposits between 0 and 1 token; write 0.2 for one retry in five calls"
            ),
            Self::MaxTokens(tokens) => write!(
                f,
                "maxTokens is {tokens}, and gRPC's are between 1 and 1000; take the service config's"
            ),
            Self::TokenRatio(ratio) => write!(
                f,
                "tokenRatio is {ratio}, and gRPC's are above 0 and at most maxTokens; take the service config's"
            ),
            Self::NoSize => f.write_str(
                "size is 0, which holds no token; raise it, or switch retries off by max_attempts = 1",
            ),
            Self::FloorAboveCapacity { floor, permits } => write!(
                f,
                "floor ({floor} a second) is above the capacity ({permits} a second), which would never let it be used; lower the floor or raise the capacity"
            ),
            Self::FloorAboveSize { floor, size } => write!(
                f,
                "floor ({floor} a second) is above size ({size}), which would lose part of it; lower the floor or raise the size"
            ),
            Self::NoIncome => f.write_str(
                "ratio and floor are both 0, so no token ever comes in; raise one, or switch retries off by max_attempts = 1",
            ),
            Self::NoCost(kind) => write!(
                f,
                "the cost of a retry after {kind} is 0, which takes it out of the budget; raise it to 1 at least"
            ),
            Self::CostAboveSize { kind, cost, size } => write!(
                f,
                "the cost of a retry after {kind} ({cost}) is above size ({size}), so it could never be made; lower the cost or raise the size"
            ),
            Self::RetriesAreFree => f.write_str(
                "this scheme charges failures and takes nothing for a retry; leave out the costs, the floor, the weights and the fair share, or start from `Budget::ratio`",
            ),
            Self::NoWeight(caller) => write!(
                f,
                "the weight of {caller:?} is 0, which leaves it no share; raise it to 1 at least"
            ),
            Self::WeightWithoutShares(caller) => write!(
                f,
                "{caller:?} has a weight, and all callers draw on one bucket; leave it out or set fair_share(true)"
            ),
            Self::NoCallers => f.write_str(
                "max_callers is 0, which tracks nobody; raise it, or set fair_share(false) for one bucket",
            ),
            Self::NoCapacity => f.write_str(
                "capacity is 0 permits a second, which leaves no retry; raise it or leave it out",
            ),
            Self::Reserved(reserved) => write!(
                f,
                "the reserved share of the capacity is {reserved}, and must be at least 0 and below 1; write 0.5 for half of it"
            ),
            Self::CapacityForNoRetry { permits, reserved } => write!(
                f,
                "a capacity of {permits} a second with {reserved} of it reserved leaves less than one retry a second; raise the capacity or reserve less"
            ),
        }
    }
}

impl std::error::Error for BudgetError {}
