//! A head as the row of a table, and back.

use std::cell::RefCell;
use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

use retry_core::record::{
    Checksum, EntryColumns, Head, Lease, RecordError, RecordId, StopText, Timestamp,
};
use retry_core::{OperationId, Policy, Safety};
use rusqlite::types::{FromSql, Type};
use rusqlite::{Error, Row};
use sha2::{Digest as _, Sha256};

/// What [`head`] reads, in order.
pub(crate) const HEAD: &str = "id, operation_id, queue, code_version, safety, policy, rules, args_fp, \
     keep_ns, phase, attempt, released, crashes, deferrals, hints, logical_elapsed_ns, planned_ns, \
     due_at, due_reason, lease_epoch, lease_owner, lease_until, stop_reason, stop_text, last_error, \
     seq, sum, created_at, updated_at, name, state, deadline_ns, expires_at, row_sum";

/// How many columns these are.
pub(crate) const HEAD_LEN: usize = 34;

/// What [`entry`] reads, in order.
pub(crate) const ENTRY: &str = "seq, at, epoch, attempt, kind, body, sum";

/// Policies that were read: most records have one of a few.
#[derive(Default)]
pub(crate) struct Policies(RefCell<HashMap<String, Policy>>);

impl Policies {
    const KEPT: usize = 256;

    fn read(&self, text: &str) -> Result<Policy, serde_json::Error> {
        let mut known = self.0.borrow_mut();
        if let Some(policy) = known.get(text) {
            return Ok(*policy);
        }
        let policy = serde_json::from_str(text)?;
        if known.len() >= Self::KEPT {
            known.clear();
        }
        known.insert(text.to_owned(), policy);
        Ok(policy)
    }
}

/// The head that a row holds. A column that cannot be what it is said to be is
/// an error for which [`fault`] has the words.
pub(crate) fn head(row: &Row<'_>, policies: &Policies) -> Result<Head, Error> {
    let mut columns = Columns { row, at: 0 };
    let record: RecordId = columns.word()?;
    let operation_id: String = columns.take()?;
    let operation = OperationId::from(operation_id);
    let (queue, code_version) = (columns.take()?, columns.take()?);
    let safety = columns.read(|text| safety_of(text).ok_or("it is not a safety"))?;
    let policy = columns.read(|text| policies.read(text))?;
    let rules = columns.take()?;
    let fingerprint = columns.word()?;
    let keep = columns.span()?;
    let phase = columns.word()?;
    let (started, released, crashes) = (columns.take()?, columns.take()?, columns.take()?);
    let (deferrals, hints) = (columns.take()?, columns.take()?);
    let elapsed = columns.span()?;
    let planned = columns.optional_span()?;
    let due_at = columns.time()?;
    let due_reason = columns.optional_word()?;
    let epoch = columns.count()?;
    let holder = columns.optional_word()?;
    let until = columns.take::<Option<i64>>()?.map(Timestamp::from_nanos);
    let reason = columns.optional_word()?;
    let text: Option<String> = columns.take()?;
    let last_error = columns.take()?;
    let seq = columns.take()?;
    let sum = Checksum::from_bytes(columns.take()?);
    let (created_at, updated_at) = (columns.time()?, columns.time()?);
    let head = Head {
        record,
        operation,
        safety,
        policy,
        rules,
        fingerprint,
        queue,
        code_version,
        keep,
        phase,
        started,
        released,
        crashes,
        deferrals,
        hints,
        elapsed,
        planned,
        due_at,
        due_reason,
        lease: Lease { epoch, held: holder.zip(until) },
        stop: reason.zip(text).map(|(reason, text)| StopText { reason, text }),
        last_error,
        seq,
        sum,
        created_at,
        updated_at,
    };
    // What the columns before already say, for queries.
    columns.expect(head.operation.name())?;
    columns.expect(head.state())?;
    columns.expect_number(Some(nanos(head.policy.get_deadline())))?;
    columns.expect_number(head.expires_at().map(Timestamp::as_nanos))?;
    if columns.take::<[u8; 16]>()? != sum_of(&head) {
        return Err(
            columns.wrong(Type::Blob, "the queue, the lease or the time to keep is another")
        );
    }
    Ok(head)
}

/// An entry as its row has it: nothing is verified yet.
pub(crate) fn entry(row: &Row<'_>) -> Result<EntryColumns, Error> {
    let mut columns = Columns { row, at: 0 };
    Ok(EntryColumns {
        seq: columns.take()?,
        at: columns.time()?,
        epoch: columns.count()?,
        attempt: columns.take()?,
        kind: columns.take()?,
        body: columns.take()?,
        sum: Checksum::from_bytes(columns.take()?),
    })
}

/// Over what no entry tells. The rest of the head is what the entries fold to.
pub(crate) fn sum_of(head: &Head) -> [u8; 16] {
    let mut hasher = Sha256::new();
    let mut number = |number: i64| hasher.update(number.to_be_bytes());
    number(nanos(head.keep));
    number(count(head.lease.epoch));
    number(head.lease.held.map_or(-1, |(_, until)| until.as_nanos()));
    let holder = head.lease.held.map(|(holder, _)| holder.to_string());
    for text in [holder.as_deref(), Some(head.queue.as_str()), head.code_version.as_deref()] {
        // Its length, so that no two lists of texts are alike.
        hasher.update(text.map_or(-1, |text| text.len() as i64).to_be_bytes());
        hasher.update(text.unwrap_or_default());
    }
    let mut sum = [0; 16];
    sum.copy_from_slice(&hasher.finalize()[..16]);
    sum
}

/// The words for a row that holds what it cannot hold; `None` for any other
/// error.
pub(crate) fn fault(error: &Error, columns: &str) -> Option<String> {
    let (at, why) = match error {
        Error::FromSqlConversionFailure(at, _, why) => (*at, why.to_string()),
        Error::IntegralValueOutOfRange(at, value) => (*at, format!("{value} is out of range")),
        Error::InvalidColumnType(at, _, found) => (*at, format!("it is {found}")),
        Error::Utf8Error(at, why) => (*at, why.to_string()),
        error if is_damage(error) => return Some(format!("SQLite cannot read it: {error}")),
        _ => return None,
    };
    let column = columns.split(',').nth(at).unwrap_or("?").trim();
    Some(format!("the column `{column}` cannot be what was written: {why}"))
}

fn is_damage(error: &Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

/// Nanoseconds, clamped to what a column holds.
pub(crate) fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

pub(crate) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn safety_of(word: &str) -> Option<Safety> {
    let all = [Safety::Idempotent, Safety::Keyed, Safety::AtMostOnce];
    all.into_iter().find(|safety| safety.as_str() == word)
}

pub(crate) fn policy_text(policy: &Policy) -> Result<String, RecordError> {
    serde_json::to_string(policy)
        .map_err(|error| RecordError::Unwritable { what: "the policy", why: error.to_string() })
}

/// The columns of a row, one after the other.
struct Columns<'a> {
    row: &'a Row<'a>,
    at: usize,
}

impl Columns<'_> {
    fn take<T: FromSql>(&mut self) -> Result<T, Error> {
        let value = self.row.get(self.at)?;
        self.at += 1;
        Ok(value)
    }

    fn read<T, E: ToString>(
        &mut self,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Error> {
        let text = self.row.get_ref(self.at)?.as_str().map_err(|error| {
            Error::FromSqlConversionFailure(self.at, Type::Text, error.to_string().into())
        })?;
        let value = read(text);
        self.at += 1;
        value.map_err(|why| self.wrong(Type::Text, why))
    }

    fn word<T: FromStr<Err: ToString>>(&mut self) -> Result<T, Error> {
        self.read(str::parse)
    }

    fn optional_word<T: FromStr<Err: ToString>>(&mut self) -> Result<Option<T>, Error> {
        if self.row.get_ref(self.at)?.data_type() == Type::Null {
            self.at += 1;
            return Ok(None);
        }
        self.word().map(Some)
    }

    fn count(&mut self) -> Result<u64, Error> {
        self.take::<i64>().map(i64::unsigned_abs)
    }

    fn span(&mut self) -> Result<Duration, Error> {
        self.count().map(Duration::from_nanos)
    }

    fn optional_span(&mut self) -> Result<Option<Duration>, Error> {
        let span = self.take::<Option<i64>>()?;
        Ok(span.map(|nanos| Duration::from_nanos(nanos.unsigned_abs())))
    }

    fn time(&mut self) -> Result<Timestamp, Error> {
        self.take().map(Timestamp::from_nanos)
    }

    fn expect(&mut self, text: &str) -> Result<(), Error> {
        self.read(|found| {
            let is_it = found == text;
            is_it.then_some(()).ok_or("it does not follow from the other columns")
        })
    }

    fn expect_number(&mut self, number: Option<i64>) -> Result<(), Error> {
        let is_it = self.take::<Option<i64>>()? == number;
        is_it
            .then_some(())
            .ok_or_else(|| self.wrong(Type::Integer, "it does not follow from the other columns"))
    }

    /// About the column before.
    fn wrong(&self, kind: Type, why: impl ToString) -> Error {
        Error::FromSqlConversionFailure(self.at - 1, kind, why.to_string().into())
    }
}
