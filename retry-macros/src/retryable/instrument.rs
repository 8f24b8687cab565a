//! Functions that `#[instrument]` has rewritten before `#[retryable]` sees them.

use proc_macro2::{Group, Spacing, TokenStream, TokenTree};

/// Gives the attempt's type to the branch that tells the body its type.
///
/// Input: `let __tracing_attr_fake_return: Result<T, Stopped<E>> = loop {};`
///
/// Output: `let __tracing_attr_fake_return: Result<T, E> = loop {};`
pub(super) fn retyped(body: &Group, tried: &TokenStream) -> Group {
    let mut group = Group::new(body.delimiter(), stream(body.stream(), tried));
    group.set_span(body.span());
    group
}

fn stream(tokens: TokenStream, tried: &TokenStream) -> TokenStream {
    let mut output = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_name =
            matches!(&token, TokenTree::Ident(name) if name == "__tracing_attr_fake_return");
        match token {
            TokenTree::Group(group) => {
                output.extend([TokenTree::Group(retyped(&group, tried))]);
            }
            token => output.extend([token]),
        }
        let is_typed =
            matches!(tokens.peek(), Some(TokenTree::Punct(colon)) if colon.as_char() == ':');
        if is_name && is_typed {
            output.extend(tokens.next());
            skip_type(&mut tokens);
            output.extend(tried.clone());
        }
    }
    output
}

/// Up to the `=` behind it.
fn skip_type(tokens: &mut std::iter::Peekable<impl Iterator<Item = TokenTree>>) {
    let mut open = 0_usize;
    let mut is_arrow = false;
    while let Some(token) = tokens.peek() {
        let after_minus = std::mem::take(&mut is_arrow);
        if let TokenTree::Punct(punct) = token {
            match punct.as_char() {
                '=' if open == 0 => return,
                '<' => open += 1,
                '>' if !after_minus => open = open.saturating_sub(1),
                '-' => is_arrow = punct.spacing() == Spacing::Joint,
                _ => {}
            }
        }
        tokens.next();
    }
}
