//! What the compiler says of durable operations, read as product copy.

#[test]
fn durable() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/fail/*.rs");
}
