//! What is called: costs next to nothing, and fails by script.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::hint::black_box;
use std::str::FromStr;
use std::task::Poll;
use std::time::Duration;

/// What the calls of one operation do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// The first attempt is ready when it is first polled.
    Ready,
    /// The first attempt is pending once and is woken at once.
    WaitsOnce,
    /// Three attempts fail, the fourth succeeds; there are no waits between.
    ThreeFailures,
}

impl Scenario {
    /// All scenarios, in the order of the report.
    pub const ALL: [Self; 3] = [Self::Ready, Self::WaitsOnce, Self::ThreeFailures];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::WaitsOnce => "waits-once",
            Self::ThreeFailures => "three-failures",
        }
    }
}

/// The scenario of this name.
impl FromStr for Scenario {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|scenario| scenario.name() == name)
            .ok_or_else(|| format!("no scenario is called `{name}`"))
    }
}

/// The other side of a call.
#[derive(Debug)]
pub struct Gateway {
    scenario: Scenario,
    calls: Cell<u64>,
}

impl Gateway {
    /// A gateway that behaves by the scenario, operation after operation.
    pub const fn new(scenario: Scenario) -> Self {
        Self { scenario, calls: Cell::new(0) }
    }

    /// One attempt, as cheap as a call can be, so that what is measured is the
    /// retry around it. An error is always transient.
    pub fn attempt(&self) -> impl Future<Output = Result<u64, CallError>> {
        let mut polled = false;
        poll_fn(move |cx| {
            if self.scenario == Scenario::WaitsOnce && !polled {
                polled = true;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let call = self.calls.get() + 1;
            self.calls.set(call);
            if self.scenario == Scenario::ThreeFailures && !call.is_multiple_of(4) {
                return Poll::Ready(Err(CallError::unavailable()));
            }
            Poll::Ready(Ok(call))
        })
    }

    /// One attempt that holds a request buffer across its wait, as a body that
    /// writes to a socket does: for the sizes of futures.
    ///
    /// # Errors
    ///
    /// By script; always transient.
    pub async fn send(&self, order: &str) -> Result<u64, CallError> {
        let mut request = [0_u8; 512];
        let length = order.len().min(request.len());
        request[..length].copy_from_slice(&order.as_bytes()[..length]);
        self.attempt().await?;
        Ok(u64::from(black_box(&request)[0]))
    }
}

/// An error of 56 bytes: what services return is seldom smaller.
#[derive(Debug)]
pub struct CallError {
    gateway: &'static str,
    detail: String,
    retry_after: Option<Duration>,
}

const _: () = assert!(size_of::<CallError>() == 56, "the bound on futures names this size");

impl CallError {
    /// Does not allocate, so that only the subject's allocations are counted.
    const fn unavailable() -> Self {
        Self { gateway: "payments", detail: String::new(), retry_after: None }
    }

    /// Whether another attempt can help; every subject asks it.
    pub const fn is_transient(&self) -> bool {
        self.retry_after.is_none()
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is unavailable {}", self.gateway, self.detail)
    }
}

impl std::error::Error for CallError {}
