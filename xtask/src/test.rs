//! All tests, as the README promises them: nothing to install or start first.

use anyhow::Result;

use crate::command::{self, cargo};

pub(crate) fn run() -> Result<()> {
    command::run(cargo(["test", "--no-fail-fast", "--locked", "--workspace", "--all-features"]))?;
    // The pure layer promises the same numbers and no panic with overflow
    // checks off, and without any feature.
    command::run(cargo([
        "test",
        "--locked",
        "--release",
        "--package",
        "retry-core",
        "--no-default-features",
        "--lib",
        "--tests",
    ]))
}
