//! Where the numbers come from.

use std::process::Command;

use anyhow::{Context, Result};

/// The processor, how many of it, and the system, in one line.
pub(crate) fn description() -> String {
    let processor =
        field("/proc/cpuinfo", "model name", ':').unwrap_or_else(|| "unknown processor".to_owned());
    let system = field("/etc/os-release", "PRETTY_NAME", '=')
        .unwrap_or_else(|| std::env::consts::OS.to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{processor}, {cores} cores, {system}")
}

/// Whether the processor has instructions for SHA-256.
pub(crate) fn has_sha() -> bool {
    let flags = field("/proc/cpuinfo", "flags", ':')
        .or_else(|| field("/proc/cpuinfo", "Features", ':'))
        .unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == "sha_ni" || flag == "sha2")
}

/// What the command says of itself, its first line.
pub(crate) fn version(command: &str) -> Result<String> {
    let output = Command::new(command)
        .arg("--version")
        .output()
        .with_context(|| format!("run `{command} --version`"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn field(file: &str, name: &str, separator: char) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(separator)?;
        (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    })
}
