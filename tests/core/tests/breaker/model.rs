//! Any sequence of calls, times and operators, against a model that keeps
//! everything and counts anew each time.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use retry_core::breaker::{Outcome, Permit, State, Transition, Window};
use retry_core::{Backoff, Breaker, Jitter};

const MS: Duration = Duration::from_millis(1);
const PERIOD: Duration = Duration::from_millis(100);
const PERIOD_CAP: Duration = Duration::from_millis(350);
const LEASE: Duration = Duration::from_millis(70);

#[derive(Clone, Copy, Debug)]
enum Step {
    Admit,
    /// Of the calls that are out, by a draw.
    Settle(usize, Outcome),
    Drop(usize),
    Forget(usize),
    Pass(Duration),
    Open(Option<Duration>),
    Close,
}

#[derive(Clone, Copy, Debug)]
enum Trip {
    Consecutive(u32),
    /// In tenths, with a minimum.
    Calls(u32, u32, u32),
    Time(u32, Duration, u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop_oneof![
        4 => Just(Outcome::Failure),
        3 => Just(Outcome::Success),
        1 => Just(Outcome::Ignored),
    ];
    let step = prop_oneof![
        12 => Just(Step::Admit),
        12 => (any::<usize>(), outcome).prop_map(|(at, outcome)| Step::Settle(at, outcome)),
        2 => any::<usize>().prop_map(Step::Drop),
        1 => any::<usize>().prop_map(Step::Forget),
        6 => (0_u32..150).prop_map(|ms| Step::Pass(ms * MS)),
        1 => proptest::option::of((0_u32..150).prop_map(|ms| ms * MS)).prop_map(Step::Open),
        1 => Just(Step::Close),
    ];
    proptest::collection::vec(step, 0..250)
}

fn trip() -> impl Strategy<Value = Trip> {
    let calls = (1_u32..=10, 1_u32..=80).prop_flat_map(|(share, calls)| {
        (1..=calls).prop_map(move |minimum| Trip::Calls(share, calls, minimum))
    });
    prop_oneof![
        (1_u32..=12).prop_map(Trip::Consecutive),
        calls,
        (1_u32..=10, 1_u32..=500, 1_u32..=8).prop_map(|(share, span, minimum)| Trip::Time(
            share,
            span * MS,
            minimum
        )),
    ]
}

impl Trip {
    fn breaker(self, probes: u32) -> Breaker {
        let growing = Backoff::exponential(PERIOD).cap(PERIOD_CAP).jitter(Jitter::None);
        let builder = match self {
            Self::Consecutive(failures) => Breaker::consecutive(failures, growing),
            Self::Calls(share, calls, minimum) => {
                let window = Window::calls(calls).minimum(minimum);
                Breaker::rate(f64::from(share) / 10.0, window, growing)
            }
            Self::Time(share, span, minimum) => {
                let window = Window::time(span).minimum(minimum);
                Breaker::rate(f64::from(share) / 10.0, window, growing)
            }
        };
        builder.probes(probes).lease(LEASE).process(0).build().unwrap()
    }

    /// Whether a breaker that has seen this is open.
    fn opens(self, seen: &[(Duration, bool)]) -> bool {
        let reaches = |share: u32, minimum: u32, window: &[bool]| {
            let failed = window.iter().filter(|failed| **failed).count();
            window.len() >= minimum as usize && failed * 10 >= window.len() * share as usize
        };
        let failed: Vec<_> = seen.iter().map(|(_, failed)| *failed).collect();
        match self {
            Self::Consecutive(failures) => {
                failed.iter().rev().take_while(|failed| **failed).count() >= failures as usize
            }
            Self::Calls(share, calls, minimum) => {
                let start = failed.len().saturating_sub(calls as usize);
                reaches(share, minimum, &failed[start..])
            }
            Self::Time(share, span, minimum) => {
                let (Some((first, _)), Some((last, _))) = (seen.first(), seen.last()) else {
                    return false;
                };
                let slice = |at: Duration| (at - *first).as_nanos() * 60 / span.as_nanos();
                let in_window = |at: Duration| slice(*last) - slice(at) < 60;
                let window: Vec<_> = seen
                    .iter()
                    .filter(|(at, _)| in_window(*at))
                    .map(|(_, failed)| *failed)
                    .collect();
                // The slices hold to what the documentation says of them.
                for (at, _) in seen {
                    let age = *last - *at;
                    assert!(!in_window(*at) || age < span);
                    assert!(in_window(*at) || age.as_nanos() * 60 > span.as_nanos() * 59);
                }
                reaches(share, minimum, &window)
            }
        }
    }
}

/// A call that was let through.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Call {
    /// Openings and closings before it.
    era: u32,
    /// The end of its lease, where it is a probe.
    lease: Option<Duration>,
    id: u32,
}

#[derive(Debug)]
struct Model {
    trip: Trip,
    probes: u32,
    now: Duration,
    era: u32,
    openings: u32,
    streak: u32,
    ids: u32,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Closed { seen: Vec<(Duration, bool)> },
    Open { until: Option<Duration> },
    HalfOpen { out: Vec<Call>, succeeded: u32 },
}

/// A transition in the time of the model.
#[derive(Debug, PartialEq)]
enum Change {
    Opened(u32, Option<Duration>),
    Closed(u32),
}

impl Model {
    fn new(trip: Trip, probes: u32) -> Self {
        let phase = Phase::Closed { seen: Vec::new() };
        Self { trip, probes, now: Duration::ZERO, era: 0, openings: 0, streak: 0, ids: 0, phase }
    }

    fn settle_time(&mut self) {
        match &mut self.phase {
            Phase::HalfOpen { out, .. } => out.retain(|call| call.lease > Some(self.now)),
            Phase::Open { until: Some(until) } if *until <= self.now => {
                self.phase = Phase::HalfOpen { out: Vec::new(), succeeded: 0 };
            }
            _ => {}
        }
    }

    fn free(&self) -> Option<u32> {
        match &self.phase {
            Phase::HalfOpen { out, succeeded } => Some(self.probes - succeeded - out.len() as u32),
            _ => None,
        }
    }

    fn admit(&mut self) -> Result<Call, Option<Duration>> {
        self.ids += 1;
        let mut call = Call { era: self.era, lease: None, id: self.ids };
        let free = self.free();
        match &mut self.phase {
            Phase::Closed { .. } => Ok(call),
            Phase::Open { until } => Err(*until),
            Phase::HalfOpen { out, .. } if free > Some(0) => {
                call.lease = Some(self.now + LEASE);
                out.push(call);
                Ok(call)
            }
            Phase::HalfOpen { out, .. } => Err(out.iter().filter_map(|call| call.lease).min()),
        }
    }

    fn settle(&mut self, call: Call, outcome: Outcome) -> Option<Change> {
        let (era, probes, trip, now) = (self.era, self.probes, self.trip, self.now);
        match (&mut self.phase, outcome) {
            _ if call.era != era => None,
            (Phase::Closed { .. }, Outcome::Ignored) => None,
            (Phase::Closed { seen }, _) => {
                seen.push((now, outcome == Outcome::Failure));
                trip.opens(seen).then(|| self.open_by_itself())
            }
            (Phase::HalfOpen { out, succeeded }, _) => {
                let at = out.iter().position(|out| *out == call)?;
                out.remove(at);
                match outcome {
                    Outcome::Ignored => None,
                    Outcome::Failure => Some(self.open_by_itself()),
                    Outcome::Success => {
                        *succeeded += 1;
                        (*succeeded == probes).then(|| self.close())
                    }
                }
            }
            (Phase::Open { .. }, _) => None,
        }
    }

    fn open_by_itself(&mut self) -> Change {
        let period = PERIOD * 2_u32.pow(self.streak.min(5));
        self.streak += 1;
        self.open(Some(period.min(PERIOD_CAP)))
    }

    fn open(&mut self, open_for: Option<Duration>) -> Change {
        self.era += 1;
        self.openings += 1;
        let until = open_for.map(|open_for| self.now + open_for);
        self.phase = Phase::Open { until };
        Change::Opened(self.openings, until)
    }

    fn close(&mut self) -> Change {
        // What was let through while closed counts on, if it was closed all the time.
        self.era += u32::from(!matches!(self.phase, Phase::Closed { .. }));
        self.streak = 0;
        self.phase = Phase::Closed { seen: Vec::new() };
        Change::Closed(self.openings)
    }
}

struct Pair {
    breaker: Breaker,
    model: Model,
    start: Instant,
    out: Vec<(Permit, Call)>,
}

impl Pair {
    fn now(&self) -> Instant {
        self.start + self.model.now
    }

    fn since(&self, at: Option<Instant>) -> Option<Duration> {
        at.map(|at| at - self.start)
    }

    fn change(&self, transition: Option<Transition>) -> Option<Change> {
        transition.map(|transition| match transition {
            Transition::Opened { generation, until } => {
                Change::Opened(generation, self.since(until))
            }
            Transition::Closed { generation } => Change::Closed(generation),
            Transition::HalfOpened { .. } => panic!("only an admission does that"),
        })
    }

    fn take(&mut self, at: usize) -> Option<(Permit, Call)> {
        let len = self.out.len();
        (len > 0).then(|| self.out.swap_remove(at % len))
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Admit => {
                let was_open = matches!(self.model.phase, Phase::Open { .. });
                self.model.settle_time();
                match (self.breaker.admit(self.now()), self.model.admit()) {
                    (Ok(permit), Ok(call)) => {
                        assert_eq!(permit.is_probe(), call.lease.is_some());
                        let first = was_open && call.lease.is_some();
                        let generation = self.model.openings;
                        let half_opened = Transition::HalfOpened { generation };
                        assert_eq!(permit.transition(), first.then_some(half_opened));
                        self.out.push((permit, call));
                    }
                    (Err(refused), Err(until)) => assert_eq!(self.since(refused.until()), until),
                    (breaker, model) => panic!("{breaker:?}, and the model {model:?}"),
                }
            }
            Step::Settle(at, outcome) => {
                let Some((permit, call)) = self.take(at) else { return };
                // An open period that is over stays so until a call is let through.
                if !matches!(self.model.phase, Phase::Open { .. }) {
                    self.model.settle_time();
                }
                let transition = permit.settle(self.now(), outcome);
                assert_eq!(self.change(transition), self.model.settle(call, outcome));
            }
            Step::Drop(at) => {
                let Some((permit, call)) = self.take(at) else { return };
                drop(permit);
                if let Phase::HalfOpen { out, .. } = &mut self.model.phase {
                    out.retain(|out| *out != call);
                }
            }
            Step::Forget(at) => {
                let Some((permit, _)) = self.take(at) else { return };
                std::mem::forget(permit);
            }
            Step::Pass(span) => self.model.now += span,
            Step::Open(open_for) => {
                let opened = self.breaker.open(self.now(), open_for);
                assert_eq!(self.change(Some(opened)), Some(self.model.open(open_for)));
            }
            Step::Close => {
                let was_closed = matches!(self.model.phase, Phase::Closed { .. });
                let closed = self.breaker.close();
                let expected = self.model.close();
                assert_eq!(self.change(closed), (!was_closed).then_some(expected));
            }
        }
    }

    fn assert_same(&self) {
        let now = self.model.now;
        let state = self.breaker.state(self.now());
        match &self.model.phase {
            Phase::Closed { .. } => assert_eq!(state, State::Closed),
            Phase::Open { until: Some(until) } if *until <= now => {
                assert_eq!(state, State::HalfOpen { free: self.model.probes });
            }
            Phase::Open { until } => {
                let State::Open { until: told } = state else { panic!("{state:?}") };
                assert_eq!(self.since(told), *until);
            }
            Phase::HalfOpen { out, succeeded } => {
                let held = out.iter().filter(|call| call.lease > Some(now)).count() as u32;
                assert!(succeeded + held <= self.model.probes);
                assert_eq!(state, State::HalfOpen { free: self.model.probes - succeeded - held });
            }
        }
        assert_eq!(self.breaker.openings(), self.model.openings);
    }
}

/// Calls that keep a window about full, and now and then an operator. A slice
/// is ten nanoseconds.
fn busy_window() -> impl Strategy<Value = (Trip, Vec<Step>)> {
    let pass = prop_oneof![30 => 0_u64..60, 1 => 500_u64..1500];
    let call = (pass, prop::bool::weighted(0.9)).prop_map(|(pass, failed)| {
        let outcome = if failed { Outcome::Failure } else { Outcome::Success };
        vec![Step::Pass(Duration::from_nanos(pass)), Step::Admit, Step::Settle(0, outcome)]
    });
    let again = Just(vec![Step::Open(None), Step::Close]);
    let steps = proptest::collection::vec(prop_oneof![30 => call, 1 => again], 0..100);
    let trip = (8_u32..=10, 5_u32..=30)
        .prop_map(|(share, minimum)| Trip::Time(share, Duration::from_nanos(600), minimum));
    (trip, steps.prop_map(|steps| steps.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn it_does_what_the_model_does(trip in trip(), probes in 1_u32..=4, steps in steps()) {
        let start = Instant::now();
        let (breaker, model) = (trip.breaker(probes), Model::new(trip, probes));
        let mut pair = Pair { breaker, model, start, out: Vec::new() };
        for step in steps {
            pair.step(step);
            pair.assert_same();
        }

        // However it came here, it is never stuck: after every lease and every
        // period it lets a call through, unless somebody opened it for good.
        let for_good = matches!(pair.model.phase, Phase::Open { until: None });
        let later = pair.now() + PERIOD_CAP + LEASE;
        prop_assert_eq!(pair.breaker.admit(later).is_err(), for_good);
    }

    #[test]
    fn a_window_of_time_counts_what_a_recount_does((trip, steps) in busy_window()) {
        let start = Instant::now();
        let (breaker, model) = (trip.breaker(1), Model::new(trip, 1));
        let mut pair = Pair { breaker, model, start, out: Vec::new() };
        for step in steps {
            pair.step(step);
        }
        pair.assert_same();
    }
}
