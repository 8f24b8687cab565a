//! `retryctl explain`

use std::time::Duration;

use expect_test::expect;
use retry_core::{Failure, Safety};

use crate::store::{SECOND, Store, busy};

#[test]
fn the_story_of_one_that_stopped() {
    let store = Store::with_one_of_each("explain");
    let out = store.ctl("explain 01J00000000000000000000002").prints(0);
    expect![[r#"
        payments.charge/f7ebc7e2-2a6f-8c19-a362-b0bca54e14ef: dead: attempts_exhausted, all 3 attempts are used up
          record      01J00000000000000000000002
          arguments   {"amount":5,"to":"Bo"}
          policy      at most 3 attempts in 60s; waits exponential from 100ms, factor 2, cap 20s, equal jitter; hints up to 60s
          repeating   is recognized by its key (keyed)
          code        1.4.2

          2026-11-18T11:06:41.000Z            0s  the operation begins
          2026-11-18T11:06:41.000Z            0s  attempt 1 starts
          2026-11-18T11:06:42.000Z            1s  attempt 1 failed: transient, effect possible, server 503 (gateway answered 503)
          2026-11-18T11:06:42.000Z            1s  waits 83.284722ms, until 1.083284722s (computed, ceiling 100ms)
          2026-11-18T11:06:42.083Z  1.083284722s  attempt 2 starts
          2026-11-18T11:06:43.083Z  2.083284722s  attempt 2 failed: transient, effect possible, server 503 (gateway answered 503)
          2026-11-18T11:06:43.083Z  2.083284722s  waits 155.298688ms, until 2.23858341s (computed, ceiling 200ms)
          2026-11-18T11:06:43.238Z   2.23858341s  attempt 3 starts
          2026-11-18T11:06:44.238Z   3.23858341s  attempt 3 failed: transient, effect possible, server 503 (gateway answered 503)
          2026-11-18T11:06:44.238Z   3.23858341s  stopped for good: attempts_exhausted, all 3 attempts are used up

          last error  gateway answered 503
          next        the same call answers attempts_exhausted until 2026-11-18T12:06:44.238Z, and is a new operation then
    "#]].assert_eq(&out);
}

#[test]
fn the_story_of_one_that_waits() {
    let store = Store::with_one_of_each("explain_parked");
    let out = store.ctl("explain 01J00000000000000000000004").prints(0);
    expect![[r#"
        payments.charge/fe3ff16f-a3be-8630-bdd5-8a76476eda48: waits for attempt 2
          record      01J00000000000000000000004
          arguments   {"amount":5,"to":"Bo"}
          policy      at most 3 attempts in 60s; waits exponential from 100ms, factor 2, cap 20s, equal jitter; hints up to 60s
          repeating   is recognized by its key (keyed)
          code        1.4.2

          2026-11-18T11:06:45.238Z  0s  the operation begins
          2026-11-18T11:06:45.238Z  0s  attempt 1 starts
          2026-11-18T11:06:46.238Z  1s  attempt 1 failed: transient, effect possible, server 503, hint 2s (gateway is busy)
          2026-11-18T11:06:46.238Z  1s  waits 2.266271292s, until 3.266271292s (asked for 2s, computed 63.313564ms)

          last error  gateway is busy
          lease       of 01J0000000000000000000000W-1 until 2026-11-18T11:07:15.238Z, claim 1
          time        is over at 2026-11-18T11:07:45.238Z, 59s after the last entry
          next        its holder starts attempt 2 at 2026-11-18T11:06:48.504Z; should its lease end first, the same call takes over
          by now      the lease is over: its holder is lost
    "#]].assert_eq(&out);
}

#[test]
fn json_is_one_object() {
    let store = Store::with_one_of_each("explain_json");
    let explained = store.json("explain 01J00000000000000000000001", 0);
    expect![[r#"
        {
          "arguments": {
            "amount": 5,
            "to": "Bo"
          },
          "attempts": 1,
          "code_version": "1.4.2",
          "crashes": 0,
          "created_at": "2026-11-18T11:06:40Z",
          "deadline_ns": 60000000000,
          "deferrals": 0,
          "due_at": null,
          "due_reason": null,
          "elapsed_ns": 1000000000,
          "entries": [
            {
              "at": "2026-11-18T11:06:40Z",
              "attempt": 0,
              "epoch": 0,
              "event": {
                "fingerprint": "b86db1775f186ee314e2620da5a5e3de8b96ff0f56ec1b3ee3a0b9dfc6b04648",
                "kind": "enqueued",
                "operation": "payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec",
                "policy": {
                  "backoff": {
                    "exponential": "100ms",
                    "jitter": "equal"
                  },
                  "deadline": "60s",
                  "hint_limit": "60s",
                  "max_attempts": 3
                },
                "rules": 1,
                "safety": "keyed"
              },
              "seq": 1,
              "text": "the operation begins"
            },
            {
              "at": "2026-11-18T11:06:40Z",
              "attempt": 1,
              "epoch": 1,
              "event": {
                "attempt": 1,
                "elapsed_ns": 0,
                "kind": "attempt_started"
              },
              "seq": 2,
              "text": "attempt 1 starts"
            },
            {
              "at": "2026-11-18T11:06:41Z",
              "attempt": 1,
              "epoch": 1,
              "event": {
                "attempt": 1,
                "elapsed_ns": 1000000000,
                "ended": "succeeded",
                "kind": "attempt_finished"
              },
              "seq": 3,
              "text": "attempt 1 succeeded"
            },
            {
              "at": "2026-11-18T11:06:41Z",
              "attempt": 1,
              "epoch": 1,
              "event": {
                "kind": "result_recorded",
                "sum": "a2a35e5e4eef34057d4d8d570d319cd3"
              },
              "seq": 4,
              "text": "its result is recorded"
            }
          ],
          "entries_count": 4,
          "epoch": 1,
          "expires_at": "2026-11-18T12:06:41Z",
          "fingerprint": "b86db1775f186ee314e2620da5a5e3de8b96ff0f56ec1b3ee3a0b9dfc6b04648",
          "hints": 0,
          "key": "e3c4b417-f22e-8d73-b6ed-08fd2be399ec",
          "last_attempt": 1,
          "last_error": null,
          "lease": null,
          "max_attempts": 3,
          "name": "payments.charge",
          "operation": "payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec",
          "other_records": [],
          "phase": "done",
          "planned_ns": null,
          "policy": {
            "backoff": {
              "exponential": "100ms",
              "jitter": "equal"
            },
            "deadline": "60s",
            "hint_limit": "60s",
            "max_attempts": 3
          },
          "queue": "",
          "record": "01J00000000000000000000001",
          "result": {
            "receipt": 7
          },
          "rules": 1,
          "safety": "keyed",
          "stop": null,
          "updated_at": "2026-11-18T11:06:41Z"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&explained).unwrap());
}

/// Not through numbers that this program has: larger ones would change.
#[test]
fn json_passes_results_on_as_they_are() {
    let mut store = Store::new("explain_raw");
    for (key, result) in [("1", "340282366920938463463374607431768211455"), ("2", "not JSON")] {
        let charge = store.begins("payments.charge", key, Safety::Keyed);
        store.succeeds(charge, result);
    }
    let out = store.ctl("explain payments.charge --key 1 --json").prints(0);
    assert!(out.contains(r#""result":340282366920938463463374607431768211455,"#), "{out}");
    let out = store.ctl("explain payments.charge --key 2 --json").prints(0);
    assert!(out.contains(r#""result":"not JSON","#), "{out}");
}

#[test]
fn an_operation_is_found_by_each_of_its_names() {
    let store = Store::with_one_of_each("explain_names");
    let all = store.json("list", 0);
    let charged = &all[4];
    let (operation, key) =
        (charged["operation"].as_str().unwrap(), charged["key"].as_str().unwrap());
    for id in [
        operation,
        key,
        &operation[..20],
        &key[..8],
        "01J00000000000000000000001",
        "01j00000000000000000000001",
    ] {
        let explained = store.json(&format!("explain {id}"), 0);
        assert_eq!(explained["operation"], operation, "{id}");
    }
    let explained = store.json("explain payments.charge --key order-1", 0);
    assert_eq!(explained["operation"], operation);
}

#[test]
fn what_is_not_there_or_not_clear_is_said() {
    let store = Store::with_one_of_each("explain_missing");
    let mut texts = String::new();
    for id in [
        "order-1",
        "01J00000000000000000000009",
        "payments.charge",
        "01J",
        "payments.charge --key order-9",
    ] {
        texts += &store.ctl(&format!("explain {id}")).refuses(4);
    }
    expect![[r#"
        error: there is no operation or record `order-1`; `retryctl list` shows what there is
        error: there is no operation or record `01J00000000000000000000009`; `retryctl list` shows what there is
        error: several operations begin with `payments.charge`; write more of one:
          payments.charge/fe3ff16f-a3be-8630-bdd5-8a76476eda48
          payments.charge/f7ebc7e2-2a6f-8c19-a362-b0bca54e14ef
          payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec
        error: several operations begin with `01J`; write more of one:
          01J00000000000000000000005
          01J00000000000000000000004
          01J00000000000000000000003
          01J00000000000000000000002
          01J00000000000000000000001
        error: there is no operation or record `payments.charge/397e6ff9-b688-8e54-ad60-a7fae889387b`; `retryctl list` shows what there is
    "#]].assert_eq(&texts);
}

#[test]
fn other_records_of_the_operation_are_named() {
    let mut store = Store::new("explain_again");
    let mut first = store.begins("payments.charge", "order-1", Safety::Keyed);
    store.fails(&mut first, Failure::permanent(), "declined");
    // What it came to is forgotten, and the same call is a new operation.
    store.passes(Duration::from_secs(7200));
    store.begins("payments.charge", "order-1", Safety::Keyed);
    let out = store.ctl("explain payments.charge").prints(0);
    expect!["  see also    01J00000000000000000000001, dead at 2026-11-18T11:06:41.000Z"]
        .assert_eq(out.lines().last().unwrap());
    let explained = store.json("explain payments.charge", 0);
    assert_eq!(explained["record"], "01J00000000000000000000002");
    assert_eq!(explained["other_records"], serde_json::json!(["01J00000000000000000000001"]));
}

#[test]
fn an_error_cannot_steer_a_terminal() {
    let mut store = Store::new("explain_escapes");
    let mut charge = store.begins("payments.charge", "order-1", Safety::Keyed);
    store.fails(&mut charge, busy().after(SECOND), "\u{1b}]0;owned\u{7}\r\nall is well");
    let out = store.ctl("explain payments.charge").prints(0);
    assert!(out.contains(r"(\u{1b}]0;owned\u{7}\r\nall is well)"), "{out}");
    assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{out:?}");
}
