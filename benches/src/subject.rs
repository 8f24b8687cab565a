//! What is compared.

use crate::Scenario;

/// A way to retry the operation.
#[derive(Debug)]
pub struct Subject {
    /// The name on the command line and in the report.
    pub name: &'static str,
    /// How the operation's time is bounded.
    pub deadline: &'static str,
    /// Runs so many operations of the scenario, one after the other.
    pub run: fn(Scenario, u64),
    /// The bytes of the future of an operation whose body is
    /// `gateway.send(&order).await`, with an owned `String` and the gateway as
    /// arguments: `&mut Gateway`, or `&Gateway` where a rival cannot lend `&mut`.
    pub future_size: fn() -> usize,
}

/// The subject that the bounds are about, with what only it has.
#[derive(Clone, Copy, Debug)]
pub struct Ours {
    /// The attribute, as the others are measured.
    pub subject: &'static Subject,
    /// One decision after a failure, the delay by SHA-256 included; the number
    /// varies the operation.
    pub decide: fn(u64),
}

/// Awaits `operation(&gateway)` so many times, as one task of a current-thread
/// runtime. A macro, because a future that goes through a generic function is
/// copied once more than one that is awaited where it is made.
macro_rules! repeat {
    ($scenario:expr, $times:expr, $operation:expr) => {{
        let gateway = $crate::Gateway::new($scenario);
        $crate::subject::block_on(async {
            for _ in 0..$times {
                let succeeded = $operation(::std::hint::black_box(&gateway)).await.is_ok();
                assert!(succeeded, "the last attempt of every operation succeeds");
            }
        })
    }};
}
pub(crate) use repeat;

pub(crate) fn block_on(task: impl Future<Output = ()>) {
    match tokio::runtime::Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime.block_on(task),
        Err(error) => unreachable!("a runtime without I/O opens nothing: {error}"),
    }
}

/// The size of what the function returns; it is not called.
pub(crate) const fn size_of_future<A, B, F: Future>(_: fn(A, B) -> F) -> usize {
    size_of::<F>()
}
