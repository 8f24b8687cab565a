//! What the compiler says to an author, read as product copy.
//!
//! After a change of wording run with `TRYBUILD=overwrite`, and read every
//! changed `.stderr` aloud.

#[test]
fn classify() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/classify/pass/*.rs");
    cases.compile_fail("ui/classify/fail/*.rs");
}

#[test]
fn non_idempotent() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/non_idempotent/pass/*.rs");
    cases.compile_fail("ui/non_idempotent/fail/*.rs");
}

#[test]
fn retryable() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/retryable/pass/*.rs");
    cases.compile_fail("ui/retryable/fail/*.rs");
}
