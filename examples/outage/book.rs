//! What was asked for and what arrived at the store, call by call.

use std::ops::Range;
use std::time::Duration;

use crate::world::{Order, Tenant};

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Book {
    /// By their number.
    pub(crate) requests: Vec<Request>,
    /// In the order in which they arrived.
    pub(crate) calls: Vec<Call>,
    refusals: [Option<Range<Duration>>; Tenant::ALL.len()],
}

#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) at: Duration,
    /// How many were made for it so far.
    pub(crate) calls: u32,
    /// What the first of them got.
    pub(crate) first: Answer,
    /// When the last one that ended failed; a call that its caller gave up has no
    /// such end.
    failed: Option<Duration>,
    /// When the first one failed.
    pub(crate) first_failed: Option<Duration>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) at: Duration,
    pub(crate) tenant: Tenant,
    pub(crate) request: usize,
    /// Its number within the request, from 1.
    pub(crate) number: u32,
    /// When the call before it failed.
    pub(crate) after: Option<Duration>,
}

/// What a caller got from the store while it waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Turned away, dropped, or given up by its caller.
    None,
    /// The store's own error: what it gives in the outage.
    Error,
    Result,
}

impl Book {
    pub(crate) fn asked(&mut self, tenant: Tenant, at: Duration) -> Order {
        // A run has some ten thousand.
        let number = u32::try_from(self.requests.len()).unwrap_or(u32::MAX);
        let (first, failed, first_failed) = (Answer::None, None, None);
        self.requests.push(Request { at, calls: 0, first, failed, first_failed });
        Order { number, tenant }
    }

    /// A call arrives: gives its place among the calls.
    pub(crate) fn arrived(&mut self, order: &Order, at: Duration) -> usize {
        let index = order.number as usize;
        let request = &mut self.requests[index];
        request.calls += 1;
        let (number, after) = (request.calls, request.failed.take());
        self.calls.push(Call { at, tenant: order.tenant, request: index, number, after });
        self.calls.len() - 1
    }

    pub(crate) fn ended(&mut self, call: usize, answer: Answer, at: Duration) {
        let Call { request, number, .. } = self.calls[call];
        let request = &mut self.requests[request];
        if answer != Answer::Result {
            request.failed = Some(at);
        }
        if number == 1 {
            request.first = answer;
            request.first_failed = request.failed;
        }
    }

    /// A retry was refused for want of a token.
    pub(crate) fn refused(&mut self, tenant: Tenant, at: Duration) {
        match &mut self.refusals[tenant as usize] {
            Some(span) => span.end = at,
            none => *none = Some(at..at),
        }
    }

    /// The span in which no retry token is left: from when each tenant was refused
    /// to the last refusal. What comes in within it is used at once.
    pub(crate) fn empty(&self) -> Option<Range<Duration>> {
        let mut empty = Duration::ZERO..Duration::ZERO;
        for span in &self.refusals {
            let span = span.as_ref()?;
            empty = empty.start.max(span.start)..empty.end.max(span.end);
        }
        Some(empty)
    }
}
