//! Raw SQLite: the same rows, by statements that are prepared once, and nothing
//! else.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::Operations;
use super::rows::{Operation, Rows};

/// A connection, and what is to be written, made before anything is measured.
pub(crate) struct Raw {
    pub(crate) connection: Connection,
    insert: String,
    update: String,
    writes: Vec<Writes>,
}

/// The values of one operation, in the order of the statements.
struct Writes {
    inserted: Vec<Value>,
    taken: Vec<Value>,
    ended: Vec<Value>,
    opened_key: Vec<Value>,
    ended_key: Vec<Value>,
    events: Vec<Vec<Value>>,
}

/// The columns that a write of the store sets.
const CHANGED: [&str; 23] = [
    "state",
    "phase",
    "attempt",
    "released",
    "crashes",
    "deferrals",
    "hints",
    "logical_elapsed_ns",
    "planned_ns",
    "due_at",
    "due_reason",
    "lease_epoch",
    "lease_owner",
    "lease_until",
    "stop_reason",
    "stop_text",
    "last_error",
    "seq",
    "sum",
    "row_sum",
    "updated_at",
    "expires_at",
    "result",
];

impl Raw {
    /// `is_held` where an operation begins with its first attempt.
    pub(crate) fn open(file: &Path, rows: &Rows, is_held: bool) -> Result<Self> {
        let connection = Connection::open(file).context("open the file without the store")?;
        connection.set_prepared_statement_cache_capacity(64);
        // As the store has them.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "cache_size", -65_536)?;
        connection.pragma_update(None, "wal_autocheckpoint", 16_384)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        let names: Vec<String> = connection
            .prepare("SELECT name FROM pragma_table_info('operation')")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let insert =
            format!("INSERT INTO operation VALUES ({})", vec!["?"; names.len()].join(", "));
        let changes = CHANGED.map(|name| format!("{name} = ?")).join(", ");
        let update = format!("UPDATE operation SET {changes} WHERE id = ?");
        let writes = rows
            .0
            .iter()
            .map(|operation| Writes::of(operation, &names, is_held))
            .collect::<Result<_>>()?;
        Ok(Self { connection, insert, update, writes })
    }

    /// Each operation begins and ends, so many to a commit.
    pub(crate) fn begin_and_end(&self, size: usize, operations: Operations) -> Result<Duration> {
        measure(&self.writes, operations, |writes| {
            writes.chunks(size).try_for_each(|group| {
                self.commit(|| group.iter().try_for_each(|writes| self.begin(writes, 2)))?;
                self.commit(|| group.iter().try_for_each(|writes| self.end(writes)))
            })
        })
    }

    /// What is due is found, taken, and ended, so many to a commit.
    pub(crate) fn take_and_end(&self, size: usize, operations: Operations) -> Result<Duration> {
        for group in self.writes.chunks(64) {
            self.commit(|| group.iter().try_for_each(|writes| self.begin(writes, 1)))?;
        }
        measure(&self.writes, operations, |writes| {
            writes.chunks(size).try_for_each(|group| {
                self.commit(|| {
                    ensure!(self.due(size)? == group.len(), "as many are due");
                    group.iter().try_for_each(|writes| self.take(writes))
                })?;
                self.commit(|| group.iter().try_for_each(|writes| self.end(writes)))
            })
        })
    }

    fn commit(&self, act: impl FnOnce() -> Result<()>) -> Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        act()?;
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn begin(&self, writes: &Writes, events: usize) -> Result<()> {
        self.execute(&self.insert, &writes.inserted)?;
        self.execute("INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?)", &writes.opened_key)?;
        self.events(&writes.events[..events])
    }

    /// With what they are called with.
    fn due(&self, limit: usize) -> Result<usize> {
        let sql = "SELECT id, args FROM operation INDEXED BY operation_due WHERE queue = ? \
             AND due_at <= ? AND state IN ('ready', 'parked') ORDER BY due_at, id LIMIT ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let due = statement.query_map(params!["mail", NOW, limit as i64], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        Ok(due.collect::<Result<Vec<_>, _>>()?.len())
    }

    fn take(&self, writes: &Writes) -> Result<()> {
        self.execute(&self.update, &writes.taken)?;
        self.events(&writes.events[1..2])
    }

    fn end(&self, writes: &Writes) -> Result<()> {
        self.execute(&self.update, &writes.ended)?;
        self.events(&writes.events[2..])?;
        self.execute(
            "UPDATE idempotency SET state = ?, expires_at = ? WHERE scope = ? AND key = ?",
            &writes.ended_key,
        )
    }

    fn events(&self, events: &[Vec<Value>]) -> Result<()> {
        let sql = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        events.iter().try_for_each(|event| self.execute(sql, event))
    }

    fn execute(&self, sql: &str, values: &[Value]) -> Result<()> {
        self.connection.prepare_cached(sql)?.execute(params_from_iter(values))?;
        Ok(())
    }
}

fn measure(
    writes: &[Writes],
    operations: Operations,
    act: impl Fn(&[Writes]) -> Result<()>,
) -> Result<Duration> {
    let (before, measured) = writes.split_at(operations.before);
    act(before)?;
    let started = Instant::now();
    act(measured)?;
    Ok(started.elapsed())
}

/// Behind all that is due, and before what waits.
pub(crate) const NOW: i64 = i64::MAX / 2;

impl Writes {
    fn of(operation: &Operation, names: &[String], is_held: bool) -> Result<Self> {
        let Operation { columns, key, events } = operation;
        let at = |name: &str| {
            let at = names.iter().position(|column| column == name);
            at.with_context(|| format!("the table has a column `{name}`"))
        };
        let with = |columns: &[Value], values: &[(&str, Value)]| -> Result<Vec<Value>> {
            let mut columns = columns.to_vec();
            for (name, value) in values {
                columns[at(name)?] = value.clone();
            }
            Ok(columns)
        };
        let changed = |columns: &[Value]| -> Result<Vec<Value>> {
            let names = CHANGED.iter().chain(&["id"]);
            names.map(|name| Ok(columns[at(name)?].clone())).collect()
        };
        let text = |text: &str| Value::from(text.to_owned());
        let taken = with(
            columns,
            &[
                ("state", text("leased")),
                ("phase", text("running")),
                ("lease_owner", text("01M8PSNHC0001B7NK5W0JJA9RS-17")),
                ("lease_until", columns[at("due_at")?].clone()),
                ("expires_at", Value::Null),
                ("result", Value::Null),
            ],
        )?;
        let ready = [
            ("state", text("ready")),
            ("phase", text("ready")),
            ("lease_owner", Value::Null),
            ("lease_until", Value::Null),
        ];
        let [scope, name, fingerprint, record, state, created_at, expires_at] = &key[..] else {
            bail!("a key has seven columns")
        };
        let opened_key =
            [scope, name, fingerprint, record, &text("open"), created_at, &Value::Null];
        Ok(Self {
            inserted: if is_held { taken.clone() } else { with(&taken, &ready)? },
            taken: changed(&taken)?,
            ended: changed(columns)?,
            opened_key: opened_key.map(Value::clone).to_vec(),
            ended_key: [state, expires_at, scope, name].map(Value::clone).to_vec(),
            events: events.clone(),
        })
    }
}
