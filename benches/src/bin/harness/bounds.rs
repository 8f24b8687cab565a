//! What ours may cost at most, beside the hand-written loop that gives the same
//! promise, in one run.

use std::fmt;

use anyhow::{Result, ensure};

use crate::measured::Measured;
use crate::store::{Sides, Times, Work};

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
        write!(f, "{word:<7} {}: {:.2} (at most {:.2})", self.what, self.value, self.bound)
    }
}

/// Every bound on what is counted.
pub(crate) fn counted(measured: &Measured) -> Result<Vec<Bound>> {
    let mut bounds = of_a_loop(measured)?;
    bounds.extend(of_a_log(&measured.store.pages));
    Ok(bounds)
}

/// Every bound on a ratio of times, which a machine that does something else too may
/// break.
pub(crate) fn timed(measured: &Measured) -> Vec<Bound> {
    measured.store.times.iter().flat_map(of_a_work).collect()
}

fn of_a_log(pages: &Sides<f64>) -> [Bound; 2] {
    [
        Bound {
            what: "store, pages of the log a write beside raw SQLite's and the clock's",
            value: pages.ours,
            // The process itself is written down too, once.
            bound: pages.raw + 1.1,
        },
        Bound {
            what: "store, pages of the log a write with 100 000 parked, a fifth more at most",
            value: pages.beside_parked,
            bound: pages.ours * 1.2,
        },
    ]
}

/// At least half of what raw SQLite does, and a fifth less with many that wait.
fn of_a_work(times: &Times) -> [Bound; 2] {
    let [raw, parked] = match times.work {
        Work::Single => [
            "store, one producer, raw SQLite's rate by ours",
            "store, one producer, our rate by that with 100 000 parked",
        ],
        Work::Producers => [
            "store, 64 producers, raw SQLite's rate by ours",
            "store, 64 producers, our rate by that with 100 000 parked",
        ],
        Work::Batches => [
            "store, batches of 32, raw SQLite's rate by ours",
            "store, batches of 32, our rate by that with 100 000 parked",
        ],
    };
    [
        Bound { what: raw, value: times.to_raw.recip(), bound: 2.0 },
        Bound { what: parked, value: times.beside_parked_to_ours.recip(), bound: 1.25 },
    ]
}

fn of_a_loop(measured: &Measured) -> Result<Vec<Bound>> {
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
