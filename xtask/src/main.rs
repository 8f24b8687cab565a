//! The project's own commands: `cargo xtask`.

mod bench;
mod ci;
mod command;
mod docs;
mod examples;
mod features;
mod licences;
mod lints;
mod miri;
mod oldest_rust;
mod soak;
mod steps;
mod test;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::bench::Bench;
use crate::soak::Soak;

const USAGE: &str = "\
The project's own commands.

Usage: cargo xtask <command>

Commands:
  test             run all tests and doctests; the pure layer's in release too
  ci               everything that a change must pass, step by step
  bench            measure against hand-written loops and rivals; write benches/RESULTS.md
  bench --check    measure what has a bound, and fail where one does not hold
  soak             kill processes of durable operations at every fault point and at random;
                   --kills N (5000), --seed S (1)
  help             print this text";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["test"] => test::run(),
        ["ci"] => ci::run(),
        ["bench"] => bench::run(Bench::Report),
        ["bench", "--check"] => bench::run(Bench::Check),
        ["soak", options @ ..] => soak::run(&Soak::parse(options)?),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => bail!("no command given\n\n{USAGE}"),
        unknown => bail!("unknown command `{}`\n\n{USAGE}", unknown.join(" ")),
    }
}
