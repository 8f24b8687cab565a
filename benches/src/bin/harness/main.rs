//! Measures every subject in one run, and holds ours to its bounds.
//!
//! Without arguments: everything, printed and written to `benches/RESULTS.md`,
//! its first table also to the README.
//! A bound that does not hold is an error.
//! With `--check`: only what has a bound in instructions, allocations, bytes or
//! pages, which nothing else on the machine changes.

mod allocations;
mod bounds;
mod checking;
mod decision;
mod instructions;
mod machine;
mod measured;
mod readme;
mod report;
mod store;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};

use crate::bounds::Bound;
use crate::measured::Measured;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => report(),
        ["--check"] => check(),
        _ => Err(anyhow!("usage: harness [--check]")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> Result<()> {
    let measured = Measured::everything()?;
    let report = report::markdown(&measured)?;
    print!("{report}");
    let readme_path = package().join("../README.md");
    let readme = std::fs::read_to_string(&readme_path).context("read README.md")?;
    std::fs::write(&readme_path, readme::quoting(&report, &readme)?).context("write README.md")?;
    let path = package().join("RESULTS.md");
    std::fs::write(&path, report).with_context(|| format!("write {}", path.display()))?;
    let mut bounds = bounds::counted(&measured)?;
    bounds.extend(bounds::timed(&measured));
    expect(&bounds)
}

fn check() -> Result<()> {
    let bounds = bounds::counted(&Measured::bounded()?)?;
    for bound in &bounds {
        println!("{bound}");
    }
    expect(&bounds)
}

fn expect(bounds: &[Bound]) -> Result<()> {
    let broken = bounds.iter().filter(|bound| !bound.holds()).count();
    if broken > 0 {
        bail!("{broken} of {} bounds do not hold", bounds.len());
    }
    println!("{} bounds hold", bounds.len());
    Ok(())
}

/// The folder of this package.
fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where measurements write, beside this binary.
fn scratch() -> Result<PathBuf> {
    let path = std::env::current_exe().context("find this binary")?.with_extension("scratch");
    std::fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
    Ok(path)
}
