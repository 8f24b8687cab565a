//! Two calls are the same if their arguments are, as canonical JSON: whatever the
//! library keeps of the order of keys.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::json;

use super::*;

/// Texts and SHA-256 sums by another program.
#[test]
fn vectors() {
    for (value, canonical, fingerprint) in [
        (json!({}), "{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
        (json!([]), "[]", "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
        (json!(null), "null", "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"),
        (
            json!({ "b": { "d": null, "c": [1, 2] }, "a": 1 }),
            r#"{"a":1,"b":{"c":[1,2],"d":null}}"#,
            "6146dd4938e3bf91d7c43fbcd7072936d0fc295ac5f55e80da21fad03fa23831",
        ),
        (
            json!({ "z": [{ "y": 2, "x": 1 }], "a": { "c": 2, "b": 1 } }),
            r#"{"a":{"b":1,"c":2},"z":[{"x":1,"y":2}]}"#,
            "9d95d5d929631ce1ad325f3fe488c1766b5c4e32c70ac8c5d2ee9c704f05eb7d",
        ),
        (
            json!({ "🦀": 5, "∀": 4, "ä": 3, "a": 2, "B": 1 }),
            r#"{"B":1,"a":2,"ä":3,"∀":4,"🦀":5}"#,
            "4bba66c61446217d300a14e35617316941e3d7a514d0cf3bdf3be1b69bb94c69",
        ),
        (
            json!([0.1, 1.0, -0.0, 1e300, 1.5e-7, 100_000.0]),
            "[0.1,1.0,-0.0,1e+300,1.5e-7,100000.0]",
            "cd8dc746aa3887d3e0f8ae51b5474fd12134df5e694083d6769b6597a1e00f35",
        ),
        (
            json!("\u{0}\u{1f}\"\\/\n\t\u{7f}ä🦀"),
            "\"\\u0000\\u001f\\\"\\\\/\\n\\t\u{7f}ä🦀\"",
            "c2e36a0046814bfec6dbae0f2af53835d7ee0c2c73263fb778cb812a8abf5103",
        ),
    ] {
        let arguments = Arguments::of(&value).unwrap();
        assert_eq!(arguments.json(), canonical);
        assert_eq!(arguments.fingerprint().to_string(), fingerprint, "{canonical}");
        assert_eq!(Arguments::from_json(canonical.to_owned()), arguments);
        let read: serde_json::Value = serde_json::from_str(canonical).unwrap();
        assert_eq!(Arguments::of(&read).unwrap(), arguments, "what is canonical stays so");
    }
}

#[test]
fn the_order_of_fields_does_not_matter_and_that_of_items_does() {
    #[derive(Serialize)]
    struct One {
        to: &'static str,
        amount: u64,
    }
    #[derive(Serialize)]
    struct Other {
        amount: u64,
        to: &'static str,
    }
    let one = Arguments::of(&One { to: "Bo", amount: u64::MAX }).unwrap();
    let other = Arguments::of(&Other { amount: u64::MAX, to: "Bo" }).unwrap();
    assert_eq!(one, other);
    assert_eq!(one.json(), r#"{"amount":18446744073709551615,"to":"Bo"}"#);
    assert_ne!(Arguments::of(&[1, 2]).unwrap(), Arguments::of(&[2, 1]).unwrap());
    let hashed: HashMap<_, _> = (0..100).map(|n| (n.to_string(), n)).collect();
    let sorted: BTreeMap<_, _> = hashed.clone().into_iter().collect();
    assert_eq!(Arguments::of(&hashed).unwrap(), Arguments::of(&sorted).unwrap());
}

#[test]
fn what_differs_in_any_value_differs() {
    let texts = [
        json!(1),
        json!("1"),
        json!(1.0),
        json!(true),
        json!(null),
        json!([]),
        json!([null]),
        json!({}),
        json!({ "a": null }),
        json!("é"),
        // The same to a reader, and not to the other side.
        json!("e\u{301}"),
    ];
    let prints: std::collections::HashSet<_> =
        texts.iter().map(|value| Arguments::of(value).unwrap().fingerprint()).collect();
    assert_eq!(prints.len(), texts.len());
}

#[test]
fn what_json_cannot_say_is_an_error() {
    for error in [
        Arguments::of(&HashMap::from([((1, 2), 3)])).unwrap_err(),
        Arguments::of(&BTreeMap::from([(vec![1_u8], 3)])).unwrap_err(),
        Arguments::of(&u128::MAX).unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(text.starts_with("the arguments cannot be kept as JSON: "), "{text}");
    }
    // JSON has no NaN, and the library says null.
    assert_eq!(Arguments::of(&f64::NAN).unwrap().json(), "null");
}
