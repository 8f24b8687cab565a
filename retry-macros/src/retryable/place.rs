//! Where the compiler points.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::quote_spanned;

/// The whole attribute, as the author's own text: with the macro's, each message
/// would end in a note about the expansion.
pub(super) fn attribute(options: &TokenStream, item: &TokenStream) -> Span {
    let authors = [options, item].into_iter().find_map(|tokens| tokens.clone().into_iter().next());
    match authors {
        Some(token) => Span::call_site().resolved_at(token.span()),
        None => Span::call_site(),
    }
}

/// From the first to the last of some tokens. A path whose first word stands at
/// one and whose last word at the other is underlined as a whole.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) first: Span,
    pub(super) last: Span,
}

impl Extent {
    /// `or` is where they stand if there are none.
    pub(super) fn of(tokens: &TokenStream, or: Span) -> Self {
        let mut spans = tokens.clone().into_iter().map(|token| token.span());
        let first = spans.next().unwrap_or(or);
        Self { first, last: spans.last().unwrap_or(first) }
    }

    /// The same place, where our names are known.
    pub(super) fn ours(self) -> Self {
        let ours = Span::mixed_site();
        Self { first: ours.located_at(self.first), last: ours.located_at(self.last) }
    }
}

/// `(tokens)`, with the parentheses at the last token: anywhere else, the
/// compiler would underline them too.
pub(super) fn parenthesized(tokens: TokenStream) -> TokenTree {
    let place = Extent::of(&tokens, Span::call_site());
    let mut group = Group::new(Delimiter::Parenthesis, tokens);
    group.set_span(place.last);
    TokenTree::Group(group)
}

/// `&(tokens)`, which stands where the tokens do.
pub(super) fn borrowed(tokens: TokenStream) -> TokenStream {
    let place = Extent::of(&tokens, Span::call_site());
    let tokens = parenthesized(tokens);
    quote_spanned!(place.first=> &#tokens)
}
