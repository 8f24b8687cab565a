//! One connection, and the transactions on it.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use retry_core::record::{Holder, RecordId, Timestamp};
use retry_core::store::{Limits, StoreClock, StoreError};
use rusqlite::{Connection, params};

use crate::book::{Book, Sql};
use crate::identity::Identity;
use crate::place::{Place, is_busy};
use crate::row::Policies;
use crate::task::Task;
use crate::wall::Wall;

/// A connection to the file of a store.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) place: Place,
    pub(crate) identity: Identity,
    pub(crate) wall: Wall,
    pub(crate) time: Cell<StoreClock>,
    pub(crate) limits: Limits,
    pub(crate) busy_wait: Duration,
    pub(crate) policies: Policies,
    /// When the row of this process was last written.
    pub(crate) heartbeat: Timestamp,
}

/// Why nothing of a transaction was kept.
pub(crate) enum Undone {
    /// A statement of it failed.
    ByStatement(StoreError),
    /// As a whole.
    AsWhole(StoreError),
}

impl Session {
    /// How often the row of a process that writes is written.
    const HEARTBEAT: Duration = Duration::from_secs(10);

    /// Does what is asked in one transaction that writes. Answers the records that
    /// nobody holds any more.
    pub(crate) fn write(&mut self, tasks: &mut [Box<dyn Task>]) -> Result<Vec<RecordId>, Undone> {
        let as_whole = |error| Undone::AsWhole(error);
        self.expect_in_place().map_err(as_whole)?;
        // A transaction that begins by reading may not go on to write when others
        // have; one that begins by this waits for its turn.
        self.patiently(|session| session.run("BEGIN IMMEDIATE")).map_err(as_whole)?;
        let written = self.write_all(tasks);
        let freed = match written {
            Ok(freed) => freed,
            Err(error) => {
                self.roll_back();
                return Err(Undone::ByStatement(self.place.failed(&error)));
            }
        };
        match self.run("COMMIT") {
            // Nothing is answered that went into a file which nobody will find.
            Ok(()) => self.expect_in_place().map(|()| freed).map_err(as_whole),
            Err(error) => {
                self.roll_back();
                Err(as_whole(self.place.failed(&error)))
            }
        }
    }

    fn expect_in_place(&self) -> Result<(), StoreError> {
        if Identity::at(&self.place) == self.identity { Ok(()) } else { Err(self.place.moved()) }
    }

    /// Does what is asked on one state of the file.
    pub(crate) fn read<T>(
        &self,
        mut act: impl FnMut(&mut Book<'_>) -> Sql<T>,
    ) -> Result<T, StoreError> {
        self.patiently(|session| {
            session.run("BEGIN")?;
            let read = session.book().and_then(|mut book| act(&mut book));
            session.roll_back();
            read
        })
    }

    /// Tries again while others hold a lock, for as long as the store waits.
    pub(crate) fn patiently<T>(
        &self,
        mut act: impl FnMut(&Self) -> Sql<T>,
    ) -> Result<T, StoreError> {
        patiently(&self.place, self.busy_wait, || act(self))
    }

    /// This process has the file open for writing.
    pub(crate) fn sign_in(&mut self) -> Result<(), StoreError> {
        self.patiently(|session| {
            session.run("BEGIN IMMEDIATE")?;
            let signed = session.book().and_then(|book| {
                session.upsert_worker(book.now)?;
                session.keep_floor(book.now)?;
                session.run("COMMIT")
            });
            session.roll_back();
            signed
        })
    }

    /// This process closes the file. One that does not come to it leaves its row.
    pub(crate) fn sign_out(&self) {
        let sql = "DELETE FROM worker WHERE id = ?";
        let worker = Holder::this_worker().to_string();
        if self.expect_in_place().is_err() {
            return;
        }
        // Without it the row tells of a process that ended in another way.
        let _ = self.patiently(|session| session.connection.execute(sql, [&worker]));
    }

    fn write_all(&mut self, tasks: &mut [Box<dyn Task>]) -> Sql<Vec<RecordId>> {
        let before = self.connection.total_changes();
        let mut book = self.book()?;
        for task in tasks {
            task.act(&mut book)?;
        }
        let Book { now, freed, .. } = book;
        if self.connection.total_changes() != before {
            self.keep_floor(now)?;
            if now.since(self.heartbeat) >= Self::HEARTBEAT {
                self.upsert_worker(now)?;
                self.heartbeat = now;
            }
        }
        Ok(freed)
    }

    fn book(&self) -> Sql<Book<'_>> {
        let floor = self.floor()?;
        Ok(Book {
            connection: &self.connection,
            now: self.now(Timestamp::from_nanos(floor)),
            policies: &self.policies,
            limits: self.limits,
            freed: Vec::new(),
        })
    }

    /// The store's time, from the latest that anything was written at, as far as it is
    /// known.
    pub(crate) fn now(&self, floor: Timestamp) -> Timestamp {
        let (calendar, instant) = self.wall.now();
        let mut time = self.time.get();
        let now = time.now(floor, calendar, instant);
        self.time.set(time);
        now
    }

    /// The latest time that anything was written at. A damaged one would end every
    /// lease, so it is there twice.
    fn floor(&self) -> Sql<i64> {
        let sql = "SELECT floor.value, ~twice.value FROM meta AS floor, meta AS twice \
             WHERE floor.key = 'clock_floor_ns' AND twice.key = 'clock_floor_check'";
        let mut statement = self.connection.prepare_cached(sql)?;
        let (floor, twice): (i64, i64) =
            statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if floor == twice {
            return Ok(floor);
        }
        let what = format!("its clock is damaged: it says {floor} and {twice}; restore a backup");
        Err(rusqlite::Error::ToSqlConversionFailure(what.into()))
    }

    /// No process that shares the file goes on with an earlier time.
    fn keep_floor(&self, now: Timestamp) -> Sql<()> {
        let sql = "UPDATE meta SET value = ? WHERE key = ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.execute(params![now.as_nanos(), "clock_floor_ns"])?;
        statement.execute(params![!now.as_nanos(), "clock_floor_check"])?;
        Ok(())
    }

    fn upsert_worker(&self, now: Timestamp) -> Sql<()> {
        let sql = "INSERT INTO worker (id, host, pid, started_at, heartbeat_at) \
             VALUES (?1, ?2, ?3, ?4, ?4) ON CONFLICT (id) DO UPDATE SET heartbeat_at = ?4";
        let worker = Holder::this_worker().to_string();
        let values = params![worker, host(), std::process::id(), now.as_nanos()];
        self.connection.prepare_cached(sql)?.execute(values).map(drop)
    }

    fn run(&self, sql: &str) -> Sql<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// SQLite has rolled back already after some errors.
    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            let _ = self.run("ROLLBACK");
        }
    }
}

/// Tries again while others hold a lock, for as long as is said. SQLite's own
/// waiting sleeps longer with each try, and so starves.
pub(crate) fn patiently<T>(
    place: &Place,
    busy_wait: Duration,
    mut act: impl FnMut() -> Sql<T>,
) -> Result<T, StoreError> {
    const PAUSE: Duration = Duration::from_millis(1);
    let began = Instant::now();
    loop {
        match act() {
            Ok(done) => return Ok(done),
            Err(error) if !is_busy(&error) => return Err(place.failed(&error)),
            Err(_) if began.elapsed() >= busy_wait => return Err(place.busy(began.elapsed())),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

#[cfg(unix)]
fn host() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
