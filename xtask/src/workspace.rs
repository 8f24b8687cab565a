//! What cargo knows about the workspace.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand, Package};

/// The crates that users depend on; what these pull in, users pull in.
pub(crate) const PUBLISHED: [&str; 4] = ["retry-core", "retry-macros", "retry-sqlite", "retryctl"];

/// The workspace and all that it depends on, with every feature, exactly as
/// `Cargo.lock` says.
pub(crate) fn metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .current_dir(root())
        .other_options(["--locked".to_owned(), "--all-features".to_owned()])
        .exec()
        .context("read `cargo metadata --locked`; if Cargo.lock is out of date, commit the new one")
}

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The member of this name.
pub(crate) fn member<'a>(metadata: &'a Metadata, name: &str) -> Result<&'a Package> {
    metadata
        .workspace_packages()
        .into_iter()
        .find(|package| package.name.as_str() == name)
        .with_context(|| format!("the workspace has no member `{name}`"))
}
