//! Hands over to the harness in `benches/`.

use std::process::Command;

use anyhow::Result;

use crate::command::{self, cargo};

/// What is to be measured.
#[derive(Clone, Copy)]
pub(crate) enum Bench {
    /// Everything, into `benches/RESULTS.md`.
    Report,
    /// What has a bound; a bound that does not hold is an error.
    Check,
}

pub(crate) fn run(bench: Bench) -> Result<()> {
    // The harness runs the other binary under valgrind.
    command::run(counted("build", &["--bins"]))?;
    let mut harness = counted("run", &["--bin", "harness", "--"]);
    if let Bench::Check = bench {
        harness.arg("--check");
    }
    command::run(harness)
}

/// Cargo on the benches, with nothing incremental: such builds split the code
/// into more units, and a loop then costs twice the instructions.
fn counted(command: &str, rest: &[&str]) -> Command {
    let mut cargo = cargo([command, "--quiet", "--locked", "--profile", "bench"]);
    cargo.args(["--package", "retry-benches"]).args(rest).env("CARGO_INCREMENTAL", "0");
    cargo
}
