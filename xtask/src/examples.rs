//! Every example, run as the README says: it must end with exit code 0.

use std::time::Duration;

use anyhow::Result;
use cargo_metadata::TargetKind;

use crate::command::{self, cargo};
use crate::workspace;

/// An example that waits for ever must not take the whole run with it. The
/// first one compiles all that examples depend on.
const LIMIT: Duration = Duration::from_secs(600);

pub(crate) fn run() -> Result<()> {
    let metadata = workspace::metadata()?;
    let mut found = 0;
    for package in metadata.workspace_packages() {
        for target in package.targets.iter().filter(|target| target.is_kind(TargetKind::Example)) {
            let mut example = cargo(["run", "--quiet", "--locked", "--example", &target.name]);
            if !target.required_features.is_empty() {
                let features: Vec<_> = target
                    .required_features
                    .iter()
                    .map(|feature| format!("{}/{feature}", package.name))
                    .collect();
                example.args(["--features", &features.join(",")]);
            }
            example.arg("--").args(arguments(&target.name));
            command::run_within(example, LIMIT)?;
            found += 1;
        }
    }
    println!("{found} examples ran");
    Ok(())
}

/// What an example is told where its defaults would take long.
fn arguments(example: &str) -> &'static [&'static str] {
    match example {
        "durable" => &["--orders", "60", "--kills", "8"],
        "payments" => &["--orders", "60"],
        _ => &[],
    }
}
