//! What one decision costs, in nanoseconds.

use std::time::Instant;

const DECISIONS: u64 = 100_000;
const REPETITIONS: usize = 11;

/// The median of several repetitions in this process.
pub(crate) fn nanoseconds(decide: fn(u64)) -> f64 {
    let mut all: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let started = Instant::now();
            for number in 0..DECISIONS {
                decide(number);
            }
            started.elapsed().as_nanos() as f64 / DECISIONS as f64
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[REPETITIONS / 2]
}
