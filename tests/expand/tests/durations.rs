//! Durations are read in two crates, of which neither can use the other: the
//! attribute's `"30s"` and a policy file's are one grammar with one set of texts.

const ATTRIBUTE: &str = include_str!("../../../retry-macros/src/duration.rs");
const FILE: &str = include_str!("../../../retry-core/src/duration.rs");

#[test]
fn both_crates_read_durations_by_the_same_code() {
    for (begins, ends) in [
        ("/// The units", "/// Reads the literal"),
        ("/// Reads a duration: whole numbers", "#[cfg(test)]"),
    ] {
        let start = ATTRIBUTE.find(begins).unwrap_or_else(|| panic!("{begins} is gone"));
        let end = ATTRIBUTE.find(ends).unwrap_or_else(|| panic!("{ends} is gone"));
        let part = ATTRIBUTE[start..end].trim();
        assert!(FILE.contains(part), "the copies of `{begins}` differ");
    }
}
