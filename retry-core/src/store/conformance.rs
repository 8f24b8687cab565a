//! What every store is tested by.
//!
//! A backend runs all cases in a test of its own, on stores that it makes empty, with
//! the clock that it is given as their clock:
//!
//! ```
//! use retry_core::store::{MemoryStore, conformance};
//!
//! // In a backend: #[test] fn conforms() { … }
//! conformance::run(MemoryStore::with_clock);
//! ```
//!
//! It fails with a list of the cases that do not hold and the rule that each is
//! about. One case alone, under its name:
//!
//! ```
//! use retry_core::store::{MemoryStore, conformance};
//!
//! let case = conformance::CASES.iter().find(|case| case.name() == "fence::a_stale_epoch").unwrap();
//! case.run(MemoryStore::with_clock);
//! ```
//!
//! The cases need no runtime, and wait for answers as long as these take; time, as
//! far as rules are about it, is that of the clock. What they cannot see is what a
//! backend tests by itself: that what was acknowledged survives a crash, that several
//! processes share a store, and that damage on its medium is found.

#![expect(clippy::panic, reason = "a case fails by a panic, with the rule as its text")]

mod claim;
mod clocks;
mod enqueue;
mod fence;
mod finish;
mod freed;
mod histories;
mod lease;
mod order;
mod read;
mod retain;
mod subject;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Store;
use crate::clock::VirtualClock;
use subject::Subject;

/// Runs every case, each on a store of its own.
///
/// `make` makes an empty store on the clock that it is given.
///
/// # Panics
/// A case does not hold. The text names all that do not.
#[track_caller]
pub fn run<S: Store>(mut make: impl FnMut(VirtualClock) -> S) {
    let failed: Vec<String> = CASES
        .iter()
        .filter_map(|case| {
            let ran = catch_unwind(AssertUnwindSafe(|| case.run(&mut make)));
            ran.err().map(|panic| format!("\n\n{case}: {}", text(&*panic)))
        })
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} cases do not hold:{}",
        failed.len(),
        CASES.len(),
        failed.concat()
    );
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text")
}

/// One rule of [`Store`], and what is done to see whether it holds.
#[derive(Clone, Copy)]
pub struct Case {
    name: &'static str,
    test: fn(&Subject),
}

impl Case {
    /// Its name: `fence::a_stale_epoch`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Runs it on the store that `make` makes, which is empty and on the clock
    /// that it is given.
    ///
    /// # Panics
    /// It does not hold.
    pub fn run<S: Store>(&self, make: impl FnOnce(VirtualClock) -> S) {
        (self.test)(&Subject::new(make));
    }
}

/// The name.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({self})")
    }
}

macro_rules! cases {
    ($($module:ident: $($test:ident),+;)+) => {
        /// Every case.
        pub const CASES: &[Case] = &[$($(
            Case { name: concat!(stringify!($module), "::", stringify!($test)), test: $module::$test },
        )+)+];
    };
}

cases! {
    enqueue:
        a_key_begins_one_operation,
        other_arguments_are_seen_by_their_fingerprint,
        a_key_belongs_to_a_name,
        without_a_key_each_is_new,
        a_call_begins_under_its_lease,
        a_refused_beginning_leaves_no_key,
        arguments_have_a_limit,
        texts_come_back_as_they_were,
        what_is_open_never_expires,
        what_has_ended_expires,
        calls_at_once_begin_one_operation;
    claim:
        what_is_due_the_earliest_first,
        a_long_wait_before_a_short_one,
        as_many_as_asked,
        each_once,
        the_attempt_is_charged,
        queues_are_apart,
        what_is_free_alone,
        over_its_deadline_is_dead,
        a_queue_takes_no_time,
        no_number_twice;
    finish:
        a_result_is_recorded_once,
        a_large_result_comes_back,
        a_retry_is_parked,
        a_retry_under_the_lease,
        a_deferral_has_its_own_count,
        the_last_error_stays_when_dead,
        the_last_error_stays_in_review,
        what_is_not_final_goes_on,
        no_decision_but_the_pure_one;
    fence:
        a_stale_epoch,
        a_stale_holder_of_this_epoch,
        a_claim_that_was_reclaimed,
        a_claim_that_was_let_go,
        a_claim_of_the_same_holder_before,
        a_take_over_of_what_was_read,
        a_reclaim_of_what_was_read,
        one_of_many_takes_over;
    lease:
        a_heartbeat_extends,
        a_heartbeat_never_shortens,
        a_late_holder_goes_on,
        reclaims_the_earliest_first,
        a_crash_is_a_failed_attempt,
        a_crash_on_the_last_attempt,
        a_crash_of_at_most_once,
        a_crash_in_a_wait,
        a_take_over_charges_the_time,
        a_take_over_charges_what_is_left,
        a_take_over_of_what_is_free,
        abandoned_while_polled,
        abandoned_while_polled_at_most_once,
        abandoned_before_it_was_polled,
        abandoned_in_a_wait;
    clocks:
        back_during_a_lease,
        back_for_long,
        back_during_a_park,
        forward_during_a_lease,
        forward_during_a_park;
    order:
        answers_in_order,
        a_refusal_holds_nothing_back,
        one_record_twice,
        more_writes_than_one_commit_takes,
        a_post_is_behind,
        a_post_is_behind_a_dropped_reply,
        a_post_that_is_refused;
    freed:
        at_once_where_nobody_holds,
        when_the_lease_ends,
        when_the_lease_is_over,
        not_before_an_extended_lease,
        every_waiter;
    read:
        what_was_written,
        nothing_where_nothing_is,
        found_by_its_id,
        lists_the_latest_first,
        lists_in_pages,
        lists_what_is_asked_for;
    retain:
        what_is_done_after_its_time,
        never_what_is_dead_or_in_review,
        the_keys_of_the_dead,
        as_many_as_asked_for,
        not_the_key_of_the_next;
    histories:
        as_the_memory_store;
}
