//! What ours may cost at most, beside the hand-written loop that gives the same
//! promise, in one run.

use std::fmt;

use anyhow::{Result, ensure};

use crate::measured::Measured;

/// A number and what it must not exceed.
#[derive(Debug)]
pub(crate) struct Bound {
    what: &'static str,
    value: f64,
    bound: f64,
}

impl Bound {
    /// Whether the number is within the bound.
    pub(crate) fn holds(&self) -> bool {
        self.value <= self.bound
    }
}

/// `ok      ready, instructions: 120 (at most 151)`
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.holds() { "ok" } else { "BROKEN" };
        write!(f, "{word:<7} {}: {:.1} (at most {:.1})", self.what, self.value, self.bound)
    }
}

/// Every bound in instructions, allocations or bytes.
pub(crate) fn all(measured: &Measured) -> Result<Vec<Bound>> {
    let (ours, hand, decision) =
        (&measured.ours, measured.hand_under_timeout()?, &measured.decision);
    let [ready, waits_once, _] = &ours.instructions;
    let [hand_ready, hand_waits_once, _] = &hand.instructions;
    let [allocations_ready, _, allocations_three_failures] = ours.allocations;
    // Where the words are not seen although the work is done, their absence
    // elsewhere says nothing.
    ensure!(decision.instructions.within(HASH) > 0.0, "a decision shows no `{HASH}`");
    ensure!(hand_waits_once.within(TIMER) > 0.0, "a wait under `timeout` shows no `{TIMER}`");

    Ok(vec![
        Bound {
            what: "first attempt ready, instructions beside half the hand loop's",
            value: ready.total(),
            bound: hand_ready.total() / 2.0,
        },
        Bound { what: "first attempt ready, allocations", value: allocations_ready, bound: 0.0 },
        Bound {
            what: "first attempt ready, instructions in sha2",
            value: ready.within(HASH),
            bound: 0.0,
        },
        Bound {
            what: "first attempt ready, instructions in timers",
            value: ready.within(TIMER),
            bound: 0.0,
        },
        Bound {
            what: "first attempt waits once, instructions beside the hand loop's",
            value: waits_once.total(),
            bound: hand_waits_once.total(),
        },
        Bound {
            what: "three failures, then success, allocations",
            value: allocations_three_failures,
            bound: 1.0,
        },
        Bound {
            what: "future, bytes beside the hand loop's and 32",
            value: ours.future_size as f64,
            bound: hand.future_size as f64 + 32.0,
        },
    ])
}

/// Part of the name of every function of the crate that hashes.
const HASH: &str = "sha2";

/// Part of the name of tokio's functions that register a timer.
const TIMER: &str = "tokio::runtime::time";
