//! What a run comes to, in numbers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;

use crate::book::{Answer, Book, Call, Request};
use crate::budgeted::BACKOFF;
use crate::world::{BUCKET, DROPS, HANGS, MENDED, Tenant};

/// The outage.
const OUTAGE: Range<Duration> = HANGS..MENDED;

/// One run. As JSON it has the fields that are the same measure in both.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Figures {
    /// Calls that the requests of the outage led to, for each of these requests.
    pub(crate) amplification: f64,
    /// The same of the requests that were made while no retry token was left in
    /// the budgeted run.
    pub(crate) amplification_while_empty: f64,
    /// The busiest 100 ms of the outage at the store, over the mean of all.
    pub(crate) peak_to_mean: f64,
    /// From the end of the outage to the end of the last 100 ms in which the first
    /// attempt of a request failed. `None` where the last ones of the run did.
    pub(crate) recovery_s: Option<f64>,
    /// Of the first attempts that were made while no retry token was left, the
    /// share that the store answered in time, be it with an error: the others
    /// were refused, turned away, or answered too late.
    pub(crate) first_attempts_served: f64,
    /// Each tenant's share of the retries that were made in that time.
    pub(crate) shares: BTreeMap<&'static str, f64>,

    #[serde(skip)]
    pub(crate) asked: usize,
    #[serde(skip)]
    pub(crate) calls: usize,
    /// The most calls that one request led to.
    #[serde(skip)]
    pub(crate) most: u32,
    /// Arrivals in the busiest 100 ms.
    #[serde(skip)]
    pub(crate) peak: u32,
    #[serde(skip)]
    pub(crate) wake_ups: WakeUps,
}

impl Figures {
    /// `empty`: when no retry token was left, in the budgeted run.
    pub(crate) fn of(book: &Book, empty: &Range<Duration>) -> Self {
        let in_outage = arrivals(book, &OUTAGE);
        let peak = in_outage.iter().copied().max().unwrap_or(0);
        let mean = f64::from(in_outage.iter().sum::<u32>()) / in_outage.len() as f64;
        let firsts = || book.requests.iter().filter(|request| empty.contains(&request.at));
        let served = firsts().filter(|request| request.first != Answer::None).count();
        Self {
            amplification: amplification(book, &OUTAGE),
            amplification_while_empty: amplification(book, empty),
            peak_to_mean: f64::from(peak) / mean,
            recovery_s: recovery(book).map(|span| span.as_secs_f64()),
            first_attempts_served: ratio(served, firsts().count()),
            shares: shares(book, empty),
            asked: book.requests.len(),
            calls: book.calls.len(),
            most: book.requests.iter().map(|request| request.calls).max().unwrap_or(0),
            peak,
            wake_ups: WakeUps::of(book, 2),
        }
    }
}

/// Arrivals of each 100 ms.
pub(crate) fn arrivals(book: &Book, span: &Range<Duration>) -> Vec<u32> {
    let mut buckets = vec![0; bucket(span.end - span.start)];
    for call in book.calls.iter().filter(|call| span.contains(&call.at)) {
        if let Some(arrived) = buckets.get_mut(bucket(call.at - span.start)) {
            *arrived += 1;
        }
    }
    buckets
}

fn amplification(book: &Book, span: &Range<Duration>) -> f64 {
    let asked = || book.requests.iter().filter(|request| span.contains(&request.at));
    ratio(asked().map(|request| request.calls as usize).sum(), asked().count())
}

fn recovery(book: &Book) -> Option<Duration> {
    let after = || book.requests.iter().filter(|request| request.at >= MENDED);
    let failed = |request: &&Request| request.first != Answer::Result;
    let Some(last) = after().rfind(failed) else {
        return Some(Duration::ZERO);
    };
    let recovered = BUCKET * (bucket(last.at) as u32 + 1);
    after().next_back().filter(|request| request.at >= recovered)?;
    Some(recovered - MENDED)
}

fn shares(book: &Book, span: &Range<Duration>) -> BTreeMap<&'static str, f64> {
    let retries = || book.calls.iter().filter(|call| call.number > 1 && span.contains(&call.at));
    let share = |tenant| retries().filter(|call| call.tenant == tenant).count();
    let all = retries().count();
    Tenant::ALL.map(|tenant| (tenant.name(), ratio(share(tenant), all))).into()
}

/// When those retried whose first attempts the store dropped, all at once: how
/// long after the failure that led to it the attempt of one number began.
#[derive(Debug, PartialEq)]
pub(crate) struct WakeUps {
    /// How many in each 100 ms.
    pub(crate) buckets: Vec<u32>,
    /// Over which the backoff spreads them: half of the ceiling.
    window: Duration,
}

impl WakeUps {
    pub(crate) fn of(book: &Book, attempt: u32) -> Self {
        let dropped = |call: &&Call| book.requests[call.request].first_failed == Some(DROPS);
        let window = BACKOFF.ceiling(attempt - 1) / 2;
        // A hand-written loop waits as long as it likes: twice the ceiling is seen.
        let mut buckets = vec![0; 4 * bucket(window)];
        for call in book.calls.iter().filter(dropped).filter(|call| call.number == attempt) {
            let waited = call.after.map(|failed| bucket(call.at - failed));
            if let Some(woken) = waited.and_then(|waited| buckets.get_mut(waited)) {
                *woken += 1;
            }
        }
        Self { buckets, window }
    }

    pub(crate) fn largest(&self) -> u32 {
        self.buckets.iter().copied().max().unwrap_or(0)
    }

    pub(crate) fn all(&self) -> u32 {
        self.buckets.iter().sum()
    }

    /// What a bucket would hold if all were spread evenly over the window.
    pub(crate) fn mean(&self) -> f64 {
        f64::from(self.all()) / bucket(self.window) as f64
    }
}

/// Whole buckets.
fn bucket(span: Duration) -> usize {
    (span.as_nanos() / BUCKET.as_nanos()) as usize
}

fn ratio(part: usize, of: usize) -> f64 {
    part as f64 / of as f64
}
