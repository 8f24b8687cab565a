//! Functions that `#[async_trait]` has rewritten before `#[retryable]` sees them.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::quote;
use syn::parse::Parser;
use syn::{Block, Pat, Stmt};

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
///
/// Without a return type the last two lines are `let _: () = { <body> };`.
pub(super) struct AsyncTrait {
    /// `Box::pin`
    call: Vec<TokenTree>,
    /// `async move`
    asyncness: Vec<TokenTree>,
    moves: Vec<TokenTree>,
    after: Vec<TokenTree>,
    pub(super) output: Option<TokenStream>,
    pub(super) body: Group,
    /// What the moves bind, `self` apart.
    pub(super) patterns: Vec<Pat>,
    /// `mut __self`, if `self` was moved so.
    pub(super) mutable_self: Option<TokenStream>,
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
        let result = inner.windows(3).position(|window| {
            matches!(window, [TokenTree::Ident(l), TokenTree::Ident(ret), TokenTree::Punct(colon)]
                if l == "let" && (ret == "__ret" || ret == "_") && colon.as_char() == ':')
        })?;
        let start = result + 3;
        let equals = start + inner[start..].windows(2).position(is_equals_and_block)?;
        let TokenTree::Group(body) = &inner[equals + 1] else {
            return None;
        };
        let has_output = matches!(&inner[result + 1], TokenTree::Ident(ret) if ret == "__ret");
        let output = has_output.then(|| inner[start..equals].iter().cloned().collect());
        let moves = Block::parse_within.parse2(inner[..result].iter().cloned().collect()).ok()?;
        let mut made = Self {
            call,
            asyncness,
            output,
            body: body.clone(),
            after: inner[equals + 2..].to_vec(),
            moves: inner[..=equals].to_vec(),
            patterns: Vec::new(),
            mutable_self: None,
            this: None,
        };
        for statement in moves {
            if let Stmt::Local(local) = statement {
                made.binds(local.pat);
            }
        }
        is_async_move.then_some(made)
    }

    fn binds(&mut self, pat: Pat) {
        match pat {
            Pat::Ident(pat) if pat.ident == "__self" => {
                let mutability = pat.mutability;
                let name = &pat.ident;
                self.mutable_self = mutability.map(|_| quote!(#mutability));
                self.this = Some(name.clone());
            }
            pat => self.patterns.push(pat),
        }
    }

    /// An option's expression, where `self` has another name.
    pub(super) fn in_body(&self, option: TokenStream) -> TokenStream {
        match &self.this {
            Some(this) => replace(option, "self", this),
            None => option,
        }
    }

    /// The function's body with another one inside.
    pub(super) fn rebuild(self, body: TokenStream) -> TokenStream {
        let Self { call, asyncness, moves, after, .. } = self;
        quote!(#(#call)* (#(#asyncness)* { #(#moves)* { #body } #(#after)* }))
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
