//! What the macros write, for every file in `cases`: a change of the expansion
//! is a change that can be read.
//!
//! `UPDATE_EXPECT=1 cargo test -p retry-expand` writes the `.expanded.rs` files
//! anew.

#![allow(clippy::unwrap_used, reason = "a case that cannot be read is a failed test")]

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, Parser};
use syn::{Attribute, File, ImplItem, Item, Meta};

#[test]
fn expansions() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(cases)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.to_str().unwrap().ends_with(".expanded.rs"))
        .collect();
    inputs.sort();
    assert!(inputs.len() >= 12, "{inputs:?}");
    for path in inputs {
        let mut file: File = syn::parse_file(&std::fs::read_to_string(&path).unwrap()).unwrap();
        file.items = file.items.into_iter().flat_map(expand_item).collect();
        file.attrs.clear();
        let expanded = path.with_extension("expanded.rs");
        expect_file![expanded].assert_eq(&prettyplease::unparse(&file));
    }
}

fn expand_item(item: Item) -> Vec<Item> {
    match item {
        Item::Fn(mut function) => match take(&mut function.attrs) {
            Some(attribute) => parsed(attribute.expand(function.into_token_stream())),
            None => vec![Item::Fn(function)],
        },
        Item::Impl(mut block) => {
            block.items = block.items.into_iter().flat_map(expand_impl_item).collect();
            vec![Item::Impl(block)]
        }
        Item::Enum(input) if input.attrs.iter().any(|attr| attr.path().is_ident("derive")) => {
            let input = syn::parse2(input.into_token_stream()).unwrap();
            parsed(retry_expand::derive_classify(input))
        }
        item => vec![item],
    }
}

fn expand_impl_item(item: ImplItem) -> Vec<ImplItem> {
    match item {
        ImplItem::Fn(mut method) => match take(&mut method.attrs) {
            Some(attribute) => parsed(attribute.expand(method.into_token_stream())),
            None => vec![ImplItem::Fn(method)],
        },
        item => vec![item],
    }
}

/// One of ours, and its options.
struct Ours {
    expand: fn(TokenStream, TokenStream) -> TokenStream,
    options: TokenStream,
}

impl Ours {
    fn expand(self, item: TokenStream) -> TokenStream {
        let expanded = (self.expand)(self.options, item);
        names_only_core_and_our_crate(expanded.clone());
        pins_as_calls(expanded)
    }
}

/// P27: no `cfg!`, and no absolute path to anything else. The cases write none.
fn names_only_core_and_our_crate(tokens: TokenStream) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map(ToString::to_string);
        let is_macro = next.as_deref() == Some("!");
        assert!(!is_macro || !matches!(&*token.to_string(), "cfg" | "cfg_select"), "{token}");
        if let TokenTree::Group(group) = token {
            names_only_core_and_our_crate(group.stream());
        }
        let is_absolute = token.to_string() == ":"
            && next.as_deref() == Some(":")
            && !matches!(
                at.checked_sub(1).map(|before| &tokens[before]),
                Some(TokenTree::Ident(_))
            )
            && at.checked_sub(1).is_none_or(|before| tokens[before].to_string() != ">");
        if is_absolute {
            let name = tokens[at + 2].to_string();
            assert!(matches!(&*name, "core" | "retry_core" | "<"), "{name}");
        }
    }
}

/// `pin!(…)` as `pin(…)`: what is in a macro's parentheses is not laid out.
fn pins_as_calls(tokens: TokenStream) -> TokenStream {
    let mut output = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let follows_pin = matches!(&output[..], [.., TokenTree::Ident(pin), TokenTree::Punct(_)]
                    if pin == "pin");
                if follows_pin {
                    output.pop();
                }
                let inner = pins_as_calls(group.stream());
                output.push(Group::new(group.delimiter(), inner).into());
            }
            token => output.push(token),
        }
    }
    output.into_iter().collect()
}

fn take(attributes: &mut Vec<Attribute>) -> Option<Ours> {
    let at = attributes.iter().position(|attribute| {
        ["retryable", "non_idempotent"].iter().any(|name| attribute.path().is_ident(name))
    })?;
    let attribute = attributes.remove(at);
    let expand = if attribute.path().is_ident("retryable") {
        retry_expand::retryable
    } else {
        retry_expand::non_idempotent
    };
    let options = match attribute.meta {
        Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    Some(Ours { expand, options })
}

fn parsed<T: Parse>(tokens: TokenStream) -> Vec<T> {
    let all = |input: syn::parse::ParseStream<'_>| {
        let mut items = Vec::new();
        while !input.is_empty() {
            items.push(input.parse()?);
        }
        Ok(items)
    };
    all.parse2(tokens).unwrap()
}
