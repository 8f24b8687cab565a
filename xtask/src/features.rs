//! Every feature of `retry-core` by itself, none, the default ones, and all.

use anyhow::{Result, ensure};
use cargo_metadata::{DependencyKind, Package};

use crate::command::{self, cargo};
use crate::workspace;

const PACKAGE: &str = "retry-core";

/// How many crates a user without features is asked to trust directly.
const DIRECT_DEPENDENCIES: usize = 3;

pub(crate) fn run() -> Result<()> {
    let metadata = workspace::metadata()?;
    let package = workspace::member(&metadata, PACKAGE)?;
    few_dependencies(package)?;

    let mut failed = Vec::new();
    for features in combinations(package) {
        if let Err(error) = check(&features) {
            failed.push(error.to_string());
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

fn combinations(package: &Package) -> Vec<Vec<&str>> {
    const NONE: &str = "--no-default-features";
    let alone = package.features.keys().filter(|feature| *feature != "default");
    let mut all = vec![vec![NONE]];
    all.extend(alone.map(|feature| vec![NONE, "--features", feature]));
    all.extend([vec![], vec!["--all-features"]]);
    all
}

/// Clippy rather than `cargo check`: it checks as much, shares its work with
/// the step before, and takes `-D warnings` without rebuilding dependencies.
fn check(features: &[&str]) -> Result<()> {
    let mut clippy = cargo(["clippy", "--quiet", "--locked", "--package", PACKAGE, "--lib"]);
    clippy.args(features).args(["--", "-D", "warnings"]);
    command::run(clippy)
}

fn few_dependencies(package: &Package) -> Result<()> {
    let names: Vec<_> = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == DependencyKind::Normal && !dependency.optional)
        .map(|dependency| dependency.name.as_str())
        .collect();
    println!("{PACKAGE} without features depends on {}: {}", names.len(), names.join(", "));
    ensure!(
        names.len() <= DIRECT_DEPENDENCIES,
        "{PACKAGE} has {} direct dependencies without features; the bound is {DIRECT_DEPENDENCIES}",
        names.len(),
    );
    Ok(())
}
