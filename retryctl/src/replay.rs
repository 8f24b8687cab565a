//! `retryctl replay`: whether the decisions of a record are those of the pure
//! function.

use std::io::Write;
use std::time::SystemTime;

use futures::executor::block_on;
use retry_core::record::{Head, Record, RecordError, RecordId, Timestamp};
use retry_core::store::{List, Store, StoreError};
use serde::Serialize;

use crate::exit::{Error, Exit};
use crate::lookup;
use crate::walk::{Walk, record_of};

/// Of one record.
pub(crate) fn one(
    id: &str,
    json: bool,
    store: &dyn Store,
    out: &mut dyn Write,
) -> Result<Exit, Error> {
    let record = lookup::record_id(store, id)?;
    let mut report = Report::default();
    report.replay(store, record, None)?;
    if report.records == 0 {
        return Err(Error::NotFound(id.to_owned()));
    }
    report.print(json, out)
}

/// Of every record: those that cannot be read are named, and the others replayed.
pub(crate) fn all(json: bool, store: &dyn Store, out: &mut dyn Write) -> Result<Exit, Error> {
    let mut report = Report::default();
    for head in Walk::of(store, List::default()) {
        match head {
            Ok(head) => report.replay(store, head.record, Some(head.operation.to_string()))?,
            Err(error) => report.cannot_read(error, None)?,
        }
    }
    report.print(json, out)
}

/// What `--json` prints.
#[derive(Debug, Default, Serialize)]
struct Report {
    records: usize,
    entries: usize,
    decisions: usize,
    differs: Vec<Differs>,
    unreadable: Vec<Unreadable>,
}

/// A decision that is not the one of the pure function: the first of its record.
#[derive(Debug, Serialize)]
struct Differs {
    record: String,
    operation: String,
    entry: u32,
    recorded: String,
    decided: String,
}

/// A record that is damaged, or of another version.
#[derive(Debug, Serialize)]
struct Unreadable {
    record: Option<String>,
    operation: Option<String>,
    error: String,
}

impl Report {
    fn replay(
        &mut self,
        store: &dyn Store,
        record: RecordId,
        operation: Option<String>,
    ) -> Result<(), Error> {
        match block_on(store.read(record)) {
            Ok(Some(record)) => match by_key(store, record.head()) {
                Ok(()) => self.judge(&record),
                Err(error) => self.cannot_read(error, operation)?,
            },
            // Removed since it was listed.
            Ok(None) => {}
            Err(error) => self.cannot_read(error, operation)?,
        }
        Ok(())
    }

    fn judge(&mut self, record: &Record) {
        self.records += 1;
        match record.replay() {
            Ok(replayed) => {
                self.entries += replayed.entries;
                self.decisions += replayed.decisions;
            }
            Err(difference) => self.differs.push(Differs {
                record: difference.record.to_string(),
                operation: record.head().operation.to_string(),
                entry: difference.entry,
                recorded: difference.recorded,
                decided: difference.decided,
            }),
        }
    }

    /// Where one record is at fault, the others are still replayed.
    fn cannot_read(&mut self, error: StoreError, operation: Option<String>) -> Result<(), Error> {
        let StoreError::Record(_) = error else {
            return Err(error.into());
        };
        self.records += 1;
        let record = record_of(&error).map(|record| record.to_string());
        self.unreadable.push(Unreadable { record, operation, error: error.to_string() });
        Ok(())
    }

    fn print(&self, json: bool, out: &mut dyn Write) -> Result<Exit, Error> {
        if json {
            serde_json::to_writer(&mut *out, self)?;
            writeln!(out)?;
        } else {
            self.write(out)?;
        }
        Ok(if self.is_sound() { Exit::Sound } else { Exit::Unsound })
    }

    const fn is_sound(&self) -> bool {
        self.differs.is_empty() && self.unreadable.is_empty()
    }

    fn write(&self, out: &mut dyn Write) -> Result<(), Error> {
        for Differs { record, operation, entry, recorded, decided } in &self.differs {
            writeln!(
                out,
                "{operation}: entry {entry} of record {record} says {recorded}, and the decision is {decided}"
            )?;
        }
        for Unreadable { operation, error, .. } in &self.unreadable {
            match operation {
                Some(operation) => writeln!(out, "{operation}: {error}")?,
                None => writeln!(out, "{error}")?,
            }
        }
        let counted =
            [(self.records, "record"), (self.entries, "entry"), (self.decisions, "decision")];
        write!(out, "{}", counted.map(|(count, what)| plural(count, what)).join(", "))?;
        match self.differs.len() {
            0 => {}
            1 => write!(out, ", 1 differs")?,
            count => write!(out, ", {count} differ")?,
        }
        match self.unreadable.len() {
            0 if self.differs.is_empty() => write!(out, ", all as decided")?,
            0 => {}
            count => write!(out, ", {count} cannot be read")?,
        }
        writeln!(out)?;
        Ok(())
    }
}

/// Whether its key finds it: if not, the same call would begin it once more, or be
/// given what another one came to.
fn by_key(store: &dyn Store, head: &Head) -> Result<(), StoreError> {
    let now = Timestamp::from(SystemTime::now());
    if head.operation.key().is_none() || head.has_expired(now) {
        return Ok(());
    }
    let found = block_on(store.find(head.operation.clone()))?;
    // Where there is none, it has expired by the store's clock.
    match found.map(|found| found.head().record).filter(|found| *found != head.record) {
        None => Ok(()),
        Some(found) => {
            let what = format!("its key stands for record {found}");
            Err(RecordError::Damaged { record: head.record, entry: 0, what }.into())
        }
    }
}

fn plural(count: usize, what: &str) -> String {
    match (count, what.strip_suffix('y')) {
        (1, _) => format!("{count} {what}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {what}s"),
    }
}
