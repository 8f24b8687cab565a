//! A place in line.

use std::fmt;
use std::task::{Context, Poll};
use std::time::Instant;

use super::book::Ticket;
use super::{Caller, Empty, Token};
use crate::nanos::Nanos;

/// A place in line for a token. Made by [`Caller::reserve`].
///
/// Its token is there at [`at`](Self::at) at the latest, by the caller's part of
/// the floor alone; whatever else comes in makes it earlier, and wakes. Within a
/// caller, places are served in the order in which they were taken. Dropped, it
/// gives up its place or its token, and those behind move up.
///
/// Wait for both, the time and the waker, and ask again at either. Who has a
/// deadline gives up where [`at`](Self::at) is past it, as operations do:
///
/// ```
/// use std::future::poll_fn;
/// use retry_core::clock::{Clock, VirtualClock};
/// use retry_core::{Budget, Kind};
/// use std::time::Duration;
///
/// let (clock, budget) = (VirtualClock::new(), Budget::ratio(0.2).build()?);
/// let caller = budget.caller("payments.charge");
/// caller.take(Kind::Server, clock.now())?.spend(); // the floor's first token
///
/// let mut place = caller.reserve(Kind::Server, clock.now())?;
/// let waiting = async {
///     loop {
///         let mut timer = clock.sleep_until(place.at());
///         let token = poll_fn(|cx| match place.poll_ready(cx, clock.now()) {
///             std::task::Poll::Pending => timer.as_mut().poll(cx).map(|()| None),
///             ready => ready.map(Some),
///         });
///         if let Some(token) = token.await {
///             return token;
///         }
///     }
/// };
/// let mut token = futures::executor::block_on(clock.clone().scope(waiting));
/// token.spend();
/// assert_eq!(clock.elapsed(), Duration::from_millis(100));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped, the place in line is given up"]
pub struct Reservation {
    caller: Caller,
    cost: u128,
    at: Instant,
    refusal: Option<Empty>,
    state: State,
}

enum State {
    Waiting(Ticket),
    Ready(Token),
    Taken,
}

impl Reservation {
    pub(super) const fn ready(caller: Caller, token: Token, now: Instant) -> Self {
        Self { caller, cost: 0, at: now, refusal: None, state: State::Ready(token) }
    }

    pub(super) const fn waiting(
        caller: Caller,
        ticket: Ticket,
        cost: u128,
        at: Instant,
        refusal: Empty,
    ) -> Self {
        Self { caller, cost, at, refusal: Some(refusal), state: State::Waiting(ticket) }
    }

    #[cfg(all(test, not(retry_loom)))]
    pub(super) const fn is_waiting(&self) -> bool {
        matches!(self.state, State::Waiting(_))
    }

    /// When the token is there at the latest, as far as is known.
    ///
    /// It becomes earlier when those ahead give up; who is not the first in line
    /// learns it when it asks, or becomes the first. It becomes later only when
    /// another caller joins, or when first attempts or the retries of other
    /// callers use up the capacity: then
    /// [`poll_ready`](Self::poll_ready) is pending at the old time.
    ///
    /// Where no time is known any more it is 292 years away, later than any
    /// deadline: in the scheme of gRPC, when failures bring the bucket to its
    /// threshold. Calls that bring the tokens back wake.
    pub const fn at(&self) -> Instant {
        self.at
    }

    /// Why it has to wait, or `None` where the token was there at once.
    pub const fn refusal(&self) -> Option<Empty> {
        self.refusal
    }

    /// The token, once it is there; after that, never again. Pending, it wakes
    /// when the token has come, and the first in line when [`at`](Self::at) has
    /// become earlier, but not when time has passed: that is a timer's task.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<Token> {
        let ticket = match std::mem::replace(&mut self.state, State::Taken) {
            State::Taken => return Poll::Pending,
            State::Ready(token) => return Poll::Ready(token),
            State::Waiting(ticket) => ticket,
        };
        let shared = &self.caller.shared;
        let now = shared.nanos(now);
        self.caller.slot.seen_at(now);
        // Cloned and dropped without the lock: a waker is foreign code.
        let waker = cx.waker().clone();
        let (polled, unused) = shared.open(|book| {
            book.advance(shared, now);
            book.poll(shared, ticket, self.cost, waker)
        });
        drop(unused);
        match polled {
            Ok(granted) => Poll::Ready(self.caller.token(self.cost, granted)),
            Err(next) => {
                // A time that has passed already would be waited for again and again.
                let at = shared.instant(next.unwrap_or(Nanos::MAX));
                self.at = at.or_else(|| shared.instant(Nanos::MAX)).unwrap_or(self.at);
                self.state = State::Waiting(ticket);
                Poll::Pending
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let State::Waiting(ticket) = self.state {
            let Caller { shared, slot } = &self.caller;
            let waker = shared.open(|book| book.give_up(shared, slot, ticket, self.cost));
            drop(waker);
        }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("caller", &self.caller)
            .field("at", &self.at)
            .field("refusal", &self.refusal)
            .finish_non_exhaustive()
    }
}
