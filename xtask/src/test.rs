//! All tests, as the README promises them: nothing to install or start first.

use std::process::Command;

use anyhow::Result;
use cargo_metadata::MetadataCommand;

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
    command::run(alone)?;
    command::run(interleavings()?)
}

/// What threads share, in every interleaving of two and three of them, by loom.
/// In a folder of its own: another flag compiles everything anew.
fn interleavings() -> Result<Command> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let mut command =
        cargo(["test", "--locked", "--package", "retry-core", "--lib", "interleavings"]);
    command.env("RUSTFLAGS", "--cfg retry_loom");
    command.env("CARGO_TARGET_DIR", metadata.target_directory.join("interleavings"));
    Ok(command)
}
