//! What no single item can say. These pages exist in the documentation only.
//!
//! - [`results_and_effects`]: what is guaranteed, and which of the three
//!   declarations fits.
//! - [`durable`]: operations that survive their process.
//! - [`recipes`]: a row version, a transaction that is retried as a whole, and which
//!   of the two a key replaces.
//! - [`testing`]: virtual time, recorded events, schedules as data.
//! - [`limits`]: what neither types nor the running attempt can see, with the
//!   case.
//! - [`migration`]: from backon, tokio-retry, tower and Spring.
//! - [`standards`]: what follows RFC 9110, RFC 6585, the `Idempotency-Key` draft
//!   and gRPC A6, and where it does not.
//!
//! The options of the attribute are at [`retryable`](macro@crate::retryable).

#[doc = include_str!("../docs/results_and_effects.md")]
pub mod results_and_effects {}

#[cfg(feature = "durable")]
#[doc = include_str!("../docs/durable.md")]
pub mod durable {}

#[doc = include_str!("../docs/recipes.md")]
pub mod recipes {}

#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

#[doc = include_str!("../docs/limits.md")]
pub mod limits {}

#[doc = include_str!("../docs/migration.md")]
pub mod migration {}

#[doc = include_str!("../docs/standards.md")]
pub mod standards {}

/// What the front page lists in full.
#[cfg(test)]
mod tests {
    use crate::StopReason;

    const FRONT_PAGE: &str = include_str!("../README.md");
    const OPTIONS: &str = include_str!("../docs/retryable.md");

    #[test]
    fn every_stop_reason_is_on_the_front_page() {
        for reason in StopReason::ALL {
            assert!(FRONT_PAGE.contains(&format!("`{reason}`")), "{reason}");
        }
        for row in FRONT_PAGE.lines().filter(|line| line.starts_with("| `")) {
            let code = row.split('`').nth(1).unwrap();
            if let Ok(reason) = code.parse::<StopReason>() {
                assert!(row.contains(reason.description()), "{row}");
            }
        }
    }

    /// Its row, its heading, an example, and one that does not compile.
    #[test]
    fn every_option_has_both_examples() {
        let sections: Vec<_> = OPTIONS.split("\n## `").skip(1).collect();
        assert_eq!(sections.len(), OPTIONS.lines().filter(|line| line.starts_with("| [`")).count());
        for section in sections {
            let (option, text) = section.split_once("`\n").unwrap();
            assert!(OPTIONS.contains(&format!("\n| [`{option}`](#{option}) |")), "{option}");
            assert!(text.contains("\n```\n"), "{option} has no example");
            assert!(text.contains("\n```compile_fail"), "{option} has no mistake");
        }
    }
}
