//! What the command line says.

use std::path::PathBuf;

use clap::Parser;

/// Shows what an outage does to a service whose three layers retry, with and
/// without a retry budget.
#[derive(Clone, Debug, Parser)]
#[command(name = "outage")]
pub(crate) struct Args {
    /// How many callers there are. What the store bears grows with them.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1000..=100_000))]
    pub(crate) callers: u32,

    /// Prints one JSON object, and nothing else.
    #[arg(long)]
    pub(crate) json: bool,

    /// Where the pictures are written.
    #[arg(long, value_name = "DIR", default_value = "target/outage")]
    pub(crate) out: PathBuf,
}
