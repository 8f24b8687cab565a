//! What an operation tells the operations that are polled inside it, and what
//! they tell it: per thread, only while a future is being polled.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

use crate::clock::{Clock, ClockHandle};

/// What surrounds the code that is being polled.
#[derive(Default)]
pub(crate) struct Frame {
    /// The clock for operations that bring none.
    pub(crate) clock: ClockHandle,
    /// When the time of the operation or workflow around it is used up, on
    /// that clock.
    pub(crate) deadline: Option<Instant>,
    /// Operations around it.
    pub(crate) depth: u32,
    /// The product of their current attempt numbers.
    pub(crate) product: u32,
    /// Calls that must not run twice, made in this frame.
    pub(crate) effects: u32,
}

impl Frame {
    const ROOT: Self =
        Self { clock: ClockHandle::RUNTIME, deadline: None, depth: 0, product: 1, effects: 0 };

    /// A frame in the current one that adds no operation: only a clock, or a
    /// deadline, which can only shorten the one outside.
    pub(crate) fn under(clock: ClockHandle, deadline: Option<Instant>) -> Self {
        let (clock, now, Around { left, depth, product }) = around(Some(clock));
        let outside = left.and_then(|left| now.checked_add(left));
        let deadline = match (deadline, outside) {
            (Some(own), Some(outside)) => Some(own.min(outside)),
            (own, outside) => own.or(outside),
        };
        Self { clock, deadline, depth, product, effects: 0 }
    }
}

thread_local! {
    static FRAME: RefCell<Frame> = const { RefCell::new(Frame::ROOT) };
}

/// Polls inside `frame`. Calls counted there are added to `effects`, and,
/// unless they are `contained`, to the frame around it.
#[inline]
pub(crate) fn enter<T>(
    frame: Frame,
    contained: bool,
    effects: &mut u32,
    poll: impl FnOnce() -> T,
) -> T {
    let mut inside = Inside { other: frame, contained, effects };
    swap(&mut inside.other);
    poll()
}

/// Leaves the frame when dropped, a panic included.
struct Inside<'a> {
    /// The frame that is not current: the one around, while inside.
    other: Frame,
    contained: bool,
    effects: &'a mut u32,
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        swap(&mut self.other);
        let counted = self.other.effects;
        if counted > 0 {
            *self.effects = self.effects.saturating_add(counted);
            if !self.contained {
                count_effects(counted);
            }
        }
    }
}

#[inline]
fn swap(frame: &mut Frame) {
    with_frame(|current| std::mem::swap(current, frame));
}

/// Does nothing on a thread that is being torn down: there is no operation
/// around whatever is polled there.
#[inline]
fn with_frame<T>(read: impl FnOnce(&mut Frame) -> T) -> Option<T> {
    FRAME.try_with(|frame| frame.try_borrow_mut().ok().map(|mut frame| read(&mut frame))).ok()?
}

fn count_effects(effects: u32) {
    with_frame(|frame| frame.effects = frame.effects.saturating_add(effects));
}

/// A call that must not run twice begins in the current frame.
pub(crate) fn effect() {
    count_effects(1);
}

/// Polls a call that must not run twice. Its first poll counts as one call in
/// the current frame; what it makes inside is part of it and not counted again.
pub(crate) fn effectful<T>(first: bool, poll: impl FnOnce() -> T) -> T {
    let before = with_frame(|frame| frame.effects).unwrap_or_default();
    let output = poll();
    with_frame(|frame| frame.effects = before.saturating_add(u32::from(first)));
    output
}

/// The clock of the current frame.
pub(crate) fn clock() -> ClockHandle {
    with_frame(|frame| frame.clock.clone()).unwrap_or_default()
}

/// What an operation that begins now finds around it.
#[derive(Clone, Copy)]
pub(crate) struct Around {
    /// What is left outside, if something outside is bounded.
    pub(crate) left: Option<Duration>,
    pub(crate) depth: u32,
    pub(crate) product: u32,
}

/// What surrounds an operation that begins at `now` on `own`; its clock is the
/// frame's where it brought none.
#[inline]
pub(crate) fn around(own: Option<ClockHandle>) -> (ClockHandle, Instant, Around) {
    let (clock, frame_clock, deadline, depth, product) = with_frame(|frame| {
        let outer = frame.deadline.map(|_| frame.clock.clone());
        let clock = own.clone().unwrap_or_else(|| frame.clock.clone());
        (clock, outer, frame.deadline, frame.depth, frame.product)
    })
    .unwrap_or((own.unwrap_or_default(), None, None, 0, 1));
    let now = clock.now();
    let left = deadline.map(|deadline| {
        // Two clocks need not agree on an instant, only on the length of a span.
        let outside = frame_clock.filter(|outer| !(outer.is_runtime() && clock.is_runtime()));
        deadline.saturating_duration_since(outside.map_or(now, |outer| outer.now()))
    });
    (clock, now, Around { left, depth, product })
}

pin_project! {
    /// A future with a clock under it. Made by [`Clock::scope`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Scoped<F> {
        clock: Arc<dyn Clock>,
        wakes: Arc<Wakes>,
        #[pin]
        future: F,
    }
}

impl<F> Scoped<F> {
    pub(crate) fn new(clock: Arc<dyn Clock>, future: F) -> Self {
        let wakes = Wakes { woken: AtomicBool::new(false), outer: Mutex::new(None) };
        Self { clock, wakes: Arc::new(wakes), future }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        this.wakes.begin(cx.waker());
        let waker = Waker::from(Arc::clone(this.wakes));
        let mut inner = Context::from_waker(&waker);
        let frame = Frame::under(ClockHandle::shared(Arc::clone(this.clock)), None);
        let polled = enter(frame, false, &mut 0, || this.future.poll(&mut inner));
        if polled.is_pending() && !this.wakes.woken.load(Ordering::SeqCst) {
            // Everything waits: a clock that stands still wakes its next timer,
            // which wakes this future for the executor's next turn.
            this.clock.idle();
        }
        polled
    }
}

impl<F> fmt::Debug for Scoped<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped").finish_non_exhaustive()
    }
}

/// Notices whether anything in the scope was woken since it was last polled.
struct Wakes {
    woken: AtomicBool,
    outer: Mutex<Option<Waker>>,
}

impl Wakes {
    fn begin(&self, outer: &Waker) {
        self.woken.store(false, Ordering::SeqCst);
        let mut slot = self.outer.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some(known) if known.will_wake(outer) => {}
            _ => *slot = Some(outer.clone()),
        }
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        let outer = self.outer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(outer) = outer {
            outer.wake();
        }
    }
}
