//! The macros of `retry-core`. Nobody depends on this crate directly: the two
//! are released together, and `retry-core` re-exports everything here with its
//! documentation.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod attribute;
mod classify;
mod duration;
mod errors;
mod inferred;
mod mentions;
mod non_idempotent;
mod options;
mod retryable;

/// Turns an `async fn`, one attempt of an operation, into the operation.
#[proc_macro_attribute]
pub fn retryable(options: TokenStream, item: TokenStream) -> TokenStream {
    retryable::expand(options.into(), item.into()).into()
}

/// Marks a function as one that must not run twice.
#[proc_macro_attribute]
pub fn non_idempotent(options: TokenStream, item: TokenStream) -> TokenStream {
    non_idempotent::expand(options.into(), item.into()).into()
}

/// Derives `Classify`.
#[proc_macro_derive(Classify, attributes(retry))]
pub fn derive_classify(input: TokenStream) -> TokenStream {
    classify::expand(parse_macro_input!(input as DeriveInput)).into()
}
