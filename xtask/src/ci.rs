//! Everything that a change must pass.

use anyhow::Result;

use crate::bench::Bench;
use crate::steps::{Outcome, Step};
use crate::{bench, docs, examples, features, licences, lints, miri, oldest_rust, steps, test};

/// What answers fastest comes first.
const STEPS: &[Step] = &[
    Step { name: "format", run: || passed(lints::format()) },
    Step { name: "oldest rust", run: || passed(oldest_rust::run()) },
    Step { name: "licences", run: || passed(licences::run()) },
    Step { name: "clippy", run: || passed(lints::clippy()) },
    Step { name: "features", run: || passed(features::run()) },
    Step { name: "docs", run: || passed(docs::run()) },
    Step { name: "test", run: || passed(test::run()) },
    Step { name: "examples", run: || passed(examples::run()) },
    Step { name: "miri", run: miri::run },
    Step { name: "bench --check", run: || passed(bench::run(Bench::Check)) },
];

pub(crate) fn run() -> Result<()> {
    steps::run(STEPS)
}

fn passed(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}
