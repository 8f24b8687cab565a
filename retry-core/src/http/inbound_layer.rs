//! The caller's deadline as the scope of a handler.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use ::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::{Inbound, RETRY_FORBIDDEN, answer};
use crate::nanos::Nanos;
use crate::scope::{self, Frame, Told};
use crate::stop::StopReason;

/// Gives a handler the deadline that its caller sent. Feature `tower`.
///
/// Every operation that the handler runs has what is left of the caller's time
/// at most, whatever its own policy says, and passes on what is left of it with
/// its own requests. The time is that of `retry-remaining-ms` or `grpc-timeout`,
/// the shorter one; without either, and for what cannot be read, that of
/// [`deadline`](Self::deadline). It only ever shortens.
///
/// It runs as in [`within`](crate::within()): on the clock of the scope, and
/// nothing is cut. It starts when the layer is called, so put the layer around
/// whatever makes a request wait, such as a limit of concurrency. What the
/// request took to arrive is not in it. A task that the handler spawns, and a
/// body that is read after the handler has answered, do not see it.
///
/// A handler that makes a plain error of a stop hides that something was given
/// up. So where an operation in it has stopped for a reason that forbids a retry,
/// as [`Answer`](super::Answer) says, a 5xx answer gets a `retry-forbidden: 1`,
/// unless the handler itself has set that header or `Retry-After`.
///
/// The request's extensions hold the [`Inbound`]; with the feature `axum` it is
/// an argument of the handler.
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use std::time::Duration;
/// use axum::{Router, routing::get};
/// use retry_core::http::{Answer, Inbound, InboundLayer};
/// use retry_core::{Operation, Policy};
///
/// async fn price(inbound: Inbound) -> Result<String, Answer> {
///     if inbound.attempt() > Some(1) {
///         println!("asked again, with {:?} left", inbound.remaining());
///     }
///     // Has 2 s, or what the caller has left where that is less.
///     Operation::idempotent("prices.read", Policy::new(3, Duration::from_secs(2)))
///         .run(|_| async { std::fs::read_to_string("price") })
///         .await
///         .map_err(|stopped| stopped.answer())
/// }
///
/// let layer = InboundLayer::new().deadline(Duration::from_secs(10));
/// let app: Router = Router::new().route("/price", get(price)).layer(layer);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct InboundLayer {
    deadline: Option<Duration>,
}

impl InboundLayer {
    /// Passes on what the caller sent.
    pub const fn new() -> Self {
        Self { deadline: None }
    }

    /// Sets the time that a handler has where its caller gave it more, or none.
    pub const fn deadline(self, deadline: Duration) -> Self {
        Self { deadline: Some(deadline) }
    }
}

impl<S> Layer<S> for InboundLayer {
    type Service = InboundService<S>;

    fn layer(&self, inner: S) -> InboundService<S> {
        InboundService { layer: *self, inner }
    }
}

/// A service whose caller's deadline bounds what it runs. Made by
/// [`InboundLayer`].
#[derive(Clone, Copy, Debug)]
pub struct InboundService<S> {
    layer: InboundLayer,
    inner: S,
}

impl<S, B, C> Service<Request<B>> for InboundService<S>
where
    S: Service<Request<B>, Response = Response<C>>,
{
    type Response = Response<C>;
    type Error = S::Error;
    type Future = InboundFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> InboundFuture<S::Future> {
        let since = scope::clock().now();
        let sent = Inbound::from_headers(request.headers());
        let inbound = sent.at_most(self.layer.deadline);
        request.extensions_mut().insert(inbound);
        InboundFuture {
            since,
            span: inbound.remaining().map_or(Nanos::MAX, Nanos::from_duration),
            is_callers: sent.remaining().is_some() && sent == inbound,
            told: Told::NOTHING,
            handler: self.inner.call(request),
        }
    }
}

pin_project! {
    /// A handler at work. Made by [`InboundService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct InboundFuture<F> {
        since: Instant,
        span: Nanos,
        // Whether that is what the caller left.
        is_callers: bool,
        // What ran in the handler told it.
        told: Told,
        #[pin]
        handler: F,
    }
}

impl<F, B, E> Future for InboundFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<B>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let clock = scope::clock();
        let frame = Frame::under(&clock, *this.since, *this.span);
        let (polled, told) = scope::poll_under(&clock, &frame, this.handler, cx);
        *this.told = this.told.and(told);
        let mut response = ready!(polled)?;
        if let Some(reason) = this.told.stop() {
            let status = response.status();
            pass_on_stop(status, response.headers_mut(), reason, *this.is_callers);
        }
        Poll::Ready(Ok(response))
    }
}

impl<F> fmt::Debug for InboundFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboundFuture").finish_non_exhaustive()
    }
}

/// Says what a handler that converted a stop does not: as the operation around
/// one does.
///
/// Only with a 5xx: with any other status the handler judged the request itself,
/// or did without the operation. Where its time was what the caller left, the
/// caller judges by itself that it was over.
fn pass_on_stop(
    status: StatusCode,
    headers: &mut HeaderMap,
    reason: StopReason,
    time_is_callers: bool,
) {
    let said = headers.contains_key(RETRY_FORBIDDEN) || headers.contains_key(header::RETRY_AFTER);
    let callers_time = time_is_callers && reason == StopReason::DeadlineExceeded;
    let forbidden = answer(reason, None).is_retry_forbidden() && !callers_time;
    if forbidden && !said && status.is_server_error() {
        headers.insert(RETRY_FORBIDDEN, HeaderValue::from_static("1"));
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::executor::block_on;

    use super::*;
    use crate::attempt::Attempt;
    use crate::classify::Failure;
    use crate::clock::{Clock, VirtualClock};
    use crate::operation::Operation;
    use crate::policy::Policy;

    const SECOND: Duration = Duration::from_secs(1);

    /// Answers with what an operation of 30 s has left inside.
    #[derive(Clone)]
    struct Handler;

    impl Service<Request<()>> for Handler {
        type Response = Response<(Option<Inbound>, Option<Duration>)>;
        type Error = Infallible;
        type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>>>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<()>) -> Self::Future {
            Box::pin(async move {
                let inbound = request.extensions().get().copied();
                let left = Operation::idempotent("prices", Policy::new(1, SECOND * 30))
                    .classify(|(): &()| Failure::transient())
                    .run(async |attempt: Attempt| Ok(attempt.remaining()))
                    .await;
                Ok(Response::new((inbound, left.ok())))
            })
        }
    }

    fn request(lines: &[(&'static str, &'static str)]) -> Request<()> {
        let mut request = Request::new(());
        for (name, value) in lines {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        request
    }

    /// What the handler was told is left, and what its operation had.
    fn left(
        layer: InboundLayer,
        lines: &[(&'static str, &'static str)],
    ) -> (Option<Duration>, Option<Duration>) {
        let answered = async { layer.layer(Handler).call(request(lines)).await };
        let Ok(response) = block_on(VirtualClock::manual().scope(answered));
        let (inbound, left) = response.into_body();
        (inbound.unwrap().remaining(), left)
    }

    #[test]
    fn an_operation_has_what_the_caller_left() {
        let layer = InboundLayer::new();
        assert_eq!(left(layer, &[]), (None, Some(SECOND * 30)));
        for shorter in [("retry-remaining-ms", "2000"), ("grpc-timeout", "2S")] {
            assert_eq!(left(layer, &[shorter]), (Some(SECOND * 2), Some(SECOND * 2)));
        }
        let both = [("retry-remaining-ms", "2000"), ("grpc-timeout", "1S")];
        assert_eq!(left(layer, &both), (Some(SECOND), Some(SECOND)));
        // Not even one attempt.
        assert_eq!(left(layer, &[("retry-remaining-ms", "0")]), (Some(Duration::ZERO), None));
    }

    #[test]
    fn a_caller_only_ever_shortens() {
        let longer = [("retry-remaining-ms", "40000")];
        assert_eq!(left(InboundLayer::new(), &longer), (Some(SECOND * 40), Some(SECOND * 30)));
        let layer = InboundLayer::new().deadline(SECOND * 10);
        assert_eq!(left(layer, &longer), (Some(SECOND * 10), Some(SECOND * 10)));
        assert_eq!(left(layer, &[]), (Some(SECOND * 10), Some(SECOND * 10)));
        assert_eq!(left(layer, &[("retry-remaining-ms", "soon")]), left(layer, &[]));
        let shorter = [("retry-remaining-ms", "5000")];
        assert_eq!(left(layer, &shorter), (Some(SECOND * 5), Some(SECOND * 5)));
    }

    #[test]
    fn the_time_runs_from_the_call() {
        let clock = VirtualClock::manual();
        let answered = async {
            let mut service = InboundLayer::new().layer(Handler);
            let handler = service.call(request(&[("retry-remaining-ms", "5000")]));
            clock.advance(SECOND * 2);
            handler.await
        };
        let Ok(response) = block_on(clock.clone().scope(answered));
        let (inbound, left) = response.into_body();
        assert_eq!(inbound.unwrap().remaining(), Some(SECOND * 5));
        assert_eq!(left, Some(SECOND * 3));
    }

    #[test]
    fn a_stop_is_passed_on_by_an_error_that_says_nothing() {
        use StopReason::{AttemptsExhausted, Cancelled, DeadlineExceeded};
        let says = |status: u16, reason, callers, said: Option<(&'static str, &'static str)>| {
            let mut headers = HeaderMap::new();
            if let Some((name, value)) = said {
                headers.insert(name, value.parse().unwrap());
            }
            pass_on_stop(StatusCode::from_u16(status).unwrap(), &mut headers, reason, callers);
            headers.get(RETRY_FORBIDDEN).is_some_and(|value| value == "1")
        };
        assert!(says(500, AttemptsExhausted, false, None));
        assert!(says(502, AttemptsExhausted, true, None));
        assert!(!says(500, Cancelled, false, None));
        // The handler did without it, or judged the request.
        for status in [200, 304, 404, 429] {
            assert!(!says(status, AttemptsExhausted, false, None), "{status}");
        }
        // The handler has spoken.
        assert!(!says(503, AttemptsExhausted, false, Some(("retry-after", "1"))));
        assert!(!says(503, AttemptsExhausted, false, Some(("retry-forbidden", "0"))));
        // It depends on whose time it was.
        assert!(says(504, DeadlineExceeded, false, None));
        assert!(!says(504, DeadlineExceeded, true, None));
    }

    /// Runs an operation that stops, then one that does not, and answers 500.
    #[derive(Clone)]
    struct Hides(Failure);

    impl Service<Request<()>> for Hides {
        type Response = Response<()>;
        type Error = Infallible;
        type Future = Pin<Box<dyn Future<Output = Result<Response<()>, Infallible>>>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            let failure = self.0;
            Box::pin(async move {
                let operation = || {
                    let policy = Policy::new(2, SECOND * 30);
                    Operation::idempotent("prices", policy).classify(move |(): &()| failure)
                };
                assert!(operation().run(async |_| Err::<(), ()>(())).await.is_err());
                assert!(operation().run(async |_| Ok::<(), ()>(())).await.is_ok());
                let mut response = Response::new(());
                *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                Ok(response)
            })
        }
    }

    fn hidden(
        layer: InboundLayer,
        lines: &[(&'static str, &'static str)],
        failure: Failure,
    ) -> bool {
        let answered = async { layer.layer(Hides(failure)).call(request(lines)).await };
        let Ok(response) = block_on(VirtualClock::new().scope(answered));
        response.headers().contains_key(RETRY_FORBIDDEN)
    }

    #[test]
    fn a_handler_need_not_mention_its_stop() {
        assert!(hidden(InboundLayer::new(), &[], Failure::transient()));
    }

    #[test]
    fn the_callers_time_is_for_the_caller_to_judge_and_the_layers_is_not() {
        let late = Failure::transient().after(SECOND * 20);
        let caller = [("retry-remaining-ms", "10000")];
        assert!(!hidden(InboundLayer::new(), &caller, late));
        assert!(!hidden(InboundLayer::new().deadline(SECOND * 15), &caller, late));
        assert!(hidden(InboundLayer::new().deadline(SECOND * 5), &caller, late));
        assert!(hidden(InboundLayer::new().deadline(SECOND * 5), &[], late));
    }
}
