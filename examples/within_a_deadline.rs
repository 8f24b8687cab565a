//! One budget of time for a workflow of several operations: each has what is
//! left of it, whatever its own policy says.

use std::time::Duration;

use retry_core::clock::{Clock, VirtualClock};
use retry_core::observe::Recorder;
use retry_core::{Backoff, Classify, Retrier, Stopped, retryable, within};

#[derive(Debug, thiserror::Error, Classify)]
#[error("busy")]
#[retry(transient, no_effect)]
struct Busy;

const WAIT: Backoff = Backoff::fixed(Duration::from_secs(2));

struct Travel {
    retries: Retrier,
}

impl Travel {
    #[retryable(name = "travel.flight", idempotent, attempt, max_attempts = 10, deadline = "30s", backoff = WAIT, with = self.retries)]
    async fn flight(&self) -> Result<u32, Stopped<Busy>> {
        if attempt.number() < 3 { Err(Busy) } else { Ok(120) }
    }

    #[retryable(name = "travel.hotel", idempotent, max_attempts = 10, deadline = "30s", backoff = WAIT, with = self.retries)]
    async fn hotel(&self) -> Result<u32, Stopped<Busy>> {
        Err(Busy) // fully booked today
    }

    /// Nothing here knows of the deadline around it.
    async fn quote(&self) -> Result<u32, Stopped<Busy>> {
        let flight = self.flight().await?;
        match self.hotel().await {
            Ok(hotel) => Ok(flight + hotel),
            // Nothing was cut: there is a next line, and it decides.
            Err(stopped) if stopped.is_exhausted() => Ok(flight),
            Err(stopped) => Err(stopped),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Stopped<Busy>> {
    let recorder = Recorder::new();
    let travel = Travel { retries: Retrier::builder().observer(recorder.clone()).build() };

    println!("A quote within 8 s, of two operations that may each take 30 s:\n");
    let clock = VirtualClock::new();
    let quote = clock.clone().scope(within(Duration::from_secs(8), travel.quote())).await?;
    recorder.operations().iter().for_each(|id| println!("{}", recorder.story(id)));
    println!("The quote, without a hotel: {quote}, after {:?} of virtual time", clock.elapsed());
    Ok(())
}
