//! Hands over to the harness in `benches/`.

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
    let package = ["--quiet", "--locked", "--profile", "bench", "--package", "retry-benches"];
    // The harness runs the other binary under valgrind.
    command::run({
        let mut build = cargo(["build"]);
        build.args(package).arg("--bins");
        build
    })?;
    let mut harness = cargo(["run"]);
    harness.args(package).args(["--bin", "harness", "--"]);
    if let Bench::Check = bench {
        harness.arg("--check");
    }
    command::run(harness)
}
