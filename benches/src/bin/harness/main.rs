//! Measures every subject in one run, and holds ours to its bounds.
//!
//! Without arguments: everything, printed and written to `benches/RESULTS.md`,
//! its first table also to the README.
//! With `--check`: what has a bound in instructions, allocations or bytes; one
//! that does not hold is an error. Times are reported and never checked.

mod allocations;
mod bounds;
mod checking;
mod decision;
mod instructions;
mod machine;
mod measured;
mod readme;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};

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
    let report = report::markdown(&Measured::everything()?)?;
    print!("{report}");
    let readme_path = package().join("../README.md");
    let readme = std::fs::read_to_string(&readme_path).context("read README.md")?;
    std::fs::write(&readme_path, readme::quoting(&report, &readme)?).context("write README.md")?;
    let path = package().join("RESULTS.md");
    std::fs::write(&path, report).with_context(|| format!("write {}", path.display()))
}

fn check() -> Result<()> {
    let measured = Measured::bounded()?;
    let bounds = bounds::all(&measured)?;
    for bound in &bounds {
        println!("{bound}");
    }
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
