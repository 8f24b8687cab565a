//! Policies as text and by name: what is read, what is refused and where, and
//! what an operation does when they are replaced. Case E9.
#![allow(clippy::unwrap_used, clippy::panic, reason = "in helpers of tests")]

use std::cell::Cell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::join;
use proptest::prelude::*;
use retry_core::clock::VirtualClock;
use retry_core::observe::{Event, Recorder};
use retry_core::policies::PoliciesError;
use retry_core::{
    Backoff, Jitter, Policies, Policy, PolicyError, Retrier, StopReason, Stopped, retryable,
};
use retry_core_tests::{BUSY, Failed, block_on, sleep};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

const TOML: &str = r#"
[policies.gateway]
max_attempts = 5
deadline = "30s"
attempt_timeout = "5s"
hint_limit = "10s"
backoff = { exponential = "100ms", factor = [2, 1], cap = "20s", quantum = "1s", jitter = "equal" }

[policies.reports]
max_attempts = 3
deadline = "1m 30s"
backoff = { fixed = "10s", jitter = { additive = "2s" } }

[policies.least]
max_attempts = 1
deadline = "1s"
"#;

const JSON: &str = r#"{
  "policies": {
    "gateway": {
      "max_attempts": 5,
      "deadline": "30s",
      "attempt_timeout": "5s",
      "hint_limit": "10s",
      "backoff": {
        "exponential": "100ms", "factor": [2, 1], "cap": "20s", "quantum": "1s", "jitter": "equal"
      }
    },
    "reports": {
      "max_attempts": 3,
      "deadline": "1m 30s",
      "backoff": { "fixed": "10s", "jitter": { "additive": "2s" } }
    },
    "least": { "max_attempts": 1, "deadline": "1s" }
  }
}"#;

#[test]
fn both_formats_give_the_policies_that_code_gives() {
    let backoff = Backoff::exponential(100 * MS).factor(2, 1).cap(20 * SECOND).quantum(SECOND);
    let gateway = Policy::new(5, 30 * SECOND)
        .attempt_timeout(5 * SECOND)
        .hint_limit(10 * SECOND)
        .backoff(backoff);
    let jitter = Jitter::Additive(2 * SECOND);
    let reports = Policy::new(3, 90 * SECOND).backoff(Backoff::fixed(10 * SECOND).jitter(jitter));
    let expected = Policies::new()
        .with("reports", reports)
        .and_then(|policies| policies.with("gateway", gateway))
        .and_then(|policies| policies.with("least", Policy::new(1, SECOND)))
        .unwrap();
    assert_eq!(Policies::from_toml(TOML).unwrap(), expected);
    assert_eq!(Policies::from_json(JSON).unwrap(), expected);
    assert_eq!(expected.names().collect::<Vec<_>>(), ["gateway", "least", "reports"]);
    assert_eq!(expected.get("gateway"), Some(&gateway));
    assert_eq!(expected.get("Gateway"), None);
}

const FIELDS: &str =
    "expected one of `max_attempts`, `deadline`, `attempt_timeout`, `hint_limit`, `backoff`";
const TOO_LONG: &str = "policy `gateway`: attempt_timeout (5s) must be shorter than deadline (5s); \
    shorten it, or leave it out: the deadline cuts attempts too";
const UNIT: &str = "unknown unit `parsecs`; expected one of ns, us, ms, s, m, h";
const NEGATIVE: &str = "a duration is not negative; expected one as in \"30s\" or \"1m 30s\"";

#[test]
fn every_mistake_in_toml_has_its_place_and_its_fix() {
    let unknown_field = format!("line 10, column 1: unknown field `max_retries`, {FIELDS}");
    for (from, to, says) in [
        // Syntax.
        ("\"30s\"", "\"30s", "line 4, column 16: invalid basic string, expected `\"`"),
        (
            "[policies.reports]",
            "[policies.reports",
            "line 9, column 18: unclosed table, expected `]`",
        ),
        ("[policies.reports]", "[policies.gateway]", "line 9, column 11: duplicate key"),
        // Durations.
        ("\"30s\"", "30", "line 4, column 12: `30` has no unit; write \"30s\""),
        ("\"30s\"", "-3", &format!("line 4, column 12: {NEGATIVE}")),
        ("\"30s\"", "\"30 parsecs\"", &format!("line 4, column 12: {UNIT}")),
        (
            "\"30s\"",
            "1.5",
            "line 4, column 12: invalid type: floating point `1.5`, expected a duration, as in \
             \"30s\" or \"1m 30s\"",
        ),
        ("additive = \"2s\"", "additive = 2", "line 12, column 50: `2` has no unit; write \"2s\""),
        // Fields.
        ("max_attempts = 3\n", "max_retries = 3\n", &unknown_field),
        (
            "jitter = \"equal\"",
            "jitter = \"half\"",
            "line 7, column 91: unknown variant `half`, expected one of `equal`, `full`, `none`, `additive`",
        ),
        (
            "factor = [2, 1]",
            "factor = 2",
            "line 7, column 45: invalid type: integer `2`, expected a ratio of two whole numbers, as in `[3, 2]`",
        ),
        (
            "[policies.reports]",
            "[polices.reports]",
            "line 9, column 2: unknown field `polices`, expected `policies`",
        ),
        // Policies.
        ("\"30s\"", "\"5s\"", &format!("line 2, column 1: {TOO_LONG}")),
        (
            "max_attempts = 3\n",
            "",
            "line 9, column 1: policy `reports`: an operation is bounded in attempts and in time: add `max_attempts`",
        ),
        (
            "max_attempts = 1\ndeadline = \"1s\"\n",
            "",
            "line 14, column 1: policy `least`: an operation is bounded in attempts and in time: add \
             `max_attempts` and `deadline`",
        ),
        (
            "quantum = \"1s\"",
            "quantum = \"30s\"",
            "line 7, column 11: quantum (30s) is above cap (20s); lower the quantum or raise the cap",
        ),
        (
            "fixed = \"10s\"",
            "fixed = \"10s\", factor = [3, 2]",
            "line 12, column 11: `factor` has no meaning here; only an `exponential` backoff grows by a factor",
        ),
        (
            "fixed = \"10s\"",
            "fixed = \"10s\", linear = \"1s\"",
            "line 12, column 11: `linear` and `fixed` exclude each other; remove one of them",
        ),
        (
            "fixed = \"10s\", ",
            "",
            "line 12, column 11: a backoff says how its waits grow: add `exponential`, `linear`, \
             `fibonacci` or `fixed`, as in `exponential = \"100ms\"`",
        ),
        (
            "factor = [2, 1]",
            "factor = [1, 2]",
            "line 7, column 11: factor [1, 2] must be at least 1 and its numerator at most 1000; \
             write 3/2 as `[3, 2]`",
        ),
        (
            "[policies.reports]",
            "[policies.\"\"]",
            "line 9, column 1: a policy's name is empty; policies are looked up by it",
        ),
    ] {
        assert!(TOML.contains(from), "{from}");
        let error = Policies::from_toml(&TOML.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.to_string(), says, "{to}");
    }
}

/// The column is where the reader was when it noticed.
#[test]
fn every_mistake_in_json_has_its_line_and_its_fix() {
    for (from, to, says) in [
        (
            "\"30s\"",
            "\"30s",
            "line 6, column 1: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        ("\"30s\"", "30", "line 5, column 20: `30` has no unit; write \"30s\""),
        ("\"30s\"", "-3", &format!("line 5, column 20: {NEGATIVE}")),
        ("\"30s\"", "\"30 parsecs\"", &format!("line 5, column 30: {UNIT}")),
        ("\"30s\"", "\"5s\"", &format!("line 11, column 5: {TOO_LONG}")),
        (
            "\"deadline\": \"30s\",",
            "",
            "line 11, column 5: policy `gateway`: an operation is bounded in attempts and in time: add `deadline`",
        ),
        (
            "\"max_attempts\": 3",
            "\"max_retries\": 3",
            &format!("line 13, column 19: unknown field `max_retries`, {FIELDS}"),
        ),
        (
            "\"quantum\": \"1s\"",
            "\"quantum\": \"30s\"",
            "line 10, column 7: quantum (30s) is above cap (20s); lower the quantum or raise the cap",
        ),
        (
            "\"reports\"",
            "\"gateway\"",
            "line 12, column 15: two policies are named `gateway`; rename or remove one of them",
        ),
        (
            "\"deadline\": \"30s\",",
            "\"deadline\": \"30s\", \"deadline\": \"30s\",",
            "line 5, column 35: duplicate field `deadline`",
        ),
        (
            "\"policies\"",
            "\"polices\"",
            "line 2, column 11: unknown field `polices`, expected `policies`",
        ),
        (
            "\"reports\": {",
            "\"reports\": 3, \"r\": {",
            "line 12, column 16: invalid type: integer `3`, expected a policy with `max_attempts` and `deadline`",
        ),
    ] {
        assert!(JSON.contains(from), "{from}");
        let error = Policies::from_json(&JSON.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.to_string(), says, "{to}");
    }
}

/// Each has a text, and none is taken for another set.
#[test]
fn a_file_that_is_half_there_is_refused() {
    for end in 0..JSON.len() {
        assert!(Policies::from_json(&JSON[..end]).is_err(), "{end}");
    }
    // Where a line ends, what is there may be whole.
    for (end, _) in TOML.char_indices().filter(|&(end, _)| !TOML[..end].ends_with('\n')) {
        let read = Policies::from_toml(&TOML[..end]);
        let is_whole_line = TOML[end..].starts_with('\n');
        assert!(read.is_err() || is_whole_line, "{end}: {read:?}");
    }
    let error = Policies::from_toml("").unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 1: missing field `policies`");
}

#[test]
fn two_of_one_name_an_empty_name_and_an_invalid_policy_are_refused_in_code_too() {
    let policy = Policy::new(3, SECOND);
    let one = || Policies::new().with("one", policy).unwrap();
    assert!(
        matches!(one().with("one", policy), Err(PoliciesError::Duplicate { name }) if name == "one")
    );
    assert!(matches!(one().with("", policy), Err(PoliciesError::EmptyName)));
    let error = one().with("two", policy.max_attempts(0)).unwrap_err();
    assert!(matches!(error, PoliciesError::Invalid { error: PolicyError::NoAttempts, .. }));
    assert_eq!(
        error.to_string(),
        "policy `two`: max_attempts is 0, and the first attempt counts; write 1 for no retry, more to retry"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let directory = scratch("a_file_that_cannot_be_read_is_named");
    let missing = directory.join("missing.toml");
    let error = Policies::read(&missing).unwrap_err();
    assert!(
        matches!(&error, PoliciesError::Unreadable { error, .. } if error.kind() == ErrorKind::NotFound)
    );
    assert!(error.to_string().starts_with(&format!("{}: ", missing.display())), "{error}");

    let yaml = directory.join("policies.yaml");
    let error = Policies::read(&yaml).unwrap_err();
    assert!(matches!(&error, PoliciesError::UnknownFormat { path } if *path == yaml), "{error}");

    let binary = directory.join("policies.json");
    std::fs::write(&binary, [0xff, 0xfe]).unwrap();
    assert!(matches!(Policies::read(&binary), Err(PoliciesError::Unreadable { .. })));
}

#[test]
fn a_file_is_read_by_its_extension_and_its_mistakes_have_its_name() {
    let directory = scratch("a_file_is_read_by_its_extension");
    let (toml, json) = (directory.join("policies.toml"), directory.join("policies.json"));
    std::fs::write(&toml, TOML).unwrap();
    std::fs::write(&json, JSON).unwrap();
    assert_eq!(Policies::read(&toml).unwrap(), Policies::read(&json).unwrap());

    std::fs::write(&toml, TOML.replace("\"30s\"", "30")).unwrap();
    let error = Policies::read(&toml).unwrap_err();
    let says = format!("{}:4:12: `30` has no unit; write \"30s\"", toml.display());
    assert_eq!(error.to_string(), says);
    let PoliciesError::Malformed { path, line, column, .. } = error else { panic!("{error}") };
    assert_eq!((path, line, column), (Some(toml), 4, 12));
}

/// A folder of this test's own.
fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_backoff_by_a_function_has_no_text() {
    let policy = Policy::new(3, SECOND).backoff(Backoff::custom(|_| MS));
    let error = serde_json::to_string(&policy).unwrap_err().to_string();
    assert!(error.starts_with("a backoff by a function (`Backoff::custom`)"), "{error}");
    let misplaced = Backoff::fixed(SECOND).factor(3, 2);
    let error = serde_json::to_string(&misplaced).unwrap_err().to_string();
    assert!(error.starts_with("factor 3/2 has no meaning here"), "{error}");
}

fn spans() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..=i64::MAX as u64).prop_map(Duration::from_nanos),
        (0..100_000u64).prop_map(Duration::from_millis),
        (1..100_000u64).prop_map(Duration::from_secs),
    ]
}

fn backoffs() -> impl Strategy<Value = Backoff> {
    let curve = prop_oneof![
        spans().prop_map(Backoff::exponential),
        (spans(), 1..1000u32, 1..1000u32)
            .prop_map(|(base, p, q)| Backoff::exponential(base).factor(p.max(q), p.min(q))),
        spans().prop_map(Backoff::linear),
        spans().prop_map(Backoff::fibonacci),
        spans().prop_map(Backoff::fixed),
    ];
    let jitter = prop_oneof![
        Just(Jitter::Equal),
        Just(Jitter::Full),
        Just(Jitter::None),
        spans().prop_map(Jitter::Additive),
    ];
    let option = proptest::option::of;
    (curve, option(spans()), option(spans()), jitter).prop_map(|(backoff, cap, quantum, jitter)| {
        let backoff = backoff.jitter(jitter);
        let backoff = cap.map_or(backoff, |cap| backoff.cap(cap));
        quantum.map_or(backoff, |quantum| backoff.quantum(quantum))
    })
}

fn any_policies() -> impl Strategy<Value = Policy> {
    let option = proptest::option::of;
    (1..12u32, prop_oneof![Just(Duration::MAX), spans()], option(spans()), spans(), backoffs())
        .prop_map(|(max_attempts, deadline, timeout, limit, backoff)| {
            let policy = Policy::new(max_attempts, deadline).hint_limit(limit).backoff(backoff);
            timeout.map_or(policy, |timeout| policy.attempt_timeout(timeout))
        })
}

proptest! {
    /// And one that is not valid is written, but not read.
    #[test]
    fn what_is_written_is_read_as_it_was(policy in any_policies()) {
        let text = serde_json::to_string(&policy).unwrap();
        match (serde_json::from_str::<Policy>(&text), policy.validate()) {
            (Ok(read), Ok(())) => prop_assert_eq!(read, policy),
            (Err(_), Err(_)) => {}
            (read, valid) => prop_assert!(false, "{:?} {:?}", read, valid),
        }
    }

    #[test]
    fn a_set_is_written_by_name(names in proptest::collection::btree_set(".{1,8}", 0..5), policy in any_policies()) {
        prop_assume!(policy.validate().is_ok());
        let add = |policies: Policies, name| policies.with(name, policy).unwrap();
        let policies = names.into_iter().fold(Policies::new(), add);
        let text = serde_json::to_string(&policies).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Policies>(&text).unwrap(), &policies);
        let file = format!("{{\"policies\":{text}}}");
        prop_assert_eq!(Policies::from_json(&file).unwrap(), policies);
    }

    #[test]
    fn no_text_panics(text in "[\\[\\]{}=\"a-z0-9 \n.,:policies-]{0,60}") {
        let _ = (Policies::from_toml(&text), Policies::from_json(&text));
    }
}

struct Service {
    retries: Retrier,
    calls: Cell<u32>,
}

impl Service {
    fn busy(&self) -> Result<(), Failed> {
        self.calls.set(self.calls.get() + 1);
        Err(BUSY)
    }

    #[retryable(name = "fetch", idempotent, policy = "gateway", with = self.retries)]
    async fn fetch(&self) -> Result<(), Stopped<Failed>> {
        self.busy()
    }

    #[retryable(name = "fetch_twice", idempotent, policy = "gateway", max_attempts = 2, with = &self.retries)]
    async fn fetch_twice(&self) -> Result<(), Stopped<Failed>> {
        self.busy()
    }

    #[retryable(name = "hasty", idempotent, policy = "gateway", deadline = "1s", with = self.retries)]
    async fn hasty(&self) -> Result<(), Stopped<Failed>> {
        self.busy()
    }
}

fn service(policies: Policies) -> (Service, Recorder) {
    let recorder = Recorder::new();
    let retries = Retrier::builder().policies(policies).observer(recorder.clone()).build();
    (Service { retries, calls: Cell::new(0) }, recorder)
}

fn gateway(policy: Policy) -> Policies {
    Policies::new().with("gateway", policy).unwrap()
}

/// Every wait takes a second.
fn steady(max_attempts: u32) -> Policy {
    let backoff = Backoff::fixed(SECOND).jitter(Jitter::None);
    Policy::new(max_attempts, 60 * SECOND).backoff(backoff)
}

#[test]
fn a_name_is_looked_up_at_the_call_and_single_numbers_win() {
    let (service, _) = service(gateway(steady(4)));
    let clock = VirtualClock::new();
    assert_eq!(block_on(&clock, service.fetch()).unwrap_err().attempts(), 4);
    assert_eq!(clock.elapsed(), 3 * SECOND);
    assert_eq!(block_on(&clock, service.fetch_twice()).unwrap_err().attempts(), 2);
    // The numbers of both are judged together, before any attempt.
    service.retries.replace_policies(gateway(steady(4).attempt_timeout(2 * SECOND)));
    let stopped = block_on(&clock, service.hasty()).unwrap_err();
    let error =
        PolicyError::AttemptTimeoutTooLong { attempt_timeout: 2 * SECOND, deadline: SECOND };
    assert_eq!((stopped.stop().policy_error(), stopped.attempts()), (Some(error), 0));
}

/// E9.
#[test]
fn an_operation_that_sleeps_keeps_the_policy_it_began_with_and_its_record_says_which() {
    let (before, after) = (steady(4), steady(2).deadline(30 * SECOND));
    let (service, recorder) = service(gateway(before));
    let clock = VirtualClock::new();
    let replaced = async {
        sleep(&clock, SECOND / 2).await;
        // Through another handle: all clones share one set.
        service.retries.clone().replace_policies(gateway(after));
    };
    let (ended, ()) = block_on(&clock, join(service.fetch(), replaced));
    let stopped = ended.unwrap_err();
    assert_eq!((stopped.attempts(), stopped.reason()), (4, StopReason::AttemptsExhausted));
    assert_eq!(policies_of(&recorder), [before; 4]);

    let stopped = block_on(&clock, service.fetch()).unwrap_err();
    assert_eq!(stopped.attempts(), 2);
    assert_eq!(policies_of(&recorder), [after; 2]);
}

/// The policy of each attempt on record.
fn policies_of(recorder: &Recorder) -> Vec<Policy> {
    let events = recorder.take().into_iter();
    let started = events.filter_map(|(_, event)| match event {
        Event::AttemptStarted { policy, .. } => Some(policy),
        _ => None,
    });
    started.collect()
}

#[test]
fn a_name_that_the_retrier_does_not_know_stops_before_the_first_attempt() {
    for (known, says) in [
        (vec![], "the retrier knows no policy `gateway`; it knows none"),
        (vec!["gatway"], "the retrier knows no policy `gateway`; it knows `gatway`"),
        (vec!["b", "a", "c"], "the retrier knows no policy `gateway`; it knows `a`, `b`, `c`"),
    ] {
        let add = |policies: Policies, name| policies.with(name, steady(3)).unwrap();
        let (service, recorder) = service(known.into_iter().fold(Policies::new(), add));
        let stopped = block_on(&VirtualClock::new(), service.fetch_twice()).unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::InvalidPolicy, 0));
        assert_eq!((stopped.stop().to_string(), service.calls.get()), (says.to_owned(), 0));
        assert!(stopped.is_permanent());
        let heard = recorder.events(stopped.operation_id());
        assert!(matches!(&heard[..], [Event::Stopped { stop, .. }] if stop == stopped.stop()));
    }
}

#[test]
fn a_bad_reload_keeps_the_policies_in_use_and_says_so() {
    let file = scratch("a_bad_reload_keeps_the_policies_in_use").join("policies.toml");
    std::fs::write(&file, TOML).unwrap();
    let retrier = Retrier::builder().policies(Policies::read(&file).unwrap()).build();
    let gateway = retrier.policy("gateway").unwrap();

    // Half-written, in the middle of a line.
    std::fs::write(&file, &TOML[..TOML.len() - 3]).unwrap();
    let error = retrier.reload_policies(&file).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&format!("{}:16:", file.display())), "{text}");
    assert!(text.ends_with("; the policies in use are unchanged"), "{text}");
    assert!(
        matches!(error, PoliciesError::NotReloaded(error) if matches!(*error, PoliciesError::Malformed { line: 16, .. }))
    );
    assert_eq!(retrier.policy("gateway"), Some(gateway));
    assert!(retrier.policy("reports").is_some());

    // Gone.
    std::fs::remove_file(&file).unwrap();
    assert!(retrier.reload_policies(&file).is_err());
    assert_eq!(retrier.policy("gateway"), Some(gateway));

    // Whole, and another set.
    std::fs::write(
        &file,
        TOML.replace("max_attempts = 5", "max_attempts = 6").replace("reports", "statistics"),
    )
    .unwrap();
    retrier.clone().reload_policies(&file).unwrap();
    assert_eq!(retrier.policy("gateway"), Some(gateway.max_attempts(6)));
    assert_eq!(retrier.policy("reports"), None);
}
