//! Instructions an operation, counted by valgrind's callgrind.
//!
//! The binary `subject` runs N and then 2N operations; the difference, divided
//! by N, has no start-up in it and is the same on every run. Reading callgrind's
//! file here takes thirty lines and gives the functions too; the harnesses that
//! wrap callgrind need a runner of their own version installed beside cargo.

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::scratch;

const OPERATIONS: u64 = 500;

/// Instructions by function.
#[derive(Debug, Default)]
pub(crate) struct Instructions(HashMap<String, f64>);

impl Instructions {
    /// Of an operation, all functions together.
    pub(crate) fn total(&self) -> f64 {
        self.0.values().sum()
    }

    /// Of an operation, in functions whose name contains the word.
    pub(crate) fn within(&self, word: &str) -> f64 {
        self.0
            .iter()
            .filter(|(name, _)| name.contains(word))
            .map(|(_, count)| count)
            .fold(0.0, |sum, count| sum + count)
    }
}

/// What `subject` executes for one of what the arguments say.
pub(crate) fn of_one(arguments: &[&str]) -> Result<Instructions> {
    let once = count(arguments, OPERATIONS)?;
    let mut functions: HashMap<_, _> =
        once.into_iter().map(|(name, count)| (name, -(count as f64))).collect();
    for (name, count) in count(arguments, 2 * OPERATIONS)? {
        *functions.entry(name).or_default() += count as f64;
    }
    functions.values_mut().for_each(|count| *count /= OPERATIONS as f64);
    Ok(Instructions(functions))
}

fn count(arguments: &[&str], times: u64) -> Result<HashMap<String, u64>> {
    let profile = scratch()?.join("callgrind.out");
    let subject = std::env::current_exe().context("find this binary")?.with_file_name("subject");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(subject)
        .args(arguments)
        .arg(times.to_string())
        .stdin(Stdio::null())
        .output()
        .context("run valgrind; it must be installed (Debian: apt-get install valgrind)")?;
    ensure!(
        output.status.success(),
        "valgrind ended with {}:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let text =
        fs::read_to_string(&profile).with_context(|| format!("read {}", profile.display()))?;
    let functions = parse(&text);
    ensure!(!functions.is_empty(), "{} holds no costs", profile.display());
    Ok(functions)
}

/// The self cost of each function. The lines that matter: `fn=name` opens a
/// function, `line cost` adds to it, and the `line cost` after `calls=` is what
/// the callee took, which the callee's own lines hold already.
fn parse(profile: &str) -> HashMap<String, u64> {
    let mut functions: HashMap<String, u64> = HashMap::new();
    let mut function = "";
    let mut callee = false;
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = name;
        } else if line.starts_with("calls=") {
            callee = true;
        } else if let Some(cost) = cost(line)
            && !std::mem::take(&mut callee)
        {
            *functions.entry(function.to_owned()).or_default() += cost;
        }
    }
    functions
}

/// The second number of a line of two numbers.
fn cost(line: &str) -> Option<u64> {
    let (position, cost) = line.split_once(' ')?;
    position.parse::<u64>().ok()?;
    cost.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_callee_took_is_counted_once() {
        let profile = "\
version: 1
events: Ir
fl=loop.rs
fn=outer
10 3
cfn=inner
calls=2 20
11 14
12 4
fn=inner
20 14
totals: 21
";
        let functions = parse(profile);
        assert_eq!(functions["outer"], 7);
        assert_eq!(functions["inner"], 14);
        assert_eq!(functions.len(), 2);
    }
}
