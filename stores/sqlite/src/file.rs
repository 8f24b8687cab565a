//! Opening the file: what must hold before anything is written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use retry_core::store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};

use crate::book::Sql;
use crate::migrations::{self, Found, VERSION};
use crate::network;
use crate::place::Place;
use crate::session::patiently;

/// What a connection may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Makes the file and its tables where they are missing.
    Write,
    /// Reads what others write, and holds what it takes to wait for them.
    Read,
    /// Changes nothing, whatever the file is.
    ReadOnly,
}

/// Where the file is, whatever the folder of the process is later.
pub(crate) fn locate(path: &Path) -> Result<Place, StoreError> {
    let place = Place::new(path);
    if path.is_dir() {
        return Err(place.cannot_open("it is a folder; name a file in it"));
    }
    // Links are followed: every name of a file is one store.
    if let Ok(path) = path.canonicalize() {
        return Ok(Place::new(&path));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(place.cannot_open("it is not the name of a file"));
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match folder.canonicalize() {
        Ok(folder) => Ok(Place::new(&folder.join(name))),
        Err(error) => Err(place.cannot_open(format!(
            "the folder {} cannot be found ({error}); create it first",
            folder.display()
        ))),
    }
}

/// Before the first connection.
pub(crate) fn check(place: &Place) -> Result<(), StoreError> {
    check_version(place, rusqlite::version_number())?;
    let path = place.path();
    let there = if path.exists() { path } else { path.parent().unwrap_or(path) };
    match network::kind(there) {
        Some(kind) => Err(place.cannot_open(format!(
            "it is on {kind}, which cannot be shared by SQLite's write-ahead log; \
             put it on a local disk of the machine"
        ))),
        None => one_name(place),
    }
}

/// SQLite keeps its log beside the name that it was given: under two names, one
/// file has two logs, and each connection sees half of what was written.
#[cfg(unix)]
fn one_name(place: &Place) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    match std::fs::metadata(place.path()) {
        Ok(file) if file.nlink() > 1 => Err(place.cannot_open(format!(
            "it has {} names (hard links), and its write-ahead log stands beside one of them; \
             remove the others, or make symbolic links of them",
            file.nlink()
        ))),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
const fn one_name(_: &Place) -> Result<(), StoreError> {
    Ok(())
}

/// Older ones can damage a file that two connections write.
fn check_version(place: &Place, number: i32) -> Result<(), StoreError> {
    const NEEDED: i32 = 3_051_003;
    let version = |number: i32| {
        format!("{}.{}.{}", number / 1_000_000, number / 1_000 % 1_000, number % 1_000)
    };
    if number >= NEEDED {
        return Ok(());
    }
    Err(place.cannot_open(format!(
        "the SQLite in this program is {}, and versions before {} can damage a file that is written \
         by several connections; build it with a newer `rusqlite`, feature `bundled`",
        version(number),
        version(NEEDED)
    )))
}

pub(crate) fn connect(
    place: &Place,
    access: Access,
    busy_wait: Duration,
) -> Result<Connection, StoreError> {
    let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags |= match access {
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Access::Read => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Access::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let explain = |error: &Error| unopened(place, access, error);
    let connection =
        Connection::open_with_flags(place.path(), flags).map_err(|error| explain(&error))?;
    // `rusqlite` sets 5 s of SQLite's own waiting; who waits here is `patiently`.
    connection.busy_timeout(Duration::ZERO).map_err(|error| explain(&error))?;
    let patiently = |act: &mut dyn FnMut() -> Sql<()>| {
        let mut last = None;
        patiently(place, busy_wait, || act().inspect_err(|error| last = Some(explain(error))))
            .map_err(|error| {
                if matches!(error, StoreError::Busy { .. }) { error } else { last.unwrap_or(error) }
            })
    };
    let mut found = Found::Empty;
    patiently(&mut || {
        // Until it is known whose file it is, nothing of it is written.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        found = migrations::find(&connection)?;
        Ok(())
    })?;
    expect(place, &found)?;
    match (access, &found) {
        (Access::Write, _) => {
            if connection.is_readonly("main").map_err(|error| explain(&error))? {
                return Err(place.read_only());
            }
            // The first tables are made before the log is there: what a file is, its
            // header then tells by itself.
            if !matches!(found, Found::Store(VERSION)) {
                patiently(&mut || {
                    found = migrations::migrate(&connection)?;
                    Ok(())
                })?;
                expect(place, &found)?;
            }
            let mut mode = String::new();
            patiently(&mut || {
                let pragma = "PRAGMA journal_mode = wal";
                mode = connection.query_row(pragma, [], |row| row.get(0))?;
                Ok(())
            })?;
            if mode != "wal" {
                return Err(place.cannot_open(
                    "its file system cannot hold SQLite's write-ahead log; put it on a local disk",
                ));
            }
        }
        (Access::Read | Access::ReadOnly, Found::Empty) => {
            return Err(place.cannot_open(
                "the file is empty; start the service that writes it first, or check the path",
            ));
        }
        (Access::Read | Access::ReadOnly, _) => {}
    }
    settle(&connection, access).map_err(|error| explain(&error))?;
    Ok(connection)
}

/// After so many pages of 4 KiB the log is copied into the file. Keys are in no order,
/// so each page is about few of them: the longer the log, the fewer pages are copied
/// for an operation, and the more there is to read back after a crash.
const LOG_PAGES: i64 = 16_384;

/// The same for every connection.
fn settle(connection: &Connection, access: Access) -> Sql<()> {
    connection.set_prepared_statement_cache_capacity(64);
    // Each commit is on the disk before it is answered; macOS needs to be told so
    // twice.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // In KiB where it is negative. What is written is spread over the file, as keys are.
    let cache = if access == Access::Write { -65_536 } else { -8_192 };
    connection.pragma_update(None, "cache_size", cache)?;
    if access != Access::ReadOnly {
        // It is a store: the last one that closes it empties its log.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    }
    if access == Access::Write {
        connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        // With room for a last commit, so that the file is not cut and grown each time.
        let pragma = format!("PRAGMA journal_size_limit = {}", LOG_PAGES * 5 * 1024);
        connection.query_row(&pragma, [], |_| Ok(()))?;
    } else {
        connection.pragma_update(None, "query_only", true)?;
    }
    Ok(())
}

fn expect(place: &Place, found: &Found) -> Result<(), StoreError> {
    match found {
        Found::Foreign => Err(place.cannot_open(
            "it is a database of another program, and was left as it is; name another file",
        )),
        Found::Store(found) if *found > VERSION => {
            let store = place.to_string();
            Err(StoreError::NewerSchema { store, found: *found, known: VERSION })
        }
        Found::Empty | Found::Store(_) => Ok(()),
    }
}

/// The words for a file that cannot be opened.
fn unopened(place: &Place, access: Access, error: &Error) -> StoreError {
    let path = place.path();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => place
            .cannot_open("it is not an SQLite database, and was left as it is; name another file"),
        Some(ErrorCode::CannotOpen) if access != Access::Write && !path.exists() => {
            place.cannot_open("there is no such file; check the path")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) if !can_write(path) => {
            if access == Access::Write {
                place.read_only()
            } else {
                // Its log is shared through a file beside it.
                place.cannot_open(
                    "nobody has it open, and this process may not write beside it, which reading takes; \
                     give it the right to write the folder, or read a copy",
                )
            }
        }
        Some(ErrorCode::DiskFull | ErrorCode::DatabaseCorrupt) => place.failed(error),
        _ => place.cannot_open(error.to_string()),
    }
}

/// As far as the system tells.
fn can_write(path: &Path) -> bool {
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    is_writable(&folder) && (!path.exists() || is_writable(path))
}

#[cfg(unix)]
fn is_writable(path: &Path) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
}

#[cfg(not(unix))]
fn is_writable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.permissions().readonly())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlite_that_can_damage_the_file_is_refused() {
        let place = Place::new(Path::new("store.db"));
        for number in [3_051_002, 3_050_009, 3_007_000, 0] {
            let error = check_version(&place, number).unwrap_err();
            assert!(error.to_string().contains("versions before 3.51.3"), "{error}");
        }
        for number in [3_051_003, 3_052_000, 4_000_000, rusqlite::version_number()] {
            assert_eq!(check_version(&place, number), Ok(()));
        }
    }
}
