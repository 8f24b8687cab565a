//! Settings that cannot be right.

use std::time::Duration;

use retry_core::breaker::{BreakerBuilder, BreakerError, Window};
use retry_core::{Backoff, Breaker};

const SECOND: Duration = Duration::from_secs(1);

fn error(builder: BreakerBuilder) -> BreakerError {
    builder.build().unwrap_err()
}

fn rate(share: f64, window: Window) -> BreakerBuilder {
    Breaker::rate(share, window, SECOND)
}

#[test]
fn every_setting_that_cannot_be_right_is_named_with_the_fix() {
    let plain = || Breaker::consecutive(10, SECOND);
    for (builder, text) in [
        (
            Breaker::consecutive(0, SECOND),
            "failures is 0, and a breaker that has seen no failure stays closed; write 1 to open at the \
             first one",
        ),
        (
            rate(0.0, Window::calls(10)),
            "the share of failures is 0, and must be above 0 and at most 1 (billionths count); write \
             0.5 for every second call",
        ),
        (
            rate(0.5, Window::calls(0)),
            "the window is 0 long and holds no call; raise its calls or its time",
        ),
        (
            rate(0.5, Window::time(Duration::ZERO)),
            "the window is 0 long and holds no call; raise its calls or its time",
        ),
        (
            rate(0.5, Window::calls(1_000_001)),
            "a window of 1000001 calls is above 1000000; lower it, or use a window of time",
        ),
        (
            rate(0.5, Window::calls(10).minimum(0)),
            "the minimum is 0 calls, and none have no rate; write 1 to judge from the first call on",
        ),
        (
            rate(0.5, Window::calls(10).minimum(11)),
            "the minimum (11 calls) is above the window (10 calls), which would never be judged; \
             lower the minimum or raise the window",
        ),
        (
            Breaker::consecutive(1, Duration::ZERO),
            "the open period is 0s, in which no call would be refused; raise it",
        ),
        (
            Breaker::consecutive(1, Backoff::fixed(5 * SECOND).cap(SECOND)),
            "the open period's cap (1s) is below base (5s); raise the cap or lower the base",
        ),
        (
            plain().probes(0),
            "probes is 0, and must be 1 to 1000; write 1 to close after one success",
        ),
        (
            plain().probes(1001),
            "probes is 1001, and must be 1 to 1000; write 1 to close after one success",
        ),
        (
            plain().lease(Duration::ZERO),
            "lease is 0s, in which no probe can settle; choose longer than the slowest good call",
        ),
    ] {
        assert_eq!(error(builder).to_string(), text);
    }
}

#[test]
fn a_share_is_above_none_and_at_most_all() {
    for share in [f64::NAN, f64::INFINITY, -0.5, 0.0, 1e-10, 1.000_000_001, 50.0] {
        let BreakerError::Share { share: told } = error(rate(share, Window::calls(10))) else {
            panic!("{share} has another error");
        };
        assert_eq!(told.to_bits(), share.to_bits());
    }
    for share in [1e-9, 0.1, 0.5, 1.0] {
        assert!(rate(share, Window::calls(10)).build().is_ok());
    }
}

#[test]
fn the_largest_settings_are_fine() {
    let window = Window::calls(Window::MAX_CALLS).minimum(Window::MAX_CALLS);
    assert!(rate(1.0, window).probes(1000).lease(Duration::MAX).build().is_ok());
    assert!(rate(1.0, Window::time(Duration::MAX).minimum(u32::MAX)).build().is_ok());
    assert!(Breaker::consecutive(u32::MAX, Duration::MAX).build().is_ok());
}

#[test]
fn a_breaker_is_shared_between_threads_and_tasks() {
    fn is_shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    is_shared(&Breaker::default());
    assert_eq!(Breaker::default().name(), "");
}
