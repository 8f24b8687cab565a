//! What a thread of the store is asked to do inside a transaction.

use std::fmt;

use futures_channel::oneshot;
use retry_core::store::{Reply, StoreError};

use crate::book::{Book, Kept, Sql};

/// What is asked, and whom to answer.
pub(crate) trait Task: Send {
    /// How many records it is about.
    fn weight(&self) -> usize;

    /// Acts, and keeps the answer. Called again where the transaction is.
    fn act(&mut self, book: &mut Book<'_>) -> Sql<()>;

    /// Answers, once the transaction has ended. Nobody may listen.
    fn answer(self: Box<Self>, ended: Result<(), StoreError>);
}

/// A task, and its reply.
pub(crate) fn ask<T: Send + 'static>(
    weight: usize,
    act: impl FnMut(&mut Book<'_>) -> Kept<T> + Send + 'static,
) -> (Box<dyn Task>, Reply<T>) {
    let (sender, receiver) = oneshot::channel();
    let task = Asked { weight, act, found: None, sender };
    // A thread that has ended has dropped the sender.
    let reply = async { receiver.await.unwrap_or(Err(StoreError::Closed)) };
    (Box::new(task), Box::pin(reply))
}

struct Asked<T, F> {
    weight: usize,
    act: F,
    found: Option<Result<T, StoreError>>,
    sender: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnMut(&mut Book<'_>) -> Kept<T> + Send> Task for Asked<T, F> {
    fn weight(&self) -> usize {
        self.weight
    }

    fn act(&mut self, book: &mut Book<'_>) -> Sql<()> {
        self.found = Some((self.act)(book)?);
        Ok(())
    }

    fn answer(self: Box<Self>, ended: Result<(), StoreError>) {
        let found = self.found.unwrap_or(Err(StoreError::Closed));
        // The other side may have gone.
        let _ = self.sender.send(ended.and(found));
    }
}

impl fmt::Debug for dyn Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("weight", &self.weight()).finish_non_exhaustive()
    }
}
