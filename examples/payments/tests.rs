//! Over 1000 orders a seed: each is charged once, or reported with its reason.

use std::collections::BTreeMap;

use crate::args::{Args, Broken};
use crate::report::Report;
use crate::run::run;

const ORDERS: u32 = 1000;

async fn report(seed: u64, broken: Option<Broken>) -> Report {
    run(&Args { orders: ORDERS, seed, json: true, broken }).await.unwrap()
}

async fn charges_once_or_says_why(seed: u64) {
    let report = report(seed, None).await;
    assert_eq!((report.orders, report.duplicates, report.unexplained), (1000, 0, 0));
    assert_eq!(report.book.label_duplicates, 0);

    // Most are charged, and the reports name what the script holds for certain.
    let stopped: u32 = report.stops.values().sum();
    assert!(report.charged > 900, "{report:?}");
    assert!(report.charged + stopped as usize >= 1000, "{report:?}");
    for reason in ["fail_permanent", "manual_review", "attempts_exhausted", "hint_too_long"] {
        assert!(report.stops.contains_key(reason), "{reason}: {report:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_order_is_charged_once_or_says_why_seed_1() {
    charges_once_or_says_why(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_order_is_charged_once_or_says_why_seed_2() {
    charges_once_or_says_why(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_order_is_charged_once_or_says_why_seed_3() {
    charges_once_or_says_why(3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_key_an_attempt_is_caught_by_the_book() {
    let report = report(1, Some(Broken::Key)).await;
    assert!(report.duplicates > 0);
    assert!(!report.is_sound());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_is_one_object_of_six_fields() {
    let report = run(&Args { orders: 3, seed: 1, json: true, broken: None }).await.unwrap();
    let json: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    let fields: Vec<_> = json.keys().map(String::as_str).collect();
    assert_eq!(fields, ["calls", "charged", "duplicates", "orders", "stops", "unexplained"]);
}
