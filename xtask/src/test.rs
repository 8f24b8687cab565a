//! All tests, as the README promises them: nothing to install or start first.

use anyhow::Result;

use crate::command::{self, cargo};

pub(crate) fn run() -> Result<()> {
    command::run(cargo(["test", "--no-fail-fast", "--locked", "--workspace", "--all-features"]))?;
    // The pure layer promises the same numbers, and no panic, where overflow
    // checks are off: `retry-core` and the package of its tests.
    let release = ["test", "--no-fail-fast", "--locked", "--release", "--lib", "--tests"];
    let mut with_features = cargo(release);
    with_features.args(["--package", "retry-core*"]);
    command::run(with_features)?;
    // And it is usable alone.
    let mut alone = cargo(release);
    alone.args(["--package", "retry-core", "--no-default-features"]);
    command::run(alone)
}
