//! Formatting and lints.

use anyhow::Result;

use crate::command::{cargo, run};

pub(crate) fn format() -> Result<()> {
    run(cargo(["fmt", "--all", "--check"]))
}

/// `incompatible_msrv` is among the workspace's lints: a std item that is newer
/// than `rust-version` fails here.
pub(crate) fn clippy() -> Result<()> {
    run(cargo([
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]))
}
