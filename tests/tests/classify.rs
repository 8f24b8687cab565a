//! What `#[derive(Classify)]` answers.

use std::io;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use retry_core::clock::{Clock, VirtualClock};
use retry_core::{
    Class, Classify, Effect, Failure, Hint, Kind, Operation, Policy, StopReason, Stopped,
};

#[derive(Debug, thiserror::Error, Classify)]
enum PayError {
    #[error("gateway unreachable")]
    #[retry(transient, no_effect, kind = connect)]
    Unreachable,
    #[error("gateway busy")]
    #[retry(transient, no_effect, kind = throttled, after = retry_after)]
    Busy { retry_after: Option<Duration> },
    #[error("gateway answered {status}")]
    #[retry(transient, kind = server, code = status)]
    Server { status: u16 },
    #[error("declined: {0}")]
    #[retry(permanent)]
    Declined(String),
    #[error("answer not understood")]
    #[retry(unknown)]
    Garbled,
    #[error(transparent)]
    #[retry(delegate)]
    Io(#[from] io::Error),
}

#[test]
fn each_variant_answers_as_written() {
    let wait = Duration::from_secs(2);
    let busy = Failure::transient().no_effect().with_kind(Kind::Throttled);
    for (error, failure) in [
        (PayError::Unreachable, Failure::transient().no_effect().with_kind(Kind::Connect)),
        (PayError::Busy { retry_after: Some(wait) }, busy.after(wait)),
        (PayError::Busy { retry_after: None }, busy),
        (
            PayError::Server { status: 503 },
            Failure::transient().with_kind(Kind::Server).with_code(503),
        ),
        (PayError::Declined("no funds".to_owned()), Failure::permanent()),
        (PayError::Garbled, Failure::unknown()),
    ] {
        assert_eq!(error.classify(), failure, "{error}");
    }
}

#[test]
fn delegate_answers_as_the_inner_error() {
    let inner = || io::Error::from(io::ErrorKind::ConnectionRefused);
    assert_eq!(PayError::from(inner()).classify(), inner().classify());
}

type Alias = Stopped<io::Error>;

#[derive(Classify)]
enum Outer {
    #[retry(delegate)]
    Asked(Stopped<io::Error>),
    #[retry(delegate, kind = server)]
    AskedInPart(Stopped<io::Error>),
    #[retry(transient)]
    Afresh(#[allow(dead_code)] Stopped<io::Error>),
    #[retry(transient)]
    Boxed(#[allow(dead_code)] Box<Alias>),
    #[retry(transient, code = at)]
    ByName {
        #[allow(dead_code)]
        source: Alias,
        at: u32,
    },
    #[retry(transient)]
    Plain(#[allow(dead_code)] u32),
}

/// The outer operation does not retry what the inner one has given up, unless
/// its author says so.
#[test]
fn delegate_keeps_the_reason_of_a_nested_stop_and_transient_clears_it() {
    let stopped = || {
        let policy = Policy::new(1, Duration::from_secs(1));
        let inner = Operation::idempotent("inner", policy)
            .run(async |_| Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionReset)));
        let mut inner = std::pin::pin!(VirtualClock::new().scope(inner));
        loop {
            if let Poll::Ready(output) =
                inner.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                return output.unwrap_err();
            }
        }
    };
    let asked = Outer::Asked(stopped()).classify();
    assert_eq!(asked.inner(), Some(StopReason::AttemptsExhausted));
    assert_eq!(asked.class(), Class::Permanent);
    let in_part = Outer::AskedInPart(stopped()).classify();
    assert_eq!(in_part, asked.with_kind(Kind::Server));
    assert_eq!(Outer::Afresh(stopped()).classify(), Failure::transient().afresh());
    assert_eq!(Outer::Boxed(Box::new(stopped())).classify(), Failure::transient().afresh());
    let by_name = Outer::ByName { source: stopped(), at: 1 }.classify();
    assert_eq!(by_name, Failure::transient().with_code(1).afresh());
    assert_eq!(Outer::Plain(1).classify(), Failure::transient());
}

/// An error that has something to say about everything.
#[derive(Debug)]
struct Inner;

impl Classify for Inner {
    fn classify(&self) -> Failure {
        Failure::transient().with_kind(Kind::Server).with_code(500).after(Duration::from_secs(9))
    }
}

#[derive(Classify)]
enum Overrides {
    #[retry(delegate, no_effect)]
    NoEffect(Inner),
    #[retry(delegate, kind = throttled)]
    Kind(Inner),
    #[retry(delegate = 1, code = 0, after = 2)]
    Hint(u16, Inner, Option<Hint>),
    #[retry(delegate = source, after = wait)]
    #[retry(code = status)]
    Named { wait: Option<Duration>, source: Inner, status: Option<i64> },
}

#[test]
fn options_beside_delegate_replace_one_part_of_its_answer() {
    let inner = Inner.classify();
    for (error, failure) in [
        (Overrides::NoEffect(Inner), inner.no_effect()),
        (Overrides::Kind(Inner), inner.with_kind(Kind::Throttled)),
        (Overrides::Hint(1, Inner, None), inner.with_code(1)),
        (
            Overrides::Hint(1, Inner, Some(Hint::DoNotRetry)),
            inner.with_code(1).with_hint(Hint::DoNotRetry),
        ),
        (Overrides::Named { wait: None, source: Inner, status: None }, inner),
        (
            Overrides::Named { wait: Some(Duration::ZERO), source: Inner, status: Some(-1) },
            inner.after(Duration::ZERO).with_code(-1),
        ),
    ] {
        assert_eq!(error.classify(), failure);
    }
}

fn by_number(status: &u16) -> Class {
    if *status < 500 { Class::Permanent } else { Class::Transient }
}

fn by_both(status: &u16, text: &str) -> Failure {
    let code = if text == "quota" { 1 } else { 2 };
    Failure::from(by_number(status)).with_code(code)
}

#[derive(Classify)]
enum Asks {
    #[retry(with = by_number)]
    One(u16),
    #[retry(with = by_both, kind = server)]
    Both { status: u16, text: String },
    #[retry(with = Failure::unknown)]
    None,
    #[retry(with = Self::own, no_effect)]
    Own(u16),
}

impl Asks {
    fn own(status: &u16) -> Failure {
        by_number(status).into()
    }
}

#[test]
fn with_calls_the_function_with_the_fields() {
    for (error, failure) in [
        (Asks::One(404), Failure::permanent()),
        (Asks::One(503), Failure::transient()),
        (
            Asks::Both { status: 503, text: "quota".to_owned() },
            Failure::transient().with_code(1).with_kind(Kind::Server),
        ),
        (Asks::None, Failure::unknown()),
        (Asks::Own(503), Failure::transient().no_effect()),
    ] {
        assert_eq!(error.classify(), failure);
    }
}

#[derive(Classify)]
#[retry(transient, kind = server, code = status, after = wait)]
struct Answer {
    status: u16,
    wait: Duration,
}

#[derive(Classify)]
#[retry(delegate)]
struct Wrapper(Inner);

#[derive(Classify)]
#[retry(with = Answered::judge)]
struct Answered {
    status: u16,
    body: Vec<u8>,
}

impl Answered {
    fn judge(&self) -> Failure {
        if self.body.is_empty() { Failure::unknown() } else { by_number(&self.status).into() }
    }
}

#[derive(Classify)]
#[retry(permanent)]
struct Unit;

#[test]
fn a_struct_answers_as_written_above_it() {
    let wait = Duration::from_millis(20);
    assert_eq!(
        Answer { status: 500, wait }.classify(),
        Failure::transient().with_kind(Kind::Server).with_code(500).after(wait)
    );
    assert_eq!(Wrapper(Inner).classify(), Inner.classify());
    assert_eq!(Answered { status: 500, body: Vec::new() }.classify(), Failure::unknown());
    assert_eq!(Answered { status: 500, body: vec![1] }.classify(), Failure::transient());
    assert_eq!(Unit.classify(), Failure::permanent());
}

#[derive(Classify)]
enum Generic<'a, T: ?Sized, const N: usize>
where
    T: ToString,
{
    #[retry(delegate)]
    Boxed(Box<T>),
    #[retry(transient, code = 0)]
    Code(i32, std::marker::PhantomData<&'a [u8; N]>),
}

#[derive(Classify)]
enum NotAsked<T> {
    #[retry(permanent)]
    Value(T),
    #[retry(delegate)]
    Io(io::Error),
}

struct Shown;

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("shown")
    }
}

impl Classify for Shown {
    fn classify(&self) -> Failure {
        Failure::unknown()
    }
}

#[test]
fn a_bound_is_added_only_for_what_is_asked() {
    assert_eq!(Generic::<Shown, 1>::Boxed(Box::new(Shown)).classify(), Failure::unknown());
    let code = Generic::<Shown, 1>::Code(3, std::marker::PhantomData).classify();
    assert_eq!(code, Failure::transient().with_code(3));
    // `Vec<u8>` has no classification, and needs none here.
    assert_eq!(NotAsked::Value(vec![1_u8]).classify(), Failure::permanent());
    let io = NotAsked::<Vec<u8>>::Io(io::ErrorKind::TimedOut.into()).classify();
    assert_eq!(io, Failure::timeout());
}

#[allow(non_camel_case_types, dead_code)]
#[derive(Classify)]
enum Odd {
    #[retry(transient, after = r#type, code = r#match)]
    r#loop { r#type: Duration, r#match: u8 },
    #[cfg(any())]
    Absent,
    #[cfg(not(any()))]
    #[retry(permanent, code = field1)]
    Ours { field0: u8, field1: u8, __retry: u8, failure: u8 },
    #[deprecated]
    #[retry(unknown)]
    Old,
}

#[test]
fn names_are_the_authors() {
    let raw = Odd::r#loop { r#type: Duration::from_secs(1), r#match: 7 };
    assert_eq!(raw.classify(), Failure::transient().after(Duration::from_secs(1)).with_code(7));
    let ours = Odd::Ours { field0: 1, field1: 2, __retry: 3, failure: 4 };
    assert_eq!(ours.classify(), Failure::permanent().with_code(2));
}

mod shadowed {
    //! Every name of the prelude and of the crate means something else here.
    #![allow(dead_code, non_camel_case_types)]

    pub(crate) struct Failure;
    pub(crate) struct Into;
    pub(crate) struct Option;
    pub(crate) struct Some;
    pub(crate) enum Kind {}
    pub(crate) trait Classify {}
    pub(crate) mod core {}
    pub(crate) mod retry_core {}

    #[derive(::retry_core::Classify)]
    pub(crate) enum Shadowed {
        #[retry(transient, kind = timeout, code = 0, after = 1)]
        All(u8, std::time::Duration),
        #[retry(with = ::retry_core::Failure::permanent)]
        With,
    }
}

#[test]
fn the_expansion_names_nothing_by_its_short_name() {
    let all = shadowed::Shadowed::All(1, Duration::ZERO).classify();
    assert_eq!((all.kind(), all.effect()), (Kind::Timeout, Effect::Possible));
    assert_eq!(shadowed::Shadowed::With.classify(), Failure::permanent());
}

mod renamed {
    pub(crate) mod facade {
        pub(crate) use retry_core as retries;
    }

    #[derive(retry_core::Classify)]
    #[retry(crate = crate::renamed::facade::retries)]
    pub(crate) enum OfEnum {
        #[retry(transient, code = 0)]
        Code(u8),
    }

    #[derive(retry_core::Classify)]
    #[retry(crate = facade::retries, permanent)]
    pub(crate) struct OfStruct;
}

#[test]
fn the_crate_may_have_another_path() {
    assert_eq!(renamed::OfEnum::Code(1).classify(), Failure::transient().with_code(1));
    assert_eq!(renamed::OfStruct.classify(), Failure::permanent());
}

#[test]
fn a_type_may_be_local_to_a_function() {
    #[derive(Classify)]
    #[retry(unknown)]
    struct Local;
    assert_eq!(Local.classify(), Failure::unknown());
}
