//! `retryctl plan`

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::run::{retryctl, retryctl_with};

fn prints(line: &str, expected: &Expect) {
    expected.assert_eq(&retryctl(line).prints(0));
}

fn json(line: &str) -> Value {
    serde_json::from_str(&retryctl(line).prints(0)).unwrap()
}

#[test]
fn the_line_of_the_delays_comes_first() {
    let line = "plan --id flight-1 --base 2s --cap 60s --quantum 1s --attempts 6";
    prints(
        line,
        &expect![[r#"
        flight-1 [1, 2, 4, 11, 16, 35]
        attempt  starts  ceiling        unit  delay
              1      0s       2s  3393237682     1s
              2      1s       4s  1980757788     2s
              3      3s       8s   697703615     4s
              4      7s      16s  2033861355    11s
              5     18s      32s   212772211    16s
              6     34s      60s   760255532    35s
        then stops: attempts_exhausted

        policy: at most 6 attempts; waits exponential from 2s, factor 2, cap 60s, quantum 1s, equal jitter
    "#]],
    );
}

#[test]
fn several_ids_under_one_policy() {
    let line = "plan --id flight-1 --id flight-2 --base 2s --cap 1m --quantum 1s --attempts 6 --deadline 50s";
    prints(
        line,
        &expect![[r#"
        flight-1 [1, 2, 4, 11, 16, 35]
        attempt  starts  left  ceiling        unit  delay
              1      0s   50s       2s  3393237682     1s
              2      1s   49s       4s  1980757788     2s
              3      3s   47s       8s   697703615     4s
              4      7s   43s      16s  2033861355    11s
              5     18s   32s      32s   212772211    16s
              6     34s   16s      60s   760255532    35s
        then stops: attempts_exhausted

        flight-2 [1, 2, 4, 15, 19, 54]
        attempt  starts  left  ceiling        unit  delay
              1      0s   50s       2s  4253694278     1s
              2      1s   49s       4s   993609920     2s
              3      3s   47s       8s   450701497     4s
              4      7s   43s      16s  3958287191    15s
              5     22s   28s      32s   830301093    19s
              6     41s    9s      60s  3576901945    54s
        then stops: attempts_exhausted

        policy: at most 6 attempts in 50s; waits exponential from 2s, factor 2, cap 60s, quantum 1s, equal jitter; hints up to 60s
    "#]],
    );
}

#[test]
fn an_attempt_that_would_start_too_late_is_not_shown() {
    let line = "plan --id flight-2 --base 2s --cap 1m --quantum 1s --attempts 5 --deadline 20s";
    prints(
        line,
        &expect![[r#"
        flight-2 [1, 2, 4, 15]
        attempt  starts  left  ceiling        unit  delay
              1      0s   20s       2s  4253694278     1s
              2      1s   19s       4s   993609920     2s
              3      3s   17s       8s   450701497     4s
              4      7s   13s      16s  3958287191    15s
        then stops: deadline_exceeded

        policy: at most 5 attempts in 20s; waits exponential from 2s, factor 2, cap 60s, quantum 1s, equal jitter; hints up to 60s
    "#]],
    );
}

#[test]
fn delays_that_are_not_whole_seconds_have_their_units() {
    prints(
        "plan --id prices.fetch#0000000000000000-1 --attempts 3",
        &expect![[r#"
        prices.fetch#0000000000000000-1 [85.518066ms, 194.111123ms, 212.091515ms]
        attempt        starts  ceiling        unit         delay
              1            0s    100ms  3050978707   85.518066ms
              2   85.518066ms    200ms  4042041977  194.111123ms
              3  279.629189ms    400ms   259663308  212.091515ms
        then stops: attempts_exhausted

        policy: at most 3 attempts; waits exponential from 100ms, factor 2, cap 20s, equal jitter
    "#]],
    );
}

#[test]
fn one_attempt_waits_for_nothing() {
    prints(
        "plan --id x --attempts 1 --base 0s",
        &expect![[r#"
        x [0]
        attempt  starts  ceiling       unit  delay
              1      0s       0s  192446584     0s
        then stops: attempts_exhausted

        policy: at most 1 attempt; waits exponential from 0s, factor 2, cap 20s, equal jitter
    "#]],
    );
}

/// By their first delays.
#[test]
fn every_curve_and_jitter() {
    let mut lines = String::new();
    for options in [
        "--jitter none --exponential",
        "--jitter none --factor 3/2",
        "--jitter none --factor 3",
        "--jitter none --linear",
        "--jitter none --fibonacci",
        "--jitter none --fixed",
        "--jitter full",
        "--jitter additive=500ms",
    ] {
        let line = format!("plan --id order-1 --base 1s --attempts 4 {options}");
        let out = retryctl(&line).prints(0);
        lines += &format!("{options}\n  {}\n", out.lines().next().unwrap_or_default());
        lines += &format!("  {}\n", out.lines().last().unwrap_or_default());
    }
    expect![[r#"
        --jitter none --exponential
          order-1 [1, 2, 4, 8]
          policy: at most 4 attempts; waits exponential from 1s, factor 2, cap 20s, no jitter
        --jitter none --factor 3/2
          order-1 [1s, 1.5s, 2.25s, 3.375s]
          policy: at most 4 attempts; waits exponential from 1s, factor 3/2, cap 20s, no jitter
        --jitter none --factor 3
          order-1 [1, 3, 9, 20]
          policy: at most 4 attempts; waits exponential from 1s, factor 3, cap 20s, no jitter
        --jitter none --linear
          order-1 [1, 2, 3, 4]
          policy: at most 4 attempts; waits linear from 1s, cap 20s, no jitter
        --jitter none --fibonacci
          order-1 [1, 1, 2, 3]
          policy: at most 4 attempts; waits fibonacci from 1s, cap 20s, no jitter
        --jitter none --fixed
          order-1 [1, 1, 1, 1]
          policy: at most 4 attempts; waits fixed at 1s, cap 20s, no jitter
        --jitter full
          order-1 [524.24421ms, 1.527592981s, 3.383300109s, 5.460322334s]
          policy: at most 4 attempts; waits exponential from 1s, factor 2, cap 20s, full jitter
        --jitter additive=500ms
          order-1 [1.262122105s, 2.381898245s, 4.422912513s, 8.341270145s]
          policy: at most 4 attempts; waits exponential from 1s, factor 2, cap 20s, jitter of up to 500ms more
    "#]].assert_eq(&lines);
}

#[test]
fn durations_are_those_of_the_attribute() {
    let words = ["plan", "--id", "x", "--attempts", "2", "--fixed", "--jitter", "none"];
    let out = retryctl_with(words.into_iter().chain(["--base", "1m 30s"])).prints(0);
    assert!(out.starts_with("x [90, 90]\n"), "{out}");
}

#[test]
fn json_is_one_object() {
    let line = "plan --json --id flight-1 --base 2s --quantum 1s --attempts 2 --deadline 30s";
    prints(
        line,
        &expect![[r#"
        {"policy":{"max_attempts":2,"deadline_ns":30000000000,"backoff":{"exponential":"2s","quantum":"1s","jitter":"equal"}},"operations":[{"id":"flight-1","attempts":[{"attempt":1,"start_ns":0,"left_ns":30000000000,"ceiling_ns":2000000000,"unit":3393237682,"delay_ns":1000000000},{"attempt":2,"start_ns":1000000000,"left_ns":29000000000,"ceiling_ns":4000000000,"unit":1980757788,"delay_ns":2000000000}],"stops":"attempts_exhausted"}]}
    "#]],
    );
    let plan = json(line);
    assert_eq!(plan["operations"][0]["attempts"][1]["delay_ns"], 2_000_000_000_u64);
    assert_eq!(plan["policy"]["deadline_ns"], 30_000_000_000_u64);
}

#[test]
fn without_a_deadline_json_has_none() {
    let plan = json("plan --json --id flight-1 --attempts 1");
    assert!(plan["policy"]["deadline_ns"].is_null());
    assert!(plan["operations"][0]["attempts"][0]["left_ns"].is_null());
}

#[test]
fn of_a_long_schedule_the_first_thousand_attempts_are_shown() {
    let line = "plan --id x --fixed --base 1ns --attempts 4294967295";
    let out = retryctl(line).prints(0);
    assert!(out.contains("\n… and on from attempt 1001\n"), "{}", &out[out.len() - 400..]);
    let plan = json(&format!("{line} --json"));
    assert_eq!(plan["operations"][0]["attempts"].as_array().map(Vec::len), Some(1000));
    assert!(plan["operations"][0]["stops"].is_null());
}

#[test]
fn a_policy_of_a_file() {
    let line = "plan --id flight-1 --policy retries.toml#gateway";
    prints(
        line,
        &expect![[r#"
        flight-1 [1, 2, 4, 7, 5]
        attempt  starts  left  ceiling        unit  delay
              1      0s   30s       2s  3393237682     1s
              2      1s   29s       4s  1980757788     2s
              3      3s   27s       8s   697703615     4s
              4      7s   23s      10s  2033861355     7s
              5     14s   16s      10s   212772211     5s
        then stops: attempts_exhausted

        policy: at most 5 attempts in 30s, each cut after 5s; waits exponential from 2s, factor 2, cap 10s, quantum 1s, equal jitter; hints up to 60s
    "#]],
    );
    // The command line's own numbers win.
    prints(
        &format!("{line} --attempts 2 --deadline 6s"),
        &expect![[r#"
        flight-1 [1, 2]
        attempt  starts  left  ceiling        unit  delay
              1      0s    6s       2s  3393237682     1s
              2      1s    5s       4s  1980757788     2s
        then stops: attempts_exhausted

        policy: at most 2 attempts in 6s, each cut after 5s; waits exponential from 2s, factor 2, cap 10s, quantum 1s, equal jitter; hints up to 60s
    "#]],
    );
    // The only one needs no name.
    let only = json("plan --json --id x --policy one.json");
    assert_eq!(only["policy"]["max_attempts"], 3);
}

#[test]
fn what_cannot_be_right_is_named() {
    let mut texts = String::new();
    for options in [
        "--attempts 0",
        "--attempts 3 --cap 50ms",
        "--attempts 3 --quantum 21s",
        "--attempts 3 --deadline 0s",
        "--attempts 9 --fixed --base 1s --deadline 3s",
        "--attempts 3 --factor 1/2",
        "--attempts 3 --factor 1.5",
        "--attempts 3 --base 1.5s",
        "--attempts 3 --deadline 30",
        "--attempts 3 --jitter some",
        "--attempts 3 --jitter additive=1",
        "--attempts 3 --linear --fixed",
        "--attempts 3 --linear --factor 2",
        "--policy retries.toml#gatewy",
        "--policy retries.toml",
        "--policy nowhere.toml",
        "--policy plan.rs",
        "--policy retries.toml#gateway --cap 1s",
    ] {
        let err = retryctl(&format!("plan --id x {options}")).refuses(2);
        texts += &format!("{options}\n  {}\n", err.lines().next().unwrap_or_default());
    }
    expect![[r#"
        --attempts 0
          error: invalid value '0' for '--attempts <N>': 0 is not in 1..=4294967295
        --attempts 3 --cap 50ms
          error: invalid policy: cap (50ms) is below base (100ms); raise the cap or lower the base
        --attempts 3 --quantum 21s
          error: invalid policy: quantum (21s) is above cap (20s); lower the quantum or raise the cap
        --attempts 3 --deadline 0s
          error: invalid policy: deadline is 0s, which leaves no time for the first attempt; raise it
        --attempts 9 --fixed --base 1s --deadline 3s
          error: invalid policy: attempts 7 to 9 can never run: the shortest waits before the last add up to 4s, and deadline is 3s; lower max_attempts to 6, shorten the backoff or raise deadline
        --attempts 3 --factor 1/2
          error: invalid policy: factor 1/2 must be at least 1 and its numerator at most 1000; write 1.5 as `--factor 3/2`
        --attempts 3 --factor 1.5
          error: invalid value '1.5' for '--factor <P/Q>': write a ratio of whole numbers, as in `2` or `3/2`
        --attempts 3 --base 1.5s
          error: invalid value '1.5s' for '--base <TIME>': `1.5` is not a whole number in digits; use a smaller unit, as in "1s 500ms"
        --attempts 3 --deadline 30
          error: invalid value '30' for '--deadline <TIME>': `30` has no unit; write "30s"
        --attempts 3 --jitter some
          error: invalid value 'some' for '--jitter <JITTER>': write `equal`, `full`, `none` or `additive=TIME`, as in `additive=1s`
        --attempts 3 --jitter additive=1
          error: invalid value 'additive=1' for '--jitter <JITTER>': `1` has no unit; write "1s"
        --attempts 3 --linear --fixed
          error: the argument '--linear' cannot be used with '--fixed'
        --attempts 3 --linear --factor 2
          error: the argument '--linear' cannot be used with '--factor <P/Q>'
        --policy retries.toml#gatewy
          error: retries.toml has no policy `gatewy`; its policies are `gateway`, `reports`
        --policy retries.toml
          error: retries.toml has several policies, `gateway`, `reports`; write which one, as in `retries.toml#gateway`
        --policy nowhere.toml
          error: nowhere.toml: No such file or directory (os error 2); the policies are read from this file, which must be there and be UTF-8
        --policy plan.rs
          error: plan.rs: the extension tells how a file is read: `.toml` (feature `toml`) or `.json` (feature `json`); rename the file or enable the feature
        --policy retries.toml#gateway --cap 1s
          error: the argument '--policy <FILE[#NAME]>' cannot be used with '--cap <TIME>'
    "#]].assert_eq(&texts);
}

#[test]
fn what_is_missing_is_asked_for_and_help_is_no_mistake() {
    assert!(retryctl("").refuses(2).contains("Usage: retryctl"));
    assert!(retryctl("plan --attempts 3").refuses(2).contains("--id <ID>"));
    assert!(retryctl("plan --id x").refuses(2).contains("--attempts <N>"));
    assert!(retryctl("--help").prints(0).contains("Exit codes:"));
}
