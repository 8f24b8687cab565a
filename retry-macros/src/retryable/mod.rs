//! `#[retryable]`: parse, check, emit.

mod async_trait;
mod check;
mod durable;
mod emit;
mod guard;
mod instrument;
mod literal;
mod parse;
mod place;
mod written;

use proc_macro2::TokenStream;
use syn::parse::Parser;

use crate::errors::Errors;

/// Input: the options, and an `async fn` that is one attempt.
///
/// Output: the same signature around the loop; with mistakes, the loop all the
/// same beside them, so that the body stays checked and the editor alive.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    Errors::collect(|errors| {
        let attribute = place::attribute(&options, &item);
        let options = parse::options(attribute, options, errors);
        let function = |input: syn::parse::ParseStream<'_>| parse::function(attribute, input);
        match errors.ok(function.parse2(item.clone())) {
            Some(function) => {
                let plan = check::check(options, &function, errors);
                emit::emit(function, plan)
            }
            None => item,
        }
    })
}
