//! Running a command and failing where it fails.

use std::ffi::OsStr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// The cargo that runs this program, so that every step uses one toolchain.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments);
    command
}

/// Cargo of another toolchain, by rustup.
pub(crate) fn cargo_of<S: AsRef<OsStr>>(
    toolchain: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, "cargo"]).args(arguments);
    // `rustup run` sets its own; these name the toolchain that runs us.
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTDOC");
    command
}

/// Whether the command can be started and ends well. It prints nothing.
pub(crate) fn works(mut command: Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Prints the command and runs it; an exit code other than 0 is an error.
pub(crate) fn run(command: Command) -> Result<()> {
    let line = announce(&command);
    let status = start(command, &line)?.wait().with_context(|| format!("wait for `{line}`"))?;
    judge(status, &line)
}

/// The same for a command that must end within the limit, or is killed.
pub(crate) fn run_within(command: Command, limit: Duration) -> Result<()> {
    let line = announce(&command);
    let mut child = start(command, &line)?;
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait().with_context(|| format!("wait for `{line}`"))? {
            return judge(status, &line);
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill().and_then(|()| child.wait()).with_context(|| format!("kill `{line}`"))?;
    bail!("`{line}` did not end within {limit:?}");
}

fn announce(command: &Command) -> String {
    let line = shown(command);
    println!("$ {line}");
    line
}

fn start(mut command: Command, line: &str) -> Result<Child> {
    command.stdin(Stdio::null()).spawn().with_context(|| format!("run `{line}`"))
}

fn judge(status: ExitStatus, line: &str) -> Result<()> {
    ensure!(status.success(), "`{line}` failed: {status}");
    Ok(())
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", name.display(), quoted(value)));
        }
    }
    let program = std::path::Path::new(command.get_program());
    words.push(quoted(program.file_stem().unwrap_or(program.as_os_str())));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("'{word}'")
    } else {
        word.into_owned()
    }
}
