//! What a store holds, read by another process than those that write it.

use std::path::Path;

use anyhow::Result;
use futures::executor::block_on;
use retry_core::record::{Head, Record};
use retry_core::store::{List, Store};
use retry_sqlite::SqliteStore;

/// The heads of all records.
pub(crate) fn heads(store: &SqliteStore) -> Result<Vec<Head>> {
    const PAGE: usize = 256;
    let mut heads: Vec<Head> = Vec::new();
    loop {
        let before = heads.last().map(|head| head.record);
        let page = block_on(store.list(List { before, limit: PAGE, ..List::default() }))?;
        if page.is_empty() {
            return Ok(heads);
        }
        heads.extend(page);
    }
}

/// All records, each verified.
///
/// # Errors
/// The store cannot be read, or one of them is damaged.
pub fn records(path: &Path) -> Result<Vec<Record>> {
    let store = SqliteStore::open_read_only(path)?;
    let mut records = Vec::new();
    for head in heads(&store)? {
        records.extend(block_on(store.read(head.record))?);
        // Found by its key, it is the same.
        let found = block_on(store.find(head.operation.clone()))?;
        anyhow::ensure!(
            found.as_ref().is_none_or(|found| found.head().record == head.record),
            "the key of {} stands for another record",
            head.operation
        );
    }
    Ok(records)
}
