//! Runs one subject, and nothing else: what valgrind counts.
//!
//! `subject <name> <scenario> <times>`, or `subject decision <times>`

use std::process::ExitCode;

use retry_benches::{OURS, SUBJECTS};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    match *arguments {
        ["decision", times] => {
            for number in 0..count(times)? {
                (OURS.decide)(number);
            }
        }
        [name, scenario, times] => {
            let subject = SUBJECTS
                .iter()
                .copied()
                .chain([OURS.subject])
                .find(|subject| subject.name == name)
                .ok_or_else(|| format!("no subject is called `{name}`"))?;
            (subject.run)(scenario.parse()?, count(times)?);
        }
        _ => return Err("usage: subject <name> <scenario> <times>".to_owned()),
    }
    Ok(())
}

fn count(times: &str) -> Result<u64, String> {
    times.parse().map_err(|error| format!("`{times}`: {error}"))
}
