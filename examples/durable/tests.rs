//! The example as it is run, in processes of its own.

use std::collections::BTreeMap;
use std::process::{Command, Output};

type Figures = BTreeMap<String, u64>;

/// Builds the example, where that was not done, and runs it as the README says:
/// this program, which is made of tests, cannot be its own worker.
fn durable(args: &[&str]) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--locked", "--example", "durable", "--"]).args(args);
    // In the workspace's folder, for the same features as everywhere else.
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    cargo.output().unwrap()
}

fn figures(args: &[&str]) -> Figures {
    let output = durable(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{output:?}\n{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The same, with the store in a folder that is removed.
fn kept_figures(args: &[&str]) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("payments.db");
    figures(&[args, &["--store", store.to_str().unwrap()]].concat())
}

#[track_caller]
fn assert_sound(figures: &Figures, orders: u64) {
    for zero in ["duplicates", "unexplained", "counter_regressions", "over_policy"] {
        assert_eq!(figures[zero], 0, "{zero}: {figures:?}");
    }
    assert_eq!(figures["orders"], orders);
    // What is neither in review nor dead is done, so charged.
    assert!(figures["charged"] + figures["review"] + figures["dead"] >= orders, "{figures:?}");
}

#[test]
fn killed_again_and_again_it_charges_once_or_says_why() {
    let figures = kept_figures(&["--json", "--orders", "60", "--kills", "8"]);
    assert_sound(&figures, 60);
    assert_eq!(figures["kills"], 8);
    let fields: Vec<_> = figures.keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "charged",
            "counter_regressions",
            "dead",
            "duplicates",
            "kills",
            "orders",
            "over_policy",
            "review",
            "unexplained",
        ]
    );
}

#[test]
fn a_count_in_memory_is_caught_by_the_book() {
    let figures = figures(&["--json", "--kills", "12", "--break", "count"]);
    assert!(figures["counter_regressions"] > 0, "{figures:?}");
    // The key is the same, so nothing was charged twice even then.
    assert_eq!(figures["duplicates"], 0, "{figures:?}");
}

#[test]
fn nobody_killed_nothing_lost() {
    let figures = kept_figures(&["--json", "--orders", "20", "--kills", "0"]);
    assert_sound(&figures, 20);
    assert_eq!(figures["kills"], 0);
}

#[test]
fn a_store_that_is_there_is_left_alone() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let before = std::fs::read(file).unwrap();
    let output = durable(&["--orders", "1", "--store", file]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("name a new one"), "{output:?}");
    assert_eq!(std::fs::read(file).unwrap(), before);
}
