//! Allocations an operation, by an allocator that counts. It is in this binary
//! only, so that valgrind counts none of its instructions.

use retry_benches::{Scenario, Subject};

const OPERATIONS: u64 = 20;

/// What an operation adds: the runtime's own allocations cancel out.
pub(crate) fn an_operation(subject: &Subject, scenario: Scenario) -> f64 {
    let count = |operations| {
        allocation_counter::measure(|| (subject.run)(scenario, operations)).count_total
    };
    let (once, twice) = (count(OPERATIONS), count(2 * OPERATIONS));
    twice.saturating_sub(once) as f64 / OPERATIONS as f64
}
