//! The macros as functions.
//!
//! A proc-macro crate exports nothing but its macros, and only the compiler can
//! call them. So its sources are compiled a second time here, entry points
//! apart: everything else in them is on `proc_macro2`, which works anywhere.

#[path = "../../../retry-macros/src/attribute.rs"]
mod attribute;
#[path = "../../../retry-macros/src/classify/mod.rs"]
mod classify;
#[path = "../../../retry-macros/src/duration.rs"]
mod duration;
#[path = "../../../retry-macros/src/errors.rs"]
mod errors;
#[path = "../../../retry-macros/src/inferred.rs"]
mod inferred;
#[path = "../../../retry-macros/src/non_idempotent.rs"]
mod marked;
#[path = "../../../retry-macros/src/mentions.rs"]
mod mentions;
#[path = "../../../retry-macros/src/options.rs"]
mod options;
#[path = "../../../retry-macros/src/retryable/mod.rs"]
mod retried;

use proc_macro2::TokenStream;

/// `#[retryable(options)] item`
pub fn retryable(options: TokenStream, item: TokenStream) -> TokenStream {
    retried::expand(options, item)
}

/// `#[non_idempotent(options)] item`
pub fn non_idempotent(options: TokenStream, item: TokenStream) -> TokenStream {
    marked::expand(options, item)
}

/// `#[derive(Classify)] input`
pub fn derive_classify(input: syn::DeriveInput) -> TokenStream {
    classify::expand(input)
}
