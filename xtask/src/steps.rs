//! Named steps with a heading each, and what each of them took.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

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

/// Runs the steps in order up to the first that fails, then prints a line a
/// step with its seconds.
pub(crate) fn run(steps: &[Step]) -> Result<()> {
    let started = Instant::now();
    let mut lines = Vec::new();
    let mut failed = None;
    for step in steps {
        println!("\n== {} ==", step.name);
        let started = Instant::now();
        let outcome = (step.run)();
        let (word, error) = match outcome {
            Ok(Outcome::Passed) => ("ok".to_owned(), None),
            Ok(Outcome::NotRun(why)) => {
                println!("not run: {why}");
                (format!("not run: {why}"), None)
            }
            Err(error) => ("FAILED".to_owned(), Some(error)),
        };
        lines.push(line(step.name, started.elapsed(), &word));
        if let Some(error) = error {
            failed = Some((step.name, error));
            break;
        }
    }
    println!("\n== summary ==");
    for line in &lines {
        println!("{line}");
    }
    println!("{}", line("all", started.elapsed(), if failed.is_none() { "ok" } else { "FAILED" }));
    match failed {
        None => Ok(()),
        Some((name, error)) => Err(anyhow!("step `{name}`: {error:#}")),
    }
}

fn line(name: &str, took: Duration, word: &str) -> String {
    format!("{name:<16} {:>7.1} s  {word}", took.as_secs_f64())
}
