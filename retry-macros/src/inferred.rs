//! A written return type as the type of a local.

use proc_macro2::{Group, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};

/// The type with `_` for each `impl Trait`, which a local cannot spell.
///
/// Input: `Result<impl Iterator<Item = u8> + '_, E>`
///
/// Output: `Result<_, E>`
pub(crate) fn inferred(ty: impl ToTokens) -> TokenStream {
    let mut output = TokenStream::new();
    // Of an `impl Trait` that is being left out: how many `<` are open in it.
    let mut left_out: Option<usize> = None;
    let mut is_arrow = false;
    for token in ty.into_token_stream() {
        let after_minus = std::mem::take(&mut is_arrow);
        match &token {
            TokenTree::Punct(punct) => match (punct.as_char(), &mut left_out) {
                ('-', _) => is_arrow = punct.spacing() == Spacing::Joint,
                ('<', Some(open)) => *open += 1,
                ('>', Some(open)) if !after_minus && *open > 0 => *open -= 1,
                ('>', Some(0)) if !after_minus => left_out = None,
                (',' | ';', Some(0)) => left_out = None,
                _ => {}
            },
            TokenTree::Ident(word) if left_out.is_none() && word == "impl" => {
                let span = Span::call_site().located_at(word.span());
                output.extend(quote_spanned!(span=> _));
                left_out = Some(0);
            }
            _ => {}
        }
        if left_out.is_none() {
            output.extend([match token {
                TokenTree::Group(group) => {
                    let mut inner = Group::new(group.delimiter(), inferred(group.stream()));
                    inner.set_span(group.span());
                    TokenTree::Group(inner)
                }
                token => token,
            }]);
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_impl_is_left_out_whole() {
        for (written, local) in [
            ("Result<u8, E>", "Result<u8, E>"),
            ("impl Future<Output = u8> + Send", "_"),
            ("Result<impl Iterator<Item = Vec<u8>> + '_, E>", "Result<_, E>"),
            ("Result<Vec<impl Fn(&u8, u8) -> Vec<u8>>, E>", "Result<Vec<_>, E>"),
            (
                "(impl Copy, &'a (dyn Fn(u8) -> u8 + 'a), impl Copy)",
                "(_, &'a (dyn Fn(u8) -> u8 + 'a), _)",
            ),
            ("Option<Box<impl Into<Option<impl Copy>>>>", "Option<Box<_>>"),
            ("[impl Copy; 2]", "[_; 2]"),
            ("fn(u8) -> Vec<u8>", "fn(u8) -> Vec<u8>"),
        ] {
            let written: TokenStream = written.parse().unwrap();
            let local: TokenStream = local.parse().unwrap();
            assert_eq!(inferred(written).to_string(), local.to_string());
        }
    }
}
