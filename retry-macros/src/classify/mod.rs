//! `#[derive(Classify)]`: parse, check, emit.

mod check;
mod emit;
mod parse;

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::errors::Errors;

/// Input: an enum or a struct whose attributes say what each error means.
///
/// Output: its `impl Classify`; with mistakes, an impl that answers `unknown`
/// beside them, so that nothing else is reported.
pub(crate) fn expand(input: DeriveInput) -> TokenStream {
    Errors::collect(|errors| {
        let input = parse::parse(input, errors);
        let checked = check::check(&input, errors);
        emit::emit(&input, checked)
    })
}
