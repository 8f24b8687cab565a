//! A caller that lets no lint pass: every macro with every option, and not one
//! warning from what they write. `clippy` judges this crate as any other.
#![deny(
    warnings,
    clippy::all,
    clippy::nursery,
    clippy::pedantic,
    // Of `clippy::restriction`, what generated code could set off.
    clippy::as_conversions,
    clippy::default_numeric_fallback,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::infinite_loop,
    clippy::let_underscore_must_use,
    clippy::let_underscore_untyped,
    clippy::mem_forget,
    clippy::panic,
    clippy::pattern_type_mismatch,
    clippy::redundant_type_annotations,
    clippy::ref_patterns,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::string_slice,
    clippy::try_err,
    clippy::unreachable,
    clippy::unused_trait_names,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    absolute_paths_not_starting_with_crate,
    ambiguous_negative_literals,
    closure_returning_async_block,
    explicit_outlives_requirements,
    future_incompatible,
    if_let_rescope,
    impl_trait_overcaptures,
    impl_trait_redundant_captures,
    keyword_idents,
    let_underscore_drop,
    macro_use_extern_crate,
    meta_variable_misuse,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_ascii_idents,
    nonstandard_style,
    redundant_imports,
    redundant_lifetimes,
    rust_2018_idioms,
    rust_2021_compatibility,
    rust_2024_compatibility,
    single_use_lifetimes,
    tail_expr_drop_order,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unused,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences
)]
#![forbid(unsafe_code)]

use std::fmt;
use std::time::Duration;

use retry_core::{
    Backoff, Class, Classify, Failure, IdempotencyKey, Jitter, Policy, Retrier, Stopped,
    non_idempotent, retryable,
};

/// The error of every body.
#[derive(Clone, Copy, Debug, Classify)]
pub enum Fault {
    /// May succeed later.
    #[retry(transient, no_effect, kind = throttled, after = wait)]
    Busy {
        /// What the other side asked for.
        wait: Option<Duration>,
    },
    /// Never succeeds.
    #[retry(permanent, code = 0)]
    Refused(u16),
    /// A person decides.
    #[retry(unknown)]
    Garbled,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fault")
    }
}

impl std::error::Error for Fault {}

const BUSY: Fault = Fault::Busy { wait: None };

/// A signature that cannot change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16);

impl From<Stopped<Fault>> for Status {
    fn from(stopped: Stopped<Fault>) -> Self {
        Self(if stopped.attempts() > 1 { 503 } else { 500 })
    }
}

/// What is set somewhere else.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Attempts.
    pub attempts: u32,
    /// Time.
    pub deadline: Duration,
    /// Waits.
    pub backoff: Backoff,
    /// All of them.
    pub policy: Policy,
}

impl Default for Config {
    fn default() -> Self {
        let deadline = Duration::from_secs(9);
        Self { attempts: 2, deadline, backoff: Backoff::DEFAULT, policy: Policy::new(4, deadline) }
    }
}

/// Whoever is called.
#[derive(Debug, Default)]
pub struct Service {
    config: Config,
    /// Where what is kept is kept.
    pub retries: Retrier,
    /// Calls that fail before one succeeds.
    pub failing: u32,
    calls: u32,
}

impl Service {
    const fn call(&mut self) -> Result<u32, Fault> {
        self.calls += 1;
        if self.calls > self.failing { Ok(self.calls) } else { Err(BUSY) }
    }

    async fn refresh(&mut self) {
        std::future::ready(()).await;
        self.calls += 100;
    }

    /// Only literals.
    ///
    /// # Errors
    /// The service is busy.
    #[retryable(
        name = "service.literals",
        idempotent,
        attempt,
        max_attempts = 3,
        deadline = "5s",
        attempt_timeout = "1s 500ms",
        hint_limit = "10s",
        backoff = Backoff::exponential(Duration::from_millis(10)).factor(3, 2).jitter(Jitter::Full)
    )]
    pub async fn literals(&mut self) -> Result<u32, Stopped<Fault>> {
        Ok(self.call()? + attempt.number())
    }

    /// Numbers from everywhere.
    ///
    /// # Errors
    /// The service is busy.
    #[retryable(
        idempotent,
        max_attempts = self.config.attempts,
        deadline = self.config.deadline,
        attempt_timeout = timeout,
        hint_limit = timeout * 2,
        backoff = self.config.backoff,
        with = self.retries
    )]
    pub async fn computed(&mut self, timeout: Duration) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    /// All at once.
    ///
    /// # Errors
    /// The service is busy.
    #[retryable(idempotent, policy = &self.config.policy, max_attempts = 2)]
    pub async fn by_policy(&mut self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    /// Looked up.
    ///
    /// # Errors
    /// The service is busy, or the retrier does not know the policy.
    #[retryable(idempotent, policy = "gateway", max_attempts = 2, with = self.retries)]
    pub async fn by_name(&mut self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    /// A key.
    ///
    /// # Errors
    /// The service is busy.
    #[retryable(name = "service.keyed", key = id, max_attempts = 3, deadline = "5s")]
    pub async fn keyed(&mut self, id: &str) -> Result<IdempotencyKey, Stopped<Fault>> {
        if id.len() > 9 {
            return Err(Fault::Refused(400));
        }
        self.call().map(|_| key)
    }

    /// Between attempts.
    ///
    /// # Errors
    /// The service is busy.
    #[retryable(idempotent, before_retry = self.refresh(), max_attempts = 3, deadline = "5s")]
    pub async fn refreshed(&mut self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    /// A value that is not good enough.
    ///
    /// # Errors
    /// The service is busy.
    #[retryable(idempotent, reject = |calls| *calls < 2, max_attempts = 3, deadline = "5s")]
    pub async fn rejected(&mut self) -> Result<u32, Stopped<Fault>> {
        self.call()
    }

    /// Another error.
    ///
    /// # Errors
    /// The service is busy.
    #[retryable(
        idempotent,
        error = Fault,
        classify = |fault: &Fault| if matches!(fault, Fault::Busy { .. }) { Failure::transient() } else { Failure::unknown() },
        max_attempts = 2,
        deadline = "5s"
    )]
    pub async fn converted(&mut self) -> Result<u32, Status> {
        self.call()
    }

    /// Once.
    ///
    /// # Errors
    /// The service is busy.
    #[non_idempotent]
    #[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
    pub async fn once(&mut self, by: u32) -> Result<u32, Stopped<Fault>> {
        let added = add(by, 1).await;
        self.call().map(|calls| calls + added)
    }

    /// Kept.
    ///
    /// # Errors
    /// The service is busy, or its retrier has no store.
    #[retryable(
        name = "service.kept",
        durable,
        key = id,
        attempt,
        on_in_flight = attach,
        max_attempts = 3,
        deadline = "5s",
        with = self.retries
    )]
    pub async fn kept(&mut self, id: &str, _unused: u8) -> Result<String, Stopped<Fault>> {
        self.call().map(|calls| format!("{key}, {calls}, {}", attempt.number()))
    }

    /// Kept, without a key.
    ///
    /// # Errors
    /// The service is busy, or its retrier has no store.
    #[retryable(
        name = "service.kept_once",
        durable,
        at_most_once,
        id = id,
        fingerprint = (id, config.attempts),
        error = Fault,
        classify = |_: &Fault| Failure::transient().no_effect(),
        before_retry = self.refresh(),
        policy = config.policy,
        with = self.retries
    )]
    pub async fn kept_once(&mut self, id: u64, config: &Config) -> Result<u32, Status> {
        let added = add(config.attempts, 1).await;
        self.call().map(|calls| calls + added)
    }
}

/// Once, too.
#[non_idempotent]
pub async fn add(left: u32, right: u32) -> u32 {
    std::future::ready(left).await + right
}

/// Everything that awaits.
///
/// # Errors
/// Never.
#[retryable(idempotent, classify = transient, max_attempts = 2, deadline = "5s")]
pub async fn awaits<'a, T>(text: &'a T) -> Result<impl Iterator<Item = char> + 'a, Stopped<String>>
where
    T: AsRef<str> + ?Sized + Sync,
{
    let nested = async { std::future::ready(text.as_ref()).await.trim() };
    let trimmed = nested.await;
    let closure = async |c: char| c.to_ascii_uppercase();
    if closure('a').await == 'B' {
        return Err("alphabet".to_owned());
    }
    Ok(trimmed.chars())
}

const fn transient(_: &String) -> Class {
    Class::Transient
}

/// Behind an object.
#[async_trait::async_trait]
pub trait Store: fmt::Debug {
    /// Puts.
    async fn put(&mut self, id: u64, text: &str) -> Result<usize, Stopped<Fault>>;

    /// Puts, and is found again.
    async fn put_kept(&mut self, id: u64, text: &str) -> Result<usize, Stopped<Fault>>;
}

#[async_trait::async_trait]
impl Store for Service {
    #[retryable(name = "store.put", key = id, attempt, max_attempts = 3, deadline = "5s")]
    async fn put(&mut self, id: u64, text: &str) -> Result<usize, Stopped<Fault>> {
        let length = text.len() + key.to_string().len();
        self.call().map(|_| length + usize::from(attempt.is_last()))
    }

    #[retryable(
        name = "store.put_kept",
        durable,
        key = id,
        max_attempts = 3,
        deadline = "5s",
        with = self.retries
    )]
    async fn put_kept(&mut self, id: u64, text: &str) -> Result<usize, Stopped<Fault>> {
        let length = text.len() + key.to_string().len();
        self.call().map(|_| length)
    }
}
