//! The loop around the body. Nothing is decided here.

use std::time::Duration;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Expr, Lit};

use super::check::{Numbers, Plan, Safety, Shape};
use super::guard::guard;
use super::literal::is_literal;
use super::parse::{Function, Time, literal};
use crate::inferred::inferred;

/// Input:
/// ```text
/// #[retryable(name = "pay", key = order.id, max_attempts = 5, deadline = "30s", with = self.retries)]
/// async fn charge(&self, order: &Order) -> Result<Receipt, Stopped<PayError>> {
///     self.gateway.charge(order, key).await
/// }
/// ```
///
/// Output:
/// ```text
/// async fn charge(&self, order: &Order) -> Result<Receipt, Stopped<PayError>> {
///     use ::retry_core::__private as __retry;
///     use __retry::{Chained as _, Guard as _, Silent as _, Textual as _};
///     let spec: &__retry::Spec = { static SPEC: … = __retry::Spec::checked("pay", …); &SPEC };
///     let retrier = Some(…self.retries…);
///     let mut run = __retry::Run::new(spec, retrier);
///     let derived = run.derive_key(&(order.id));
///     let done = loop {
///         if let Err(stopped) = run.begin() {
///             break Err(stopped);
///         }
///         match run.drive(
///             pin!(async {
///                 let key = derived;
///                 if let Some(output) = None::<__retry::Tried<…>> { return output; }
///                 self.gateway.charge(order, key).__retry_guard().await
///             }),
///             |error| __retry::judged(
///                 error,
///                 |error| __retry::Classify::classify(error),
///                 (&&__retry::probe(error)).describe(),
///             ),
///             |_| false,
///         )
///         .await
///         {
///             ControlFlow::Break(done) => break done,
///             ControlFlow::Continue(()) => {}
///         }
///         run.wait().await;
///     };
///     __retry::finish::<Result<Receipt, Stopped<PayError>>>(done)
/// }
/// ```
///
/// The body is a block that borrows, rebuilt on each turn: an argument that it
/// consumes is rustc's own "value moved in previous iteration of loop".
pub(super) fn emit(function: Function, mut plan: Plan) -> TokenStream {
    let Function { attrs, vis, sig, body } = function;
    let asyncness = sig.asyncness.map_or(sig.fn_token.span, |asyncness| asyncness.span);
    let body = match std::mem::replace(&mut plan.shape, Shape::Unusable) {
        Shape::AsyncFn => {
            let inner = Lowered { plan, function: &sig.ident, asyncness };
            let lowered = inner.lower(&body, |option| option);
            quote!({ #lowered })
        }
        Shape::AsyncTrait(outer) => {
            let inner = Lowered { plan, function: &sig.ident, asyncness };
            let lowered = inner.lower(&outer.body, |option| outer.in_body(option));
            outer.rebuild(lowered)
        }
        Shape::Unusable => quote!({ ::core::unimplemented!() }),
    };
    quote!(#(#attrs)* #vis #sig #body)
}

/// What is emitted of one function.
struct Lowered<'a> {
    plan: Plan,
    function: &'a Ident,
    /// The author's `async`.
    asyncness: Span,
}

impl Lowered<'_> {
    /// The statements of the new body. `place` makes an option's expression fit
    /// where the body stands.
    fn lower(&self, body: &Group, place: impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let Plan { span, krate, with, key, .. } = &self.plan;
        let ours = Span::mixed_site();
        let names = quote_spanned! {span.resolved_at(Span::call_site())=>
            #[allow(unused_imports)]
            use #krate::__private as __retry;
            #[allow(unused_imports)]
            use __retry::{Chained as _, Guard as _, Silent as _, Textual as _};
        };
        let spec = self.spec(&place);
        let retrier = match with {
            Some(with) => {
                let with = reference(quote!(__retry::Retrier), place(with.to_token_stream()));
                quote!(::core::option::Option::Some(::core::clone::Clone::clone(#with)))
            }
            None => quote!(::core::option::Option::None),
        };
        let key = key.as_ref().map(|(_, key)| {
            let key = place(key.to_token_stream());
            quote_spanned!(ours=> let derived = run.derive_key(&(#key));)
        });
        let turns = self.turns(body, &place);
        let done = self.finish();
        quote_spanned! {ours=>
            #names
            #spec
            let mut run = __retry::Run::new(spec, #retrier);
            #key
            #turns
            #done
        }
    }

    /// `let done = loop { … };`
    fn turns(&self, body: &Group, place: &impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let ours = Span::mixed_site();
        let attempt = &self.plan.attempt;
        let made = attempt.as_ref().map(|_| quote_spanned!(ours=> let current = run.attempt();));
        let body = self.body(body);
        let judge = self.judge(place);
        let reject = match &self.plan.reject {
            Some(reject) => place(reject.to_token_stream()),
            None => quote_spanned!(ours=> |_| false),
        };
        let hook = self.before_retry(place);
        // Where rustc says "inside of this loop".
        let turn = quote_spanned!(ours.located_at(self.function.span())=> loop);
        quote_spanned! {ours=>
            let done = #turn {
                if let ::core::result::Result::Err(stopped) = run.begin() {
                    break ::core::result::Result::Err(stopped);
                }
                #made
                match run.drive(::core::pin::pin!(#body), #judge, #reject).await {
                    ::core::ops::ControlFlow::Break(done) => break done,
                    ::core::ops::ControlFlow::Continue(()) => {}
                }
                run.wait().await;
                #hook
            };
        }
    }

    /// Input: `{ self.gateway.charge(order, key).await }`
    ///
    /// Output:
    /// ```text
    /// async {
    ///     let key = derived;
    ///     if let Some(output) = None::<Tried<…>> { return output; }
    ///     self.gateway.charge(order, key).__retry_guard().await
    /// }
    /// ```
    /// The branch that is never taken tells the body its type. The author's
    /// tokens stand in it without a block of their own.
    fn body(&self, body: &Group) -> TokenStream {
        let Plan { key, attempt, .. } = &self.plan;
        let ours = Span::mixed_site();
        let key = key.as_ref().map(|(key, _)| quote_spanned!(ours=> let #key = derived;));
        let attempt =
            attempt.as_ref().map(|attempt| quote_spanned!(ours=> let #attempt = &current;));
        let tried = self.tried();
        let edge = quote_spanned! {self.at_output()=>
            if let ::core::option::Option::Some(output) = ::core::option::Option::None::<#tried> {
                return output;
            }
        };
        let tokens = self.guarded(body.stream());
        let mut block =
            Group::new(proc_macro2::Delimiter::Brace, quote!(#key #attempt #edge #tokens));
        block.set_span(body.span());
        let block = TokenTree::Group(block);
        let asyncness = Span::call_site().located_at(self.asyncness);
        quote_spanned!(asyncness=> async #block)
    }

    /// A closure: a path to the trait's method would report a missing impl twice.
    fn judge(&self, place: &impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let classify = match &self.plan.classify {
            Some(classify) => place(classify.to_token_stream()),
            None => quote_spanned!(self.at_output()=> |error| __retry::Classify::classify(error)),
        };
        quote_spanned! {Span::mixed_site()=>
            |error| __retry::judged(error, #classify, (&&__retry::probe(error)).describe())
        }
    }

    /// Made and awaited anew before each retry.
    fn before_retry(&self, place: &impl Fn(TokenStream) -> TokenStream) -> Option<TokenStream> {
        let hook = self.plan.before_retry.as_ref()?;
        let span = hook.to_token_stream().into_iter().next().map_or(self.plan.span, |t| t.span());
        let at_hook = Span::call_site().located_at(span);
        let hook = self.guarded(place(hook.to_token_stream()));
        let awaited = self.guarded(quote_spanned!(at_hook=> (#hook).await));
        Some(quote_spanned! {Span::mixed_site()=>{
            let hook = ::core::pin::pin!(async {
                let done: () = #awaited;
                done
            });
            run.before_retry(hook).await;
        }})
    }

    /// A body that repeats only what had no effect may make its one call.
    fn guarded(&self, tokens: TokenStream) -> TokenStream {
        match self.plan.safety {
            Safety::AtMostOnce => tokens,
            Safety::Idempotent | Safety::Keyed => guard(tokens),
        }
    }

    /// The body's own type: `Result<T, E>`.
    fn tried(&self) -> TokenStream {
        let output = inferred(&self.plan.output);
        let at_output = self.at_output();
        match &self.plan.error {
            Some(error) => quote_spanned!(at_output=> __retry::TriedAs<#output, #error>),
            None => quote_spanned!(at_output=> __retry::Tried<#output>),
        }
    }

    fn finish(&self) -> TokenStream {
        let output = inferred(&self.plan.output);
        let at_output = self.at_output();
        match &self.plan.error {
            Some(error) => quote_spanned!(at_output=> __retry::finish_as::<#output, #error>(done)),
            None => quote_spanned!(at_output=> __retry::finish::<#output>(done)),
        }
    }

    /// Our names, at the place of the written return type.
    fn at_output(&self) -> Span {
        let first = self.plan.output.clone().into_iter().next();
        Span::mixed_site().located_at(first.map_or(self.plan.span, |token| token.span()))
    }

    /// `let spec: &Spec = …;`, a constant where everything is literal.
    fn spec(&self, place: &impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let Plan { numbers, safety, span, .. } = &self.plan;
        let at_attribute = Span::mixed_site().located_at(*span);
        let name = self.name(place);
        let is_literal_name = self.plan.name.as_ref().is_none_or(|name| literal(name).is_some());
        let safety = match safety {
            Safety::Idempotent => quote!(__retry::Safety::Idempotent),
            Safety::Keyed => quote!(__retry::Safety::Keyed),
            Safety::AtMostOnce => quote!(__retry::Safety::AtMostOnce),
        };
        if is_literal_name && numbers.are_literal() {
            let policy = numbers.constant();
            return quote_spanned! {at_attribute=>
                let spec: &'static __retry::Spec = {
                    static SPEC: __retry::Spec = __retry::Spec::checked(#name, #policy, #safety);
                    &SPEC
                };
            };
        }
        // What is literal is judged now, with harmless values for the rest.
        let judged = numbers.has_literal().then(|| {
            let policy = numbers.constant();
            quote_spanned! {at_attribute=>
                const _: __retry::Spec = __retry::Spec::checked("", #policy, #safety);
            }
        });
        let policy = numbers.computed(place);
        quote_spanned! {at_attribute=>
            #judged
            let spec = &{
                let name: &'static str = #name;
                #policy
                __retry::Spec::new(name, policy, #safety)
            };
        }
    }

    fn name(&self, place: &impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        match &self.plan.name {
            Some(name) => place(name.to_token_stream()),
            None => {
                let function = self.function.unraw().to_string();
                quote!(::core::concat!(::core::module_path!(), "::", #function))
            }
        }
    }
}

impl Numbers {
    fn are_literal(&self) -> bool {
        let time = |time: &Option<Time>| !matches!(time, Some(Time::Expr(_)));
        self.policy.is_none()
            && self.max_attempts.as_ref().is_none_or(|number| literal(number).is_some())
            && time(&self.deadline)
            && time(&self.attempt_timeout)
            && time(&self.hint_limit)
            && self.backoff.as_ref().is_none_or(is_literal)
    }

    fn has_literal(&self) -> bool {
        let time = |time: &Option<Time>| matches!(time, Some(Time::Literal(..)));
        self.max_attempts.as_ref().is_some_and(|number| literal(number).is_some())
            || time(&self.deadline)
            || time(&self.attempt_timeout)
            || self.backoff.as_ref().is_some_and(is_literal)
    }

    /// The policy of the literals. What is computed, or could not be read, is
    /// left at a value that fits any other.
    fn constant(&self) -> TokenStream {
        let one = Expr::Lit(syn::ExprLit {
            attrs: Vec::new(),
            lit: Lit::Int(syn::LitInt::new("1", Span::call_site())),
        });
        let max_attempts = self.max_attempts.as_ref().filter(|number| literal(number).is_some());
        // A zero is reported already.
        let is_zero = |number: &&Expr| {
            matches!(literal(number),
            Some(Lit::Int(number)) if number.base10_digits() == "0")
        };
        let max_attempts = max_attempts.filter(|number| !is_zero(number)).unwrap_or(&one);
        let deadline = match constant_time(&self.deadline) {
            Some(deadline) => deadline,
            None => quote!(::core::time::Duration::MAX),
        };
        let attempt_timeout =
            constant_time(&self.attempt_timeout).map(|timeout| quote!(.attempt_timeout(#timeout)));
        let hint_limit = constant_time(&self.hint_limit).map(|limit| quote!(.hint_limit(#limit)));
        let backoff = match &self.backoff {
            Some(backoff) if is_literal(backoff) => quote!(.backoff(#backoff)),
            None if self.policy.is_none() => TokenStream::new(),
            _ => quote!(.backoff(__retry::Backoff::fixed(::core::time::Duration::ZERO))),
        };
        quote!(__retry::Policy::new(#max_attempts, #deadline) #attempt_timeout #hint_limit #backoff)
    }

    /// `let policy: Policy = …;`, each number typed where it stands.
    fn computed(&self, place: &impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let ours = Span::mixed_site();
        let base = match &self.policy {
            Some(policy) => {
                let policy = reference(quote!(__retry::Policy), place(policy.to_token_stream()));
                quote_spanned!(ours=> *#policy)
            }
            None => quote_spanned!(ours=> __retry::Policy::new(1, ::core::time::Duration::MAX)),
        };
        let number = self.max_attempts.as_ref().map(|number| {
            let number = place(number.to_token_stream());
            quote_spanned! {ours=>
                let max_attempts: u32 = #number;
                let policy = policy.max_attempts(max_attempts);
            }
        });
        let times = [
            ("deadline", &self.deadline),
            ("attempt_timeout", &self.attempt_timeout),
            ("hint_limit", &self.hint_limit),
        ];
        let times = times.into_iter().filter_map(|(name, time)| {
            let set = Ident::new(name, ours);
            let time = match time.as_ref()? {
                Time::Literal(duration, _) => constant_duration(*duration),
                Time::Expr(expr) => place(expr.to_token_stream()),
            };
            Some(quote_spanned! {ours=>
                let time: ::core::time::Duration = #time;
                let policy = policy.#set(time);
            })
        });
        let backoff = self.backoff.as_ref().map(|backoff| {
            let backoff = place(backoff.to_token_stream());
            quote_spanned! {ours=>
                let backoff: __retry::Backoff = #backoff;
                let policy = policy.backoff(backoff);
            }
        });
        quote_spanned! {ours=>
            let policy: __retry::Policy = #base;
            #number
            #(#times)*
            #backoff
        }
    }
}

/// A reference to what the author wrote, whether it is the value, a reference to
/// it, or a pointer such as `Arc`.
fn reference(ty: TokenStream, expr: TokenStream) -> TokenStream {
    quote_spanned!(Span::mixed_site()=> { let reference: &#ty = &(#expr); reference })
}

fn constant_time(time: &Option<Time>) -> Option<TokenStream> {
    match time {
        // A zero is reported already.
        Some(Time::Literal(duration, _)) if !duration.is_zero() => {
            Some(constant_duration(*duration))
        }
        _ => None,
    }
}

fn constant_duration(duration: Duration) -> TokenStream {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote!(::core::time::Duration::new(#seconds, #nanos))
}
