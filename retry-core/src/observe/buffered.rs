//! A slow observer, away from the operations.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::{
    AttemptFailed, AttemptStarted, BreakerChanged, BudgetChanged, Cancelled, Deferred, Observer,
    OperationStopped, Succeeded, contain,
};

/// Runs an observer on a thread of its own, behind a bounded queue: for one that
/// writes to a file or a socket.
///
/// Telling it never blocks. An event that finds the queue full is dropped and
/// counted: watch [`dropped`](Self::dropped). The events that are kept arrive in
/// order, and a panic on one of them takes no other with it. The error's text is
/// made on the operation's own task, because the error does not outlive it.
///
/// Clones share one queue. The last of them to be dropped, the retrier's among
/// them, waits until everything in the queue is heard: keep one where the process
/// may wait for that.
///
/// ```
/// use retry_core::Retrier;
/// use retry_core::observe::{Buffered, Recorder};
///
/// # fn main() -> std::io::Result<()> {
/// let buffered = Buffered::new(Recorder::new(), 1024)?;
/// let retrier = Retrier::builder().observer(buffered.clone()).build();
///
/// // Before the process ends, or whenever the numbers are asked for:
/// buffered.flush();
/// assert_eq!(buffered.dropped(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Buffered(Arc<Shared>);

struct Shared {
    /// `None` once it is closed.
    queue: Option<SyncSender<Message>>,
    dropped: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

/// An event that owns what it tells of.
type Event = Box<dyn FnOnce(&dyn Observer) + Send>;

enum Message {
    Event(Event),
    /// To be answered when everything before it is heard.
    Flush(SyncSender<()>),
}

impl Buffered {
    /// The most events that a queue holds, whatever it is asked to: a slot is
    /// allocated for each at the start.
    pub const MAX_CAPACITY: usize = 1 << 16;

    /// Starts the thread. The queue holds `capacity` events, at least 1 and at
    /// most [`MAX_CAPACITY`](Self::MAX_CAPACITY), beside the one that is being
    /// heard.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn new(observer: impl Observer, capacity: usize) -> io::Result<Self> {
        let (queue, messages) = sync_channel(capacity.clamp(1, Self::MAX_CAPACITY));
        let thread = thread::Builder::new()
            .name("retry-observer".to_owned())
            .spawn(move || hear(messages, &observer))?;
        let dropped = AtomicU64::new(0);
        Ok(Self(Arc::new(Shared { queue: Some(queue), dropped, thread: Some(thread) })))
    }

    /// How many events found the queue full.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything that was told before is heard. Blocks, so it is
    /// for the end of a process and for tests. Returns at once when the observer
    /// itself calls it.
    pub fn flush(&self) {
        if self.0.is_own_thread() {
            return;
        }
        let Some(queue) = &self.0.queue else { return };
        let (answer, heard) = sync_channel(1);
        if queue.send(Message::Flush(answer)).is_ok() {
            let _ = heard.recv();
        }
    }

    fn push(&self, event: impl FnOnce(&dyn Observer) + Send + 'static) {
        let sent = match &self.0.queue {
            Some(queue) => queue.try_send(Message::Event(Box::new(event))).is_ok(),
            None => false,
        };
        if !sent {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn hear(messages: Receiver<Message>, observer: &dyn Observer) {
    for message in messages {
        match message {
            Message::Event(event) => contain(|| event(observer)),
            Message::Flush(answer) => {
                // Whoever asked may have gone.
                let _ = answer.send(());
            }
        }
    }
}

impl Shared {
    fn is_own_thread(&self) -> bool {
        let own = |thread: &JoinHandle<()>| thread.thread().id() == thread::current().id();
        self.thread.as_ref().is_some_and(own)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let own = self.is_own_thread();
        // Closes the queue; the thread ends when it has heard the rest.
        self.queue = None;
        if let Some(thread) = self.thread.take().filter(|_| !own) {
            // It panics only where the observer's own destructor does.
            let _ = thread.join();
        }
    }
}

/// Each event is made anew from what is owned; without `..`, so that no field is
/// forgotten.
impl Observer for Buffered {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        let &AttemptStarted { attempt, elapsed, waited, policy, depth, product, .. } = event;
        let (operation, policy) = (event.operation.clone(), *policy);
        let resource = event.resource.map(str::to_owned);
        self.push(move |observer| {
            observer.attempt_started(&AttemptStarted {
                operation: &operation,
                attempt,
                elapsed,
                waited,
                policy: &policy,
                resource: resource.as_deref(),
                depth,
                product,
            });
        });
    }

    fn attempt_failed(&self, event: &AttemptFailed<'_>) {
        let &AttemptFailed { attempt, elapsed, failure, error, decision, depth, product, .. } =
            event;
        let (operation, failure, decision) = (event.operation.clone(), *failure, decision.clone());
        let error = error.map(|error| error.to_string());
        let resource = event.resource.map(str::to_owned);
        self.push(move |observer| {
            observer.attempt_failed(&AttemptFailed {
                operation: &operation,
                attempt,
                elapsed,
                failure: &failure,
                error: error.as_ref().map(|error| error as &dyn fmt::Display),
                decision: &decision,
                resource: resource.as_deref(),
                depth,
                product,
            });
        });
    }

    fn deferred(&self, event: &Deferred<'_>) {
        let &Deferred { attempts, elapsed, reason, until, .. } = event;
        let operation = event.operation.clone();
        let resource = event.resource.map(str::to_owned);
        self.push(move |observer| {
            observer.deferred(&Deferred {
                operation: &operation,
                attempts,
                elapsed,
                reason,
                until,
                resource: resource.as_deref(),
            });
        });
    }

    fn succeeded(&self, event: &Succeeded<'_>) {
        let &Succeeded { attempts, elapsed, .. } = event;
        let operation = event.operation.clone();
        let resource = event.resource.map(str::to_owned);
        self.push(move |observer| {
            observer.succeeded(&Succeeded {
                operation: &operation,
                attempts,
                elapsed,
                resource: resource.as_deref(),
            });
        });
    }

    fn stopped(&self, event: &OperationStopped<'_>) {
        let &OperationStopped { attempts, elapsed, stop, failure, depth, product, .. } = event;
        let (operation, stop, failure) = (event.operation.clone(), stop.clone(), failure.copied());
        let resource = event.resource.map(str::to_owned);
        self.push(move |observer| {
            observer.stopped(&OperationStopped {
                operation: &operation,
                attempts,
                elapsed,
                stop: &stop,
                failure: failure.as_ref(),
                resource: resource.as_deref(),
                depth,
                product,
            });
        });
    }

    fn cancelled(&self, event: &Cancelled<'_>) {
        let &Cancelled { attempts, elapsed, in_attempt, panicked, failure, .. } = event;
        let (operation, failure) = (event.operation.clone(), failure.copied());
        let resource = event.resource.map(str::to_owned);
        self.push(move |observer| {
            observer.cancelled(&Cancelled {
                operation: &operation,
                attempts,
                elapsed,
                in_attempt,
                panicked,
                failure: failure.as_ref(),
                resource: resource.as_deref(),
            });
        });
    }

    fn breaker_changed(&self, event: &BreakerChanged<'_>) {
        let &BreakerChanged { resource, state, openings } = event;
        let resource = resource.to_owned();
        self.push(move |observer| {
            observer.breaker_changed(&BreakerChanged { resource: &resource, state, openings });
        });
    }

    fn budget_changed(&self, event: &BudgetChanged<'_>) {
        let &BudgetChanged { resource, tokens, refused } = event;
        let resource = resource.to_owned();
        self.push(move |observer| {
            observer.budget_changed(&BudgetChanged { resource: &resource, tokens, refused });
        });
    }
}

impl fmt::Debug for Buffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffered").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}
