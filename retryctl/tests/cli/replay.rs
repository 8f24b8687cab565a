//! `retryctl replay`

use expect_test::expect;
use retry_core::Safety;

use crate::store::Store;

#[test]
fn one_record_or_all_of_them() {
    let store = Store::with_one_of_each("replay");
    let one = store.ctl("replay 01J00000000000000000000002").prints(0);
    expect![[r#"
        1 record, 10 entries, 6 decisions, all as decided
    "#]]
    .assert_eq(&one);
    expect![[r#"
        5 records, 24 entries, 12 decisions, all as decided
    "#]]
    .assert_eq(&store.ctl("replay --all").prints(0));
    let json = store.ctl("replay --all --json").prints(0);
    expect![[r#"
        {"records":5,"entries":24,"decisions":12,"differs":[],"unreadable":[]}
    "#]]
    .assert_eq(&json);
}

#[test]
fn an_empty_store_has_nothing_that_differs() {
    let store = Store::new("replay_empty");
    expect![[r#"
        0 records, 0 entries, 0 decisions, all as decided
    "#]]
    .assert_eq(&store.ctl("replay --all").prints(0));
}

#[test]
fn a_decision_that_differs_is_named() {
    let store = Store::with_one_of_each("replay_differs");
    // The attempt failed for good, and was retried.
    store.forge("01J00000000000000000000004", r#""transient""#, r#""permanent""#);
    expect![[r#"
        payments.charge/fe3ff16f-a3be-8630-bdd5-8a76476eda48: entry 4 of record 01J00000000000000000000004 says schedule_retry after attempt 1 in 2.266271292s (ceiling 100ms, unit 1143626492, computed 63.313564ms, hint 2s), starting at 3.266271292s, and the decision is fail_permanent at 1s, for good
        5 records, 20 entries, 10 decisions, 1 differs
    "#]].assert_eq(&store.ctl("replay --all").prints(1));
    expect![[r#"
        payments.charge/fe3ff16f-a3be-8630-bdd5-8a76476eda48: entry 4 of record 01J00000000000000000000004 says schedule_retry after attempt 1 in 2.266271292s (ceiling 100ms, unit 1143626492, computed 63.313564ms, hint 2s), starting at 3.266271292s, and the decision is fail_permanent at 1s, for good
        1 record, 0 entries, 0 decisions, 1 differs
    "#]].assert_eq(&store.ctl("replay 01J00000000000000000000004").prints(1));
    expect![[r#"
        {"records":5,"entries":20,"decisions":10,"differs":[{"record":"01J00000000000000000000004","operation":"payments.charge/fe3ff16f-a3be-8630-bdd5-8a76476eda48","entry":4,"recorded":"schedule_retry after attempt 1 in 2.266271292s (ceiling 100ms, unit 1143626492, computed 63.313564ms, hint 2s), starting at 3.266271292s","decided":"fail_permanent at 1s, for good"}],"unreadable":[]}
    "#]].assert_eq(&store.ctl("replay --all --json").prints(1));
}

const DAMAGED_ENTRY: &str = "DROP TRIGGER event_is_never_changed; \
    UPDATE event SET body = replace(body, '503', '504') \
    WHERE operation = '01J00000000000000000000002' AND seq = 3;";

#[test]
fn a_damaged_entry_is_named_and_the_others_are_replayed() {
    let store = Store::with_one_of_each("replay_damaged");
    store.damage(DAMAGED_ENTRY);
    expect![[r#"
        payments.charge/f7ebc7e2-2a6f-8c19-a362-b0bca54e14ef: record 01J00000000000000000000002 is damaged at entry 3: its checksum does not fit its content, or an entry before it is missing; nothing was changed, restore it from a backup
        5 records, 14 entries, 6 decisions, 1 cannot be read
    "#]].assert_eq(&store.ctl("replay --all").prints(1));
    expect![[r#"
        {"records":5,"entries":14,"decisions":6,"differs":[],"unreadable":[{"record":"01J00000000000000000000002","operation":"payments.charge/f7ebc7e2-2a6f-8c19-a362-b0bca54e14ef","error":"record 01J00000000000000000000002 is damaged at entry 3: its checksum does not fit its content, or an entry before it is missing; nothing was changed, restore it from a backup"}]}
    "#]].assert_eq(&store.ctl("replay --all --json").prints(1));
    expect![[r#"
        record 01J00000000000000000000002 is damaged at entry 3: its checksum does not fit its content, or an entry before it is missing; nothing was changed, restore it from a backup
        1 record, 0 entries, 0 decisions, 1 cannot be read
    "#]].assert_eq(&store.ctl("replay 01J00000000000000000000002").prints(1));
    expect![[r#"
        error: record 01J00000000000000000000002 is damaged at entry 3: its checksum does not fit its content, or an entry before it is missing; nothing was changed, restore it from a backup
    "#]].assert_eq(&store.ctl("explain 01J00000000000000000000002").refuses(1));
    // The rest is as it was.
    store.ctl("explain 01J00000000000000000000001").prints(0);
}

/// The same call would begin it once more, or be given what another one came to.
#[test]
fn a_record_that_its_key_does_not_find_is_named() {
    let store = Store::with_one_of_each("replay_key");
    store.damage("DELETE FROM idempotency WHERE operation = '01J00000000000000000000004'");
    expect![[r#"
        payments.charge/fe3ff16f-a3be-8630-bdd5-8a76476eda48: record 01J00000000000000000000004 is damaged: its key is missing in the table `idempotency`; nothing was changed, restore it from a backup
        5 records, 20 entries, 10 decisions, 1 cannot be read
    "#]]
    .assert_eq(&store.ctl("replay --all").prints(1));
    expect![[r#"
        record 01J00000000000000000000004 is damaged: its key is missing in the table `idempotency`; nothing was changed, restore it from a backup
        1 record, 0 entries, 0 decisions, 1 cannot be read
    "#]]
    .assert_eq(&store.ctl("replay 01J00000000000000000000004").prints(1));
    let store = Store::with_one_of_each("replay_other_key");
    store.damage(
        "UPDATE idempotency SET operation = '01J00000000000000000000003' \
         WHERE operation = '01J00000000000000000000004'",
    );
    expect![[r#"
        payments.charge/fe3ff16f-a3be-8630-bdd5-8a76476eda48: record 01J00000000000000000000003 is damaged: its key stands for another operation; nothing was changed, restore it from a backup
        5 records, 20 entries, 10 decisions, 1 cannot be read
    "#]]
    .assert_eq(&store.ctl("replay --all").prints(1));
}

/// Wherever they are: at the beginning, at the end, next to each other.
#[test]
fn rows_that_cannot_be_read_do_not_hide_the_others() {
    let mut store = Store::new("replay_rows");
    for key in 0..1203 {
        store.begins("payments.charge", &key.to_string(), Safety::Keyed);
    }
    for record in [1, 2, 500, 703, 704, 1203] {
        let record = format!("01J{record:023}");
        store.damage(&format!("UPDATE operation SET policy = 'none' WHERE id = '{record}'"));
    }
    let report = store.json("replay --all", 1);
    assert_eq!(report["records"], 1203);
    assert_eq!(report["entries"], 2 * (1203 - 6));
    let found: Vec<_> = report["unreadable"].as_array().unwrap().iter().collect();
    let records: Vec<_> = found.iter().map(|found| found["record"].as_str().unwrap()).collect();
    let expected = [1203, 704, 703, 500, 2, 1].map(|record| format!("01J{record:023}"));
    assert_eq!(records, expected);
    expect!["record 01J00000000000000000001203 is damaged: the column `policy` cannot be what was written: expected ident at line 1 column 2; nothing was changed, restore it from a backup"].assert_eq(found[0]["error"].as_str().unwrap());
    // Nor do they hide one that is asked for by its beginning.
    let key = store.json("explain 01J00000000000000000000600", 0)["key"].clone();
    store.ctl(&format!("explain {}", key.as_str().unwrap())).prints(0);
    store.ctl("explain nothing-like-that").refuses(1);
    store.ctl("explain payments.charge --key 600").prints(0);
}
