//! Shows what retried operations did, why they stopped and what follows; plans
//! their schedules. The README has the exit codes and the fields of `--json`.

mod args;
mod exit;
mod explain;
mod form;
mod list;
mod lookup;
mod plan;
mod replay;
mod table;
mod walk;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use args::{Args, Command, Explain, Replay, StoreArgs};
use clap::Parser;
use exit::{Error, Exit};
use retry_core::{IdempotencyKey, OperationId};
use retry_sqlite::SqliteStore;

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let exit = match run(&args, &mut out).and_then(|exit| Ok(out.flush().map(|()| exit)?)) {
        Ok(exit) => exit,
        // Whoever reads has seen enough, as `head` does.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Sound,
        Err(error) => {
            // Nobody may be listening there either.
            let _ = writeln!(io::stderr(), "error: {error}");
            error.exit()
        }
    };
    ExitCode::from(exit as u8)
}

fn run(args: &Args, out: &mut dyn Write) -> Result<Exit, Error> {
    let json = args.json;
    match &args.command {
        Command::Plan(plan) => plan::run(plan, json, out),
        Command::List(list) => list::run(list, json, &open(&list.store)?, out),
        Command::Explain(Explain { id, key, store }) => {
            explain::run(&asked(id, key)?, json, &open(store)?, out)
        }
        Command::Replay(Replay { id: Some(id), key, store, .. }) => {
            replay::one(&asked(id, key)?, json, &open(store)?, out)
        }
        Command::Replay(Replay { store, .. }) => replay::all(json, &open(store)?, out),
    }
}

/// The id that is meant: as it is, or derived from what the caller gave as the key.
fn asked(id: &str, key: &Option<String>) -> Result<String, Error> {
    let Some(key) = key else {
        return Ok(id.to_owned());
    };
    let derived = IdempotencyKey::derive(id, key);
    let key = derived.map_err(|error| Error::Usage(format!("--key: {error}")))?;
    Ok(OperationId::keyed(id.to_owned(), key).to_string())
}

fn open(store: &StoreArgs) -> Result<SqliteStore, Error> {
    Ok(SqliteStore::open_read_only(&store.path)?)
}
