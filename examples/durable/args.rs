//! What the command line says.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Charges orders at a gateway that misbehaves, kills the process that does it
/// again and again, and compares what is recorded with the gateway's book.
#[derive(Clone, Debug, Parser)]
#[command(name = "durable", args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// How many orders to charge.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) orders: u32,

    /// How often to kill the process at work.
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub(crate) kills: u32,

    /// What the gateway's misbehaviour and the moments of the kills are drawn from.
    #[arg(long, value_name = "S", default_value_t = 2)]
    pub(crate) seed: u64,

    /// The store, a file that does not exist yet [default: one in a new temporary
    /// folder, which is left there]
    #[arg(long, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,

    /// Prints one JSON object, and nothing else.
    #[arg(long)]
    pub(crate) json: bool,

    /// Breaks the service, to see what the gateway's book says then.
    #[arg(long = "break", value_name = "WHAT", conflicts_with = "store")]
    pub(crate) broken: Option<Broken>,

    #[command(subcommand)]
    pub(crate) process: Option<Process>,
}

/// What can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Broken {
    /// The count of attempts is kept in memory, and dies with the process.
    Count,
}

/// The processes of a run, each this program again.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Process {
    /// What is called.
    #[command(hide = true)]
    Gateway {
        #[arg(long)]
        seed: u64,
    },
    /// What is killed.
    #[command(hide = true)]
    Worker {
        /// The gateway's address.
        #[arg(long)]
        gateway: String,
        /// Without, it remembers nothing.
        #[arg(long)]
        store: Option<PathBuf>,
    },
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
