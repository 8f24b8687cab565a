//! `#[non_idempotent]`: the return type says that the call must not run twice.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{
    Attribute, FnArg, Ident, Pat, Path, ReceiverKind, ReturnType, Signature, Token, Type,
    Visibility, parse_quote, token,
};

use crate::attribute::is_named;
use crate::errors::Errors;
use crate::inferred::inferred;
use crate::options;

/// These rewrite the body, or follow the future of an `async fn`: they expand
/// first, and see the function as it is written.
const FIRST: [&str; 2] = ["retryable", "instrument"];

/// Input: a function that is `async` or returns a future, with or without body.
///
/// Output: the same function, returning `NonIdempotent<…>`.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    Errors::collect(|errors| {
        let krate = crate_path(options.clone(), errors);
        match parse_item.parse2(item.clone()) {
            Ok(Item::First { attrs, rest }) => {
                let options = (!options.is_empty()).then(|| quote!((#options)));
                quote!(#(#attrs)* #[#krate::non_idempotent #options] #rest)
            }
            Ok(Item::Function(function)) => mark(*function, &krate, errors).unwrap_or(item),
            Err(_) => {
                errors.push(syn::Error::new(
                    Span::call_site(),
                    "`#[non_idempotent]` goes on a function or a method",
                ));
                item
            }
        }
    })
}

enum Item {
    /// Another attribute on it expands before this one.
    First {
        attrs: Vec<Attribute>,
        rest: TokenStream,
    },
    Function(Box<Function>),
}

struct Function {
    attrs: Vec<Attribute>,
    vis: Visibility,
    sig: Signature,
    body: Body,
}

/// Only its tokens: they are the author's.
enum Body {
    Block(Group),
    /// Declared in a trait.
    None(Token![;]),
}

fn crate_path(options: TokenStream, errors: &mut Errors) -> Path {
    let mut krate = parse_quote!(::retry_core);
    let list = |input: ParseStream<'_>| {
        options::each(input, errors, |name, input, _| {
            if name.unraw() != "crate" {
                return Err(options::unknown(name, &["crate"]));
            }
            input.parse::<Token![=]>()?;
            krate = input.call(Path::parse_mod_style)?;
            Ok(())
        });
        Ok(())
    };
    // The list reports its mistakes itself.
    let _ = list.parse2(options);
    krate
}

fn parse_item(input: ParseStream<'_>) -> syn::Result<Item> {
    let attrs = input.call(Attribute::parse_outer)?;
    let expands_first = |attr: &Attribute| FIRST.iter().any(|first| is_named(attr, first));
    if attrs.iter().any(expands_first) {
        return Ok(Item::First { attrs, rest: input.parse()? });
    }
    Ok(Item::Function(Box::new(Function {
        attrs,
        vis: input.parse()?,
        sig: input.parse()?,
        body: input.parse()?,
    })))
}

impl Parse for Body {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(token::Brace) {
            input.parse().map(Self::Block)
        } else {
            input.parse().map(Self::None)
        }
    }
}

fn mark(mut function: Function, krate: &Path, errors: &mut Errors) -> Option<TokenStream> {
    if function.sig.asyncness.is_some() {
        return Some(mark_async(function, krate));
    }
    match std::mem::replace(&mut function.sig.output, ReturnType::Default) {
        ReturnType::Type(_, output) => Some(mark_returned(function, &output, krate)),
        ReturnType::Default => {
            let name = &function.sig.ident;
            errors.at(
                function.sig.fn_token,
                format_args!(
                    "`{name}` returns no future that could be marked as non-idempotent; \
                     write `async fn {name}`"
                ),
            );
            None
        }
    }
}

/// Input:
/// ```text
/// pub async fn charge(&self, mut amount: u64, (a, b): (u8, u8)) -> Result<Receipt, E> { … }
/// ```
///
/// Output:
/// ```text
/// pub fn charge(&self, amount: u64, argument2: (u8, u8))
///     -> ::retry_core::NonIdempotent<impl Future<Output = Result<Receipt, E>>>
/// {
///     ::retry_core::NonIdempotent::new(async move {
///         let mut amount = amount;
///         let argument2 = argument2;
///         let (a, b) = argument2;
///         if let Some(output) = None::<Result<Receipt, E>> { return output; }
///         …
///     })
/// }
/// ```
///
/// As in the `async fn`, every argument lives until the future is done, used or
/// not, and the branch that is never taken tells the body its type.
fn mark_async(function: Function, krate: &Path) -> TokenStream {
    let Function { attrs, vis, mut sig, body } = function;
    let asyncness = sig.asyncness.take();
    let output = match &sig.output {
        ReturnType::Type(_, output) => output.to_token_stream(),
        ReturnType::Default => quote!(()),
    };
    // Ours, at the author's place: `impl` captures all lifetimes only in our
    // edition.
    let span = Span::call_site().located_at(output.span());
    sig.output = syn::parse_quote_spanned! {span=>
        -> #krate::NonIdempotent<impl ::core::future::Future<Output = #output>>
    };
    let body = match body {
        Body::None(semicolon) => semicolon.to_token_stream(),
        Body::Block(block) => {
            let arguments = take_arguments(&mut sig);
            let inferred = inferred(output);
            let tokens = block.stream();
            let edge = quote_spanned! {Span::mixed_site().located_at(span)=>
                if let ::core::option::Option::Some(output) =
                    ::core::option::Option::None::<#inferred>
                {
                    return output;
                }
            };
            let inner = braced(quote!(#arguments #edge #tokens), block.span());
            quote!({ #krate::NonIdempotent::new(#asyncness move #inner) })
        }
    };
    quote!(#(#attrs)* #vis #sig #body)
}

/// Moves every argument into the future, and gives those that have no name one
/// that the signature can carry.
fn take_arguments(sig: &mut Signature) -> TokenStream {
    let mut taken = TokenStream::new();
    for (index, argument) in sig.inputs.iter_mut().enumerate() {
        match argument {
            FnArg::Receiver(receiver) => {
                if !matches!(receiver.kind, ReceiverKind::Reference(..)) {
                    let this = receiver.self_token;
                    taken.extend(quote!(let _ = &#this;));
                }
            }
            FnArg::Typed(argument) => {
                let attrs = &argument.attrs;
                match &mut *argument.pat {
                    Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
                        let mutability = pat.mutability.take();
                        let name = &pat.ident;
                        let underscore = name.to_string().starts_with('_').then(|| {
                            quote!(
                                clippy::used_underscore_binding,
                                clippy::no_effect_underscore_binding
                            )
                        });
                        let allow = quote!(#[allow(clippy::shadow_same, #underscore)]);
                        taken.extend(quote!(#(#attrs)* #allow let #mutability #name = #name;));
                    }
                    pat => {
                        let name: Ident =
                            format_ident!("argument{index}", span = Span::mixed_site());
                        taken.extend(quote! {
                            #(#attrs)* let #name = #name;
                            #(#attrs)* let #pat = #name;
                        });
                        *pat = parse_quote!(#name);
                    }
                }
            }
        }
    }
    taken
}

/// Input:
/// ```text
/// fn charge(&self) -> Pin<Box<dyn Future<Output = u64> + '_>> { … }
/// ```
///
/// Output:
/// ```text
/// fn charge(&self) -> ::retry_core::NonIdempotent<Pin<Box<dyn Future<Output = u64> + '_>>> {
///     let future: Pin<Box<dyn Future<Output = u64> + '_>> = { … };
///     <Pin<…> as ::retry_core::__private::ReturnedFuture>::mark(future)
/// }
/// ```
fn mark_returned(function: Function, output: &Type, krate: &Path) -> TokenStream {
    let Function { attrs, vis, mut sig, body } = function;
    sig.output = parse_quote!(-> #krate::NonIdempotent<#output>);
    let body = match body {
        Body::None(semicolon) => semicolon.to_token_stream(),
        Body::Block(block) => {
            let tokens = block.stream();
            let inferred = inferred(output);
            let value = if returns(tokens.clone()) {
                quote!((move || -> #inferred { #tokens })())
            } else {
                quote!({ #tokens })
            };
            let future = Ident::new("future", Span::mixed_site());
            quote! {{
                let #future: #inferred = #value;
                <#inferred as #krate::__private::ReturnedFuture>::mark(#future)
            }}
        }
    };
    quote!(#(#attrs)* #vis #sig #body)
}

/// Whether a `return` may leave the function itself: one in an `async` block
/// does not.
fn returns(tokens: TokenStream) -> bool {
    let mut in_async = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => {
            in_async = ident == "async" || (in_async && ident == "move");
            ident == "return"
        }
        TokenTree::Group(group) => {
            let skip = in_async && group.delimiter() == Delimiter::Brace;
            in_async = false;
            !skip && returns(group.stream())
        }
        _ => {
            in_async = false;
            false
        }
    })
}

fn braced(tokens: TokenStream, span: Span) -> TokenTree {
    let mut group = Group::new(Delimiter::Brace, tokens);
    group.set_span(span);
    TokenTree::Group(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rewrites_the_body_expands_first() {
        let item: TokenStream = quote! {
            #[must_use]
            #[retry_core::retryable(at_most_once, max_attempts = 3)]
            /// Prints.
            pub async fn print_label(&self) -> Result<(), Stopped<E>> { self.print().await }
        };
        let reemitted = quote! {
            #[must_use]
            #[retry_core::retryable(at_most_once, max_attempts = 3)]
            /// Prints.
            #[::retry_core::non_idempotent]
            pub async fn print_label(&self) -> Result<(), Stopped<E>> { self.print().await }
        };
        assert_eq!(expand(quote!(), item).to_string(), reemitted.to_string());

        let item = quote!(
            #[instrument]
            async fn charge() {}
        );
        let reemitted = quote! {
            #[instrument]
            #[retries::non_idempotent(crate = retries)]
            async fn charge() {}
        };
        assert_eq!(expand(quote!(crate = retries), item).to_string(), reemitted.to_string());
    }

    #[test]
    fn only_a_return_of_the_function_itself_counts() {
        for (body, expected) in [
            ("Box::pin(self.send())", false),
            ("Box::pin(async move { return 1; })", false),
            ("Box::pin(async { if x { return 1; } 2 })", false),
            ("if x { return Box::pin(ready(1)); } Box::pin(async move { 2 })", true),
            ("let f = async { 1 }; { return f }", true),
        ] {
            assert_eq!(returns(body.parse().unwrap()), expected, "{body}");
        }
    }
}
