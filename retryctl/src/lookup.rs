//! Which record is meant.

use futures::executor::block_on;
use retry_core::OperationId;
use retry_core::record::{Head, Record, RecordId};
use retry_core::store::{List, Store, StoreError};

use crate::exit::Error;
use crate::walk::Walk;

/// How many operations are named where several are meant.
const NAMED: usize = 10;

/// The record of this id: an operation's, its key, a record's, or the beginning of
/// one. Of an operation with several records, the latest.
///
/// # Errors
/// There is none, several operations begin like that, or the record cannot be read.
pub(crate) fn record(store: &dyn Store, id: &str) -> Result<Record, Error> {
    let record = record_id(store, id)?;
    // Somebody may have removed it since.
    block_on(store.read(record))?.ok_or_else(|| Error::NotFound(id.to_owned()))
}

/// The same, without a look at its entries.
pub(crate) fn record_id(store: &dyn Store, id: &str) -> Result<RecordId, Error> {
    if let Ok(record) = id.parse::<RecordId>() {
        return Ok(record);
    }
    let operation = Some(OperationId::from(id));
    let list = List { operation, limit: 1, ..List::default() };
    match block_on(store.list(list))?.first() {
        Some(head) => Ok(head.record),
        None => by_beginning(store, id),
    }
}

fn by_beginning(store: &dyn Store, id: &str) -> Result<RecordId, Error> {
    let mut found: Vec<(String, RecordId)> = Vec::new();
    let mut unreadable = None;
    for head in Walk::of(store, List::default()) {
        let head = match head {
            Ok(head) => head,
            Err(error @ StoreError::Record(_)) => {
                unreadable.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let Some(name) = name_that_begins(&head, id) else {
            continue;
        };
        // The latest of an operation comes first.
        if found.iter().all(|(known, _)| *known != name) {
            found.push((name, head.record));
        }
        if found.len() > NAMED {
            break;
        }
    }
    match (found.as_slice(), unreadable) {
        ([(_, record)], _) => Ok(*record),
        // It may be the one that was meant.
        ([], Some(error)) => Err(error.into()),
        ([], None) => Err(Error::NotFound(id.to_owned())),
        (_, _) => {
            let mut candidates: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
            if candidates.len() > NAMED {
                candidates.truncate(NAMED);
                candidates.push("…".to_owned());
            }
            Err(Error::Ambiguous { id: id.to_owned(), candidates })
        }
    }
}

/// The name of this operation, or of its record, that begins with the text.
fn name_that_begins(head: &Head, text: &str) -> Option<String> {
    let (operation, record) = (head.operation.to_string(), head.record.to_string());
    let key = head.operation.key().map(|key| key.to_string());
    if operation.starts_with(text) || key.is_some_and(|key| key.starts_with(text)) {
        return Some(operation);
    }
    record.starts_with(&text.to_ascii_uppercase()).then_some(record)
}
