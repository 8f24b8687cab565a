//! What an operation tells the operations that are polled inside it, and what
//! they tell it: per thread, only while a future is being polled.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use pin_project_lite::pin_project;

use crate::clock::{Clock, ClockHandle};
use crate::nanos::Nanos;
use crate::stop::StopReason;

/// What surrounds the code that is being polled. An operation keeps its own, and
/// copies it in at every poll: it is small and has nothing to drop.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// Since when the time of what is around runs, on the frame's clock; `None`
    /// where nothing around is bounded.
    pub(crate) since: Option<Instant>,
    /// How much time it has.
    pub(crate) span: Nanos,
    /// The product of the current attempt numbers around the innermost operation.
    pub(crate) product: u32,
    /// The innermost operation's own.
    pub(crate) attempt: u32,
    /// Operations around.
    pub(crate) depth: u16,
    /// The resource of the innermost operation that calls one; 0 where none does.
    /// With [`PROBE`](Self::PROBE), its attempt is a probe of the breaker.
    pub(crate) resource: u16,
    /// What was told by what ran in this frame.
    told: Told,
    /// Whether the frame has a clock of its own, in [`CLOCK`]: not 0. As large as
    /// the three before it, so that one instruction writes all four.
    clocked: u16,
}

impl Frame {
    /// The bit that no resource's number has.
    pub(crate) const PROBE: u16 = 0x8000;

    const ROOT: Self = Self {
        since: None,
        span: Nanos::MAX,
        product: 1,
        attempt: 1,
        depth: 0,
        resource: 0,
        told: Told::NOTHING,
        clocked: 0,
    };

    /// The frame of an operation with nothing around it.
    #[inline]
    pub(crate) const fn outermost(since: Instant, span: Nanos) -> Self {
        Self { since: Some(since), span, depth: 1, ..Self::ROOT }
    }

    /// The frame of an operation that starts now in the current one.
    pub(crate) fn of_operation(clock: &ClockHandle, span: Nanos) -> Self {
        let outside = Self::current();
        Self {
            since: Some(clock.now()),
            span: span.min(outside.left(clock).unwrap_or(Nanos::MAX)),
            product: outside.product.saturating_mul(outside.attempt),
            attempt: 1,
            depth: outside.depth.saturating_add(1),
            resource: outside.resource,
            told: Told::NOTHING,
            clocked: u16::from(!clock.is_runtime()),
        }
    }

    /// A frame that adds no operation to the current one: only a clock, or a
    /// deadline, which can only shorten the one outside.
    pub(crate) fn under(clock: &ClockHandle, since: Instant, span: Nanos) -> Self {
        let outside = Self::current();
        let left = outside.left(clock).unwrap_or(Nanos::MAX);
        // Both spans as seen from now: they were started at different times.
        let now = clock.now();
        let passed = Nanos::from_duration(now.saturating_duration_since(since));
        let span = span.minus(passed).min(left);
        let since = (span < Nanos::MAX).then_some(now);
        Self {
            since,
            span,
            told: Told::NOTHING,
            clocked: u16::from(!clock.is_runtime()),
            ..outside
        }
    }

    /// Whether it has a clock of its own.
    #[inline]
    pub(crate) const fn is_clocked(&self) -> bool {
        self.clocked != 0
    }

    /// The frame of the code that is being polled on this thread.
    pub(crate) fn current() -> Self {
        if is_inside() { FRAME.get() } else { Self::ROOT }
    }

    /// What is left of the time around. A span, because the clock of what is
    /// inside need not be the one of what is outside.
    fn left(&self, own: &ClockHandle) -> Option<Nanos> {
        let since = self.since?;
        let clock = if self.clocked != 0 { clock() } else { ClockHandle::RUNTIME };
        let now = if clock.is_runtime() && own.is_runtime() { own.now() } else { clock.now() };
        Some(self.span.minus(Nanos::from_duration(now.saturating_duration_since(since))))
    }
}

/// The parts of [`Told`].
const EFFECTS: u16 = 0x00ff;
const STOP: u16 = 0x7f00;
const RIDDEN: u16 = 0x8000;

/// What runs inside an attempt tells it. One number, because every poll copies
/// it and asks whether there is anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told(u16);

impl Told {
    pub(crate) const NOTHING: Self = Self(0);

    /// That many calls that must not run twice.
    const fn effects_of(effects: u8) -> Self {
        Self(effects as u16)
    }

    /// An operation stopped.
    const fn stop_of(reason: StopReason) -> Self {
        Self((reason as u16 + 1) << 8)
    }

    #[inline]
    pub(crate) const fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// Calls that must not run twice.
    pub(crate) const fn effects(self) -> u8 {
        self.0.to_be_bytes()[1]
    }

    /// Why an operation inside stopped: the last one, or one before it that was
    /// graver.
    pub(crate) fn stop(self) -> Option<StopReason> {
        let index = usize::from((self.0 & STOP) >> 8).checked_sub(1)?;
        StopReason::ALL.get(index).copied()
    }

    /// Whether that one had its permission from this attempt, and tells no breaker
    /// of its own.
    pub(crate) const fn was_ridden(self) -> bool {
        self.0 & RIDDEN != 0
    }

    /// The same, of an operation that had its permission from the attempt.
    pub(crate) const fn ridden(self) -> Self {
        Self(self.0 | RIDDEN)
    }

    /// What the next attempt is not to hear: an operation that stopped before it.
    pub(crate) const fn without_stop(self) -> Self {
        Self(self.0 & EFFECTS)
    }

    /// This, and what was told after it.
    pub(crate) fn and(self, later: Self) -> Self {
        let gravity = |told: Self| told.stop().map(StopReason::gravity);
        let stop = if gravity(later) < gravity(self) { self } else { later };
        let effects = self.effects().saturating_add(later.effects());
        stop.with_effects(effects)
    }

    const fn with_effects(self, effects: u8) -> Self {
        Self(self.0 & !EFFECTS | effects as u16)
    }
}

thread_local! {
    /// Whether anything is around; otherwise what [`FRAME`] holds is stale.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static FRAME: Cell<Frame> = const { Cell::new(Frame::ROOT) };
    /// What is around it, the innermost last.
    static OUTSIDE: RefCell<Vec<Outside>> = const { RefCell::new(Vec::new()) };
    /// Read only where the frame says so.
    static CLOCK: RefCell<ClockHandle> = const { RefCell::new(ClockHandle::RUNTIME) };
}

/// Whether anything is around: an operation, a deadline, a clock.
#[inline]
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Polls inside `frame`. Where that has a clock, [`bring_clock`] comes first.
/// Gives what was told there; whether it is told to the frame around too is the
/// caller's to decide.
#[inline]
pub(crate) fn enter<T>(frame: &Frame, told: &mut Told, poll: impl FnOnce() -> T) -> T {
    let inside = Inside::new();
    FRAME.with(|current| current.set(*frame));
    let output = poll();
    *told = FRAME.with(|current| current.get().told);
    drop(inside);
    output
}

/// Polls inside a frame that belongs to no operation: what is told in it is told
/// to what is around it, and given.
pub(crate) fn poll_under<F: Future>(
    clock: &ClockHandle,
    frame: &Frame,
    future: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> (Poll<F::Output>, Told) {
    let mut told = Told::NOTHING;
    if frame.clocked != 0 {
        bring_clock(clock.clone());
    }
    let polled = enter(frame, &mut told, || future.poll(cx));
    tell(told);
    (polled, told)
}

/// Leaves the frame when dropped, a panic included.
struct Inside {
    /// Whether there is something around, to be put back. It waits in
    /// [`OUTSIDE`] and not here, because most often there is nothing.
    kept: bool,
}

impl Inside {
    #[inline]
    fn new() -> Self {
        let kept = INSIDE.replace(true);
        if kept {
            keep_outside();
        }
        Self { kept }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        if self.kept { put_back_outside() } else { INSIDE.set(false) }
    }
}
/// A frame that waits for the one inside it to be left.
struct Outside {
    frame: Frame,
    /// The clock, where the one inside has another.
    clock: Option<ClockHandle>,
    /// Put here with a clock, before its frame is entered.
    early: bool,
}

/// The clock of the frame that is entered next.
#[cold]
pub(crate) fn bring_clock(clock: ClockHandle) {
    let outside = Outside { frame: Frame::current(), clock: swap_clock(clock), early: true };
    // On a thread that is being torn down nothing is kept, and nothing put back.
    let _ = OUTSIDE.try_with(|kept| kept.borrow_mut().push(outside));
    INSIDE.set(true);
}

#[cold]
fn keep_outside() {
    let _ = OUTSIDE.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        match kept.last_mut() {
            Some(outside) if outside.early => outside.early = false,
            _ => kept.push(Outside { frame: FRAME.get(), clock: None, early: false }),
        }
    });
}

#[cold]
fn put_back_outside() {
    let told = Frame::current().told;
    let kept = OUTSIDE.try_with(|kept| kept.borrow_mut().pop());
    let Some(Outside { frame, clock, .. }) = kept.ok().flatten() else {
        INSIDE.set(false);
        return;
    };
    FRAME.set(frame);
    INSIDE.set(frame.depth > 0 || frame.since.is_some() || frame.clocked != 0);
    // The clock that was inside is dropped here, where no cell is borrowed.
    drop(clock.and_then(swap_clock));
    if std::thread::panicking() {
        // Nobody is left to say whether it is told around the frame; so it is.
        tell(told);
    }
}

fn swap_clock(clock: ClockHandle) -> Option<ClockHandle> {
    CLOCK.try_with(|current| current.replace(clock)).ok()
}

/// Tells the current frame.
#[cold]
pub(crate) fn tell(told: Told) {
    let frame = Frame::current();
    FRAME.set(Frame { told: frame.told.and(told), ..frame });
}

/// Counts calls that must not run twice in the current frame.
pub(crate) fn count_effects(effects: u8) {
    tell(Told::effects_of(effects));
}

/// Tells the current frame that an operation in it stopped, and whether it had its
/// permission from there.
pub(crate) fn tell_stop(reason: StopReason, ridden: bool) {
    let told = Told::stop_of(reason);
    tell(if ridden { told.ridden() } else { told });
}

/// Polls a call that must not run twice. Its first poll counts as one call in
/// the current frame; what it makes inside is part of it and not counted again.
pub(crate) fn effectful<T>(first: bool, poll: impl FnOnce() -> T) -> T {
    // Before the poll too: one that panics has run.
    count_effects(u8::from(first));
    let effects = Frame::current().told.effects();
    let output = poll();
    let frame = Frame::current();
    FRAME.set(Frame { told: frame.told.with_effects(effects), ..frame });
    output
}

/// What is left of the time around the code that is being polled; `None` where
/// nothing around is bounded.
#[cfg(feature = "http")]
pub(crate) fn left() -> Option<Nanos> {
    Frame::current().left(&clock())
}

/// The clock of the current frame.
pub(crate) fn clock() -> ClockHandle {
    if Frame::current().clocked == 0 {
        return ClockHandle::RUNTIME;
    }
    CLOCK.try_with(|clock| clock.borrow().clone()).unwrap_or_default()
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
        let clock = ClockHandle::shared(Arc::clone(this.clock));
        let frame = Frame::under(&clock, clock.now(), Nanos::MAX);
        let (polled, _) = poll_under(&clock, &frame, this.future, &mut inner);
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
