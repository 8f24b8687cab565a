//! `retryctl list`

use expect_test::expect;
use retry_core::Safety;

use crate::store::Store;

#[test]
fn the_latest_comes_first() {
    let store = Store::with_one_of_each("list");
    expect![[r#"
        record                      operation                                             phase    attempts  updated                   what holds
        01J00000000000000000000005  labels.print/fddde7ad-e7c8-82a9-a89b-684e153c5175     running       1/3  2026-11-18T11:06:46.238Z  lease over since 2026-11-18T11:07:16.238Z
        01J00000000000000000000004  payments.charge/fe3ff16f-a3be-8630-bdd5-8a76476eda48  parked        1/3  2026-11-18T11:06:46.238Z  due 2026-11-18T11:06:48.504Z, lease over since 2026-11-18T11:07:15.238Z
        01J00000000000000000000003  labels.print/e8f4adc6-8161-8751-884a-31859256cf98     review        1/3  2026-11-18T11:06:45.238Z  manual_review
        01J00000000000000000000002  payments.charge/f7ebc7e2-2a6f-8c19-a362-b0bca54e14ef  dead          3/3  2026-11-18T11:06:44.238Z  attempts_exhausted
        01J00000000000000000000001  payments.charge/e3c4b417-f22e-8d73-b6ed-08fd2be399ec  done          1/3  2026-11-18T11:06:41.000Z
    "#]].assert_eq(&store.ctl("list").prints(0));
}

#[test]
fn by_name_and_phase() {
    let store = Store::with_one_of_each("list_by");
    let operations = |line: &str| {
        let list = store.json(line, 0);
        let operations = list.as_array().unwrap().iter();
        operations
            .map(|operation| {
                format!("{} {}", operation["name"].as_str().unwrap(), operation["phase"])
            })
            .collect::<Vec<_>>()
            .join("\n")
    };
    expect![[r#"
        labels.print "running"
        labels.print "review""#]]
    .assert_eq(&operations("list --name labels.print"));
    expect![[r#"payments.charge "dead""#]].assert_eq(&operations("list --phase dead"));
    expect![[r#"payments.charge "parked""#]]
        .assert_eq(&operations("list --name payments.charge --phase parked"));
    expect![""].assert_eq(&operations("list --phase review --name payments.charge"));
    let err = store.ctl("list --phase stuck").refuses(2);
    assert!(err.contains("`stuck` is not a phase of an operation"), "{err}");
}

#[test]
fn json_has_everything_that_the_entries_come_to() {
    let store = Store::with_one_of_each("list_json");
    let list = store.json("list --limit 2", 0);
    expect![[r#"
        [
          {
            "attempts": 1,
            "code_version": "1.4.2",
            "crashes": 0,
            "created_at": "2026-11-18T11:06:46.23858341Z",
            "deadline_ns": 60000000000,
            "deferrals": 0,
            "due_at": null,
            "due_reason": null,
            "elapsed_ns": 0,
            "entries_count": 2,
            "epoch": 1,
            "expires_at": null,
            "fingerprint": "b86db1775f186ee314e2620da5a5e3de8b96ff0f56ec1b3ee3a0b9dfc6b04648",
            "hints": 0,
            "key": "fddde7ad-e7c8-82a9-a89b-684e153c5175",
            "last_attempt": 1,
            "last_error": null,
            "lease": {
              "holder": "01J0000000000000000000000W-1",
              "until": "2026-11-18T11:07:16.23858341Z",
              "worker": "01J0000000000000000000000W"
            },
            "max_attempts": 3,
            "name": "labels.print",
            "operation": "labels.print/fddde7ad-e7c8-82a9-a89b-684e153c5175",
            "phase": "running",
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
            "record": "01J00000000000000000000005",
            "rules": 1,
            "safety": "at_most_once",
            "stop": null,
            "updated_at": "2026-11-18T11:06:46.23858341Z"
          },
          {
            "attempts": 1,
            "code_version": "1.4.2",
            "crashes": 0,
            "created_at": "2026-11-18T11:06:45.23858341Z",
            "deadline_ns": 60000000000,
            "deferrals": 0,
            "due_at": "2026-11-18T11:06:48.504854702Z",
            "due_reason": null,
            "elapsed_ns": 1000000000,
            "entries_count": 4,
            "epoch": 1,
            "expires_at": null,
            "fingerprint": "b86db1775f186ee314e2620da5a5e3de8b96ff0f56ec1b3ee3a0b9dfc6b04648",
            "hints": 1,
            "key": "fe3ff16f-a3be-8630-bdd5-8a76476eda48",
            "last_attempt": 1,
            "last_error": "gateway is busy",
            "lease": {
              "holder": "01J0000000000000000000000W-1",
              "until": "2026-11-18T11:07:15.23858341Z",
              "worker": "01J0000000000000000000000W"
            },
            "max_attempts": 3,
            "name": "payments.charge",
            "operation": "payments.charge/fe3ff16f-a3be-8630-bdd5-8a76476eda48",
            "phase": "parked",
            "planned_ns": 3266271292,
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
            "record": "01J00000000000000000000004",
            "rules": 1,
            "safety": "keyed",
            "stop": null,
            "updated_at": "2026-11-18T11:06:46.23858341Z"
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&list).unwrap());
}

#[test]
fn a_list_goes_on_where_it_ended() {
    let store = Store::with_one_of_each("list_pages");
    let first = store.ctl("list --limit 2").prints(0);
    let last = first.lines().last().unwrap();
    expect!["… and on with `--before 01J00000000000000000000004`"].assert_eq(last);
    let before = last.split('`').nth(1).unwrap();
    let second = store.ctl(&format!("list {before} --limit 9")).prints(0);
    assert_eq!(second.lines().count(), 1 + 3, "{second}");
}

#[test]
fn an_empty_store_has_a_heading() {
    let store = Store::new("list_empty");
    expect![[r#"
        record  operation  phase  attempts  updated  what holds
    "#]]
    .assert_eq(&store.ctl("list").prints(0));
    assert_eq!(store.json("list", 0), serde_json::json!([]));
}

#[test]
fn a_row_that_cannot_be_read_does_not_hide_the_others() {
    let store = Store::with_one_of_each("list_damaged");
    store.damage("UPDATE operation SET policy = 'none' WHERE id = '01J00000000000000000000003'");
    let (out, err) = store.ctl("list").says(1);
    assert_eq!(out.lines().count(), 1 + 4, "{out}");
    expect![[r#"
        error: record 01J00000000000000000000003 is damaged: the column `policy` cannot be what was written: expected ident at line 1 column 2; nothing was changed, restore it from a backup
    "#]].assert_eq(&err);
    let (json, _) = store.ctl("list --json").says(1);
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(list.as_array().map(Vec::len), Some(4));
}

#[test]
fn whoever_reads_may_stop_reading() {
    let mut store = Store::new("list_pipe");
    for key in 0..700 {
        store.begins("payments.charge", &key.to_string(), Safety::Keyed);
    }
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_retryctl"))
        .args(["list", "--store", store.path(), "--limit", "700"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(program.stdout.take());
    let ended = program.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
}
