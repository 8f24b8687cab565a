//! `retryctl plan`: the schedule of an operation before it runs.

use std::io::Write;
use std::time::Duration;

use retry_core::{Backoff, OperationId, Policies, Policy, PolicyError, StopReason};
use serde::Serialize;

use crate::args::{BackoffArgs, NamedPolicy, Plan};
use crate::exit::{Error, Exit};
use crate::form::nanos;
use crate::table::{Align, Table};

/// How many attempts are shown. A policy may allow more.
const SHOWN: usize = 1000;

pub(crate) fn run(args: &Plan, json: bool, out: &mut dyn Write) -> Result<Exit, Error> {
    let (policy, has_deadline) = policy(args)?;
    let plans = args.ids.iter().map(|id| Planned::of(id, &policy, has_deadline));
    if json {
        let operations = plans.collect();
        let policy = PolicyForm::of(&policy, has_deadline);
        serde_json::to_writer(&mut *out, &Plans { policy, operations })?;
        writeln!(out)?;
        return Ok(Exit::Sound);
    }
    for plan in plans {
        plan.write(out)?;
        writeln!(out)?;
    }
    match has_deadline {
        true => writeln!(out, "policy: {policy}")?,
        false => {
            let (attempts, backoff) = (policy.get_max_attempts(), policy.get_backoff());
            let s = if attempts == 1 { "" } else { "s" };
            writeln!(out, "policy: at most {attempts} attempt{s}; waits {backoff}")?;
        }
    }
    Ok(Exit::Sound)
}

/// The policy, and whether it was given a deadline.
fn policy(args: &Plan) -> Result<(Policy, bool), Error> {
    let (policy, has_deadline) = match (&args.policy, args.attempts) {
        (Some(named), _) => (from_file(named)?, true),
        // More than any schedule takes.
        (None, attempts) => {
            let policy = Policy::new(attempts.unwrap_or_default(), Duration::MAX);
            (policy.backoff(backoff(&args.backoff)), false)
        }
    };
    let policy = args.attempts.map_or(policy, |attempts| policy.max_attempts(attempts));
    let policy = args.deadline.map_or(policy, |deadline| policy.deadline(deadline));
    match policy.validate() {
        Ok(()) => Ok((policy, has_deadline || args.deadline.is_some())),
        Err(error) => Err(Error::Usage(format!("invalid policy: {}", worded(error)))),
    }
}

/// A policy's error where its text is about code.
fn worded(error: PolicyError) -> String {
    match error {
        PolicyError::Factor { numerator, denominator } => format!(
            "factor {numerator}/{denominator} must be at least 1 and its numerator at most 1000; \
             write 1.5 as `--factor 3/2`"
        ),
        error => error.to_string(),
    }
}

fn backoff(args: &BackoffArgs) -> Backoff {
    let curve = match (args.linear, args.fibonacci, args.fixed) {
        (true, _, _) => Backoff::linear,
        (_, true, _) => Backoff::fibonacci,
        (_, _, true) => Backoff::fixed,
        _ => Backoff::exponential,
    };
    let mut backoff = curve(args.base).jitter(args.jitter);
    if let Some((numerator, denominator)) = args.factor {
        backoff = backoff.factor(numerator, denominator);
    }
    if let Some(cap) = args.cap {
        backoff = backoff.cap(cap);
    }
    if let Some(quantum) = args.quantum {
        backoff = backoff.quantum(quantum);
    }
    backoff
}

fn from_file(NamedPolicy { file, name }: &NamedPolicy) -> Result<Policy, Error> {
    let policies = Policies::read(file).map_err(|error| Error::Usage(error.to_string()))?;
    let mut names = policies.names();
    let found = match (name, names.next(), names.next()) {
        (Some(name), _, _) => policies.get(name),
        (None, Some(only), None) => policies.get(only),
        (None, _, _) => None,
    };
    found.copied().ok_or_else(|| {
        let names: Vec<_> = policies.names().map(|name| format!("`{name}`")).collect();
        let file = file.display();
        Error::Usage(match (name, names.as_slice()) {
            (_, []) => format!("{file} has no policies"),
            (Some(name), _) => {
                format!("{file} has no policy `{name}`; its policies are {}", names.join(", "))
            }
            (None, [first, ..]) => format!(
                "{file} has several policies, {}; write which one, as in `{file}#{}`",
                names.join(", "),
                first.trim_matches('`'),
            ),
        })
    })
}

/// What `--json` prints.
#[derive(Serialize)]
struct Plans {
    policy: PolicyForm,
    operations: Vec<Planned>,
}

/// As in a file of policies.
#[derive(Serialize)]
struct PolicyForm {
    max_attempts: u32,
    deadline_ns: Option<u64>,
    backoff: Backoff,
}

impl PolicyForm {
    fn of(policy: &Policy, has_deadline: bool) -> Self {
        Self {
            max_attempts: policy.get_max_attempts(),
            deadline_ns: has_deadline.then(|| nanos(policy.get_deadline())),
            backoff: policy.get_backoff(),
        }
    }
}

/// The schedule of one operation.
#[derive(Serialize)]
struct Planned {
    id: String,
    attempts: Vec<Attempt>,
    /// Why no attempt follows the last one; none where more do than are shown.
    stops: Option<&'static str>,
}

#[derive(Serialize)]
struct Attempt {
    attempt: u32,
    start_ns: u64,
    left_ns: Option<u64>,
    ceiling_ns: u64,
    unit: u32,
    /// The last one is not waited.
    delay_ns: u64,
}

impl Planned {
    fn of(id: &str, policy: &Policy, has_deadline: bool) -> Self {
        let (backoff, operation) = (policy.get_backoff(), OperationId::from(id));
        let explanation = policy.explain(operation.clone());
        let mut planned = explanation.attempts();
        let attempts: Vec<_> = planned
            .by_ref()
            .take(SHOWN)
            .map(|planned| Attempt {
                attempt: planned.attempt(),
                start_ns: nanos(planned.start()),
                left_ns: has_deadline.then(|| nanos(planned.left())),
                ceiling_ns: nanos(backoff.ceiling(planned.attempt())),
                unit: operation.unit(planned.attempt()),
                delay_ns: nanos(backoff.delay(id, planned.attempt())),
            })
            .collect();
        let is_last = |attempt: &Attempt| attempt.attempt >= policy.get_max_attempts();
        let stops = match (planned.next(), attempts.last()) {
            (Some(_), _) => None,
            (None, Some(last)) if is_last(last) => Some(StopReason::AttemptsExhausted),
            (None, _) => Some(StopReason::DeadlineExceeded),
        };
        Self { id: id.to_owned(), attempts, stops: stops.map(StopReason::code) }
    }

    fn write(&self, out: &mut dyn Write) -> Result<(), Error> {
        writeln!(out, "{} [{}]", self.id, self.delays())?;
        let (rows, mut table) = (&self.attempts, Table::default());
        table.column("attempt", Align::Right, rows.iter().map(|row| row.attempt));
        table.column("starts", Align::Right, rows.iter().map(|row| text(row.start_ns)));
        if rows.iter().any(|row| row.left_ns.is_some()) {
            let left = |row: &Attempt| row.left_ns.map(text).unwrap_or_default();
            table.column("left", Align::Right, rows.iter().map(left));
        }
        table.column("ceiling", Align::Right, rows.iter().map(|row| text(row.ceiling_ns)));
        table.column("unit", Align::Right, rows.iter().map(|row| row.unit));
        table.column("delay", Align::Right, rows.iter().map(|row| text(row.delay_ns)));
        write!(out, "{table}")?;
        let last = self.attempts.last().map_or(0, |row| row.attempt);
        match self.stops {
            Some(reason) => writeln!(out, "then stops: {reason}")?,
            None => writeln!(out, "… and on from attempt {}", last.saturating_add(1))?,
        }
        Ok(())
    }

    /// Bare numbers only where all are whole seconds: a line has one unit, or each
    /// has its own.
    fn delays(&self) -> String {
        const SECOND: u64 = 1_000_000_000;
        let are_seconds = self.attempts.iter().all(|row| row.delay_ns % SECOND == 0);
        let delay = |row: &Attempt| match are_seconds {
            true => (row.delay_ns / SECOND).to_string(),
            false => text(row.delay_ns),
        };
        self.attempts.iter().map(delay).collect::<Vec<_>>().join(", ")
    }
}

/// `1.5s`, `85.518066ms`, `0s`.
fn text(nanos: u64) -> String {
    match nanos {
        0 => "0s".to_owned(),
        nanos => format!("{:?}", Duration::from_nanos(nanos)),
    }
}
