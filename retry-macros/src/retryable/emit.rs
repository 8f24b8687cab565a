//! The loop around the body. Nothing is decided here.

use std::time::Duration;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{LitStr, Type};

use super::check::{Key, Numbers, Plan, Safety, Set, Shape, Wrong};
use super::durable::{Arguments, Durable};
use super::guard::{guard, guard_future};
use super::instrument;
use super::literal::is_literal;
use super::parse::{Function, OnInFlight, OnRefusal, Policy, Time, literal};
use super::place::{Extent, borrowed, parenthesized};
use super::written::{arguments_of, error_in, ok_in};
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
///     use __retry::Guard as _;
///     let mut run = __retry::Run::new(
///         { static POLICY: __retry::Spec = __retry::Spec::checked("pay", …); &POLICY },
///         Some(…self.retries…),
///     );
///     let derived = run.derive_key(&(order.id));
///     loop {
///         let body = pin!(Some(async {
///             let key = derived;
///             if let Some(output) = None::<Result<Receipt, PayError>> { return output; }
///             self.gateway.charge(order, key).__retry_guard().await
///         }));
///         if let Some(done) = run.turn(body).await {
///             break done;
///         }
///     }
/// }
/// ```
///
/// The body is a block that borrows, rebuilt on each turn: an argument that it
/// consumes is rustc's own "value moved in previous iteration of loop".
pub(super) fn emit(function: Function, mut plan: Plan) -> TokenStream {
    let Function { attrs, vis, mut sig, body } = function;
    let asyncness = sig.asyncness.map_or(sig.fn_token.span, |asyncness| asyncness.span);
    let shape = std::mem::replace(&mut plan.shape, Shape::AsyncFn);
    if let Shape::AsyncFn = shape {
        // Without it, which is reported, none of the awaits would compile.
        sig.asyncness.get_or_insert_default();
    }
    let function = sig.ident.clone();
    let written_result = written_result(&plan);
    let lowered = Lowered { plan, written_result, function: &function, asyncness };
    let authors = |option| option;
    let body = match shape {
        Shape::AsyncFn => lowered.lower(&body, Turns::All, authors),
        Shape::AsyncTrait(outer) => {
            let inner = lowered.lower(&outer.body, Turns::All, |option| outer.in_body(option));
            outer.rebuild(inner)
        }
        Shape::Wrong(Wrong::Instrumented) => {
            let body = instrument::retyped(&body, &lowered.tried());
            lowered.lower(&body, Turns::One, authors)
        }
        Shape::Wrong(Wrong::Blocking) => lowered.only_checked(&body),
        Shape::Wrong(Wrong::Whole) => lowered.whole(&body),
    };
    quote!(#(#attrs)* #vis #sig { #body })
}

/// What is emitted of one function.
struct Lowered<'a> {
    plan: Plan,
    /// The `T` and `E` of a return type that is written as `Result<T, Stopped<E>>`,
    /// as nearly all are: then no trait needs to be asked what it is, which the
    /// compiler takes long for.
    written_result: Option<(Type, Type)>,
    function: &'a Ident,
    /// The author's `async`.
    asyncness: Span,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turns {
    All,
    /// The compiler need not know that there is another.
    One,
}

impl Lowered<'_> {
    /// The statements of the new body. `place` makes an option's expression fit
    /// where the body stands.
    fn lower(
        &self,
        body: &Group,
        turns: Turns,
        place: impl Fn(TokenStream) -> TokenStream,
    ) -> TokenStream {
        let Plan { with, key, .. } = &self.plan;
        let ours = Span::mixed_site();
        let names = self.names();
        let texts = self
            .plan
            .classify
            .as_ref()
            .map(|_| quote_spanned!(ours=> use __retry::{Silent as _, Textual as _};));
        let resource = self.resource();
        let (computed, spec) = self.spec(&place);
        let retrier = match with {
            Some(Set { option, value }) => {
                let value = place(value.to_token_stream());
                referenced(
                    option,
                    quote!(Retrier),
                    value,
                    |retrier| quote!(::core::option::Option::Some(::core::clone::Clone::clone(#retrier))),
                )
            }
            None => quote!(::core::option::Option::None),
        };
        // What is looked up in it is computed from it.
        let (bound, retrier) = match self.plan.numbers.policy_name() {
            Some(_) => {
                let bound = quote_spanned!(ours=> let retrier = #retrier;);
                (Some(bound), quote_spanned!(ours=> retrier))
            }
            None => (None, retrier),
        };
        let key = key.as_ref().map(|Key { option, value, is_bound }| {
            let value = borrowed(place(value.to_token_stream()));
            let derived = is_bound.then(|| quote_spanned!(ours=> let derived =));
            let derive = Ident::new("derive_key", ours.located_at(option.span()));
            quote_spanned!(ours=> #derived run.#derive(#value);)
        });
        let caller = self.plan.caller.as_ref().map(|Set { option, value }| {
            let value = borrowed(place(value.to_token_stream()));
            let set = Ident::new("set_caller", ours.located_at(option.span()));
            quote_spanned!(ours=> run.#set(#value);)
        });
        let run = self.run(quote!(#spec, #retrier));
        let arguments = self.arguments(&place);
        let turns = self.finish(self.turns(body, turns, &place));
        quote_spanned! {ours=>
            #names
            #texts
            #bound
            #resource
            #computed
            let mut run = #run;
            #caller
            #key
            #arguments
            #turns
        }
    }

    fn names(&self) -> TokenStream {
        let Plan { span, krate, .. } = &self.plan;
        let outcomes = self.written_result.is_none().then(|| quote!(, Known as _, Unknown as _));
        quote_spanned! {Span::call_site().located_at(*span)=>
            #[allow(unused_imports)]
            use #krate::__private as __retry;
            #[allow(unused_imports)]
            use __retry::{Guard as _ #outcomes};
        }
    }

    /// `__retry::Run::new(…)`
    ///
    /// A durable one asks at the written return type whether that can be recorded.
    fn run(&self, arguments: TokenStream) -> TokenStream {
        let Plan { durable, span, .. } = &self.plan;
        let ours = Span::mixed_site();
        if durable.is_none() {
            return quote_spanned!(ours=> __retry::Run::new(#arguments));
        }
        // The author's own place: anywhere else, the message ends in a note about
        // the expansion.
        let Extent { first, last } = match ok_in(&self.plan.output) {
            Some(ok) => Extent::of(&ok.into_token_stream(), *span),
            None => self.output(),
        };
        let new = Ident::new("new", last);
        let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
        arguments.set_span(last);
        let arguments = TokenTree::Group(arguments);
        quote_spanned!(first=> __retry::DurableRun::#new #arguments)
    }

    /// `run.set_arguments(__retry::Given::new().argument("order", &order));`
    ///
    /// What an argument is not is said at its name.
    fn arguments(&self, place: &impl Fn(TokenStream) -> TokenStream) -> Option<TokenStream> {
        let Durable { option, arguments, .. } = self.plan.durable.as_ref()?;
        let ours = Span::mixed_site();
        let mut allowed = None;
        let given = match arguments {
            Arguments::Fingerprint(Set { option, value }) => {
                let value = borrowed(place(value.to_token_stream()));
                quote_spanned!(ours.located_at(option.span())=> __retry::Given::of(#value))
            }
            Arguments::Named(names) => {
                let arguments = names.iter().map(|name| {
                    let text = name.unraw().to_string();
                    let value = quote_spanned!(name.span()=> &#name);
                    let argument = Ident::new("argument", ours.located_at(option.span()));
                    quote_spanned!(ours=> .#argument(#text, #value))
                });
                // It is used here, whatever its author calls it.
                if names.iter().any(|name| name.unraw().to_string().starts_with('_')) {
                    allowed = Some(quote!(#[allow(clippy::used_underscore_binding)]));
                }
                quote_spanned!(ours=> __retry::Given::new() #(#arguments)*)
            }
        };
        Some(quote_spanned!(ours=> #allowed run.set_arguments(#given);))
    }

    /// `loop { … }`
    fn turns(
        &self,
        body: &Group,
        turns: Turns,
        place: &impl Fn(TokenStream) -> TokenStream,
    ) -> TokenStream {
        let ours = Span::mixed_site();
        let begun = self.begun();
        let body = self.body(body);
        let body = match self.written() {
            Some(written) => quote_spanned!(ours=> #written.body(#body)),
            None => body,
        };
        let turned = self.turn(place);
        let hook = self.before_retry(place);
        // Where rustc says "inside of this loop".
        let turn = quote_spanned!(ours.located_at(self.function.span())=> loop);
        let only = (turns == Turns::One).then(|| quote!(::core::unreachable!();));
        let attempt = quote_spanned! {ours=>
            let body = ::core::pin::pin!(::core::option::Option::Some(#body));
            if let ::core::option::Option::Some(done) = #turned {
                break done;
            }
        };
        // What the body borrows is free again for the hook.
        let attempt = match (&self.plan.durable, &hook) {
            (Some(_), Some(_)) => quote_spanned!(ours=> { #attempt }),
            _ => attempt,
        };
        quote_spanned! {ours=>
            #turn {
                #begun
                #attempt
                #hook
                #only
            }
        }
    }

    /// What precedes the body on each turn.
    ///
    /// Only a body that wants to know which attempt it is needs one begun; a
    /// durable attempt always is, before anything of the body exists.
    fn begun(&self) -> Option<TokenStream> {
        let ours = Span::mixed_site();
        let current =
            self.plan.attempt.as_ref().map(|_| quote_spanned!(ours=> let current = run.attempt();));
        if self.plan.durable.is_some() {
            return Some(quote_spanned! {ours=>
                if let ::core::option::Option::Some(done) = run.begin().await {
                    break done;
                }
                #current
            });
        }
        current.map(|current| {
            quote_spanned! {ours=>
                if let ::core::result::Result::Err(stopped) = run.begin().await {
                    break ::core::result::Result::Err(stopped);
                }
                #current
            }
        })
    }

    /// Of a function that is not `async`: the body as a closure that is never
    /// called.
    fn only_checked(&self, body: &Group) -> TokenStream {
        let names = self.names();
        let tried = self.tried();
        let body = self.whole(body);
        quote_spanned! {Span::mixed_site()=>
            #names
            let attempt = || -> #tried { #body };
            let _ = attempt;
            loop {}
        }
    }

    /// The body as it is, with the names that the attribute binds.
    fn whole(&self, body: &Group) -> TokenStream {
        let Plan { krate, key, attempt, .. } = &self.plan;
        let ours = Span::mixed_site();
        let key = key.as_ref().and_then(Key::bound).map(
            |key| quote_spanned!(ours=> let #key = (|| -> #krate::IdempotencyKey { loop {} })();),
        );
        let attempt = attempt.as_ref().map(
            |attempt| quote_spanned!(ours=> let #attempt = (|| -> #krate::Attempt { loop {} })();),
        );
        let tokens = body.stream();
        quote!(#key #attempt #tokens)
    }

    /// Input: `{ self.gateway.charge(order, key).await }`
    ///
    /// Output:
    /// ```text
    /// async {
    ///     let key = derived;
    ///     if let Some(output) = None::<<R as Outcome>::Tried> { return output; }
    ///     self.gateway.charge(order, key).__retry_guard().await
    /// }
    /// ```
    /// The branch that is never taken tells the body its type. The author's
    /// tokens stand in it without a block of their own.
    fn body(&self, body: &Group) -> TokenStream {
        let Plan { key, attempt, .. } = &self.plan;
        let ours = Span::mixed_site();
        let key = key.as_ref().and_then(Key::bound);
        let key = key.map(|key| quote_spanned!(ours=> let #key = derived;));
        let attempt =
            attempt.as_ref().map(|attempt| quote_spanned!(ours=> let #attempt = &current;));
        let tried = self.tried();
        let edge = quote_spanned! {self.output().ours().first=>
            if let ::core::option::Option::Some(output) = ::core::option::Option::None::<#tried> {
                return output;
            }
        };
        let tokens = self.guarded(body.stream());
        let mut block = Group::new(Delimiter::Brace, quote!(#key #attempt #edge #tokens));
        block.set_span(body.span());
        let block = TokenTree::Group(block);
        let asyncness = Span::call_site().located_at(self.asyncness);
        quote_spanned!(asyncness=> async #block)
    }

    /// `run.turn(body).await`, or with the author's say in what an outcome means:
    /// `run.judged_turn(body, |error| …, |value| …).await`
    ///
    /// A durable one takes what an error means in any case, and no more.
    fn turn(&self, place: &impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let ours = Span::mixed_site();
        let Plan { classify, reject, durable, .. } = &self.plan;
        if classify.is_none() && reject.is_none() && durable.is_none() {
            // The author's own place, where a missing `Classify` is reported.
            let first = self.error().first;
            let at_error = ours.located_at(first);
            let (run, body) = (Ident::new("run", at_error), Ident::new("body", at_error));
            return quote_spanned!(first=> #run.turn(#body).await);
        }
        let judge = self.judge(place);
        // The result of a durable operation is recorded: there is none to reject.
        let reject = durable.is_none().then(|| self.reject(place)).into_iter();
        quote_spanned!(ours=> run.judged_turn(body, #judge #(, #reject)*).await)
    }

    /// `|error| __retry::by_trait(error)`, or `|error| __retry::judged(error, …)`
    fn judge(&self, place: &impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let ours = Span::mixed_site();
        // Where rustc says "required by a bound introduced by this call".
        let Some(Set { option, value }) = &self.plan.classify else {
            // A closure, because the path alone would report a missing impl twice;
            // the author's own place, where it is missing.
            let first = self.error().first;
            let error = Ident::new("error", first);
            let judged = quote_spanned!(first=> __retry::by_trait(#error));
            return quote_spanned!(ours.located_at(first)=> |#error| #judged);
        };
        let (introduced, classify) =
            (ours.located_at(option.span()), place(value.to_token_stream()));
        let error = quote_spanned!(ours=> error);
        let describe = quote_spanned!(ours=> (&__retry::probe(#error)).describe());
        let judged = quote_spanned!(introduced=> __retry::judged(#error, #classify, #describe));
        quote_spanned!(ours=> |#error| #judged)
    }

    /// `accept`, or `|value| __retry::rejected(value, …)`
    fn reject(&self, place: &impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let ours = Span::mixed_site();
        let Some(Set { option, value: reject }) = &self.plan.reject else {
            return quote_spanned!(ours=> __retry::accept);
        };
        let introduced = ours.located_at(option.span());
        let reject = place(reject.to_token_stream());
        let value = quote_spanned!(ours=> value);
        let rejected = quote_spanned!(introduced=> __retry::rejected(#value, #reject));
        quote_spanned!(ours=> |#value| #rejected)
    }

    /// Where the written error stands.
    fn error(&self) -> Extent {
        let error = match &self.plan.error {
            Some(error) => error.to_token_stream(),
            None => error_in(&self.plan.output),
        };
        Extent::of(&error, self.plan.span)
    }

    /// Made and awaited anew before each retry.
    fn before_retry(&self, place: &impl Fn(TokenStream) -> TokenStream) -> Option<TokenStream> {
        let Set { option, value } = self.plan.before_retry.as_ref()?;
        let value = value.to_token_stream();
        let at_hook = Extent::of(&value, self.plan.span).last;
        let hook = match self.plan.safety {
            Safety::AtMostOnce => parenthesized(place(value)).into(),
            Safety::Idempotent | Safety::Keyed => guard_future(place(value)),
        };
        let awaited = quote_spanned!(at_hook=> .await);
        let nothing = quote_spanned!(Span::mixed_site().located_at(option.span())=> ());
        Some(quote_spanned! {Span::mixed_site()=>{
            let hook = ::core::pin::pin!(async {
                let done: #nothing = #hook #awaited;
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
    ///
    /// It stands at the written return type wherever it is named, and as the
    /// author's own: what is wrong with the return type is said once.
    fn tried(&self) -> TokenStream {
        if let Some((ok, error)) = &self.written_result {
            let ok = inferred(ok);
            let last = self.output().last;
            return quote_spanned!(last=> ::core::result::Result<#ok, #error>);
        }
        let output = inferred(&self.plan.output);
        let Extent { first, last } = self.output();
        let outcome = match &self.plan.error {
            Some(error) => quote_spanned!(first=> __retry::OutcomeAs<#error>),
            None => quote_spanned!(first=> __retry::Outcome),
        };
        let outcome = quote_spanned!(first=> <#output as #outcome>);
        quote_spanned!(last=> #outcome::Tried)
    }

    /// Only the bound of these functions mentions the return type: so there is
    /// one place where the compiler says that it does not hold.
    fn finish(&self, turns: TokenStream) -> TokenStream {
        if self.written_result.is_some() {
            return turns;
        }
        let output = inferred(&self.plan.output);
        let ours = self.output().ours().first;
        let finished = match &self.plan.error {
            Some(error) => {
                quote_spanned!(ours=> __retry::finish_as::<#output, #error, _, _>(done))
            }
            None => quote_spanned!(ours=> __retry::finish::<#output, _, _, _>(done)),
        };
        let done = quote_spanned!(Span::mixed_site()=> let done = #turns;);
        quote!(#done #finished)
    }

    /// What gives the body another type where the written one is wrong.
    fn written(&self) -> Option<TokenStream> {
        if self.written_result.is_some() {
            return None;
        }
        let output = inferred(&self.plan.output);
        let ours = self.output().ours().first;
        Some(match &self.plan.error {
            Some(error) => quote_spanned!(ours=> (&__retry::ReturnAs::<#output, #error>::WRITTEN)),
            None => quote_spanned!(ours=> (&__retry::Return::<#output>::WRITTEN)),
        })
    }

    /// Where the written return type stands.
    fn output(&self) -> Extent {
        Extent::of(&self.plan.output, self.plan.span)
    }

    /// A `&Spec`, and what computes it where not everything is literal.
    fn spec(
        &self,
        place: &impl Fn(TokenStream) -> TokenStream,
    ) -> (Option<TokenStream>, TokenStream) {
        let Plan { numbers, safety, span, .. } = &self.plan;
        let at_attribute = Span::mixed_site().located_at(*span);
        let name = self.name(place);
        let is_literal_name = self.plan.name.as_ref().is_none_or(|name| literal(name).is_some());
        let safety = match safety {
            Safety::Idempotent => quote!(__retry::Safety::Idempotent),
            Safety::Keyed => quote!(__retry::Safety::Keyed),
            Safety::AtMostOnce => quote!(__retry::Safety::AtMostOnce),
        };
        let settings = self.settings();
        if is_literal_name && numbers.are_literal() {
            let checked = numbers.checked(*span, quote!(#name), safety);
            let spec = quote_spanned! {at_attribute=>{
                static POLICY: __retry::Spec = #checked #settings;
                &POLICY
            }};
            return (None, spec);
        }
        // What is literal is judged now, with harmless values for the rest.
        let judged = numbers.have_literals().then(|| {
            let checked = numbers.checked(*span, quote!(""), safety.clone());
            quote_spanned!(at_attribute=> const _: __retry::Spec = #checked;)
        });
        let policy = numbers.computed(place);
        let looked_up =
            numbers.policy_name().map(|_| quote_spanned!(at_attribute=> .looked_up(found)));
        let computed = quote_spanned! {at_attribute=>
            #judged
            let spec = &{
                let name: &'static str = #name;
                #policy
                __retry::Spec::new(name, policy, #safety) #looked_up #settings
            };
        };
        (Some(computed), quote_spanned!(at_attribute=> spec))
    }

    /// `const __RETRY_RESOURCE: &'static str = …;`
    ///
    /// A resource is named by its author: the name is a constant. It stands outside
    /// of the block of the spec, whose names no author's path must find.
    fn resource(&self) -> Option<TokenStream> {
        let Set { option, value } = self.plan.resource.as_ref()?;
        let ours = Span::mixed_site();
        let expected = quote_spanned!(ours.located_at(option.span())=> &'static str);
        Some(quote_spanned!(ours=> const __RETRY_RESOURCE: #expected = #value;))
    }

    /// What follows the constructor: `.resource(__RETRY_RESOURCE).retry_nested()`
    fn settings(&self) -> TokenStream {
        let Plan { retry_nested, resource, on_refusal, durable, .. } = &self.plan;
        let ours = Span::mixed_site();
        let resource =
            resource.as_ref().map(|_| quote_spanned!(ours=> .resource(__RETRY_RESOURCE)));
        let on_refusal = on_refusal.map(|on_refusal| {
            let chosen = match on_refusal {
                OnRefusal::Stop => quote!(Stop),
                OnRefusal::Defer => quote!(Defer),
            };
            quote_spanned!(ours=> .on_refusal(__retry::OnRefusal::#chosen))
        });
        let nested = retry_nested.then(|| quote_spanned!(ours=> .retry_nested()));
        let durable = durable.as_ref().map(|durable| {
            let attach = (durable.on_in_flight == OnInFlight::Attach)
                .then(|| quote_spanned!(ours=> .attach()));
            quote_spanned!(ours=> .durable() #attach)
        });
        quote!(#resource #on_refusal #nested #durable)
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
    /// The name under which the policy is looked up at the call.
    fn policy_name(&self) -> Option<&LitStr> {
        match &self.policy.as_ref()?.value {
            Policy::Name(name) => Some(name),
            Policy::Expr(_) => None,
        }
    }

    fn are_literal(&self) -> bool {
        let time =
            |time: &Option<Set<Time>>| time.as_ref().is_none_or(|time| time.value.is_literal());
        self.policy.is_none()
            && self.max_attempts.as_ref().is_none_or(|number| literal(&number.value).is_some())
            && time(&self.deadline)
            && time(&self.attempt_timeout)
            && time(&self.hint_limit)
            && self.backoff.as_ref().is_none_or(|backoff| is_literal(&backoff.value))
    }

    /// Whether the literals alone can be wrong: a backoff, or more attempts than
    /// fit.
    fn have_literals(&self) -> bool {
        let bounds = match (&self.max_attempts, &self.deadline) {
            (Some(number), Some(deadline)) => {
                literal(&number.value).is_some() && deadline.value.is_literal()
            }
            _ => false,
        };
        bounds || self.backoff.as_ref().is_some_and(|backoff| is_literal(&backoff.value))
    }

    /// `Spec::checked(…)` of the literals. What is computed, or could not be
    /// read, is left at a value that fits any other.
    ///
    /// The backoff is judged where it stands. What is left to be wrong is the
    /// number of attempts: more than fit.
    fn checked(&self, attribute: Span, name: TokenStream, safety: TokenStream) -> TokenStream {
        let max_attempts = self.max_attempts.as_ref().map(|number| &number.value);
        let max_attempts = max_attempts.filter(|number| literal(number).is_some());
        let max_attempts = max_attempts.map_or_else(|| quote!(1), |number| quote!(#number));
        let place = Extent::of(&max_attempts, attribute);
        let deadline = constant_time(&self.deadline);
        let deadline = deadline.unwrap_or_else(|| quote!(::core::time::Duration::MAX));
        let attempt_timeout =
            constant_time(&self.attempt_timeout).map(|timeout| quote!(.attempt_timeout(#timeout)));
        let hint_limit = constant_time(&self.hint_limit).map(|limit| quote!(.hint_limit(#limit)));
        let backoff = match &self.backoff {
            Some(Set { value, .. }) if is_literal(value) => {
                let value = value.to_token_stream();
                let place = Extent::of(&value, attribute);
                let checked = call("checked_backoff", value, place);
                quote!(.backoff(#checked))
            }
            None if self.policy.is_none() => TokenStream::new(),
            _ => quote!(.backoff(__retry::Backoff::fixed(::core::time::Duration::ZERO))),
        };
        let policy = quote! {
            __retry::Policy::new(#max_attempts, #deadline) #attempt_timeout #hint_limit #backoff
        };
        call("checked", quote!(#name, #policy, #safety), place)
    }

    /// `let policy: Policy = …;`, each number typed where it stands: what is
    /// expected is said at the option's name.
    fn computed(&self, place: &impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let ours = Span::mixed_site();
        let base = match &self.policy {
            Some(Set { option, value: Policy::Expr(value) }) => {
                let value = place(value.to_token_stream());
                referenced(option, quote!(Policy), value, |policy| quote!(*#policy))
            }
            Some(Set { value: Policy::Name(_), .. }) => quote_spanned!(ours=> found.policy()),
            None => quote_spanned!(ours=> __retry::Policy::new(1, ::core::time::Duration::MAX)),
        };
        let setting = |option: &Ident, ty: TokenStream, value: TokenStream| {
            let set = Ident::new(&option.unraw().to_string(), ours);
            quote_spanned! {ours=>
                let value: #ty = #value;
                let policy = policy.#set(value);
            }
        };
        let number = self.max_attempts.as_ref().map(|Set { option, value }| {
            let ty = quote_spanned!(ours.located_at(option.span())=> u32);
            setting(option, ty, place(value.to_token_stream()))
        });
        let times = [&self.deadline, &self.attempt_timeout, &self.hint_limit];
        let times = times.into_iter().flatten().map(|Set { option, value }| {
            let ty = quote_spanned!(ours.located_at(option.span())=> ::core::time::Duration);
            let value = match value {
                Time::Literal(_, duration) => constant_duration(*duration),
                Time::Expr(expr) => place(expr.to_token_stream()),
            };
            setting(option, ty, value)
        });
        let backoff = self.backoff.as_ref().map(|Set { option, value }| {
            let ty = quote_spanned!(ours.located_at(option.span())=> __retry::Backoff);
            setting(option, ty, place(value.to_token_stream()))
        });
        let found = self.policy_name().map(
            |name| quote_spanned!(ours=> let found = __retry::LookedUp::new(&retrier, #name);),
        );
        quote_spanned! {ours=>
            #found
            let policy: __retry::Policy = #base;
            #number
            #(#times)*
            #backoff
        }
    }
}

impl Key {
    fn bound(&self) -> Option<&Ident> {
        self.is_bound.then_some(&self.option)
    }
}

/// `Spec::function(arguments)`, whose failure is a failure of that place.
fn call(function: &str, arguments: TokenStream, place: Extent) -> TokenStream {
    let Extent { first, last } = place.ours();
    let function = Ident::new(function, first);
    let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
    arguments.set_span(last);
    let arguments = TokenTree::Group(arguments);
    quote_spanned!(first=> __retry::Spec::#function #arguments)
}

/// What is made of a reference to what the author wrote, whether that is the
/// value, a reference to it, or a pointer such as `Arc`. It may be a temporary:
/// the scrutinee of a `match` lives as long as that.
fn referenced(
    option: &Ident,
    ty: TokenStream,
    value: TokenStream,
    make: impl FnOnce(&Ident) -> TokenStream,
) -> TokenStream {
    let ours = Span::mixed_site();
    let place = Extent::of(&value, option.span()).first;
    let reference = Ident::new("reference", ours.located_at(place));
    let value = borrowed(value);
    let expected = quote_spanned!(ours.located_at(option.span())=> &__retry::#ty);
    let made = make(&reference);
    quote_spanned! {ours=>
        match #value {
            #reference => {
                let #reference: #expected = #reference;
                #made
            }
        }
    }
}

fn written_result(plan: &Plan) -> Option<(Type, Type)> {
    if plan.error.is_some() {
        return None;
    }
    let output = syn::parse2(plan.output.clone()).ok()?;
    let [ok, stopped] = <[Type; 2]>::try_from(arguments_of("Result", &output)?).ok()?;
    let [error] = <[Type; 1]>::try_from(arguments_of("Stopped", &stopped)?).ok()?;
    Some((ok, error))
}

fn constant_time(time: &Option<Set<Time>>) -> Option<TokenStream> {
    match &time.as_ref()?.value {
        Time::Literal(_, duration) => Some(constant_duration(*duration)),
        Time::Expr(expr) if is_literal(expr) => Some(expr.to_token_stream()),
        Time::Expr(_) => None,
    }
}

fn constant_duration(duration: Duration) -> TokenStream {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote!(::core::time::Duration::new(#seconds, #nanos))
}
