//! The rows that a store has written, for raw SQLite to write again.

use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

/// The rows of each operation, in the order in which it was made.
pub(crate) struct Rows(pub(crate) Vec<Operation>);

/// All rows of one operation that is done.
pub(crate) struct Operation {
    /// In the order of the table.
    pub(crate) columns: Vec<Value>,
    pub(crate) key: Vec<Value>,
    pub(crate) events: Vec<Vec<Value>>,
}

impl Rows {
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let all = |sql: &str, id: Option<&str>| -> Result<Vec<Vec<Value>>> {
            let mut statement = connection.prepare_cached(sql)?;
            let columns = statement.column_count();
            let rows = statement.query_map(rusqlite::params_from_iter(id), |row| {
                (0..columns).map(|at| row.get(at)).collect::<Result<Vec<Value>, _>>()
            })?;
            rows.collect::<Result<_, _>>().context("read the rows of the store")
        };
        let operations = all("SELECT * FROM operation WHERE state = 'done' ORDER BY rowid", None)?;
        let keys = "SELECT k.* FROM idempotency AS k, operation AS o \
             WHERE o.id = ? AND k.scope = o.name \
             AND k.key = substr(o.operation_id, length(o.name) + 2)";
        let operation = |columns: Vec<Value>| {
            let Value::Text(id) = &columns[0] else { anyhow::bail!("an id is text") };
            let key = all(keys, Some(id))?.pop().context("each operation has a key")?;
            let events = all("SELECT * FROM event WHERE operation = ? ORDER BY seq", Some(id))?;
            Ok(Operation { columns, key, events })
        };
        Ok(Self(operations.into_iter().map(operation).collect::<Result<_>>()?))
    }

    pub(crate) fn operations(&self) -> usize {
        self.0.len()
    }
}
