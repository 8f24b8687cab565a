//! `retryctl explain`: the story of one operation.

use std::io::Write;
use std::time::SystemTime;

use futures::executor::block_on;
use retry_core::record::Timestamp;
use retry_core::store::{List, Store};
use serde::Serialize;

use crate::exit::{Error, Exit};
use crate::form::{EntryForm, HeadForm, Json};
use crate::lookup;

/// How many other records of the operation are named.
const OTHERS: usize = 20;

pub(crate) fn run(
    id: &str,
    json: bool,
    store: &dyn Store,
    out: &mut dyn Write,
) -> Result<Exit, Error> {
    let record = lookup::record(store, id)?;
    let head = record.head();
    let operation = Some(head.operation.clone());
    let list = List { operation, limit: OTHERS, ..List::default() };
    let mut others = block_on(store.list(list))?;
    others.retain(|other| other.record != head.record);
    if json {
        let form = Explained {
            head: HeadForm::of(head),
            arguments: Json(record.arguments().json()),
            result: record.result().map(Json),
            entries: record.entries().iter().map(EntryForm::of).collect(),
            other_records: others.iter().map(|other| other.record.to_string()).collect(),
        };
        serde_json::to_writer(&mut *out, &form)?;
        writeln!(out)?;
        return Ok(Exit::Sound);
    }
    write!(out, "{}", record.story())?;
    let now = Timestamp::from(SystemTime::now());
    if head.lease.held.is_some() && !head.is_held(now) {
        writeln!(out, "  by now      the lease is over: its holder is lost")?;
    }
    for other in &others {
        writeln!(
            out,
            "  see also    {}, {} at {:.3}",
            other.record,
            other.phase,
            other.updated_at.rfc3339()
        )?;
    }
    Ok(Exit::Sound)
}

#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    head: HeadForm<'a>,
    arguments: Json<'a>,
    result: Option<Json<'a>>,
    entries: Vec<EntryForm<'a>>,
    other_records: Vec<String>,
}
