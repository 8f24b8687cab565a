//! Testing with virtual time: hours of waiting take none, and every run waits
//! equally long.

use std::cell::Cell;
use std::time::{Duration, Instant};

use retry_core::clock::{Clock, VirtualClock};
use retry_core::{Backoff, Classify, Stopped, retryable};

#[derive(Debug, PartialEq, thiserror::Error, Classify)]
#[error("the report is not ready")]
#[retry(transient, no_effect)]
struct NotReady;

/// A report that is ready when it was asked for often enough.
struct Reports {
    asked: Cell<u32>,
    ready_after: u32,
}

impl Reports {
    fn ready_after(ready_after: u32) -> Self {
        Self { asked: Cell::new(0), ready_after }
    }

    #[retryable(
        idempotent,
        name = "reports.fetch",
        max_attempts = 12,
        deadline = "4h",
        backoff = Backoff::exponential(Duration::from_secs(60))
            .cap(Duration::from_secs(3600))
            .quantum(Duration::from_secs(1))
    )]
    async fn fetch(&self) -> Result<&'static str, Stopped<NotReady>> {
        self.asked.set(self.asked.get() + 1);
        if self.asked.get() < self.ready_after { Err(NotReady) } else { Ok("42 pages") }
    }
}

#[tokio::main]
async fn main() {
    println!("A report that is ready when asked for the 8th time, fetched twice:\n");
    for _ in 0..2 {
        let (clock, started) = (VirtualClock::new(), Instant::now());
        let fetched = clock.clone().scope(Reports::ready_after(8).fetch()).await;
        println!("  {fetched:?} after {:?} of virtual time,", clock.elapsed());
        println!("  which took {:?}\n", started.elapsed());
    }

    println!("One that is never ready. Why it stopped:\n");
    if let Err(stopped) = VirtualClock::new().scope(Reports::ready_after(99).fetch()).await {
        println!("{}", stopped.story());
    }
}

#[cfg(test)]
mod tests {
    use retry_core::StopReason;

    use super::*;

    #[tokio::test]
    async fn waits_are_the_same_in_every_run() {
        let run = || async {
            let clock = VirtualClock::new();
            let fetched = clock.clone().scope(Reports::ready_after(8).fetch()).await;
            assert_eq!(fetched.unwrap(), "42 pages");
            clock.elapsed()
        };
        let elapsed = run().await;
        assert_eq!(elapsed, run().await);
        // Equal jitter: half of 1 + 2 + 4 + 8 + 16 + 32 + 60 minutes is certain.
        assert!(elapsed >= Duration::from_secs(123 * 30));
    }

    #[tokio::test]
    async fn gives_up_within_four_hours() {
        let clock = VirtualClock::new();
        let stopped = clock.clone().scope(Reports::ready_after(99).fetch()).await.unwrap_err();
        assert_eq!(stopped.reason(), StopReason::DeadlineExceeded);
        assert_eq!(stopped.error(), Some(&NotReady));
        assert!(clock.elapsed() < Duration::from_secs(4 * 3600));
    }
}
