//! Named steps with a heading each, and what each of them took.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// What a step came to, where it did not fail.
pub(crate) enum Outcome {
    /// All of it was done.
    Passed,
    /// It could not be done here; the text says what is missing.
    NotRun(String),
}

/// One step of a longer command.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) run: fn() -> Result<Outcome>,
}

/// Runs all steps, also after one that failed, so that one run shows every
/// fault; then prints a line a step with its seconds.
pub(crate) fn run(steps: &[Step]) -> Result<()> {
    let started = Instant::now();
    let mut lines = Vec::new();
    let mut failed = Vec::new();
    for step in steps {
        println!("\n== {} ==", step.name);
        let started = Instant::now();
        let word = match (step.run)() {
            Ok(Outcome::Passed) => "ok".to_owned(),
            Ok(Outcome::NotRun(why)) => {
                println!("not run: {why}");
                format!("not run: {why}")
            }
            Err(error) => {
                println!("error: {error:#}");
                failed.push(step.name);
                "FAILED".to_owned()
            }
        };
        lines.push(line(step.name, started.elapsed(), &word));
    }
    println!("\n== summary ==");
    for line in &lines {
        println!("{line}");
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("{}", line("all", started.elapsed(), word));
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn line(name: &str, took: Duration, word: &str) -> String {
    format!("{name:<16} {:>7.1} s  {word}", took.as_secs_f64())
}
