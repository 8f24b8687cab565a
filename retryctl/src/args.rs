//! What the command line says.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use retry_core::Jitter;
use retry_core::policies::parse_duration;
use retry_core::record::{Phase, RecordId};

/// Shows what retried operations did, why they stopped and what follows; plans
/// their schedules.
#[derive(Clone, Debug, Parser)]
#[command(name = "retryctl", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Prints JSON, and nothing else.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  everything is as it should be
  1  a replay differs, or a record is damaged
  2  the command line or a policy is wrong
  3  the store cannot be opened or read, or is newer than this program
  4  there is no such operation, or several begin like that
  5  the output cannot be written";

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows the schedule of an operation before it runs.
    ///
    /// The first line has the operation's id and the delay after each of its attempts,
    /// as bare numbers where all of them are whole seconds, otherwise each with its
    /// unit. The table under it has what each delay is made from. The last delay is
    /// never waited: no attempt follows.
    ///
    /// The numbers are given by options, or by a policy of a file (`--policy`).
    #[command(verbatim_doc_comment)]
    Plan(Plan),

    /// Lists operations of a store, the latest first.
    List(List),

    /// Tells the story of one operation: what it was called with, what happened, why it
    /// waits or stopped, and what follows.
    Explain(Explain),

    /// Makes the decisions of records again, and names those that differ.
    Replay(Replay),
}

/// Where the operations are kept.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The store's file. It is only read.
    #[arg(long = "store", value_name = "PATH", env = "RETRY_STORE")]
    pub(crate) path: PathBuf,
}

/// Which operations.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// Only operations of this name.
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Only operations in this phase: ready, running, parked, review, done, dead or
    /// cancelled.
    #[arg(long)]
    pub(crate) phase: Option<Phase>,

    /// Only records that are older than this one.
    #[arg(long, value_name = "RECORD")]
    pub(crate) before: Option<RecordId>,

    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
}

/// Which operation.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Explain {
    /// The operation's id, its key, a record's id, or the beginning of one.
    pub(crate) id: String,

    /// What the caller gave as the key (`order-1`); ID is the operation's name then.
    #[arg(long)]
    pub(crate) key: Option<String>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Which records.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Replay {
    /// The operation's id, its key, a record's id, or the beginning of one.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) id: Option<String>,

    /// What the caller gave as the key (`order-1`); ID is the operation's name then.
    #[arg(long, requires = "id", conflicts_with = "all")]
    pub(crate) key: Option<String>,

    /// Every record of the store.
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The schedule of which operations, under which policy.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "curve", multiple = false)]
pub(crate) struct Plan {
    /// The operation's id; the option may be repeated.
    #[arg(long = "id", value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,

    /// How many attempts, the first included.
    #[arg(
        long,
        value_name = "N",
        required_unless_present = "policy",
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    pub(crate) attempts: Option<u32>,

    /// The time for everything [default: enough for all attempts]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) deadline: Option<Duration>,

    /// A policy by name from a TOML or JSON file: `retries.toml#gateway`.
    ///
    /// Without a name, the only one that the file has. `--attempts` and `--deadline`
    /// win over its numbers.
    #[arg(long, verbatim_doc_comment, value_name = "FILE[#NAME]", value_parser = policy, conflicts_with_all = BACKOFF)]
    pub(crate) policy: Option<NamedPolicy>,

    #[command(flatten)]
    pub(crate) backoff: BackoffArgs,
}

/// How to wait between attempts.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Backoff")]
pub(crate) struct BackoffArgs {
    /// Grows by a factor each time; the default.
    #[arg(long, group = "curve")]
    pub(crate) exponential: bool,

    /// Grows by the base each time.
    #[arg(long, group = "curve")]
    pub(crate) linear: bool,

    /// Grows by the delay before each time.
    #[arg(long, group = "curve")]
    pub(crate) fibonacci: bool,

    /// Does not grow.
    #[arg(long, group = "curve")]
    pub(crate) fixed: bool,

    /// The first delay, before jitter.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_duration)]
    pub(crate) base: Duration,

    /// The factor of an exponential backoff, in whole numbers [default: 2]
    #[arg(
        long,
        value_name = "P/Q",
        value_parser = factor,
        conflicts_with_all = ["linear", "fibonacci", "fixed"],
    )]
    pub(crate) factor: Option<(u32, u32)>,

    /// The longest delay [default: 20s, or the base where that is larger]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) cap: Option<Duration>,

    /// Floors each delay to a multiple of this, and to one at least.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) quantum: Option<Duration>,

    /// `equal`, `full`, `none`, or `additive=TIME`
    #[arg(long, value_name = "JITTER", default_value = "equal", value_parser = jitter)]
    pub(crate) jitter: Jitter,
}

/// The options that a policy of a file takes the place of.
const BACKOFF: [&str; 9] =
    ["exponential", "linear", "fibonacci", "fixed", "base", "factor", "cap", "quantum", "jitter"];

/// A policy in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedPolicy {
    /// The file.
    pub(crate) file: PathBuf,
    /// The policy's name; none: the only one of the file.
    pub(crate) name: Option<String>,
}

#[expect(clippy::unnecessary_wraps, reason = "as clap calls it")]
fn policy(text: &str) -> Result<NamedPolicy, String> {
    let (file, name) = match text.rsplit_once('#') {
        Some((file, name)) => (file, Some(name.to_owned())),
        None => (text, None),
    };
    Ok(NamedPolicy { file: file.into(), name })
}

fn factor(text: &str) -> Result<(u32, u32), String> {
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    match (numerator.trim().parse(), denominator.trim().parse()) {
        (Ok(numerator), Ok(denominator)) => Ok((numerator, denominator)),
        _ => Err("write a ratio of whole numbers, as in `2` or `3/2`".to_owned()),
    }
}

fn jitter(text: &str) -> Result<Jitter, String> {
    match (text, text.strip_prefix("additive=")) {
        ("equal", _) => Ok(Jitter::Equal),
        ("full", _) => Ok(Jitter::Full),
        ("none", _) => Ok(Jitter::None),
        (_, Some(most)) => {
            parse_duration(most).map(Jitter::Additive).map_err(|error| error.to_string())
        }
        _ => {
            Err("write `equal`, `full`, `none` or `additive=TIME`, as in `additive=1s`".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_options_fit_together() {
        Args::command().debug_assert();
    }
}
