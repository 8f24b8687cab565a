//! The rules. Each reports what it refuses; what can be emitted all the same is.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, FnArg, Ident, Lit, Pat, Path, ReturnType, Type, parse_quote};

use super::async_trait::AsyncTrait;
use super::parse::{Function, Given, Options, Time, literal};
use crate::errors::Errors;

/// What is emitted: every rule was asked, every gap is filled.
pub(super) struct Plan {
    pub(super) span: Span,
    pub(super) krate: Path,
    pub(super) shape: Shape,
    /// The written return type.
    pub(super) output: TokenStream,
    pub(super) name: Option<Expr>,
    pub(super) safety: Safety,
    /// The author's token, and what it is made from.
    pub(super) key: Option<(Ident, Expr)>,
    pub(super) numbers: Numbers,
    pub(super) classify: Option<Expr>,
    pub(super) error: Option<Type>,
    pub(super) with: Option<Expr>,
    pub(super) attempt: Option<Ident>,
    pub(super) before_retry: Option<Expr>,
    pub(super) reject: Option<Expr>,
}

pub(super) enum Shape {
    AsyncFn,
    AsyncTrait(Box<AsyncTrait>),
    /// Nothing sensible can be made of the body; what is wrong is reported.
    Unusable,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Safety {
    Idempotent,
    Keyed,
    AtMostOnce,
}

/// The numbers that were given.
pub(super) struct Numbers {
    pub(super) policy: Option<Expr>,
    pub(super) max_attempts: Option<Expr>,
    pub(super) deadline: Option<Time>,
    pub(super) attempt_timeout: Option<Time>,
    pub(super) hint_limit: Option<Time>,
    pub(super) backoff: Option<Expr>,
}

const SAFETIES: &str = "`idempotent` (repeating is harmless), \
    `key = …` (the other side recognizes a repeated call by its key), \
    or `at_most_once` (repeats only what certainly had no effect)";

/// `None` where the function cannot be emitted at all.
pub(super) fn check(options: Options, function: &Function, errors: &mut Errors) -> Option<Plan> {
    let shape = shape(function, errors)?;
    let output = output(function, &shape, errors)?;
    let safety = safety(&options, errors);
    named(&options, errors);
    bounded(&options, errors);
    above_zero(&options, errors);
    rejectable(&options, errors);
    parameters(&options, function, &shape, errors);
    Some(Plan {
        span: options.span,
        krate: value(options.krate).unwrap_or_else(|| parse_quote!(::retry_core)),
        shape,
        output,
        name: value(options.name),
        safety,
        key: options.key.map(|key| (key.option, key.value.unwrap_or_else(|| parse_quote!("key")))),
        numbers: Numbers {
            policy: value(options.policy),
            max_attempts: value(options.max_attempts),
            deadline: value(options.deadline),
            attempt_timeout: value(options.attempt_timeout),
            hint_limit: value(options.hint_limit),
            backoff: value(options.backoff),
        },
        classify: value(options.classify),
        error: value(options.error),
        with: value(options.with),
        attempt: options.attempt.map(|attempt| attempt.option),
        before_retry: value(options.before_retry),
        reject: value(options.reject),
    })
}

fn value<T>(given: Option<Given<T>>) -> Option<T> {
    given?.value
}

fn shape(function: &Function, errors: &mut Errors) -> Option<Shape> {
    let body = function.body.stream();
    if mentions(body, "__tracing_attr_fake_return") {
        errors.push(syn::Error::new(
            Span::call_site(),
            "`#[retryable]` must stand above `#[instrument]`: below it, the span would expect \
             the operation's result from a single attempt",
        ));
        return Some(Shape::Unusable);
    }
    if function.sig.asyncness.is_some() {
        return Some(Shape::AsyncFn);
    }
    if let Some(async_trait) = AsyncTrait::recognize(&function.body) {
        return Some(Shape::AsyncTrait(Box::new(async_trait)));
    }
    errors.at(function.sig.fn_token, "`#[retryable]` needs an `async fn`, which is one attempt");
    None
}

fn output(function: &Function, shape: &Shape, errors: &mut Errors) -> Option<TokenStream> {
    if let Shape::AsyncTrait(async_trait) = shape {
        return Some(async_trait.output.clone());
    }
    match &function.sig.output {
        ReturnType::Type(_, output) => Some(output.to_token_stream()),
        ReturnType::Default => {
            errors.at(
                &function.sig.ident,
                "a `#[retryable]` function returns `Result<T, Stopped<E>>`: \
                 an operation that cannot fail needs no retry",
            );
            None
        }
    }
}

fn safety(options: &Options, errors: &mut Errors) -> Safety {
    let idempotent = options.idempotent.as_ref().map(|given| (&given.option, Safety::Idempotent));
    let key = options.key.as_ref().map(|given| (&given.option, Safety::Keyed));
    let at_most_once =
        options.at_most_once.as_ref().map(|given| (&given.option, Safety::AtMostOnce));
    let given: Vec<_> = [idempotent, key, at_most_once].into_iter().flatten().collect();
    match given[..] {
        [(_, safety)] => safety,
        [(first, safety), (second, _), ..] => {
            let message =
                format!("`{first}` and `{second}` exclude each other; choose one of {SAFETIES}");
            errors.at(second, message);
            safety
        }
        [] => {
            if !options.unreadable {
                let message = format!("say why repeating this operation is safe: add {SAFETIES}");
                errors.push(syn::Error::new(options.span, message));
            }
            // Nothing more is said about the body until the author has chosen.
            Safety::AtMostOnce
        }
    }
}

fn named(options: &Options, errors: &mut Errors) {
    if let (Some(key), None) = (&options.key, &options.name) {
        errors.at(
            &key.option,
            "`key` needs a `name`: keys are derived under it, and without one, moving the function \
             would change the keys of operations in flight; add `name = \"…\"`",
        );
    }
}

fn bounded(options: &Options, errors: &mut Errors) {
    if options.policy.is_some() || options.unreadable {
        return;
    }
    let add = match (&options.max_attempts, &options.deadline) {
        (Some(_), Some(_)) => return,
        (None, Some(_)) => "`max_attempts = 3`",
        (Some(_), None) => "`deadline = \"30s\"`",
        (None, None) => "`max_attempts = 3` and `deadline = \"30s\"`",
    };
    let message = format!(
        "an operation is bounded in attempts and in time: add {add}, or both by `policy = …`"
    );
    errors.push(syn::Error::new(options.span, message));
}

/// Literals that can never be right, whatever stands beside them.
fn above_zero(options: &Options, errors: &mut Errors) {
    let max_attempts = options.max_attempts.as_ref().and_then(|given| given.value.as_ref());
    if let Some(Lit::Int(number)) = max_attempts.and_then(literal)
        && number.base10_digits() == "0"
    {
        errors.at(
            number,
            "`max_attempts` counts the first attempt; write 1 for no retry, more to retry",
        );
    }
    for (name, time) in
        [("deadline", &options.deadline), ("attempt_timeout", &options.attempt_timeout)]
    {
        if let Some(Given { value: Some(Time::Literal(duration, span)), .. }) = time
            && duration.is_zero()
        {
            let message = format!("`{name}` is zero, which leaves no time for an attempt");
            errors.push(syn::Error::new(*span, message));
        }
    }
}

fn rejectable(options: &Options, errors: &mut Errors) {
    if let (Some(reject), Some(_)) = (&options.reject, &options.at_most_once) {
        errors.at(
            &reject.option,
            "`reject` repeats after an `Ok`, and an `at_most_once` operation never does; \
             use `idempotent` or `key = …`, or leave `reject` out",
        );
    }
}

fn parameters(options: &Options, function: &Function, shape: &Shape, errors: &mut Errors) {
    let mut names = Vec::new();
    let mut mutable = Vec::new();
    for argument in &function.sig.inputs {
        match argument {
            FnArg::Receiver(receiver) => {
                if let Some(mutability) = receiver.mutability {
                    errors.at(mutability, carried("self"));
                }
            }
            FnArg::Typed(argument) => bindings(&argument.pat, &mut names, &mut mutable),
        }
    }
    if let Shape::AsyncTrait(async_trait) = shape {
        mutable = async_trait.mutable_parameters();
    }
    for name in mutable {
        errors.at(&name, carried(&name.to_string()));
    }
    if let Some(Given { option, value }) = &options.key
        && let Some(parameter) = names.iter().find(|name| *name == "key")
        && !value.as_ref().is_some_and(|expr| mentions(expr.to_token_stream(), "key"))
    {
        let _ = option;
        errors.at(
            parameter,
            "`key` is bound by the attribute, which would hide this parameter; \
             rename the parameter, or derive the key from it: `key = key`",
        );
    }
    if options.attempt.is_some()
        && let Some(parameter) = names.iter().find(|name| *name == "attempt")
    {
        errors.at(
            parameter,
            "`attempt` is bound by the attribute, which would hide this parameter; rename it",
        );
    }
}

fn carried(name: &str) -> String {
    format!(
        "`mut {name}` would carry its value from one attempt into the next; \
         take `{name}`, and write `let mut {name} = {name};` in the body"
    )
}

/// The names that a pattern binds, and those it binds as `mut`.
fn bindings(pat: &Pat, names: &mut Vec<Ident>, mutable: &mut Vec<Ident>) {
    let mut all = |pats: &mut dyn Iterator<Item = &Pat>| {
        pats.for_each(|pat| bindings(pat, names, mutable));
    };
    match pat {
        Pat::Ident(pat) => {
            names.push(pat.ident.clone());
            if pat.mutability.is_some() {
                mutable.push(pat.ident.clone());
            }
            if let Some((_, pat)) = &pat.subpat {
                bindings(pat, names, mutable);
            }
        }
        Pat::Reference(pat) => bindings(&pat.pat, names, mutable),
        Pat::Paren(pat) => bindings(&pat.pat, names, mutable),
        Pat::Tuple(pat) => all(&mut pat.elems.iter()),
        Pat::TupleStruct(pat) => all(&mut pat.elems.iter()),
        Pat::Slice(pat) => all(&mut pat.elems.iter()),
        Pat::Struct(pat) => all(&mut pat.fields.iter().map(|field| &*field.pat)),
        _ => {}
    }
}

fn mentions(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        _ => false,
    })
}
