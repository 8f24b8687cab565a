//! Nothing that the attribute makes is a lint of the caller.
#![deny(warnings, missing_docs, unused, unused_qualifications, unreachable_pub)]
#![deny(rust_2018_idioms, unused_lifetimes, tail_expr_drop_order, let_underscore_drop)]
#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::pin::Pin;

use retry_core::non_idempotent;

/// A bank.
#[derive(Debug)]
pub struct Bank<'a> {
    name: &'a str,
}

impl<'a> Bank<'a> {
    /// Arguments of every kind; what comes out borrows from them.
    #[non_idempotent]
    pub async fn describe(
        &self,
        _unused: String,
        mut text: String,
        (a, b): (u8, u8),
        _: &[impl Debug],
    ) -> Result<impl Iterator<Item = String> + '_, Box<dyn Debug>> {
        text.push('!');
        if a > b {
            return Err(Box::new(a));
        }
        Ok(self.name.split(' ').map(str::to_owned).chain([text]))
    }

    /// By value.
    #[non_idempotent]
    pub async fn close(self) -> &'a str {
        self.name
    }

    /// Never gets to its end.
    #[non_idempotent]
    pub async fn hang(&self) -> u64 {
        loop {
            std::future::pending::<()>().await;
        }
    }

    /// Boxed.
    #[non_idempotent]
    pub fn boxed(&self) -> Pin<Box<dyn Future<Output = usize> + Send + '_>> {
        Box::pin(async move { self.name.len() })
    }
}

/// A public trait: no lint about `async fn` in it, as there is none.
pub trait Gateway {
    /// Declared.
    #[non_idempotent]
    async fn send(&self, text: &str) -> usize;

    /// Defaulted.
    #[non_idempotent]
    async fn send_twice(&self, text: &str) -> usize {
        self.send(text).await + self.send(text).await
    }

    /// With a promise about the future.
    #[non_idempotent]
    fn send_from_a_task(&self, text: &str) -> impl Future<Output = usize> + Send;
}

impl Gateway for Bank<'_> {
    #[non_idempotent]
    async fn send(&self, text: &str) -> usize {
        text.len()
    }

    #[non_idempotent]
    async fn send_from_a_task(&self, text: &str) -> usize {
        text.len()
    }
}

fn main() {}
