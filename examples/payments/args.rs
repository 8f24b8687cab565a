//! What the command line says.

use clap::{Parser, ValueEnum};

/// Charges orders at a gateway that misbehaves, and shows what was tried, why
/// it waited and why it stopped.
#[derive(Clone, Copy, Debug, Parser)]
#[command(name = "payments")]
pub(crate) struct Args {
    /// How many orders to charge.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) orders: u32,

    /// What the gateway's misbehaviour is drawn from: one seed, one script.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Prints one JSON object, and nothing else.
    #[arg(long)]
    pub(crate) json: bool,

    /// Breaks the service, to see what the gateway's book says then.
    #[arg(long = "break", value_name = "WHAT")]
    pub(crate) broken: Option<Broken>,
}

/// What can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Broken {
    /// Every attempt sends a key of its own.
    Key,
}
