//! What the author wrote, with the tokens to blame.

use std::time::Duration;

use proc_macro2::{Group, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{
    Attribute, Expr, Ident, Lit, LitStr, Path, Signature, Token, Type, UnOp, Visibility, token,
};

use super::literal::{is_literal, known_duration};
use crate::errors::Errors;
use crate::{duration, options};

/// The options of one attribute.
pub(super) struct Options {
    /// The whole attribute.
    pub(super) span: Span,
    pub(super) krate: Option<Given<Path>>,
    pub(super) name: Option<Given<Expr>>,
    pub(super) idempotent: Option<Given<()>>,
    pub(super) key: Option<Given<Expr>>,
    pub(super) at_most_once: Option<Given<()>>,
    pub(super) policy: Option<Given<Policy>>,
    pub(super) max_attempts: Option<Given<Expr>>,
    pub(super) deadline: Option<Given<Time>>,
    pub(super) attempt_timeout: Option<Given<Time>>,
    pub(super) hint_limit: Option<Given<Time>>,
    pub(super) backoff: Option<Given<Expr>>,
    pub(super) classify: Option<Given<Expr>>,
    pub(super) error: Option<Given<Type>>,
    pub(super) with: Option<Given<Expr>>,
    pub(super) attempt: Option<Given<()>>,
    pub(super) before_retry: Option<Given<Expr>>,
    pub(super) reject: Option<Given<Expr>>,
    pub(super) nested: Option<Given<()>>,
    pub(super) resource: Option<Given<Expr>>,
    pub(super) on_refusal: Option<Given<OnRefusal>>,
    pub(super) caller: Option<Given<Expr>>,
    pub(super) durable: Option<Given<()>>,
    pub(super) id: Option<Given<Expr>>,
    pub(super) fingerprint: Option<Given<Expr>>,
    pub(super) on_in_flight: Option<Given<OnInFlight>>,
    /// An option could not be read at all: what is missing may be that one.
    pub(super) unreadable: bool,
}

/// An option that was given. Without a value it could not be read, which is
/// reported.
pub(super) struct Given<T> {
    pub(super) option: Ident,
    pub(super) value: Option<T>,
}

/// A policy: text that is looked up in the retrier, or the author's expression.
pub(super) enum Policy {
    Name(LitStr),
    Expr(Expr),
}

/// A duration: text that the macro reads, or the author's expression.
pub(super) enum Time {
    Literal(Lit, Duration),
    Expr(Expr),
}

impl Time {
    pub(super) fn is_literal(&self) -> bool {
        match self {
            Self::Literal(..) => true,
            Self::Expr(expr) => is_literal(expr),
        }
    }

    /// How long it is, where the macro can read that.
    pub(super) fn known(&self) -> Option<Duration> {
        match self {
            Self::Literal(_, duration) => Some(*duration),
            Self::Expr(expr) => known_duration(expr),
        }
    }
}

/// What follows when the resource's budget or breaker says no.
#[derive(Clone, Copy)]
pub(super) enum OnRefusal {
    Stop,
    Defer,
}

/// What a call gets whose operation runs already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnInFlight {
    Stop,
    Attach,
}

/// The function, its body unread.
pub(super) struct Function {
    pub(super) attrs: Vec<Attribute>,
    pub(super) vis: Visibility,
    pub(super) sig: Signature,
    pub(super) body: Group,
}

const OPTIONS: [&str; 25] = [
    "name",
    "idempotent",
    "key",
    "at_most_once",
    "max_attempts",
    "deadline",
    "attempt_timeout",
    "backoff",
    "hint_limit",
    "policy",
    "classify",
    "error",
    "with",
    "resource",
    "on_refusal",
    "caller",
    "durable",
    "id",
    "fingerprint",
    "on_in_flight",
    "nested",
    "attempt",
    "before_retry",
    "reject",
    "crate",
];

/// `span` is where the attribute stands.
pub(super) fn options(span: Span, tokens: TokenStream, errors: &mut Errors) -> Options {
    let mut given = Options {
        span,
        krate: None,
        name: None,
        idempotent: None,
        key: None,
        at_most_once: None,
        policy: None,
        max_attempts: None,
        deadline: None,
        attempt_timeout: None,
        hint_limit: None,
        backoff: None,
        classify: None,
        error: None,
        with: None,
        attempt: None,
        before_retry: None,
        reject: None,
        nested: None,
        resource: None,
        on_refusal: None,
        caller: None,
        durable: None,
        id: None,
        fingerprint: None,
        on_in_flight: None,
        unreadable: false,
    };
    let before = errors.count();
    let list = |input: ParseStream<'_>| {
        options::each(input, errors, |name, input, _| given.read(name, input));
        Ok(())
    };
    // The list reports its mistakes itself.
    let _ = list.parse2(tokens);
    given.unreadable |= errors.count() > before;
    given
}

impl Options {
    fn read(&mut self, name: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match &*name.unraw().to_string() {
            "name" => value(&mut self.name, name, input, "\"payments.charge\"", a_name),
            "key" => value(&mut self.key, name, input, "order.id", an_expr),
            "_key" => Err(syn::Error::new(
                name.span(),
                "a key that is not passed on protects nothing: write `key` and pass it on, \
                 or write `at_most_once` if the other side takes no key",
            )),
            "idempotent" => flag(&mut self.idempotent, name, input),
            "at_most_once" => flag(&mut self.at_most_once, name, input),
            "policy" => value(&mut self.policy, name, input, "self.policy", a_policy),
            "max_attempts" => value(&mut self.max_attempts, name, input, "3", number),
            "deadline" => value(&mut self.deadline, name, input, "\"30s\"", time),
            "attempt_timeout" => value(&mut self.attempt_timeout, name, input, "\"5s\"", time),
            "hint_limit" => value(&mut self.hint_limit, name, input, "\"60s\"", time),
            "backoff" => {
                let example = "Backoff::exponential(Duration::from_millis(100))";
                value(&mut self.backoff, name, input, example, backoff)
            }
            "classify" => value(&mut self.classify, name, input, "path::to::function", an_expr),
            "error" => value(&mut self.error, name, input, "PayError", a_type),
            "with" => value(&mut self.with, name, input, "self.retries", an_expr),
            "attempt" => flag(&mut self.attempt, name, input),
            "before_retry" => value(&mut self.before_retry, name, input, "self.refresh()", an_expr),
            "reject" => value(&mut self.reject, name, input, "|value| …", an_expr),
            "nested" => {
                let retry = [("retry", ())];
                value(&mut self.nested, name, input, "retry", |input| word(name, input, &retry))
            }
            "resource" => {
                value(&mut self.resource, name, input, "\"payments-gateway\"", a_resource)
            }
            "on_refusal" => {
                let words = [("stop", OnRefusal::Stop), ("defer", OnRefusal::Defer)];
                value(&mut self.on_refusal, name, input, "defer", |input| word(name, input, &words))
            }
            "caller" => value(&mut self.caller, name, input, "tenant", an_expr),
            "durable" => flag(&mut self.durable, name, input),
            "id" => value(&mut self.id, name, input, "order.id", an_expr),
            "fingerprint" => value(&mut self.fingerprint, name, input, "order.total", an_expr),
            "on_in_flight" => {
                let words = [("stop", OnInFlight::Stop), ("attach", OnInFlight::Attach)];
                value(&mut self.on_in_flight, name, input, "attach", |input| {
                    word(name, input, &words)
                })
            }
            "crate" => value(&mut self.krate, name, input, "path::to::retry_core", a_path),
            word => Err(match word_of_others(word) {
                Some(meant) => {
                    syn::Error::new(name.span(), format!("unknown option `{name}`; {meant}"))
                }
                None => options::unknown(name, &OPTIONS),
            }),
        }
    }
}

/// What other libraries call it, and what it is here.
fn word_of_others(word: &str) -> Option<&'static str> {
    Some(match word {
        "max_retries" | "retries" | "max_retry" | "maxRetries" => {
            "write `max_attempts`, which counts the first attempt: 3 retries are `max_attempts = 4`"
        }
        "attempts" | "max_tries" | "tries" | "maxAttempts" | "max_times" | "times" => {
            "write `max_attempts`, which counts the first attempt"
        }
        "timeout" => "write `attempt_timeout` for one attempt, or `deadline` for all of them",
        "max_elapsed" | "max_elapsed_time" | "total_timeout" | "total_delay" => {
            "write `deadline`, the time of all attempts and waits"
        }
        "delay" | "wait" | "strategy" | "factor" | "multiplier" | "jitter" | "max_delay"
        | "min_delay" => {
            "write `backoff`, as in \
             `backoff = Backoff::exponential(Duration::from_millis(100)).factor(2, 1).jitter(Jitter::Full)`"
        }
        "when" | "retry_if" | "condition" | "on" | "retry_on" | "include" | "exclude" => {
            "errors say themselves whether they may be retried: derive `Classify`, \
             or name a function with `classify`"
        }
        "circuit_breaker" | "breaker" | "budget" | "rate_limit" => {
            "a budget and a breaker belong to a resource of the retrier: \
             write `with = self.retries, resource = \"payments-gateway\"`"
        }
        "notify" => "give a retrier with an observer: `with = self.retries`",
        "workflow" | "persistent" | "persist" | "activity" => {
            "write `durable`, with a `name`, a `key` and the retrier that has the store: \
             `with = self.retries`"
        }
        "store" | "storage" => {
            "a store belongs to the retrier: write `durable, with = self.retries`"
        }
        "workflow_id" | "activity_id" | "operation_id" | "job_id" => {
            "write `key`, which the body passes on; or, with `at_most_once`, `id`"
        }
        "idempotency_key" => "write `key`, and pass the name that it binds on: `key`",
        _ => return None,
    })
}

/// An option with a value. It counts as given even where the value cannot be
/// read, so that nobody is told that it is missing.
fn value<T>(
    slot: &mut Option<Given<T>>,
    name: &Ident,
    input: ParseStream<'_>,
    example: &str,
    parse: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<()> {
    once(slot, name)?;
    let read = || {
        let equals: Option<Token![=]> = input.parse()?;
        if equals.is_none() || input.is_empty() || input.peek(Token![,]) {
            let message = format!("`{name}` takes a value, as in `{name} = {example}`");
            return Err(syn::Error::new(name.span(), message));
        }
        parse(input)
    };
    match read() {
        Ok(value) => {
            *slot = Some(Given { option: name.clone(), value: Some(value) });
            Ok(())
        }
        Err(error) => {
            *slot = Some(Given { option: name.clone(), value: None });
            Err(error)
        }
    }
}

fn flag(slot: &mut Option<Given<()>>, name: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    once(slot, name)?;
    *slot = Some(Given { option: name.clone(), value: Some(()) });
    if input.peek(Token![=]) || input.peek(token::Paren) {
        return Err(syn::Error::new(
            name.span(),
            format!("`{name}` takes no value; write `{name}`"),
        ));
    }
    Ok(())
}

fn once<T>(slot: &Option<Given<T>>, name: &Ident) -> syn::Result<()> {
    match slot {
        None => Ok(()),
        Some(_) => Err(syn::Error::new(name.span(), format!("`{name}` is given twice"))),
    }
}

fn an_expr(input: ParseStream<'_>) -> syn::Result<Expr> {
    input.parse()
}

fn a_type(input: ParseStream<'_>) -> syn::Result<Type> {
    let place = input.cursor();
    input
        .parse()
        .map_err(|_| syn::Error::new(place.span(), "expected a type, as in `error = PayError`"))
}

fn a_policy(input: ParseStream<'_>) -> syn::Result<Policy> {
    let expr: Expr = input.parse()?;
    match literal(&expr) {
        Some(Lit::Str(name)) if name.value().is_empty() => Err(syn::Error::new(
            name.span(),
            "the name is empty; the retrier knows its policies by name",
        )),
        Some(Lit::Str(name)) => Ok(Policy::Name(name.clone())),
        _ => Ok(Policy::Expr(expr)),
    }
}

fn a_path(input: ParseStream<'_>) -> syn::Result<Path> {
    let place = input.cursor();
    input.call(Path::parse_mod_style).map_err(|_| {
        syn::Error::new(place.span(), "expected a path, as in `crate = path::to::retry_core`")
    })
}

fn time(input: ParseStream<'_>) -> syn::Result<Time> {
    let expr: Expr = input.parse()?;
    if is_negative(&expr) {
        return Err(syn::Error::new_spanned(
            expr,
            "a duration is not negative; expected one as in \"30s\" or \"1m 30s\"",
        ));
    }
    match literal(&expr) {
        Some(literal) => Ok(Time::Literal(literal.clone(), duration::from_literal(literal)?)),
        None => Ok(Time::Expr(expr)),
    }
}

fn number(input: ParseStream<'_>) -> syn::Result<Expr> {
    let expr: Expr = input.parse()?;
    match literal(&expr) {
        None if is_negative(&expr) => {}
        None => return Ok(expr),
        Some(Lit::Int(number)) if matches!(number.suffix(), "" | "u32") => {
            if number.base10_parse::<u32>().is_ok() {
                return Ok(expr);
            }
            let message =
                format!("`{number}` is too many; there are at most {} attempts", u32::MAX);
            return Err(syn::Error::new(number.span(), message));
        }
        Some(_) => {}
    }
    Err(syn::Error::new_spanned(
        expr,
        "expected a number of attempts, the first included, as in `max_attempts = 3`",
    ))
}

fn is_negative(expr: &Expr) -> bool {
    matches!(expr, Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) && literal(&unary.expr).is_some())
}

fn backoff(input: ParseStream<'_>) -> syn::Result<Expr> {
    let expr: Expr = input.parse()?;
    match literal(&expr) {
        None => Ok(expr),
        Some(other) => Err(syn::Error::new(
            other.span(),
            "expected a `Backoff`, as in `backoff = Backoff::fixed(Duration::from_secs(1))`",
        )),
    }
}

/// One of a few words.
fn word<T: Copy>(option: &Ident, input: ParseStream<'_>, words: &[(&str, T)]) -> syn::Result<T> {
    let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
    let place = input.cursor();
    let Ok(word) = input.call(Ident::parse_any) else {
        let known: Vec<_> = known.iter().map(|word| format!("`{option} = {word}`")).collect();
        let message = format!("expected {}", known.join(" or "));
        return Err(syn::Error::new(place.span(), message));
    };
    match words.iter().find(|(known, _)| word == known) {
        Some((_, meant)) => Ok(*meant),
        None => Err(options::unknown_word(&format!("value of `{option}`:"), &word, &known)),
    }
}

fn a_resource(input: ParseStream<'_>) -> syn::Result<Expr> {
    a_text(
        input,
        "the name is empty; it is the name that the retrier knows the resource by",
        "expected a name as text, as in `resource = \"payments-gateway\"`",
    )
}

fn a_name(input: ParseStream<'_>) -> syn::Result<Expr> {
    a_text(
        input,
        "the name is empty; keys and events are known by it",
        "expected a name as text, as in `name = \"payments.charge\"`",
    )
}

/// Text that is not empty, or an expression.
fn a_text(input: ParseStream<'_>, empty: &str, expected: &str) -> syn::Result<Expr> {
    let expr: Expr = input.parse()?;
    match literal(&expr) {
        Some(Lit::Str(text)) if text.value().is_empty() => Err(syn::Error::new(text.span(), empty)),
        None | Some(Lit::Str(_)) => Ok(expr),
        Some(other) => Err(syn::Error::new(other.span(), expected)),
    }
}

/// The literal that an expression is, if it is one.
pub(super) fn literal(expr: &Expr) -> Option<&Lit> {
    match expr {
        Expr::Lit(literal) => Some(&literal.lit),
        Expr::Group(group) => literal(&group.expr),
        Expr::Paren(paren) => literal(&paren.expr),
        _ => None,
    }
}

/// `span` is where the attribute stands.
pub(super) fn function(span: Span, input: ParseStream<'_>) -> syn::Result<Function> {
    let attrs = input.call(Attribute::parse_outer)?;
    let vis = input.parse()?;
    let Ok(sig) = input.parse::<Signature>() else {
        return Err(syn::Error::new(span, "`#[retryable]` goes on an `async fn`"));
    };
    if !input.peek(token::Brace) {
        return Err(syn::Error::new_spanned(
            &sig.ident,
            "`#[retryable]` needs the body, which is one attempt; \
             put it on the implementation of this method",
        ));
    }
    Ok(Function { attrs, vis, sig, body: input.parse()? })
}

impl ToTokens for Time {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Literal(literal, _) => literal.to_tokens(tokens),
            Self::Expr(expr) => expr.to_tokens(tokens),
        }
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, vis, sig, body } = self;
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}
