//! Functions that `#[async_trait]` has rewritten before `#[retryable]` sees them.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::quote;

use super::guard::replace;

/// The one shape that `#[async_trait]` makes, taken apart.
///
/// ```text
/// Box::pin(async move {
///     <moves>
///     let __ret: <output> = { <body> };
///     __ret
/// })
/// ```
pub(super) struct AsyncTrait {
    /// `Box::pin`
    call: Vec<TokenTree>,
    /// `async move`
    asyncness: Vec<TokenTree>,
    moves: Vec<TokenTree>,
    after: Vec<TokenTree>,
    pub(super) output: TokenStream,
    pub(super) body: Group,
    /// The name that `self` has in the body.
    this: Option<Ident>,
}

impl AsyncTrait {
    /// `None` for any other body.
    pub(super) fn recognize(body: &Group) -> Option<Self> {
        let (call, argument) = split_last_group(body, Delimiter::Parenthesis)?;
        let (asyncness, block) = split_last_group(&argument, Delimiter::Brace)?;
        let is_async_move = matches!(&asyncness[..], [TokenTree::Ident(a), TokenTree::Ident(m)]
            if a == "async" && m == "move");
        let inner: Vec<_> = block.stream().into_iter().collect();
        let start = inner.windows(3).position(|window| {
            matches!(window, [TokenTree::Ident(l), TokenTree::Ident(ret), TokenTree::Punct(colon)]
                if l == "let" && ret == "__ret" && colon.as_char() == ':')
        })? + 3;
        let equals = start + inner[start..].windows(2).position(is_equals_and_block)?;
        let TokenTree::Group(body) = &inner[equals + 1] else {
            return None;
        };
        let moves = inner[..=equals].to_vec();
        is_async_move.then(|| Self {
            call,
            asyncness,
            output: inner[start..equals].iter().cloned().collect(),
            body: body.clone(),
            after: inner[equals + 2..].to_vec(),
            this: find_this(&moves),
            moves,
        })
    }

    /// An option's expression, where `self` has another name.
    pub(super) fn in_body(&self, option: TokenStream) -> TokenStream {
        match &self.this {
            Some(this) => replace(option, "self", this),
            None => option,
        }
    }

    /// Parameters that were written `mut`: `let mut x = x;` among the moves.
    pub(super) fn mutable_parameters(&self) -> Vec<Ident> {
        let lets = self.moves.windows(5).filter_map(|window| match window {
            [
                TokenTree::Ident(l),
                TokenTree::Ident(m),
                TokenTree::Ident(name),
                TokenTree::Punct(equals),
                TokenTree::Ident(of),
            ] if l == "let" && m == "mut" && equals.as_char() == '=' && name == of => Some(name),
            _ => None,
        });
        lets.cloned().collect()
    }

    /// The function's body with another one inside.
    pub(super) fn rebuild(self, body: TokenStream) -> TokenStream {
        let Self { call, asyncness, moves, after, .. } = self;
        quote!({ #(#call)* (#(#asyncness)* { #(#moves)* { #body } #(#after)* }) })
    }
}

/// The tokens before the last one, which is a group of that kind.
fn split_last_group(group: &Group, delimiter: Delimiter) -> Option<(Vec<TokenTree>, Group)> {
    let mut tokens: Vec<_> = group.stream().into_iter().collect();
    match tokens.pop()? {
        TokenTree::Group(last) if last.delimiter() == delimiter => Some((tokens, last)),
        _ => None,
    }
}

fn is_equals_and_block(window: &[TokenTree]) -> bool {
    matches!(window, [TokenTree::Punct(equals), TokenTree::Group(block)]
        if equals.as_char() == '=' && block.delimiter() == Delimiter::Brace)
}

/// `let __self = self;`
fn find_this(moves: &[TokenTree]) -> Option<Ident> {
    moves.windows(3).find_map(|window| match window {
        [TokenTree::Ident(this), TokenTree::Punct(equals), TokenTree::Ident(of)]
            if this == "__self" && equals.as_char() == '=' && of == "self" =>
        {
            Some(this.clone())
        }
        _ => None,
    })
}
