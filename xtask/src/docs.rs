//! The documentation as users see it: broken links and bad markup are errors.

use anyhow::Result;

use crate::command::{self, cargo};

pub(crate) fn run() -> Result<()> {
    let mut doc = cargo(["doc", "--locked", "--workspace", "--no-deps", "--all-features"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    command::run(doc)
}
