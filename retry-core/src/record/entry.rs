//! One entry of a record.

use super::{Checksum, Event, RecordError, RecordId, Timestamp};

/// One entry of a record: an event, when it was kept, and the checksum that ties
/// it to the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    seq: u32,
    at: Timestamp,
    epoch: u64,
    attempt: u32,
    event: Event,
    body: String,
    sum: Checksum,
}

/// The columns of an entry, as a store reads them back.
#[derive(Clone, Debug)]
pub struct EntryColumns {
    /// Its place in the record, from 1.
    pub seq: u32,
    /// When it was kept, by the store's clock.
    pub at: Timestamp,
    /// The claim under which it was written.
    pub epoch: u64,
    /// The attempt that it belongs to: the last that was started.
    pub attempt: u32,
    /// The kind.
    pub kind: String,
    /// The event as JSON.
    pub body: String,
    /// Over this entry and the checksum before it.
    pub sum: Checksum,
}

/// As they were read, or are to be written.
impl From<&Entry> for EntryColumns {
    fn from(entry: &Entry) -> Self {
        let Entry { seq, at, epoch, attempt, event, body, sum } = entry;
        let (kind, body) = (event.kind().to_owned(), body.clone());
        Self { seq: *seq, at: *at, epoch: *epoch, attempt: *attempt, kind, body, sum: *sum }
    }
}

impl Entry {
    /// Written behind `before`.
    pub(super) fn write(
        before: Checksum,
        (seq, at, epoch, attempt): (u32, Timestamp, u64, u32),
        event: Event,
    ) -> Result<Self, RecordError> {
        let body = serde_json::to_string(&event).map_err(|error| RecordError::Unwritable {
            what: "the policy",
            why: error.to_string(),
        })?;
        let sum = before.next(numbers(seq, at, epoch, attempt), &body);
        Ok(Self { seq, at, epoch, attempt, event, body, sum })
    }

    /// Read back: an entry whose bytes are not those that were written is damage,
    /// and is not interpreted.
    ///
    /// # Errors
    /// The checksum does not fit, or a word in it is not known.
    pub fn read(
        record: RecordId,
        before: Checksum,
        columns: EntryColumns,
    ) -> Result<Self, RecordError> {
        let EntryColumns { seq, at, epoch, attempt, kind, body, sum } = columns;
        let damaged =
            |what: &str| RecordError::Damaged { record, entry: seq, what: what.to_owned() };
        if before.next(numbers(seq, at, epoch, attempt), &body) != sum {
            return Err(damaged(
                "its checksum does not fit its content, or an entry before it is missing",
            ));
        }
        let event: Event = serde_json::from_str(&body).map_err(|error| {
            RecordError::Unreadable { record, entry: seq, what: error.to_string() }
        })?;
        if event.kind() != kind {
            return Err(damaged(&format!(
                "its kind is `{}`, and the column says `{kind}`",
                event.kind()
            )));
        }
        Ok(Self { seq, at, epoch, attempt, event, body, sum })
    }

    /// Its place in the record, from 1.
    pub const fn seq(&self) -> u32 {
        self.seq
    }

    /// When it was kept, by the store's clock.
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// The claim under which it was written; 0 before the first.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The attempt that it belongs to: the last that was started; 0 before the
    /// first.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// What happened.
    pub const fn event(&self) -> &Event {
        &self.event
    }

    /// The event as JSON.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Over this entry and the checksum before it.
    pub const fn sum(&self) -> Checksum {
        self.sum
    }
}

fn numbers(seq: u32, at: Timestamp, epoch: u64, attempt: u32) -> [u64; 4] {
    [u64::from(seq), at.as_nanos().unsigned_abs(), epoch, u64::from(attempt)]
}
