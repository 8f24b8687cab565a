//! A store in a file, beside raw SQLite that writes the same rows.

mod ours;
mod parked;
mod raw;
mod rows;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use retry_sqlite::SqliteStore;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::scratch;
use ours::Ours;
use raw::Raw;
use rows::Rows;

/// What was measured of a store.
#[derive(Debug)]
pub(crate) struct Measured {
    /// What one producer writes to the log, in pages a write.
    pub(crate) pages: Sides<f64>,
    /// In the order of [`Work::ALL`]. Empty where only bounds are checked.
    pub(crate) times: Vec<Times>,
}

/// The same work three times, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<T> {
    pub(crate) ours: T,
    pub(crate) raw: T,
    /// With many operations that wait in the same file.
    pub(crate) beside_parked: T,
}

/// One work, over all rounds: what is done in a second.
#[derive(Debug)]
pub(crate) struct Times {
    pub(crate) work: Work,
    /// The medians.
    pub(crate) rates: Sides<f64>,
    /// The medians of the ratios of each round.
    pub(crate) to_raw: f64,
    pub(crate) beside_parked_to_ours: f64,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// One producer: each operation begins and ends, in a commit each.
    Single,
    /// The same by so many producers at once.
    Producers,
    /// Operations of a queue, claimed and completed in batches.
    Batches,
}

impl Work {
    pub(crate) const ALL: [Self; 3] = [Self::Single, Self::Producers, Self::Batches];

    /// How many, and behind how many that are not counted: the caches are warm, and the
    /// trees are not those of an empty file.
    const fn operations(self) -> Operations {
        match self {
            Self::Single => Operations { before: 200, measured: 400 },
            Self::Producers => Operations { before: 3_200, measured: 9_600 },
            Self::Batches => Operations { before: 3_200, measured: 6_400 },
        }
    }

    /// What is counted of one operation: it is written twice, or claimed and completed.
    const fn counted(self) -> f64 {
        match self {
            Self::Single | Self::Producers => 2.0,
            Self::Batches => 1.0,
        }
    }

    /// For a row of the report.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Single => "one producer, writes",
            Self::Producers => "64 producers, writes",
            Self::Batches => "claim and complete in batches of 32, operations",
        }
    }
}

/// How many operations are done.
#[derive(Clone, Copy)]
pub(crate) struct Operations {
    pub(crate) before: usize,
    pub(crate) measured: usize,
}

impl Operations {
    const fn all(self) -> usize {
        self.before + self.measured
    }
}

/// How many at once.
const PRODUCERS: usize = 64;
/// How many to a claim.
const BATCH: usize = 32;
/// How many operations wait in the file beside which the others are measured.
pub(crate) const PARKED: usize = 100_000;
/// An odd number, for a median.
const ROUNDS: usize = 7;

impl Measured {
    /// Everything, for the report.
    pub(crate) fn everything() -> Result<Self> {
        let bench = Bench::new()?;
        let times = Work::ALL.map(|work| bench.times(work)).into_iter().collect::<Result<_>>()?;
        Ok(Self { pages: bench.pages()?, times })
    }

    /// Only what is counted, whatever else the machine does.
    pub(crate) fn counted() -> Result<Self> {
        Ok(Self { pages: Bench::new()?.pages()?, times: Vec::new() })
    }
}

impl<T> Sides<T> {
    fn each<U>(&self, of: impl Fn(&T) -> U) -> Sides<U> {
        Sides { ours: of(&self.ours), raw: of(&self.raw), beside_parked: of(&self.beside_parked) }
    }
}

struct Bench {
    folder: TempDir,
    empty: PathBuf,
    parked: PathBuf,
}

/// One side of one round.
struct Run {
    took: Duration,
    /// What is in the log at the end.
    pages: u32,
}

impl Bench {
    fn new() -> Result<Self> {
        let folder = TempDir::new_in(scratch()?).context("create the folder of the stores")?;
        let (empty, parked) = (folder.path().join("empty.db"), folder.path().join("parked.db"));
        drop(SqliteStore::open(&empty)?);
        drop(SqliteStore::open(&parked)?);
        parked::fill(&parked, PARKED)?;
        Ok(Self { folder, empty, parked })
    }

    fn pages(&self) -> Result<Sides<f64>> {
        eprintln!("counting: a store, pages");
        let writes = Work::Single.operations().all() * 2;
        let round = self.round(Work::Single)?;
        Ok(round.each(|run| f64::from(run.pages) / writes as f64))
    }

    fn times(&self, work: Work) -> Result<Times> {
        eprintln!("measuring: a store, {}", work.name());
        // One that is not counted: files and caches are warm.
        self.round(work)?;
        let done = work.operations().measured as f64 * work.counted();
        let rounds: Vec<_> = (0..ROUNDS)
            .map(|_| Ok(self.round(work)?.each(|run| done / run.took.as_secs_f64())))
            .collect::<Result<_>>()?;
        let median = |of: &dyn Fn(&Sides<f64>) -> f64| {
            let mut values: Vec<_> = rounds.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[ROUNDS / 2]
        };
        Ok(Times {
            work,
            rates: Sides {
                ours: median(&|round| round.ours),
                raw: median(&|round| round.raw),
                beside_parked: median(&|round| round.beside_parked),
            },
            to_raw: median(&|round| round.ours / round.raw),
            beside_parked_to_ours: median(&|round| round.beside_parked / round.ours),
        })
    }

    fn round(&self, work: Work) -> Result<Sides<Run>> {
        let file = self.fresh(&self.empty)?;
        let ours = Self::ours(work, &file)?;
        let rows = Rows::read(&file)?;
        ensure!(rows.operations() == work.operations().all(), "each operation is kept");
        Ok(Sides {
            ours,
            raw: Self::raw(work, &self.fresh(&self.empty)?, &rows)?,
            beside_parked: Self::ours(work, &self.fresh(&self.parked)?)?,
        })
    }

    /// A copy, on the disk before anything is measured.
    fn fresh(&self, file: &Path) -> Result<PathBuf> {
        let path = self.folder.path().join("measured.db");
        for log in ["measured.db-wal", "measured.db-shm"] {
            let _ = fs::remove_file(self.folder.path().join(log));
        }
        fs::copy(file, &path).with_context(|| format!("copy {}", file.display()))?;
        File::open(&path).and_then(|file| file.sync_all()).context("write the copy")?;
        Ok(path)
    }

    /// Without the opening and the closing.
    fn ours(work: Work, file: &Path) -> Result<Run> {
        let ours = Ours::open(file)?;
        let took = match work {
            Work::Single => ours.begin_and_end(1, work.operations())?,
            Work::Producers => ours.begin_and_end(PRODUCERS, work.operations())?,
            Work::Batches => ours.take_and_end(BATCH, work.operations())?,
        };
        let pages = pages_in_log(&Connection::open(file)?)?;
        ours.close()?;
        Ok(Run { took, pages })
    }

    fn raw(work: Work, file: &Path, rows: &Rows) -> Result<Run> {
        let raw = Raw::open(file, rows, work != Work::Batches)?;
        let took = match work {
            Work::Single => raw.begin_and_end(1, work.operations())?,
            Work::Producers => raw.begin_and_end(PRODUCERS, work.operations())?,
            Work::Batches => raw.take_and_end(BATCH, work.operations())?,
        };
        Ok(Run { took, pages: pages_in_log(&raw.connection)? })
    }
}

fn pages_in_log(connection: &Connection) -> Result<u32> {
    // Busy, in the log, and copied out of it.
    let pages = connection.query_row("PRAGMA wal_checkpoint(passive)", [], |row| row.get(1));
    pages.context("read the log")
}
