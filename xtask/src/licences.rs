//! Licences and advisories of all that the workspace depends on.
//!
//! `deny.toml` is the one list. cargo-deny reads it where it is installed; the
//! licences are checked here too, because that needs neither a tool nor a
//! download.

use std::collections::HashSet;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

use crate::command::{self, cargo, works};
use crate::workspace;

#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    own_check()?;
    if works(cargo(["deny", "--version"])) {
        return cargo_deny();
    }
    println!(
        "cargo-deny is not installed (`cargo install --locked cargo-deny`): advisories, bans and sources were not checked"
    );
    Ok(())
}

fn own_check() -> Result<()> {
    let path = workspace::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).context("read deny.toml")?;
    let deny: Deny = toml::from_str(&text).context("read deny.toml")?;
    let allowed = deny
        .licenses
        .allow
        .iter()
        .map(|licence| {
            Licensee::parse(licence).with_context(|| format!("deny.toml allows `{licence}`"))
        })
        .collect::<Result<Vec<_>>>()?;

    let metadata = workspace::metadata()?;
    let mut used = HashSet::new();
    let mut refused = Vec::new();
    for package in &metadata.packages {
        let Some(licence) = &package.license else {
            refused.push(format!("{} {}: declares no licence", package.name, package.version));
            continue;
        };
        let expression = Expression::parse_mode(licence, ParseMode::LAX).with_context(|| {
            format!("{} {} declares `{licence}`", package.name, package.version)
        })?;
        let permitted = expression.evaluate(|requirement| {
            let found = allowed.iter().position(|licence| licence.satisfies(requirement));
            used.extend(found);
            found.is_some()
        });
        if !permitted {
            refused.push(format!("{} {}: {licence}", package.name, package.version));
        }
    }
    ensure!(refused.is_empty(), "not allowed by deny.toml:\n  {}", refused.join("\n  "));
    for (index, licence) in deny.licenses.allow.iter().enumerate() {
        if !used.contains(&index) {
            bail!("deny.toml allows `{licence}`, which nothing declares; take it out");
        }
    }
    println!("{} packages, all under licences that deny.toml allows", metadata.packages.len());
    Ok(())
}

/// The advisories come from a database that is downloaded; without a network
/// the rest is checked, and the output says so.
fn cargo_deny() -> Result<()> {
    if works(fetch_advisories()) {
        return command::run(cargo(["deny", "--all-features", "check"]));
    }
    println!("the advisory database cannot be downloaded: advisories were not checked");
    command::run(cargo(["deny", "--all-features", "check", "bans", "licenses", "sources"]))
}

fn fetch_advisories() -> Command {
    cargo(["deny", "--all-features", "fetch", "db"])
}
