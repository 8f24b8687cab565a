//! `retry-core`'s unit tests under Miri, which needs a nightly toolchain.

use anyhow::Result;

use crate::command::{self, cargo_of, works};
use crate::steps::Outcome;

pub(crate) fn run() -> Result<Outcome> {
    if !works(cargo_of("nightly", ["miri", "--version"])) {
        return Ok(Outcome::NotRun(
            "Miri is not installed (`rustup toolchain install nightly --component miri,rust-src`)"
                .to_owned(),
        ));
    }
    command::run(cargo_of("nightly", ["miri", "test", "--package", "retry-core", "--lib"]))?;
    Ok(Outcome::Passed)
}
