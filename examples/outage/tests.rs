//! The figures follow from keys and policies: they are the same in every run.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use crate::book::Book;
use crate::figures::WakeUps;
use crate::picture::draw;
use crate::report::Report;
use crate::run::{Runs, run};

/// What the example runs without options.
fn default_runs() -> &'static Runs {
    static RUNS: OnceLock<Runs> = OnceLock::new();
    RUNS.get_or_init(|| run(10_000).unwrap())
}

fn report() -> Report {
    Report::of(default_runs())
}

/// As a table has it.
fn rounded(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}

#[test]
fn calls_multiply_by_27_and_with_a_budget_by_at_most_3() {
    let Report { naive, budgeted, .. } = report();
    assert_eq!((rounded(naive.amplification), naive.most), (27.0, 27));
    assert!(budgeted.amplification <= 3.0, "{budgeted:?}");
    assert!(budgeted.most <= 3, "{budgeted:?}");
}

#[test]
fn while_no_token_is_left_they_multiply_by_at_most_one_and_a_fifth() {
    let Report { naive, budgeted, empty, .. } = report();
    // Most of the outage.
    assert!(empty.end - empty.start > Duration::from_secs(7), "{empty:?}");
    assert_eq!(rounded(naive.amplification_while_empty), 27.0);
    assert!(budgeted.amplification_while_empty <= 1.2, "{budgeted:?}");

    // However it is counted: what arrived in that time, over what was asked for.
    let Book { requests, calls, .. } = &default_runs().budgeted;
    let arrived = calls.iter().filter(|call| empty.contains(&call.at)).count();
    let asked = requests.iter().filter(|request| empty.contains(&request.at)).count();
    assert!(arrived * 10 <= asked * 12, "{arrived} calls, {asked} requests");
}

#[test]
fn retries_are_spread_over_half_of_the_ceiling() {
    let Runs { naive, budgeted, .. } = default_runs();
    for attempt in [2, 3] {
        let woken = WakeUps::of(budgeted, attempt);
        assert!(woken.all() > 50, "{woken:?}");
        assert!(f64::from(woken.largest()) <= 2.0 * woken.mean(), "{woken:?}");
    }
    // All that failed at once retry at once.
    let woken = WakeUps::of(naive, 2);
    assert_eq!((woken.largest(), woken.all()), (1500, 1500));

    let Report { naive, budgeted, .. } = report();
    assert!(naive.peak_to_mean > 5.0, "{naive:?}");
    assert!(budgeted.peak_to_mean <= 2.0, "{budgeted:?}");
}

#[test]
fn retries_keep_the_store_down_and_with_a_budget_they_do_not() {
    let Report { naive, budgeted, .. } = report();
    assert_eq!((naive.recovery_s, budgeted.recovery_s), (Some(70.3), Some(0.0)));
}

#[test]
fn first_attempts_need_no_token() {
    let Report { naive, budgeted, .. } = report();
    assert_eq!(budgeted.first_attempts_served, 1.0);
    assert!(naive.first_attempts_served < 0.4, "{naive:?}");
}

#[test]
fn one_that_floods_takes_no_other_share_of_the_retries() {
    let Report { naive, budgeted, .. } = report();
    assert!(naive.shares["crawler"] > 0.89, "{naive:?}");
    for (tenant, share) in &budgeted.shares {
        assert!((share - 1.0 / 3.0).abs() < 0.02, "{tenant}: {budgeted:?}");
    }
}

#[test]
fn two_runs_are_the_same_call_by_call() {
    let [one, other] = [1000, 1000].map(|callers| run(callers).unwrap());
    assert_eq!(one.naive, other.naive);
    assert_eq!(one.budgeted, other.budgeted);
    assert_eq!(Report::of(&one), Report::of(&other));
}

#[test]
fn json_is_one_object_of_two_with_the_same_fields() {
    type Json = BTreeMap<String, BTreeMap<String, serde_json::Value>>;
    let json = serde_json::to_string(&report()).unwrap();
    let json: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(json.keys().collect::<Vec<_>>(), ["budgeted", "naive"]);
    for figures in json.values() {
        assert_eq!(
            figures.keys().collect::<Vec<_>>(),
            [
                "amplification",
                "amplification_while_empty",
                "first_attempts_served",
                "peak_to_mean",
                "recovery_s",
                "shares",
            ]
        );
        assert_eq!(figures["shares"].as_object().unwrap().len(), 3);
    }
}

#[test]
fn the_front_page_has_these_figures() {
    let report = report().to_string();
    let (_, page) = include_str!("../../README.md").split_once("<!-- outage:begin -->").unwrap();
    let (figures, _) = page.split_once("<!-- outage:end -->").unwrap();
    let rows: Vec<_> = figures.trim().lines().filter(|row| !row.starts_with("```")).collect();
    assert!(rows.len() > 5);
    for row in rows {
        assert!(report.lines().any(|line| line == row), "{row}\n\n{report}");
    }
}

#[test]
fn the_pictures_are_written_and_well_formed() {
    let dir = tempfile::tempdir().unwrap();
    let pictures = draw(&run(1000).unwrap(), &dir.path().join("made")).unwrap();
    assert_eq!(pictures.len(), 2);
    for picture in &pictures {
        let text = fs::read_to_string(picture).unwrap();
        assert!(text.starts_with("<svg ") && text.trim_end().ends_with("</svg>"));
        assert_is_balanced(&text);
        assert!(text.matches("<text ").count() > 10, "{}", picture.display());
    }
}

/// Each tag that is opened is closed, in turn.
fn assert_is_balanced(xml: &str) {
    let mut open = Vec::new();
    for tag in xml.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap();
        let name = tag.split_whitespace().next().unwrap();
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed)),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
