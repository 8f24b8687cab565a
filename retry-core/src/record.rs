//! The record of an operation that survives its process: a list of events, each
//! tied to the one before by a checksum, and what they fold to.
//!
//! But for the making of ids, nothing here reads a clock, and nothing does I/O. A
//! store keeps what comes out of [`Change::apply`]; the decisions in it are those of
//! [`decide`](crate::decide), and [`Record::replay`] proves it.

mod change;
mod checksum;
mod entry;
mod error;
mod event;
mod fingerprint;
mod head;
mod id;
mod judge;
mod replay;
mod story;
mod timestamp;

pub use change::{Applied, Change, Fence, Refused};
pub use checksum::Checksum;
pub use entry::{Entry, EntryColumns};
pub use error::RecordError;
pub use event::{DelayChosen, Ended, Event, Finality};
pub use fingerprint::{Arguments, Fingerprint};
pub use head::{Head, Lease, New, Phase, StopText};
pub use id::{Holder, RecordId};
pub use replay::{Difference, Replayed};
pub use timestamp::Timestamp;

/// The version of the decision rules under which operations begin now.
pub const RULES: u32 = 1;

/// Everything that is kept of one operation, verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    head: Head,
    entries: Vec<Entry>,
    arguments: Arguments,
    result: Option<String>,
}

impl Record {
    /// Reads what a store has kept: each entry must be as it was written, none may
    /// be missing, and the head must be what they fold to.
    ///
    /// # Errors
    /// The record is damaged, or of a version that this one cannot read. The error
    /// names the record and the entry.
    pub fn read(
        head: Head,
        columns: impl IntoIterator<Item = EntryColumns>,
        arguments: Arguments,
        result: Option<String>,
    ) -> Result<Self, RecordError> {
        let mut entries = Vec::new();
        let mut before = Checksum::START;
        for (place, columns) in (1..).zip(columns) {
            if columns.seq != place {
                let what = format!("in its place is entry {}", columns.seq);
                return Err(RecordError::Damaged { record: head.record, entry: place, what });
            }
            let entry = Entry::read(head.record, before, columns)?;
            before = entry.sum();
            entries.push(entry);
        }
        let record = Self { head, entries, arguments, result };
        record.verify()?;
        Ok(record)
    }

    /// What the entries fold to, and who holds the operation.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// What happened, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the operation was called with.
    pub const fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// Its result as JSON, once it is done.
    pub fn result(&self) -> Option<&str> {
        self.result.as_deref()
    }

    fn verify(&self) -> Result<(), RecordError> {
        let damaged = |what: &str| {
            Err(RecordError::Damaged { record: self.head.record, entry: 0, what: what.to_owned() })
        };
        let Some((first, rest)) = self.entries.split_first() else {
            return damaged("it has no entries");
        };
        let found = self.entries.len();
        if let Some(missing) = (1..=self.head.seq).nth(found) {
            let what = format!("it is missing, and the row tells of {} entries", self.head.seq);
            return Err(RecordError::Damaged { record: self.head.record, entry: missing, what });
        }
        let mut folded = Head::begin(self.head.record, first)?;
        for entry in rest {
            folded.follow(entry)?;
        }
        // What no entry tells.
        folded.queue.clone_from(&self.head.queue);
        folded.code_version.clone_from(&self.head.code_version);
        folded.keep = self.head.keep;
        // A claim that wrote nothing yet counts too.
        folded.lease.epoch = folded.lease.epoch.max(self.head.lease.epoch);
        folded.lease.held = self.head.lease.held;
        if folded != self.head {
            return damaged(&format!(
                "the row of the operation is not what its {} entries fold to",
                self.entries.len()
            ));
        }
        if self.arguments.fingerprint() != self.head.fingerprint {
            return damaged("its arguments are not those that it began with");
        }
        let recorded = self.entries.iter().rev().find_map(|entry| match entry.event() {
            Event::ResultRecorded { sum } => Some(sum),
            _ => None,
        });
        match (recorded, &self.result) {
            (Some(sum), Some(result)) if *sum == Checksum::of_text(result).to_string() => Ok(()),
            (None, None) => Ok(()),
            (Some(_), None) => damaged("its result is missing"),
            _ => damaged("its result is not the one that was recorded"),
        }
    }
}

#[cfg(test)]
mod tests;
