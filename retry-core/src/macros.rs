//! The macros, documented here: an example compiles only where the types are.

/// Derives [`Classify`](trait@crate::Classify) on an enum or a struct: each
/// error says once, where it is declared, what it means for the retry.
///
/// ```
/// use std::time::Duration;
/// use retry_core::{Classify, Failure, Kind};
///
/// #[derive(Classify)]
/// enum PayError {
///     /// Never left this host: nothing can have happened.
///     #[retry(transient, no_effect, kind = connect)]
///     Unreachable,
///     #[retry(transient, no_effect, kind = throttled, after = retry_after)]
///     Busy { retry_after: Option<Duration> },
///     /// May have happened.
///     #[retry(transient, kind = server, code = status)]
///     Server { status: u16 },
///     #[retry(permanent)]
///     Declined(String),
///     /// A person decides.
///     #[retry(unknown)]
///     Garbled,
///     /// Ask the inner error.
///     #[retry(delegate)]
///     Io(std::io::Error),
/// }
///
/// let error = PayError::Server { status: 503 };
/// assert_eq!(error.classify(), Failure::transient().with_kind(Kind::Server).with_code(503));
/// ```
///
/// # Options
///
/// They stand in `#[retry(…)]` above a variant, or above a struct. There is no
/// default: a variant without a classification does not compile.
///
/// One classification:
///
/// | option | the failure |
/// |---|---|
/// | `transient` | another attempt may succeed |
/// | `permanent` | no attempt will succeed |
/// | `unknown` | nobody can tell; a person decides |
/// | `delegate` | what the only field answers, with its hint, its code and, where it is the [`Stopped`](crate::Stopped) of a nested operation, its reason |
/// | `delegate = field` | what this field answers |
/// | `with = path` | what a function answers: anything that is `Into<Failure>`, such as a [`Class`](crate::Class). On a variant it is called with a reference to each field, in order; on a struct with `&self` |
///
/// `transient` on a variant that holds a nested stop starts afresh: the outer
/// operation retries whatever the inner one stopped with, a permanent error and
/// one that a person must look at included. Where it is to retry only what ran out
/// of attempts or time, write `delegate`, and `nested = retry` in the outer
/// operation's attribute.
///
/// Beside it, any of these. Next to `delegate` and `with` they replace that one
/// part of the answer.
///
/// | option | the failure | example |
/// |---|---|---|
/// | `no_effect` | the failed attempt certainly changed nothing; without it, it may have | `transient, no_effect` |
/// | `kind = …` | `timeout`, `throttled`, `connect`, `server` or `other` (the default) | `transient, kind = server` |
/// | `code = field` | the other side's number: an integer up to 64 bits, or an `Option` of one | `transient, code = status`, `permanent, code = 0` |
/// | `after = field` | the wait that the other side asked for: a `Duration`, a [`Hint`](crate::Hint), or an `Option` of either. Not with `permanent` and `unknown`, which have no next attempt | `transient, after = retry_after` |
///
/// A field is named, or counted from 0. Above an enum, or beside the options of
/// a struct, `crate = path` says where `retry_core` is, for crates that have it
/// only through another one.
///
/// # Generics
///
/// `delegate` adds the bound `FieldType: Classify` where the field's type
/// mentions a type parameter. Nothing else adds a bound.
///
/// ```
/// # use retry_core::Classify;
/// #[derive(Classify)]
/// enum Layered<E> {
///     #[retry(delegate)]
///     Inner(E),
///     #[retry(transient, no_effect)]
///     Full,
/// }
/// ```
///
/// # Mistakes
///
/// Two classifications of one variant do not compile:
///
/// ```compile_fail
/// # use retry_core::Classify;
/// #[derive(Classify)]
/// enum PayError {
///     #[retry(transient, permanent)]
///     Declined,
/// }
/// ```
pub use retry_macros::Classify;

/// Marks a function whose call must not run twice: it returns a
/// [`NonIdempotent`](crate::NonIdempotent), which can be awaited anywhere except
/// in a retried body.
///
/// ```
/// use retry_core::non_idempotent;
///
/// struct Printer;
/// struct Parcel(u64);
///
/// impl Printer {
///     #[non_idempotent]
///     async fn print_label(&self, parcel: &Parcel) -> Result<(), std::io::Error> {
///         // …
///         # Ok(())
///     }
/// }
///
/// async fn ship(printer: &Printer, parcel: &Parcel) -> Result<(), std::io::Error> {
///     printer.print_label(parcel).await
/// }
/// ```
///
/// In the body of `#[retryable(idempotent)]` or `#[retryable(key = …)]` the same
/// `.await` does not compile, and says what to do: call a keyed variant, move
/// the call out of the retried body, or declare the operation `at_most_once`. A
/// function that takes the idempotency key and passes it on is not marked: with
/// the key it can be repeated.
///
/// # Where it goes
///
/// | on | the function returns |
/// |---|---|
/// | `async fn f(…) -> R` | `NonIdempotent<impl Future<Output = R>>` |
/// | `fn f(…) -> impl Future<Output = R> + Send` | `NonIdempotent<impl Future<Output = R> + Send>` |
/// | `fn f(…) -> Pin<Box<dyn Future<Output = R> + '_>>`, and what `#[async_trait]` makes | `NonIdempotent<Pin<Box<dyn Future<Output = R> + '_>>>` |
///
/// Free functions, methods, methods of a trait with and without a default body,
/// and of its impls: on a trait's method it goes on the trait and on each impl.
/// What is not a future is refused. The future is `Send` where it was; nothing
/// is boxed.
///
/// A trait can still promise more about its futures, and an impl of it can be an
/// `async fn`:
///
/// ```
/// use retry_core::non_idempotent;
///
/// trait Bank {
///     #[non_idempotent]
///     fn charge(&self, amount: u64) -> impl Future<Output = u64> + Send;
/// }
///
/// struct Local;
///
/// impl Bank for Local {
///     #[non_idempotent]
///     async fn charge(&self, amount: u64) -> u64 {
///         amount
///     }
/// }
/// ```
///
/// With `#[retryable]` or `#[tracing::instrument]` on the same function the
/// order is free: these two expand first.
///
/// # Options
///
/// | option | meaning | example |
/// |---|---|---|
/// | `crate = path` | where `retry_core` is, for crates that have it only through another one | `#[non_idempotent(crate = facade::retry_core)]` |
///
/// # Mistakes
///
/// ```compile_fail
/// # use retry_core::non_idempotent;
/// #[non_idempotent]
/// fn print_label(parcel: u64) {}
/// ```
pub use retry_macros::non_idempotent;

#[doc = include_str!("../docs/retryable.md")]
pub use retry_macros::retryable;
