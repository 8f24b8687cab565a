//! Many operations that wait, and that nothing measured here touches.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, params};

use super::raw::NOW;

/// Fills the file of a store: with rows as long as those of an operation that has
/// failed once, whose keys are in no order.
pub(crate) fn fill(file: &Path, operations: usize) -> Result<()> {
    let connection = Connection::open(file)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for number in 0..operations {
        park(&connection, number)?;
    }
    connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(truncate)")?;
    Ok(())
}

fn park(connection: &Connection, number: usize) -> Result<()> {
    let id = format!("{number:026}");
    let key = format!("{:032x}", spread(number));
    let fingerprint = "7".repeat(64);
    let sum = [7_u8; 16];
    let operation = "INSERT INTO operation (id, operation_id, name, queue, safety, policy, rules, args_fp, \
         keep_ns, deadline_ns, state, phase, attempt, released, crashes, deferrals, hints, \
         logical_elapsed_ns, planned_ns, due_at, lease_epoch, last_error, seq, sum, row_sum, created_at, \
         updated_at, args) VALUES (?1, 'payments.charge/' || ?2, 'payments.charge', 'mail', 'keyed', ?3, \
         1, ?4, 86400000000000, 30000000000, 'parked', 'parked', 1, 0, 0, 0, 0, 3000000, 9000000000, ?5, \
         1, 'connection reset', 4, ?6, ?6, 1, 1, '[\"customer-17\",17,\"a receipt by mail\"]')";
    let policy = "{\"max_attempts\":5,\"deadline\":\"30s\",\"hint_limit\":\"60s\",\
         \"backoff\":{\"exponential\":\"100ms\",\"jitter\":\"equal\"}}";
    let due_at = NOW + 1 + i64::try_from(number)?;
    connection.prepare_cached(operation)?.execute(params![
        id,
        key,
        policy,
        fingerprint,
        due_at,
        sum
    ])?;
    connection
        .prepare_cached(
            "INSERT INTO idempotency VALUES ('payments.charge', ?, ?, ?, 'open', 1, NULL)",
        )?
        .execute(params![key, fingerprint, id])?;
    let event = "INSERT INTO event VALUES (?, ?, 1, 1, 1, 'attempt_started', ?, ?)";
    let body = "{\"kind\":\"attempt_started\",\"attempt\":1,\"elapsed_ns\":0,\
         \"like\":\"one that is as long as most are\"}";
    for seq in 1..=4 {
        connection.prepare_cached(event)?.execute(params![id, seq, body, sum])?;
    }
    Ok(())
}

/// Multiples of the golden ratio, the fraction of it: as far apart as can be.
const fn spread(number: usize) -> u128 {
    (number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}
