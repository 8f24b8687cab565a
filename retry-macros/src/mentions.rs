//! Whether a name stands anywhere in tokens.

use proc_macro2::{Ident, TokenStream, TokenTree};

/// At any depth; the tokens need not parse.
pub(crate) fn mentions<N: ?Sized>(tokens: TokenStream, name: &N) -> bool
where
    Ident: PartialEq<N>,
{
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}
