//! Several processes on one file, and what the system refuses: each test starts
//! this program again, as a child.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(dead_code, reason = "of the support for tests, not all is used here")]

mod child;
#[path = "../support/mod.rs"]
mod support;
mod tests;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("child") {
        return child::run(arguments);
    }
    let filter = first.filter(|first| !first.starts_with('-')).unwrap_or_default();
    let mut ran = 0;
    for (name, test) in tests::ALL.iter().filter(|(name, _)| name.contains(&filter)) {
        println!("test {name} ...");
        test();
        ran += 1;
    }
    println!("test result: ok. {ran} passed");
}
