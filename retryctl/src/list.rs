//! `retryctl list`: the latest operations.

use std::io::Write;
use std::time::SystemTime;

use retry_core::record::{Head, Phase, Timestamp};
use retry_core::store::{self, Store, StoreError};

use crate::args::List;
use crate::exit::{Error, Exit};
use crate::form::HeadForm;
use crate::table::{Align, Table};
use crate::walk::Walk;

pub(crate) fn run(
    args: &List,
    json: bool,
    store: &dyn Store,
    out: &mut dyn Write,
) -> Result<Exit, Error> {
    let (name, phase, before) = (args.name.clone(), args.phase, args.before);
    let list = store::List { name, phase, before, ..store::List::default() };
    let mut walk = Walk::of(store, list);
    let (mut heads, mut unreadable) = (Vec::new(), Vec::new());
    while heads.len() < args.limit {
        match walk.next() {
            Some(Ok(head)) => heads.push(head),
            Some(Err(error @ StoreError::Record(_))) => unreadable.push(error),
            Some(Err(error)) => return Err(error.into()),
            None => break,
        }
    }
    if json {
        let forms: Vec<_> = heads.iter().map(HeadForm::of).collect();
        serde_json::to_writer(&mut *out, &forms)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", table(&heads))?;
        if let (Some(last), Some(_)) = (heads.last(), walk.next()) {
            writeln!(out, "… and on with `--before {}`", last.record)?;
        }
    }
    // One that cannot be read does not hide the others.
    match unreadable.is_empty() {
        true => Ok(Exit::Sound),
        false => Err(Error::Records(unreadable)),
    }
}

fn table(heads: &[Head]) -> Table {
    let mut table = Table::default();
    table.column("record", Align::Left, heads.iter().map(|head| head.record));
    table.column("operation", Align::Left, heads.iter().map(|head| &head.operation));
    table.column("phase", Align::Left, heads.iter().map(|head| head.phase));
    let attempts = |head: &Head| format!("{}/{}", head.attempts(), head.policy.get_max_attempts());
    table.column("attempts", Align::Right, heads.iter().map(attempts));
    let updated = |head: &Head| format!("{:.3}", head.updated_at.rfc3339());
    table.column("updated", Align::Left, heads.iter().map(updated));
    table.column("what holds", Align::Left, heads.iter().map(what_holds));
    table
}

/// Who holds it or what it waits for, or why it stopped.
fn what_holds(head: &Head) -> String {
    let due = || format!("due {:.3}", head.due_at.rfc3339());
    let mut holds: Vec<_> = head.stop.iter().map(|stop| stop.reason.to_string()).collect();
    holds.extend((head.phase == Phase::Parked).then(due));
    holds.extend(head.due_reason.map(|reason| reason.to_string()));
    let until = head.lease.held.map(|(_, until)| until);
    let now = Timestamp::from(SystemTime::now());
    holds.extend(until.map(|until| {
        let word = if until > now { "until" } else { "over since" };
        format!("lease {word} {:.3}", until.rfc3339())
    }));
    holds.join(", ")
}
