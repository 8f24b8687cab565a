//! The rules. Each reports what it refuses; what can be emitted all the same is.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, FnArg, Lit, Pat, Path, Receiver, ReceiverKind, ReturnType, Type, parse_quote};

use super::async_trait::AsyncTrait;
use super::durable::{Durable, durable};
use super::parse::{Function, Given, OnRefusal, Options, Policy, Time, literal};
use crate::attribute::is_named;
use crate::errors::Errors;
use crate::mentions::mentions;

/// What is emitted: every rule was asked, every gap is filled.
pub(super) struct Plan {
    pub(super) span: Span,
    pub(super) krate: Path,
    pub(super) shape: Shape,
    /// The written return type.
    pub(super) output: TokenStream,
    pub(super) name: Option<Expr>,
    pub(super) safety: Safety,
    pub(super) key: Option<Key>,
    pub(super) numbers: Numbers,
    pub(super) classify: Option<Set<Expr>>,
    pub(super) error: Option<Type>,
    pub(super) with: Option<Set<Expr>>,
    pub(super) attempt: Option<Ident>,
    pub(super) before_retry: Option<Set<Expr>>,
    pub(super) reject: Option<Set<Expr>>,
    pub(super) retry_nested: bool,
    pub(super) resource: Option<Set<Expr>>,
    pub(super) on_refusal: Option<OnRefusal>,
    pub(super) caller: Option<Set<Expr>>,
    pub(super) durable: Option<Durable>,
}

pub(super) enum Shape {
    AsyncFn,
    AsyncTrait(Box<AsyncTrait>),
    /// With mistakes that are reported: nothing runs, only the body is checked.
    Wrong(Wrong),
}

pub(super) enum Wrong {
    /// `#[instrument]` came first. What it made moves the arguments into the
    /// attempt: there can be only one.
    Instrumented,
    /// The function is not `async`, and its body awaits nothing.
    Blocking,
    /// No attempt can be made of it: it stays as it is.
    Whole,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Safety {
    Idempotent,
    Keyed,
    AtMostOnce,
}

/// What the operation is named by: `key`, or `id`.
pub(super) struct Key {
    /// The author's token, which the body knows the key by.
    pub(super) option: Ident,
    pub(super) value: Expr,
    /// Not of an `id`, nor where a parameter has that name, which is reported.
    pub(super) is_bound: bool,
}

/// The numbers that were given. One that is reported is left out.
pub(super) struct Numbers {
    pub(super) policy: Option<Set<Policy>>,
    pub(super) max_attempts: Option<Set<Expr>>,
    pub(super) deadline: Option<Set<Time>>,
    pub(super) attempt_timeout: Option<Set<Time>>,
    pub(super) hint_limit: Option<Set<Time>>,
    pub(super) backoff: Option<Set<Expr>>,
}

/// A value, and the name of the option that set it.
pub(super) struct Set<T> {
    pub(super) option: Ident,
    pub(super) value: T,
}

const SAFETIES: &str = "`idempotent` (repeating is harmless), \
    `key = …` (the other side recognizes a repeated call by its key), \
    or `at_most_once` (repeats only what certainly had no effect)";

const DURABLE_SAFETIES: &str = "`key = …` (the other side recognizes a repeated call by its key), \
    or `at_most_once` with `id = …` (repeats only what certainly had no effect)";

pub(super) fn check(options: Options, function: &Function, errors: &mut Errors) -> Plan {
    let (shape, output) = shape(&options, function, errors);
    let safety = safety(&options, errors);
    consistent(&options, function, errors);
    keyed(&options, errors);
    bounded(&options, errors);
    known(&options, errors);
    rejectable(&options, errors);
    protected(&options, errors);
    let bound = parameters(&options, function, &shape, errors);
    let durable = durable(&options, function, &shape, &output, errors);
    let id = options
        .id
        .and_then(|Given { option, value }| Some(Key { option, value: value?, is_bound: false }));
    let key = options.key.map(|key| Key {
        option: key.option,
        value: key.value.unwrap_or_else(|| parse_quote!("key")),
        is_bound: bound.key,
    });
    Plan {
        span: options.span,
        krate: value(options.krate).unwrap_or_else(|| parse_quote!(::retry_core)),
        shape,
        output,
        name: value(options.name),
        safety,
        key: key.or(id),
        numbers: Numbers {
            policy: set(options.policy),
            max_attempts: set(options.max_attempts).filter(|number| attempts(number, errors)),
            attempt_timeout: set(options.attempt_timeout)
                .filter(|timeout| above_zero(timeout, errors))
                .filter(|timeout| shorter(timeout, options.deadline.as_ref(), errors)),
            deadline: set(options.deadline).filter(|deadline| above_zero(deadline, errors)),
            hint_limit: set(options.hint_limit),
            backoff: set(options.backoff),
        },
        classify: set(options.classify),
        error: value(options.error),
        with: set(options.with),
        attempt: options.attempt.filter(|_| bound.attempt).map(|attempt| attempt.option),
        before_retry: set(options.before_retry),
        reject: set(options.reject),
        retry_nested: options.nested.is_some(),
        resource: set(options.resource).filter(|_| bound.resource),
        on_refusal: value(options.on_refusal),
        caller: set(options.caller),
        durable,
    }
}

fn value<T>(given: Option<Given<T>>) -> Option<T> {
    given?.value
}

pub(super) fn set<T>(given: Option<Given<T>>) -> Option<Set<T>> {
    let Given { option, value } = given?;
    value.map(|value| Set { option, value })
}

/// The shape, and the written return type.
fn shape(options: &Options, function: &Function, errors: &mut Errors) -> (Shape, TokenStream) {
    let name = &function.sig.ident;
    let written = match &function.sig.output {
        ReturnType::Type(_, output) => Some(output.to_token_stream()),
        ReturnType::Default => None,
    };
    let body = function.body.stream();
    if mentions(body.clone(), "__tracing_attr_fake_return") {
        errors.push(syn::Error::new(
            options.span,
            "`#[retryable]` must stand above `#[instrument]`: below it, the span would expect \
             the operation's result from a single attempt",
        ));
        return match written {
            Some(output) if function.sig.asyncness.is_some() => {
                (Shape::Wrong(Wrong::Instrumented), output)
            }
            _ => (Shape::Wrong(Wrong::Whole), TokenStream::new()),
        };
    }
    let (shape, output) = if function.sig.asyncness.is_some() {
        (Shape::AsyncFn, written)
    } else if let Some(async_trait) = AsyncTrait::recognize(&function.body) {
        let output = async_trait.output.clone();
        (Shape::AsyncTrait(Box::new(async_trait)), output)
    } else {
        let is_future = written.clone().is_some_and(|output| mentions(output, "Future"));
        let output = if is_future { "(…) -> Result<T, Stopped<E>>" } else { "" };
        errors.at(
            function.sig.fn_token,
            format_args!(
                "`#[retryable]` needs an `async fn`, whose body is one attempt; \
                 write `async fn {name}{output}`"
            ),
        );
        return match written {
            Some(output) if !is_future && mentions(body, "await") => (Shape::AsyncFn, output),
            Some(output) if !is_future => (Shape::Wrong(Wrong::Blocking), output),
            _ => (Shape::Wrong(Wrong::Whole), TokenStream::new()),
        };
    };
    match output {
        Some(output) => (shape, output),
        None => {
            errors.at(
                name,
                "a `#[retryable]` function returns `Result<T, Stopped<E>>`: \
                 an operation that cannot fail needs no retry",
            );
            (Shape::Wrong(Wrong::Whole), TokenStream::new())
        }
    }
}

fn safety(options: &Options, errors: &mut Errors) -> Safety {
    let safeties = if options.durable.is_some() { DURABLE_SAFETIES } else { SAFETIES };
    let idempotent = options.idempotent.as_ref().map(|given| (&given.option, Safety::Idempotent));
    let key = options.key.as_ref().map(|given| (&given.option, Safety::Keyed));
    let at_most_once =
        options.at_most_once.as_ref().map(|given| (&given.option, Safety::AtMostOnce));
    let given: Vec<_> = [idempotent, key, at_most_once].into_iter().flatten().collect();
    match given[..] {
        [(_, safety)] => safety,
        [(first, safety), (second, _), ..] => {
            let message =
                format!("`{first}` and `{second}` exclude each other; choose one of {safeties}");
            errors.at(second, message);
            safety
        }
        [] => {
            if !options.unreadable {
                let message = format!("say why repeating this operation is safe: add {safeties}");
                errors.push(syn::Error::new(options.span, message));
            }
            // Nothing more is said about the body until the author has chosen.
            Safety::AtMostOnce
        }
    }
}

/// `at_most_once`, or a `key` that each outer attempt would make anew, goes
/// well with `#[non_idempotent]`; `idempotent` is its opposite.
fn consistent(options: &Options, function: &Function, errors: &mut Errors) {
    let is_marked = function.attrs.iter().any(|attr| is_named(attr, "non_idempotent"));
    if let (Some(idempotent), true) = (&options.idempotent, is_marked) {
        errors.at(
            &idempotent.option,
            "`idempotent` says that repeating is harmless, `#[non_idempotent]` that it is not; \
             remove the attribute, or write `at_most_once` here",
        );
    }
}

fn keyed(options: &Options, errors: &mut Errors) {
    let Some(key) = &options.key else {
        return;
    };
    if options.name.is_none() {
        errors.at(
            &key.option,
            "`key` needs a `name`: keys are derived under it, and without one, moving the function \
             would change the keys of operations in flight; add `name = \"…\"`",
        );
    }
    if let Some(Lit::Str(text)) = key.value.as_ref().and_then(literal)
        && text.value().is_empty()
    {
        errors.at(text, "the key is empty; give each logical call a value of its own");
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

/// A policy's name means something to a retrier only.
fn known(options: &Options, errors: &mut Errors) {
    if let Some(Given { value: Some(Policy::Name(name)), .. }) = &options.policy
        && options.with.is_none()
        && !options.unreadable
    {
        errors.at(
            name,
            format_args!(
                "the policy {} is looked up in a retrier: add the one that knows it, \
                 as in `with = self.retries`",
                name.to_token_stream()
            ),
        );
    }
}

/// Whether the number can be right; a zero never is, whatever stands beside it.
fn attempts(number: &Set<Expr>, errors: &mut Errors) -> bool {
    match literal(&number.value) {
        Some(Lit::Int(number)) if number.base10_parse::<u32>().is_ok_and(|number| number == 0) => {
            errors.at(
                number,
                "`max_attempts` is 0, and the first attempt counts; write 1 for no retry, more to retry",
            );
            false
        }
        _ => true,
    }
}

fn above_zero(time: &Set<Time>, errors: &mut Errors) -> bool {
    let is_zero = time.value.known().is_some_and(|duration| duration.is_zero());
    if is_zero {
        let name = &time.option;
        errors.at(&time.value, format!("`{name}` is zero, which leaves no time for an attempt"));
    }
    !is_zero
}

fn shorter(timeout: &Set<Time>, deadline: Option<&Given<Time>>, errors: &mut Errors) -> bool {
    let Some(Given { value: Some(deadline), .. }) = deadline else {
        return true;
    };
    let (Some(duration), Some(most)) = (timeout.value.known(), deadline.known()) else {
        return true;
    };
    let is_shorter = duration < most || most.is_zero();
    if !is_shorter {
        errors.at(
            &timeout.value,
            format_args!(
                "`attempt_timeout` ({duration:?}) must be shorter than `deadline` ({most:?}); \
                 shorten it, or leave it out: the deadline cuts attempts too"
            ),
        );
    }
    is_shorter
}

fn rejectable(options: &Options, errors: &mut Errors) {
    // Of a durable operation more is said.
    if options.durable.is_some() {
        return;
    }
    if let (Some(reject), Some(_)) = (&options.reject, &options.at_most_once) {
        errors.at(
            &reject.option,
            "`reject` repeats after an `Ok`, and an `at_most_once` operation never does; \
             use `idempotent` or `key = …`, or leave `reject` out",
        );
    }
}

/// Budgets and breakers are the retrier's.
fn protected(options: &Options, errors: &mut Errors) {
    // Of a durable operation it is said already.
    if options.with.is_some() || options.durable.is_some() || options.unreadable {
        return;
    }
    let resource = options.resource.as_ref().map(|given| &given.option);
    let on_refusal = options.on_refusal.as_ref().map(|given| &given.option);
    let caller = options.caller.as_ref().map(|given| &given.option);
    if let Some(option) = resource.or(on_refusal).or(caller) {
        errors.at(
            option,
            format_args!(
                "`{option}` needs a retrier, which holds the budgets and breakers of its \
                 resources; add one, as in `with = self.retries`"
            ),
        );
    }
}

/// Which of its names the attribute binds in the body.
struct Bound {
    key: bool,
    attempt: bool,
    /// Whether the resource is a constant.
    resource: bool,
}

fn parameters(options: &Options, function: &Function, shape: &Shape, errors: &mut Errors) -> Bound {
    let mut found = Bindings::default();
    for argument in &function.sig.inputs {
        match argument {
            FnArg::Receiver(receiver) => {
                if let Some(mutability) = mutable_receiver(receiver, shape) {
                    let this = receiver.self_token;
                    errors.at(
                        quote!(#mutability #this),
                        "`mut self` would carry its value from one attempt into the next; \
                         take `self`, and write `let mut this = self;` in the body",
                    );
                }
            }
            FnArg::Typed(argument) => found.add(&argument.pat),
        }
    }
    if let Shape::AsyncTrait(async_trait) = shape {
        async_trait.patterns.iter().for_each(|pat| found.add(pat));
    }
    for (written, name) in &found.mutable {
        errors.at(
            written,
            format_args!(
                "`{written}` would carry its value from one attempt into the next; \
                 take `{name}`, and write `let mut {name} = {name};` in the body"
            ),
        );
    }
    let mut bound = Bound { key: true, attempt: true, resource: true };
    if let Some(Given { value: Some(resource), .. }) = &options.resource {
        let tokens = resource.to_token_stream();
        let brought = |name: &Ident| mentions(tokens.clone(), &name.to_string());
        if mentions(tokens.clone(), "self") || found.names.iter().any(brought) {
            errors.at(
                resource,
                "a resource is named in code, so that no request can bring one along: \
                 write a literal or a constant; whose share of its budget is used, \
                 `caller` says",
            );
            bound.resource = false;
        } else if mentions(tokens, "Self") {
            errors.at(
                resource,
                "`Self` is not known where the resource is named; write the type's name",
            );
            bound.resource = false;
        }
    }
    if let Some(Given { value, .. }) = &options.key
        && let Some(parameter) = found.name("key")
        && !value.as_ref().is_some_and(|expr| mentions(expr.to_token_stream(), "key"))
    {
        errors.at(
            parameter,
            "`key` is bound by the attribute, which would hide this parameter; \
             rename the parameter, or derive the key from it: `key = key`",
        );
        bound.key = false;
    }
    if options.attempt.is_some()
        && let Some(parameter) = found.name("attempt")
    {
        errors.at(
            parameter,
            "`attempt` is bound by the attribute, which would hide this parameter; rename it",
        );
        bound.attempt = false;
    }
    bound
}

/// The `mut` of `mut self`. `#[async_trait]` has moved it into the body, where
/// it stands for `&mut self` too.
fn mutable_receiver(receiver: &Receiver, shape: &Shape) -> Option<TokenStream> {
    if matches!(receiver.kind, ReceiverKind::Reference(..)) {
        return None;
    }
    match shape {
        Shape::AsyncTrait(async_trait) => async_trait.mutable_self.clone(),
        _ => receiver.mutability.map(ToTokens::into_token_stream),
    }
}

/// What the parameters bind.
#[derive(Default)]
struct Bindings {
    names: Vec<Ident>,
    /// Those that are `mut`, as written, and their names.
    mutable: Vec<(TokenStream, Ident)>,
}

impl Bindings {
    fn name(&self, name: &str) -> Option<&Ident> {
        self.names.iter().find(|ident| *ident == name)
    }

    fn add(&mut self, pat: &Pat) {
        match pat {
            Pat::Ident(pat) => {
                let name = &pat.ident;
                if let Some(mutability) = pat.mutability {
                    let by_ref = pat.by_ref;
                    self.mutable.push((quote!(#by_ref #mutability #name), name.clone()));
                }
                self.names.push(name.clone());
                if let Some((_, pat)) = &pat.subpat {
                    self.add(pat);
                }
            }
            Pat::Reference(pat) => self.add(&pat.pat),
            Pat::Paren(pat) => self.add(&pat.pat),
            Pat::Tuple(pat) => pat.elems.iter().for_each(|pat| self.add(pat)),
            Pat::TupleStruct(pat) => pat.elems.iter().for_each(|pat| self.add(pat)),
            Pat::Slice(pat) => pat.elems.iter().for_each(|pat| self.add(pat)),
            Pat::Struct(pat) => pat.fields.iter().for_each(|field| self.add(&field.pat)),
            _ => {}
        }
    }
}
