//! Stores that cannot be read, and command lines that cannot be meant.

use expect_test::expect;

use crate::run::retryctl;
use crate::store::Store;

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let missing = concat!(env!("CARGO_TARGET_TMPDIR"), "/not-there.db");
    let err = retryctl(&format!("list --store {missing}")).refuses(3);
    expect![[r#"
        error: cannot open the store not-there.db: there is no such file; check the path
    "#]]
    .assert_eq(&err.replace(missing, "not-there.db"));
    assert!(!std::path::Path::new(missing).exists());
}

#[test]
fn a_file_that_is_no_store_is_refused() {
    let err = retryctl("list --store retries.toml").refuses(3);
    let folder = std::fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli")).unwrap();
    expect![[r#"
        error: cannot open the store ./retries.toml: it is not an SQLite database, and was left as it is; name another file
    "#]].assert_eq(&err.replace(folder.to_str().unwrap(), "."));
}

#[test]
fn a_store_of_a_newer_schema_is_refused() {
    let store = Store::with_one_of_each("newer");
    store.damage("PRAGMA user_version = 99");
    let texts = ["list", "explain payments", "replay --all", "list --json"]
        .map(|line| store.ctl(line).refuses(3).replace(store.path(), "retries.db"));
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    expect![[r#"
        error: the store retries.db has schema 99, and this version knows schemas up to 2; open it with the version that made it, or a later one
    "#]].assert_eq(&texts[0]);
}

#[test]
fn a_command_that_names_no_store_or_no_record_is_refused() {
    let mut texts = String::new();
    for line in [
        "list",
        "explain --store retries.db",
        "replay --store retries.db",
        "replay --store retries.db --all payments",
        "replay --store retries.db --all --key order-1",
        "explain --store retries.db payments.charge --key=",
        "list --store retries.db --before order-1",
        "list --store retries.db --limit many",
    ] {
        let err = retryctl(line).refuses(2);
        let said: Vec<_> = err.lines().take_while(|line| !line.is_empty()).collect();
        texts += &format!("{line}\n  {}\n", said.join("\n  "));
    }
    expect![[r#"
        list
          error: the following required arguments were not provided:
            --store <PATH>
        explain --store retries.db
          error: the following required arguments were not provided:
            <ID>
        replay --store retries.db
          error: the following required arguments were not provided:
            <ID>
        replay --store retries.db --all payments
          error: the argument '--all' cannot be used with '[ID]'
        replay --store retries.db --all --key order-1
          error: the argument '--all' cannot be used with '--key <KEY>'
        explain --store retries.db payments.charge --key=
          error: --key: the idempotency key is empty; give each logical call a value of its own
        list --store retries.db --before order-1
          error: invalid value 'order-1' for '--before <RECORD>': `order-1` is not a record's id
        list --store retries.db --limit many
          error: invalid value 'many' for '--limit <N>': invalid digit found in string
    "#]]
    .assert_eq(&texts);
}

#[test]
fn the_environment_names_the_store() {
    let store = Store::with_one_of_each("environment");
    let listed = std::process::Command::new(env!("CARGO_BIN_EXE_retryctl"))
        .args(["list", "--json", "--limit", "1"])
        .env("RETRY_STORE", store.path())
        .output()
        .unwrap();
    assert_eq!(listed.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(listed.stdout).unwrap(),
        store.ctl("list --json --limit 1").prints(0)
    );
}
