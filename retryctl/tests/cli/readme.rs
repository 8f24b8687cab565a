//! What the README shows is what the program prints.

use serde_json::Value;

use crate::run::retryctl;
use crate::store::Store;

const README: &str = include_str!("../../README.md");

/// The output of a command that the README shows.
fn shown(command: &str) -> &str {
    let start = format!("$ retryctl {command}\n");
    let (_, block) = README.split_once(&start).unwrap_or_else(|| panic!("no `{command}`"));
    block.split("```").next().unwrap()
}

#[test]
fn its_commands_print_what_it_shows() {
    let plan = "plan --id flight-1 --base 2s --cap 60s --quantum 1s --attempts 6";
    assert_eq!(retryctl(plan).prints(0), shown(plan));
    let store = Store::with_one_of_each("readme");
    for command in ["explain payments.charge --key order-2", "replay --all"] {
        assert_eq!(store.ctl(command).prints(0), shown(command));
    }
}

#[test]
fn every_field_of_json_is_described() {
    let store = Store::with_one_of_each("readme_json");
    let plan = retryctl("plan --json --id x --attempts 1").prints(0);
    let mut fields = Vec::new();
    names(&serde_json::from_str(&plan).unwrap(), &mut fields);
    names(&store.json("explain 01J00000000000000000000002", 0), &mut fields);
    names(&store.json("list", 0), &mut fields);
    store.forge("01J00000000000000000000004", r#""transient""#, r#""permanent""#);
    store.damage("UPDATE operation SET policy = 'none' WHERE id = '01J00000000000000000000003'");
    names(&store.json("replay --all", 1), &mut fields);
    for field in fields {
        let parts = [
            format!("`{field}`"),
            format!("`{field}[]`"),
            format!(".{field}`"),
            format!(".{field}[]`"),
        ];
        assert!(parts.iter().any(|part| README.contains(part)), "`{field}` is not described");
    }
}

/// The fields of an object and of those in it that are of this program's making.
fn names(value: &Value, fields: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                fields.push(name.clone());
                let is_of_others =
                    ["event", "arguments", "result", "backoff"].contains(&name.as_str());
                let is_policy = name == "policy" && value["hint_limit"].is_string();
                if !is_of_others && !is_policy {
                    names(value, fields);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, fields)),
        _ => {}
    }
}
