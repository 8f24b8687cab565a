//! `#[retryable]`: parse, check, emit.

mod async_trait;
mod check;
mod emit;
mod guard;
mod literal;
mod parse;

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;

use crate::errors::Errors;

/// Input: the options, and an `async fn` that is one attempt.
///
/// Output: the same signature around the loop; with mistakes, the loop all the
/// same beside them, so that the body stays checked and the editor alive.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    Errors::collect(|errors| {
        let options = parse::options(options, errors);
        match parse::function.parse2(item.clone()) {
            Ok(function) => match check::check(options, &function, errors) {
                Some(plan) => emit::emit(function, plan),
                None => quote!(#function),
            },
            Err(error) => {
                errors.push(error);
                item
            }
        }
    })
}
