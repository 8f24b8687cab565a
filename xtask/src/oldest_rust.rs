//! The oldest Rust that users may have: `rust-version`.

use std::collections::{BTreeSet, HashMap, HashSet};

use anyhow::{Context, Result, ensure};
use cargo_metadata::semver::Version;
use cargo_metadata::{DependencyKind, Metadata, PackageId};

use crate::command::{self, cargo_of, works};
use crate::workspace::{self, PUBLISHED};

pub(crate) fn run() -> Result<()> {
    let metadata = workspace::metadata()?;
    let oldest = declared(&metadata)?;
    println!("every member declares rust-version {oldest}");
    no_newer_dependency(&metadata, &oldest)?;
    compile(&oldest)
}

/// The one `rust-version` of all members.
fn declared(metadata: &Metadata) -> Result<Version> {
    let mut versions = BTreeSet::new();
    for package in metadata.workspace_packages() {
        let version = package.rust_version.clone();
        versions.insert(version.with_context(|| {
            format!(
                "{} declares no rust-version; write `rust-version.workspace = true`",
                package.name
            )
        })?);
    }
    ensure!(versions.len() == 1, "members declare different rust-versions: {versions:?}");
    versions.pop_first().context("the workspace has members")
}

/// Neither the published crates nor what they pull in ask for more.
fn no_newer_dependency(metadata: &Metadata, oldest: &Version) -> Result<()> {
    let used = pulled_in(metadata)?;
    let mut newer = Vec::new();
    for package in metadata.packages.iter().filter(|package| used.contains(&package.id)) {
        if package.rust_version.as_ref().is_some_and(|version| version > oldest) {
            newer.push(format!("{} {}", package.name, package.version));
        }
    }
    ensure!(newer.is_empty(), "these dependencies need a Rust newer than {oldest}: {newer:?}");
    println!("none of the {} crates that users get with all features declares more", used.len());
    Ok(())
}

/// The published crates and their dependencies at every depth, with all
/// features and on every platform; what only tests need is left out.
fn pulled_in(metadata: &Metadata) -> Result<HashSet<PackageId>> {
    let resolve = metadata.resolve.as_ref().context("`cargo metadata` resolves dependencies")?;
    let nodes: HashMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let mut open = Vec::new();
    for name in PUBLISHED {
        open.push(workspace::member(metadata, name)?.id.clone());
    }
    let mut used = HashSet::new();
    while let Some(id) = open.pop() {
        let node = nodes.get(&id).with_context(|| format!("{id} is resolved"))?;
        if used.insert(id) {
            open.extend(node.deps.iter().filter_map(|dependency| {
                let needed = dependency
                    .dep_kinds
                    .iter()
                    .any(|kind| kind.kind != DependencyKind::Development);
                needed.then(|| dependency.pkg.clone())
            }));
        }
    }
    Ok(used)
}

/// Compiles with that toolchain where it is installed.
fn compile(oldest: &Version) -> Result<()> {
    let toolchain = format!("{}.{}", oldest.major, oldest.minor);
    if !works(cargo_of(&toolchain, ["--version"])) {
        println!(
            "checked by declaration and clippy's incompatible_msrv only: Rust {toolchain} is not \
             installed (`rustup toolchain install {toolchain} --profile minimal` adds the compile)"
        );
        return Ok(());
    }
    println!("checked by declaration, and compiled with Rust {toolchain}:");
    let mut check = cargo_of(&toolchain, ["check", "--locked", "--all-features"]);
    for name in PUBLISHED {
        check.args(["--package", name]);
    }
    command::run(check)
}
