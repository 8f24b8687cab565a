//! The versions of the tables, and the steps from each to the next.

use retry_core::record::RecordId;
use rusqlite::{Connection, params};

use crate::book::Sql;

/// What brings the tables from each version to the next: a file that is new is at
/// version 0. A step that was released is never changed.
const STEPS: [&str; 2] = [include_str!("schema/1.sql"), include_str!("schema/2.sql")];

/// The version that this one writes.
pub(crate) const VERSION: u32 = STEPS.len() as u32;

/// In the header of the file: that it is a store. `rtry` as four bytes.
pub(crate) const APPLICATION: i32 = 0x7274_7279;

/// What the header says a file is.
pub(crate) enum Found {
    /// Nothing is in it.
    Empty,
    /// A store, with tables of this version.
    Store(u32),
    /// Somebody else's database.
    Foreign,
}

/// On one state of the file: another process may be making it.
pub(crate) fn find(connection: &Connection) -> Sql<Found> {
    connection.execute_batch("BEGIN")?;
    let found = find_inside(connection);
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    found
}

fn find_inside(connection: &Connection) -> Sql<Found> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i32>(0));
    let version = number("PRAGMA user_version")?;
    Ok(match number("PRAGMA application_id")? {
        APPLICATION => Found::Store(u32::try_from(version).unwrap_or(u32::MAX)),
        0 if version == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0 => Found::Empty,
        _ => Found::Foreign,
    })
}

/// Takes the steps that are left, all or none. Several processes may try at once.
pub(crate) fn migrate(connection: &Connection) -> Sql<Found> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let found = take_steps(connection);
    if found.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    found
}

fn take_steps(connection: &Connection) -> Sql<Found> {
    // Another process may have been first.
    let found = find_inside(connection)?;
    let version = match found {
        Found::Empty => 0,
        Found::Store(version) => version,
        Found::Foreign => VERSION,
    };
    if version < VERSION {
        let done = usize::try_from(version).unwrap_or(usize::MAX);
        for step in STEPS.iter().skip(done) {
            connection.execute_batch(step)?;
        }
        if version == 0 {
            connection.pragma_update(None, "application_id", APPLICATION)?;
            begin(connection)?;
        }
        connection.pragma_update(None, "user_version", VERSION)?;
        let sql = "UPDATE meta SET value = ? WHERE key = 'schema_version'";
        connection.execute(sql, [VERSION])?;
    }
    connection.execute_batch("COMMIT")?;
    Ok(if matches!(found, Found::Foreign) || version > VERSION {
        found
    } else {
        Found::Store(VERSION)
    })
}

fn begin(connection: &Connection) -> Sql<()> {
    let sql = "INSERT INTO meta (key, value) \
         VALUES ('schema_version', ?), ('store_id', ?), ('clock_floor_ns', 0), ('clock_floor_check', -1)";
    connection.execute(sql, params![VERSION, RecordId::new().to_string()]).map(drop)
}
