//! A caller of edition 2021, where an `impl Trait` captures less, temporaries
//! live longer, and `gen` is a name.
#![allow(missing_docs)]

use std::cell::Cell;
use std::future::Future;
use std::time::Duration;

use retry_core::clock::{Clock, VirtualClock};
use retry_core::store::MemoryStore;
use retry_core::{
    non_idempotent, retryable, Classify, Failure, IdempotencyKey, Retrier, StopReason, Stopped,
};

#[derive(Debug, PartialEq, Classify)]
pub enum Fault {
    #[retry(transient, after = gen)]
    Busy { gen: Option<Duration> },
    #[retry(permanent)]
    Refused,
}

const BUSY: Fault = Fault::Busy { gen: None };

fn run<F: Future>(future: F) -> F::Output {
    futures::executor::block_on(VirtualClock::new().scope(future))
}

struct Book<'a> {
    names: Vec<&'a str>,
    calls: Cell<u32>,
    retries: Retrier,
}

impl<'a> Book<'a> {
    fn new(names: &[&'a str]) -> Self {
        Self { names: names.to_vec(), calls: Cell::new(0), retries: Retrier::new() }
    }

    fn call(&self) -> Result<u32, Fault> {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() < 3 {
            Err(BUSY)
        } else {
            Ok(self.calls.get())
        }
    }

    /// Borrows from `self` and from an argument, both elided.
    #[retryable(idempotent, max_attempts = 3, deadline = "5s", with = self.retries)]
    async fn first(&self, _of: &str) -> Result<&str, Stopped<Fault>> {
        self.call()?;
        self.names.first().copied().ok_or(Fault::Refused)
    }

    /// An `impl Trait` that captures what it names.
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn all<'b, T>(
        &'b self,
        prefix: &'b T,
    ) -> Result<impl Iterator<Item = &'a str> + use<'a, 'b, T>, Stopped<Fault>>
    where
        T: AsRef<str> + ?Sized,
    {
        self.call()?;
        Ok(self.names.iter().copied().filter(|name| name.starts_with(prefix.as_ref())))
    }

    #[retryable(name = "book.add", key = gen, attempt, max_attempts = 3, deadline = "5s")]
    async fn add(&mut self, gen: u64, name: &'a str) -> Result<IdempotencyKey, Stopped<Fault>> {
        self.names.push(name);
        if attempt.is_last() {
            Ok(key)
        } else {
            Err(BUSY)
        }
    }

    #[non_idempotent]
    async fn print(&self, of: &str) -> usize {
        of.len() + self.names.len()
    }

    #[retryable(at_most_once, before_retry = self.rest(), max_attempts = 3, deadline = "5s")]
    async fn print_all(&self, of: &str) -> Result<usize, Stopped<Fault>> {
        Ok(self.print(of).await)
    }

    async fn rest(&self) {}

    #[retryable(idempotent, reject = |calls| *calls < 3, max_attempts = 3, deadline = self.time())]
    async fn counted(self) -> Result<u32, Stopped<Fault>> {
        Ok(self.call().unwrap_or_default())
    }

    fn time(&self) -> Duration {
        Duration::from_secs(self.names.len() as u64)
    }
}

#[async_trait::async_trait(?Send)]
trait Named {
    async fn name(&self, at: usize) -> Result<String, Stopped<Fault>>;
}

#[async_trait::async_trait(?Send)]
impl Named for Book<'_> {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn name(&self, at: usize) -> Result<String, Stopped<Fault>> {
        self.call()?;
        self.names.get(at).map(|name| (*name).to_owned()).ok_or(Fault::Refused)
    }
}

trait Found {
    fn find(&self, text: &str) -> impl Future<Output = Result<u32, Stopped<Fault>>>;
}

impl Found for Book<'_> {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn find(&self, text: &str) -> Result<u32, Stopped<Fault>> {
        if text.is_empty() {
            return Err(Fault::Refused);
        }
        self.call()
    }
}

/// What is kept owns nothing of `self`; an argument is called `gen`.
impl Book<'_> {
    #[retryable(name = "book.count", durable, key = gen, fingerprint = of.len() as u64 + gen, max_attempts = 3, deadline = "5s", with = self.retries)]
    async fn count(&self, gen: u64, of: &str) -> Result<u32, Stopped<Fault>> {
        let _ = (key, of);
        self.call()
    }

    #[retryable(name = "book.once", durable, at_most_once, id = gen, classify = |_| Failure::transient().no_effect(), max_attempts = 3, deadline = "5s", with = &self.retries)]
    async fn once(&self, gen: u64, of: &str) -> Result<usize, Stopped<Fault>> {
        self.call()?;
        Ok(self.print(of).await + gen as usize)
    }
}

#[test]
fn a_durable_operation_is_found_again() {
    let clock = VirtualClock::new();
    let mut book = Book::new(&["ann"]);
    book.retries = Retrier::builder().store(MemoryStore::with_clock(clock.clone())).build();
    let run = |future| futures::executor::block_on(clock.clone().scope(future));
    assert_eq!([run(book.count(7, "ann")).unwrap(), run(book.count(7, "bob")).unwrap()], [3; 2]);
    book.calls.set(0);
    let once = || futures::executor::block_on(clock.clone().scope(book.once(7, "ann")));
    assert_eq!([once().unwrap(), once().unwrap()], [11; 2]);
    assert_eq!(book.calls.get(), 3);
}

#[test]
fn every_shape_runs() {
    let name = "ann".to_owned();
    let book = || Book::new(&[&name, "bob"]);
    assert_eq!(run(book().first("")).unwrap(), "ann");
    assert_eq!(run(book().all("b")).unwrap().collect::<Vec<_>>(), ["bob"]);
    let mut added = book();
    let key = IdempotencyKey::derive("book.add", "7").unwrap();
    assert_eq!(run(added.add(7, "cid")).unwrap(), key);
    assert_eq!(added.names, ["ann", "bob", "cid", "cid", "cid"]);
    assert_eq!(run(book().print_all("abc")).unwrap(), 5);
    assert_eq!(run(book().counted()).unwrap(), 3);
    let dynamic: Box<dyn Named> = Box::new(book());
    assert_eq!(run(dynamic.name(1)).unwrap(), "bob");
    assert_eq!(run(dynamic.name(2)).unwrap_err().reason(), StopReason::FailPermanent);
    assert_eq!(run(book().find("x")).unwrap(), 3);
    assert_eq!(run(book().find("")).unwrap_err().error(), Some(&Fault::Refused));
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn spawned(
    text: &str,
    calls: &std::sync::atomic::AtomicU32,
) -> Result<usize, Stopped<Fault>> {
    let (length, ()) = tokio::join!(async { text.len() }, std::future::ready(()));
    if calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 {
        return Err(BUSY);
    }
    Ok(length)
}

/// Its future is `Send`, borrows and all.
#[test]
fn a_task_runs_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let task = async {
        let (text, calls) = ("four".to_owned(), 0.into());
        VirtualClock::new().scope(spawned(&text, &calls)).await
    };
    assert_eq!(runtime.block_on(async { tokio::spawn(task).await }).unwrap().unwrap(), 4);
}
