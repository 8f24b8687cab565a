//! What takes a future does not take the call. The functions stand for
//! `tokio::spawn` and the like, whose own source would be quoted below.
use retry_core::{Stopped, non_idempotent, retryable};

#[non_idempotent]
async fn charge(amount: u64) -> Result<u64, std::io::Error> {
    Ok(amount)
}

fn spawn<F>(_: F)
where
    F: Future,
{
}

fn join_all<F>(_: [F; 2])
where
    F: Future,
{
}

fn repeat<F>(_: F)
where
    F: AsyncFn(),
{
}

trait FutureExt: Future + Sized {
    fn map<T>(self, _: impl FnOnce(Self::Output) -> T) {}
}

impl<F> FutureExt for F where F: Future {}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn spawned() -> Result<(), Stopped<std::io::Error>> {
    spawn(charge(1));
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn joined() -> Result<(), Stopped<std::io::Error>> {
    join_all([charge(1), charge(2)]);
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn boxed() -> Result<u64, Stopped<std::io::Error>> {
    Box::pin(charge(1)).await
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn as_an_async_fn() -> Result<(), Stopped<std::io::Error>> {
    repeat(|| charge(1));
    Ok(())
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn mapped() -> Result<(), Stopped<std::io::Error>> {
    charge(1).map(|receipt| receipt);
    Ok(())
}

fn main() {}
