//! The rules of `durable`, and what is emitted of it.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Expr, FnArg, Lit, Pat};

use super::check::{Set, Shape};
use super::parse::{Function, Given, OnInFlight, Options, literal};
use super::written::ok_in;
use crate::errors::Errors;

/// An operation that survives its process.
pub(super) struct Durable {
    /// The author's `durable`.
    pub(super) option: Ident,
    pub(super) arguments: Arguments,
    pub(super) on_in_flight: OnInFlight,
}

/// What two calls with one key are compared by.
pub(super) enum Arguments {
    /// All but the receiver, by name.
    Named(Vec<Ident>),
    Fingerprint(Set<Expr>),
}

const BESIDE_KEY: &str = "`id` and `key` exclude each other: `key` names the operation already, \
    and the body passes it on; leave `id` out";

/// `None` without the option, and where one of its rules is broken: then a plain
/// loop is emitted.
pub(super) fn durable(
    options: &Options,
    function: &Function,
    shape: &Shape,
    output: &TokenStream,
    errors: &mut Errors,
) -> Option<Durable> {
    let Some(Given { option, .. }) = &options.durable else {
        needs_durable(options, errors);
        return None;
    };
    if !cfg!(feature = "durable") {
        errors.at(
            option,
            "`durable` needs the feature `durable` of retry-core: add it in `Cargo.toml`, \
             as in `retry-core = { version = \"…\", features = [\"durable\"] }`",
        );
        return None;
    }
    let before = errors.count();
    found_again(options, option, errors);
    kept(options, option, errors);
    recorded(options, output, errors);
    let arguments = match &options.fingerprint {
        Some(Given { option, value }) => {
            let value = value.clone();
            value.map(|value| Arguments::Fingerprint(Set { option: option.clone(), value }))
        }
        None => Some(Arguments::Named(named(options, function, shape, errors))),
    };
    Some(Durable {
        option: option.clone(),
        arguments: arguments.filter(|_| errors.count() == before)?,
        on_in_flight: options
            .on_in_flight
            .as_ref()
            .and_then(|given| given.value)
            .unwrap_or(OnInFlight::Stop),
    })
}

fn needs_durable(options: &Options, errors: &mut Errors) {
    if options.unreadable {
        return;
    }
    if let Some(Given { option, .. }) = &options.id {
        let message = match &options.key {
            Some(_) => BESIDE_KEY,
            None => {
                "`id` names a durable operation, and is not bound in the body: add `durable`, \
                 or write `key = …` if the other side recognizes a repeated call"
            }
        };
        errors.at(option, message);
    }
    if let Some(Given { option, .. }) = &options.fingerprint {
        errors.at(
            option,
            "`fingerprint` tells two calls of a durable operation apart: add `durable`, \
             or leave `fingerprint` out",
        );
    }
    if let Some(Given { option, .. }) = &options.on_in_flight {
        errors.at(
            option,
            "`on_in_flight` says what a call gets while its durable operation runs: \
             add `durable`, or leave `on_in_flight` out",
        );
    }
}

/// By its name, and a key or an id.
fn found_again(options: &Options, durable: &Ident, errors: &mut Errors) {
    // Of a key it is said already.
    if options.name.is_none() && options.key.is_none() && !options.unreadable {
        errors.at(
            durable,
            "`durable` needs a `name`: the operation is found again under it, and without one, \
             moving the function would lose what is in flight; add `name = \"…\"`",
        );
    }
    match (&options.idempotent, &options.at_most_once, &options.key, &options.id) {
        (_, _, Some(_), Some(id)) => errors.at(&id.option, BESIDE_KEY),
        (Some(idempotent), None, None, _) => errors.at(
            &idempotent.option,
            "`durable` and `idempotent` exclude each other: a durable operation is found again \
             by its key; write `key = …`, or `at_most_once` with `id = …`",
        ),
        (None, Some(at_most_once), None, None) if !options.unreadable => errors.at(
            &at_most_once.option,
            "a durable operation is found again by its key, and `at_most_once` has none; \
             add `id = expr`, as in `id = order.id`",
        ),
        _ => {}
    }
    if let Some(Given { value: Some(id), .. }) = &options.id
        && let Some(Lit::Str(text)) = literal(id)
        && text.value().is_empty()
    {
        errors.at(text, "the id is empty; give each logical call a value of its own");
    }
}

fn kept(options: &Options, durable: &Ident, errors: &mut Errors) {
    if options.with.is_none() && !options.unreadable {
        errors.at(
            durable,
            "`durable` needs a retrier, which has the store; add one, as in `with = self.retries`",
        );
    }
}

fn recorded(options: &Options, output: &TokenStream, errors: &mut Errors) {
    if let Some(Given { option, .. }) = &options.reject {
        errors.at(
            option,
            "`reject` repeats after an `Ok`, and the `Ok` of a durable operation is recorded as \
             its result; leave `reject` out, and return an error for a value that is not good \
             enough",
        );
    }
    if let Some(ok) = ok_in(output)
        && borrows(ok.to_token_stream())
    {
        errors.at(
            ok,
            "the result of a durable operation is recorded, and answered to calls that come \
             later: return a value that borrows nothing",
        );
    }
}

/// Whether a reference shows. A lifetime alone says nothing: `Cow<'a, str>` is
/// read back as well.
fn borrows(ty: TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Punct(punct) => punct.as_char() == '&',
        TokenTree::Group(group) => borrows(group.stream()),
        _ => false,
    })
}

/// The arguments, the receiver apart. One without a name is reported.
fn named(options: &Options, function: &Function, shape: &Shape, errors: &mut Errors) -> Vec<Ident> {
    let patterns: Vec<_> = match shape {
        Shape::AsyncTrait(async_trait) => async_trait.patterns.iter().collect(),
        _ => function.sig.inputs.iter().filter_map(pattern).collect(),
    };
    let message = "the arguments of a durable operation are recorded by name: name this one, \
        or write `fingerprint = expr`";
    let mut names = Vec::new();
    for pattern in patterns {
        match pattern {
            Pat::Ident(pattern) if is_async_traits(&pattern.ident) => {
                // The author's own text.
                let place = options.span.located_at(pattern.ident.span());
                errors.push(syn::Error::new(place, message));
            }
            Pat::Ident(pattern) => names.push(pattern.ident.clone()),
            pattern => errors.at(pattern, message),
        }
    }
    names
}

fn pattern(argument: &FnArg) -> Option<&Pat> {
    match argument {
        FnArg::Typed(argument) => Some(&argument.pat),
        FnArg::Receiver(_) => None,
    }
}

/// What `#[async_trait]` calls an argument that was `_`.
fn is_async_traits(name: &Ident) -> bool {
    let name = name.unraw().to_string();
    name.strip_prefix("__arg").is_some_and(|number| number.parse::<usize>().is_ok())
}
