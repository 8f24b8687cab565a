//! What the command line says.

use std::path::PathBuf;

use clap::{Args as Arguments, Parser};
use retry_faults::Fault;
use retry_faults::disk::Disk;

/// Fault injection with real processes.
#[derive(Debug, Parser)]
pub(crate) enum Args {
    /// Runs the operations that it is told by standard input, until it is killed.
    Worker(Worker),
    /// Kills workers at each fault point and at random, and compares what is
    /// recorded with what they did.
    Soak(Soak),
    /// Lists the fault points.
    Points,
}

/// One process of the service. Its standard input tells it what to do, a line
/// each: `ask N`, and with a disk of its own `fill` and `free`. At its end, it ends when every call is
/// answered.
#[derive(Debug, Arguments)]
pub(crate) struct Worker {
    /// The file of the store.
    #[arg(long)]
    pub(crate) store: PathBuf,
    /// The socket of the book.
    #[arg(long)]
    pub(crate) book: PathBuf,
    /// Where it dies, as in `T3.before:2`.
    #[arg(long)]
    pub(crate) fault: Option<Fault>,
    /// How long after a write is asked for `during` is, in microseconds.
    #[arg(long, default_value_t = 0)]
    pub(crate) later: u64,
    /// How long an operation is held without a sign of life, in milliseconds.
    #[arg(long, default_value_t = 200)]
    pub(crate) lease: u64,
    /// Judges every lease that is over at once; without, the same call takes it over
    /// first.
    #[arg(long)]
    pub(crate) reclaims: bool,
    /// Removes what has expired.
    #[arg(long)]
    pub(crate) retains: bool,
    /// Opens the store for reading.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The calendar: that of the machine, and so many seconds more as this file
    /// says.
    #[arg(long)]
    pub(crate) calendar: Option<PathBuf>,
    /// Puts the store on a small disk of its own, and at its end beside that.
    #[arg(long)]
    pub(crate) disk: Option<Disk>,
    /// Gives up the rights that root has.
    #[arg(long)]
    pub(crate) without_rights: bool,
}

/// How much, and from where.
#[derive(Debug, Arguments)]
pub(crate) struct Soak {
    /// How many processes to kill.
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub(crate) kills: u64,
    /// What the faults are drawn from.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}
