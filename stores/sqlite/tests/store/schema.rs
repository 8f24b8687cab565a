//! The page about the tables is right.

use std::collections::BTreeSet;

use retry_core::record::Change;
use retry_core::store::{Store, Write};
use rusqlite::Connection;

use crate::support::{Folder, claim, enqueue, keyed, new, started, wait};

const PAGE: &str = include_str!("../../schema.md");

/// The queries of the page, in order.
fn queries() -> Vec<&'static str> {
    PAGE.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn each_query_of_the_page_runs() {
    let folder = Folder::new();
    let store = folder.store();
    enqueue(&store, new(keyed("waits")));
    let (done, fence) = started(keyed("done"));
    enqueue(&store, done.clone());
    let change = Change::complete(fence, 1, std::time::Duration::ZERO, "1".to_owned());
    wait(store.commit(vec![Write { record: done.record, change }])).unwrap();
    let connection = Connection::open(folder.file()).unwrap();
    let rows = |sql: &str| {
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        let mut found = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            let text = |at| match row.get::<_, rusqlite::types::Value>(at).unwrap() {
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Text(text) => text,
                other => format!("{other:?}"),
            };
            found.push((0..columns).map(text).collect::<Vec<_>>());
        }
        found
    };
    let queries = queries();
    assert_eq!(queries.len(), 10);
    for query in &queries {
        rows(query);
    }
    assert_eq!(
        rows(queries[0]),
        [["payments.charge", "done", "1"], ["payments.charge", "ready", "1"]]
    );
    assert_eq!(rows(queries[1]).len(), 1);
    assert_eq!(rows(queries[2]).len(), 0);
    claim(&store, 1);
    let pid = std::process::id().to_string();
    assert_eq!(rows(queries[2])[0][4], pid);
    assert_eq!(rows(queries[7])[0][2], pid);
    assert_eq!(rows(queries[8]), [["ok"]]);
    let story = queries[3].replace(
        "payments.charge/c1a5b4d8-2f0a-8c43-9d0c-6d4f4a3c2b1e",
        &keyed("done").to_string(),
    );
    let kinds: Vec<_> = rows(&story).into_iter().map(|row| row[3].clone()).collect();
    assert_eq!(kinds, ["enqueued", "attempt_started", "attempt_finished", "result_recorded"]);
}

#[test]
fn each_table_and_column_is_on_the_page() {
    let folder = Folder::new();
    drop(folder.store());
    let connection = Connection::open(folder.file()).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c \
                  WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let columns = statement
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .unwrap()
        .map(Result::unwrap);
    let mut tables = BTreeSet::new();
    for (table, column) in columns {
        assert!(PAGE.contains(&format!("## `{table}`")), "{table}");
        // The view and the keys and values of `meta` are told in words.
        let in_words = ["meta", "dead_letter"].contains(&table.as_str());
        assert!(in_words || PAGE.contains(&format!("`{column}`")), "{table}.{column}");
        tables.insert(table);
    }
    let expected = ["dead_letter", "event", "idempotency", "meta", "operation", "review", "worker"];
    assert!(tables.iter().eq(expected), "{tables:?}");
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert!(PAGE.contains(&format!("\n| {version} | ")));
    assert!(!PAGE.contains(&format!("\n| {} | ", version + 1)));
    assert!(PAGE.contains(&format!("{} (`rtry`)", i32::from_be_bytes(*b"rtry"))));
}
