//! `cargo check` of 500 generated functions with two awaits each.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::{package, scratch};

const FUNCTIONS: usize = 500;
const REPETITIONS: usize = 5;

/// What the checks of one form took.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) form: &'static str,
    /// By mode, in the order of [`Mode::ALL`].
    pub(crate) took: [Took; 2],
}

/// Medians of one form in one mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) wall: Duration,
    /// User and system, cargo's own included.
    pub(crate) cpu: Duration,
}

/// What the compiler may reuse of the check before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing, as in CI: the whole cost of the code.
    Anew,
    /// What did not change, as on an author's machine; here only the file's
    /// date did, so this is mostly the expansion of the attributes.
    Incremental,
}

impl Mode {
    pub(crate) const ALL: [Self; 2] = [Self::Anew, Self::Incremental];
}

/// A way to write a function that retries, or does not.
struct Form {
    name: &'static str,
    /// The package of the generated crate.
    package: &'static str,
    dependencies: &'static str,
    /// Stands above the functions.
    prelude: &'static str,
    attribute: &'static str,
    error: &'static str,
    body: &'static str,
}

const BODY: &str = "
    let reserved = client.reserve(order).await?;
    client.confirm(order, reserved).await
";

const PLAIN: Form = Form {
    name: "plain bodies",
    package: "plain",
    dependencies: "",
    prelude: "",
    attribute: "",
    error: "CallError",
    body: BODY,
};

const HAND: Form = Form {
    name: "hand-written loops",
    package: "hand",
    dependencies: "tokio = { version = \"1\", features = [\"time\"] }",
    prelude: HAND_PRELUDE,
    attribute: "",
    error: "CallError",
    body: HAND_BODY,
};

const BACKON: Form = Form {
    name: BACKON_NAME,
    package: "with-backon",
    dependencies: "backon = \"1\"\nbackon-macros = \"1\"",
    prelude: "",
    attribute: "#[backon_macros::backon]",
    error: "CallError",
    body: BODY,
};

const RETRYABLE: Form = Form {
    name: OURS_NAME,
    package: "ours",
    dependencies: "retry-core = { path = \"RETRY_CORE\" }",
    prelude: RETRYABLE_PRELUDE,
    attribute: "#[retry_core::retryable(idempotent, max_attempts = 3, deadline = \"5s\")]",
    error: "retry_core::Stopped<CallError>",
    body: BODY,
};

/// How the report finds the rival's row.
pub(crate) const BACKON_NAME: &str = "`#[backon]`";
/// How the report finds ours.
pub(crate) const OURS_NAME: &str = "`#[retryable]`";

const CLIENT: &str = "
pub struct Client;

#[derive(Debug)]
pub struct CallError;

impl Client {
    pub async fn reserve(&self, order: &str) -> Result<usize, CallError> {
        Ok(order.len())
    }

    pub async fn confirm(&self, order: &str, reserved: usize) -> Result<usize, CallError> {
        Ok(order.len() + reserved)
    }
}
";

const HAND_PRELUDE: &str = "
use std::time::{Duration, Instant};

pub struct Run {
    started: Instant,
    attempt: u32,
}

impl Run {
    pub fn new() -> Self {
        Self { started: Instant::now(), attempt: 1 }
    }

    pub fn settle<T>(&mut self, outcome: Result<T, CallError>) -> Result<Duration, Result<T, CallError>> {
        let delay = Duration::from_millis(100) * 2_u32.pow(self.attempt - 1);
        self.attempt += 1;
        if outcome.is_ok() || self.attempt > 3 || self.started.elapsed() + delay >= Duration::from_secs(5) {
            return Err(outcome);
        }
        Ok(delay)
    }
}
";

const HAND_BODY: &str = "
    let mut run = Run::new();
    loop {
        let outcome = async {
            let reserved = client.reserve(order).await?;
            client.confirm(order, reserved).await
        }
        .await;
        match run.settle(outcome) {
            Ok(delay) => tokio::time::sleep(delay).await,
            Err(outcome) => return outcome,
        }
    }
";

const RETRYABLE_PRELUDE: &str = "
impl retry_core::Classify for CallError {
    fn classify(&self) -> retry_core::Failure {
        retry_core::Failure::transient()
    }
}
";

/// Every form, checked so many times in turn, so that a busy moment of the
/// machine does not hit one of them alone.
pub(crate) fn all() -> Result<Vec<Checked>> {
    let forms = [RETRYABLE, PLAIN, HAND, BACKON];
    let directory = scratch()?.join("check");
    generate(&directory, &forms)?;

    let mut runs = Vec::new();
    for form in &forms {
        eprintln!("checking: {}", form.name);
        for mode in Mode::ALL {
            check(&directory, form, mode)?;
        }
    }
    for _ in 0..REPETITIONS {
        for (index, form) in forms.iter().enumerate() {
            for mode in Mode::ALL {
                runs.push((index, mode, check(&directory, form, mode)?));
            }
        }
    }
    let median = |form: usize, mode: Mode, of: fn(&Took) -> Duration| {
        let of_this = |run: &&(usize, Mode, Took)| run.0 == form && run.1 == mode;
        let mut times: Vec<_> = runs.iter().filter(of_this).map(|run| of(&run.2)).collect();
        times.sort();
        times[times.len() / 2]
    };
    Ok(forms
        .iter()
        .enumerate()
        .map(|(index, form)| Checked {
            form: form.name,
            took: Mode::ALL.map(|mode| Took {
                wall: median(index, mode, |took| took.wall),
                cpu: median(index, mode, |took| took.cpu),
            }),
        })
        .collect())
}

/// A workspace of its own, with this workspace's Cargo.lock, so that the same
/// versions are checked as are tested.
fn generate(directory: &Path, forms: &[Form]) -> Result<()> {
    let members: Vec<_> = forms.iter().map(|form| form.package).collect();
    write(
        &directory.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n"),
    )?;
    let lock = package().with_file_name("Cargo.lock");
    fs::copy(&lock, directory.join("Cargo.lock"))
        .with_context(|| format!("copy {}", lock.display()))?;
    let retry_core = package().with_file_name("retry-core");
    for form in forms {
        let directory = directory.join(form.package);
        let dependencies =
            form.dependencies.replace("RETRY_CORE", &retry_core.display().to_string());
        write(
            &directory.join("Cargo.toml"),
            &format!(
                "[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                 [dependencies]\n{dependencies}\n",
                form.package
            ),
        )?;
        write(&directory.join("src/lib.rs"), &source(form))?;
    }
    Ok(())
}

fn source(form: &Form) -> String {
    let Form { prelude, attribute, error, body, .. } = form;
    let mut source = format!("{CLIENT}{prelude}");
    for number in 0..FUNCTIONS {
        // Writing to a string cannot fail.
        let _ = write!(
            source,
            "\n{attribute}\npub async fn operation_{number}(client: &Client, order: &str) \
             -> Result<usize, {error}> {{{body}}}\n"
        );
    }
    source
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
    }
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

/// Touches the crate and checks it: wall clock and CPU.
fn check(directory: &Path, form: &Form, mode: Mode) -> Result<Took> {
    let source = directory.join(form.package).join("src/lib.rs");
    File::options()
        .append(true)
        .open(&source)
        .and_then(|file| file.set_modified(SystemTime::now()))
        .with_context(|| format!("touch {}", source.display()))?;

    let cpu = children_cpu()?;
    let started = Instant::now();
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["check", "--quiet", "--package", form.package])
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .env("CARGO_INCREMENTAL", if mode == Mode::Incremental { "1" } else { "0" })
        .stdin(Stdio::null())
        .output()
        .context("run cargo check")?;
    let wall = started.elapsed();
    ensure!(
        output.status.success(),
        "the generated crate `{}` does not check:\n{}",
        form.package,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(Took { wall, cpu: children_cpu()?.saturating_sub(cpu) })
}

/// User and system time of all that this process has started and waited for.
fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("read the children's CPU time")?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
}
