//! What `#[non_idempotent]` makes of a function: outside of an attempt the same
//! function, and inside one a call that the attempt learns of.

use std::cell::RefCell;
use std::fmt::Display;
use std::future::ready;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use std::time::Duration;

use retry_core::clock::{Clock, VirtualClock};
use retry_core::{Classify, NonIdempotent, Operation, Policy, StopReason, non_idempotent};

/// Runs a future that waits for nothing.
fn run<F: IntoFuture>(future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

#[derive(Debug, PartialEq)]
struct Declined;

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, Declined> {
    if amount == 0 {
        return Err(Declined);
    }
    let checked = ready(Ok::<_, Declined>(amount)).await?;
    Ok(checked)
}

#[non_idempotent]
async fn nothing() {}

#[test]
fn an_async_fn_is_awaited_as_before() {
    assert_eq!(run(charge(3)), Ok(3));
    assert_eq!(run(async { charge(0).await }), Err(Declined));
    run(nothing());
    let _: NonIdempotent<_> = charge(1);
}

struct Bank<'a> {
    book: RefCell<Vec<u64>>,
    name: &'a str,
    fee: u64,
}

impl<'a> Bank<'a> {
    #[non_idempotent]
    async fn book(&self, amount: u64) -> usize {
        self.book.borrow_mut().push(amount);
        self.book.borrow().len()
    }

    #[non_idempotent]
    async fn raise(&mut self, by: u64) -> &mut u64 {
        self.fee += by;
        &mut self.fee
    }

    /// Elided and named lifetimes, `impl Trait` on both sides, patterns, `mut`.
    #[non_idempotent]
    async fn describe<T>(
        &self,
        mut text: String,
        (a, mut b): (u64, u64),
        more: &[impl Display],
        _: T,
    ) -> Result<impl Iterator<Item = String>, Declined>
    where
        T: Display + Clone,
    {
        b += a;
        text.push_str(self.name);
        Ok(more
            .iter()
            .map(|each| each.to_string())
            .chain([text, b.to_string()])
            .collect::<Vec<_>>()
            .into_iter())
    }

    #[non_idempotent]
    async fn close(self) -> &'a str {
        self.name
    }

    #[non_idempotent]
    async fn close_boxed(mut self: Box<Self>, name: &'a str) -> &'a str {
        self.name = name;
        self.name
    }
}

#[test]
fn a_method_takes_and_gives_what_it_did() {
    let name = "bank".to_owned();
    let mut bank = Bank { book: RefCell::default(), name: &name, fee: 1 };
    assert_eq!(run(bank.book(3)), 1);
    *run(bank.raise(2)) += 1;
    assert_eq!(bank.fee, 4);
    let text = run(bank.describe("my ".to_owned(), (1, 2), &[7, 8], 'x')).unwrap();
    assert_eq!(text.collect::<Vec<_>>(), ["7", "8", "my bank", "3"]);
    let other = "other".to_owned();
    assert_eq!(run(bank.close()), "bank");
    let bank = Bank { book: RefCell::default(), name: &name, fee: 1 };
    assert_eq!(run(Box::new(bank).close_boxed(&other)), "other");
}

/// Says when it is dropped.
struct Noted<'a>(&'a RefCell<Vec<&'static str>>, &'static str);

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().push(self.1);
    }
}

impl Noted<'_> {
    async fn run_written(self, _permit: Noted<'_>, _: Noted<'_>, used: Noted<'_>) {
        used.0.borrow_mut().push("body");
        let _local = Noted(used.0, "local");
        ready(()).await;
    }

    #[non_idempotent]
    async fn run_marked(self, _permit: Noted<'_>, _: Noted<'_>, used: Noted<'_>) {
        used.0.borrow_mut().push("body");
        let _local = Noted(used.0, "local");
        ready(()).await;
    }
}

/// A permit that is not read must still be held while the call runs.
#[test]
fn arguments_live_as_long_as_in_the_async_fn() {
    let [written, marked] = [RefCell::default(), RefCell::default()];
    let noted = |name| Noted(&written, name);
    run(noted("self").run_written(noted("permit"), noted("_"), noted("used")));
    let noted = |name| Noted(&marked, name);
    run(noted("self").run_marked(noted("permit"), noted("_"), noted("used")));
    assert_eq!(written.into_inner(), ["body", "local", "used", "_", "permit", "self"]);
    assert_eq!(marked.into_inner(), ["body", "local", "used", "_", "permit", "self"]);
}

trait Gateway {
    #[non_idempotent]
    async fn send(&self, text: &str) -> usize;

    #[non_idempotent]
    async fn send_twice(&self, text: &str) -> usize {
        self.send(text).await + self.send(text).await
    }

    #[non_idempotent]
    fn send_from_a_task(&self, text: String) -> impl Future<Output = usize> + Send;
}

struct Length;

impl Gateway for Length {
    #[non_idempotent]
    async fn send(&self, text: &str) -> usize {
        text.len()
    }

    #[non_idempotent]
    async fn send_from_a_task(&self, text: String) -> usize {
        text.len()
    }
}

#[test]
fn a_trait_declares_defaults_and_implements_it() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    fn generic(gateway: &impl Gateway) -> usize {
        run(is_send(gateway.send_from_a_task("abc".to_owned()).into_future()))
    }
    assert_eq!(run(Length.send("ab")), 2);
    assert_eq!(run(Length.send_twice("ab")), 4);
    assert_eq!(generic(&Length), 3);
}

#[async_trait::async_trait]
trait Store: Sync {
    #[non_idempotent]
    async fn append(&self, line: &str) -> Result<usize, Declined>;

    #[non_idempotent]
    async fn append_twice(&self, line: &str) -> Result<usize, Declined> {
        Ok(self.append(line).await? + self.append(line).await?)
    }
}

#[async_trait::async_trait]
impl Store for Length {
    #[non_idempotent]
    async fn append(&self, line: &str) -> Result<usize, Declined> {
        if line.is_empty() {
            return Err(Declined);
        }
        Ok(line.len())
    }
}

#[test]
fn async_trait_makes_it_an_object() {
    let store: &dyn Store = &Length;
    assert_eq!(run(store.append("ab")), Ok(2));
    assert_eq!(run(store.append("")), Err(Declined));
    assert_eq!(run(store.append_twice("ab")), Ok(4));
}

impl Length {
    #[non_idempotent]
    fn plain(&self, text: &str) -> impl Future<Output = usize> + Send {
        let length = text.len();
        async move { length }
    }

    #[non_idempotent]
    fn boxed<'a>(&'a mut self, text: &'a str) -> Pin<Box<dyn Future<Output = usize> + 'a>> {
        if text.is_empty() {
            return Box::pin(ready(0));
        }
        Box::pin(async move {
            let _this = self;
            if text == "x" {
                return 100;
            }
            text.len()
        })
    }

    #[non_idempotent]
    fn named(&self) -> std::future::Ready<u8> {
        ready(9)
    }
}

#[test]
fn a_function_that_returns_a_future_runs_as_before() {
    assert_eq!(run(Length.plain("ab")), 2);
    assert_eq!(run(Length.boxed("ab")), 2);
    assert_eq!(run(Length.boxed("x")), 100);
    assert_eq!(run(Length.boxed("")), 0);
    assert_eq!(run(Length.named()), 9);
}

#[test]
fn nothing_runs_before_it_is_polled() {
    let bank = Bank { book: RefCell::default(), name: "", fee: 0 };
    drop(bank.book(1));
    assert!(bank.book.borrow().is_empty());
    drop(bank.book(2).into_future());
    assert!(bank.book.borrow().is_empty());
}

mod shadowed {
    #![allow(dead_code)]
    use std::fmt::Debug as Option;

    pub(crate) struct Some;
    pub(crate) struct NonIdempotent;
    pub(crate) trait Future {}
    pub(crate) mod core {}
    pub(crate) mod retry_core {}

    #[::retry_core::non_idempotent]
    pub(crate) async fn names(
        output: u8,
        future: impl Option,
        (argument0, argument2): (u8, u8),
        #[cfg(any())] absent: u8,
        #[cfg(not(any()))] present: u8,
    ) -> (u8, String) {
        (output + argument0 + argument2 + present, format!("{future:?}"))
    }
}

#[test]
fn names_are_the_authors() {
    assert_eq!(run(shadowed::names(1, 'x', (2, 3), 4)), (10, "'x'".to_owned()));
}

mod renamed {
    pub(crate) mod facade {
        pub(crate) use retry_core as retries;
    }

    #[retry_core::non_idempotent(crate = facade::retries)]
    pub(crate) async fn charge() -> u8 {
        1
    }

    #[retry_core::non_idempotent(crate = facade::retries)]
    pub(crate) fn returned() -> std::future::Ready<u8> {
        std::future::ready(2)
    }
}

#[test]
fn the_crate_may_have_another_path() {
    assert_eq!(run(renamed::charge()), 1);
    assert_eq!(run(renamed::returned()), 2);
}

/// Left this host or not; either way the next attempt may succeed.
#[derive(Debug, Classify)]
enum Busy {
    #[retry(transient)]
    Answered,
    #[retry(transient, no_effect)]
    Unreachable,
}

/// What types cannot see: the call is in a helper.
async fn hidden(calls: &RefCell<u64>) {
    book_one(calls).await;
}

#[non_idempotent]
async fn book_one(calls: &RefCell<u64>) {
    *calls.borrow_mut() += 1;
    ready(()).await;
}

/// One call to whoever awaits it, whatever it is made of.
#[non_idempotent]
async fn book_through(calls: &RefCell<u64>) {
    book_one(calls).await;
}

const THREE: Policy = Policy::new(3, Duration::from_secs(60));

/// How the operation stopped, on a clock of its own.
fn stop<F: Future<Output = Result<(), Busy>>>(
    operation: Operation,
    attempt: impl Fn() -> F,
) -> Option<(StopReason, u32)> {
    let operation = operation.run(|_| attempt());
    let stopped = run(VirtualClock::new().scope(operation)).err()?;
    Some((stopped.reason(), stopped.attempts()))
}

#[test]
fn n3_a_hidden_call_runs_once_and_the_operation_says_so() {
    let calls = RefCell::new(0);
    let attempt = || async {
        hidden(&calls).await;
        Err(Busy::Answered)
    };
    let operation = Operation::idempotent("orders.place", THREE);
    assert_eq!(stop(operation, attempt), Some((StopReason::NotIdempotent, 1)));
    assert_eq!(calls.into_inner(), 1);
}

#[test]
fn a_call_that_is_never_polled_counts_for_nothing() {
    let calls = RefCell::new(0);
    let attempt = || async {
        drop(book_one(&calls));
        drop(book_one(&calls).into_future());
        Err(Busy::Answered)
    };
    let operation = Operation::idempotent("orders.place", THREE);
    assert_eq!(stop(operation, attempt), Some((StopReason::AttemptsExhausted, 3)));
    assert_eq!(calls.into_inner(), 0);
}

/// `no_effect` speaks for one call: of a second one it says nothing.
#[test]
fn a_call_and_what_it_makes_count_as_one() {
    let calls = RefCell::new(0);
    let through = || async {
        book_through(&calls).await;
        Err(Busy::Unreachable)
    };
    let operation = Operation::at_most_once("labels.print", THREE);
    assert_eq!(stop(operation.clone(), through), Some((StopReason::AttemptsExhausted, 3)));
    let twice = || async {
        book_through(&calls).await;
        book_one(&calls).await;
        Err(Busy::Unreachable)
    };
    assert_eq!(stop(operation, twice), Some((StopReason::ManualReview, 1)));
    assert_eq!(calls.into_inner(), 5);
}
