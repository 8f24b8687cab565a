//! What is sent on each attempt, what is refused, and what follows.

use std::time::{Duration, SystemTime};

use reqwest::{Body, Client, Method, RequestBuilder};
use retry_core::clock::VirtualClock;
use retry_core::http::Profile;
use retry_core::reqwest::SendError;
use retry_core::{
    Attempt, Backoff, Class, Classify, Effect, Hint, IdempotencyKey, Kind, Operation, Policy,
    Retrier, StopReason, Stopped, retryable, within,
};

use crate::server::{Act, Refused, Seen, Server, answer, status};
use crate::waits::retrier;

const UNAVAILABLE: &str = "503 Service Unavailable";
const DEADLINE: Duration = Duration::from_secs(30);
const POLICY: Policy = Policy::new(3, DEADLINE).backoff(Backoff::fixed(Duration::ZERO));
const KEY: &str = "e3c4b417-f22e-8d73-b6ed-08fd2be399ec";

fn client() -> Client {
    crate::client().build().unwrap()
}

fn keyed() -> Operation {
    Operation::keyed("payments.charge", "order-1", POLICY)
}

fn idempotent() -> Operation {
    Operation::idempotent("payments.balance", POLICY)
}

fn at_most_once() -> Operation {
    Operation::at_most_once("parcels.label", POLICY)
}

/// Runs the operation with one request an attempt; gives the answer's text.
async fn run<F>(
    operation: Operation,
    send: impl Fn(Attempt) -> F,
) -> Result<String, Stopped<SendError>>
where
    F: IntoFuture<Output = Result<reqwest::Response, SendError>>,
{
    let send = &send;
    let attempt = |attempt| async move { Ok(send(attempt).await?.text().await?) };
    operation.with(&retrier(&VirtualClock::manual())).run(attempt).await
}

fn headers<'a>(seen: &'a [Seen], name: &str) -> Vec<Option<&'a str>> {
    seen.iter().map(|request| request.header(name)).collect()
}

fn methods(seen: &[Seen]) -> Vec<&str> {
    seen.iter().map(|request| request.method.as_str()).collect()
}

#[tokio::test]
async fn each_attempt_says_its_number_what_is_left_and_the_one_key() {
    let busy = answer(UNAVAILABLE, &[("retry-after", "10")], "");
    let server = Server::start([busy, answer("201 Created", &[], "booked")]).await;
    let operation = keyed().with(&retrier(&VirtualClock::manual()));
    let (client, url) = (client(), server.url("/charges"));
    let receipt = operation
        .run(async |attempt: Attempt| {
            let response = attempt.send(client.post(&url).body("1 ducat")).await?;
            Ok::<_, SendError>(response.text().await?)
        })
        .await
        .unwrap();

    assert_eq!(receipt, "booked");
    let seen = server.seen();
    assert_eq!(headers(&seen, "retry-attempt"), [Some("1"), Some("2")]);
    let quoted = format!("\"{KEY}\"");
    assert_eq!(headers(&seen, "idempotency-key"), [Some(quoted.as_str()); 2]);
    let left: Vec<u64> = headers(&seen, "retry-remaining-ms")
        .into_iter()
        .map(|left| left.unwrap().parse().unwrap())
        .collect();
    assert_eq!(left[0], 30_000);
    // The server asked for 10 s, which are spread by at most a half.
    assert!((15_000..=20_000).contains(&left[1]), "{left:?}");
    assert!(seen.iter().all(|request| request.body == "1 ducat"));
}

#[tokio::test]
async fn the_key_can_be_sent_bare_or_be_another() {
    let server = Server::start([status("200 OK"), status("200 OK"), status("200 OK")]).await;
    let request = || client().post(server.url("/"));
    run(keyed(), |attempt| attempt.send(request()).bare_key()).await.unwrap();
    let child = KEY.parse::<IdempotencyKey>().unwrap().child("refund");
    run(keyed(), |attempt| attempt.send(request()).key(child).bare_key()).await.unwrap();
    run(idempotent(), |attempt| attempt.send(request()).key(child).bare_key()).await.unwrap();
    let child = child.to_string();
    let sent = headers(&server.seen(), "idempotency-key")
        .into_iter()
        .map(Option::unwrap)
        .map(str::to_owned)
        .collect::<Vec<_>>();
    assert_eq!(sent, [KEY, &child, &child]);
}

#[tokio::test]
async fn a_key_that_the_request_has_is_kept_or_refused_but_never_replaced() {
    let server = Server::start([status("200 OK"), status("200 OK")]).await;
    let with = |value: &str| client().post(server.url("/")).header("Idempotency-Key", value);
    let quoted = format!("\"{KEY}\"");
    for same in [KEY, &quoted] {
        run(keyed(), |attempt| attempt.send(with(same))).await.unwrap();
    }
    assert_eq!(headers(&server.seen(), "idempotency-key"), [Some(KEY), Some(&quoted)]);

    let other = "\"order-1\"";
    for request in [with(other), with(&quoted).header("Idempotency-Key", &quoted)] {
        let stopped = run(keyed(), |attempt| attempt.send(request.try_clone().unwrap()));
        let stopped = stopped.await.unwrap_err();
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 1));
        assert!(
            matches!(stopped.error(), Some(SendError::OtherKey(key)) if key.to_string() == KEY)
        );
        assert_eq!(
            stopped.error().unwrap().to_string(),
            "the request was not sent: it has an `idempotency-key` other than \
             e3c4b417-f22e-8d73-b6ed-08fd2be399ec; leave the header out, or name its key with \
             `.key(…)`"
        );
    }
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_request_that_changes_nothing_is_given_no_key() {
    let server = Server::start([status("200 OK"), status("200 OK")]).await;
    run(keyed(), |attempt| attempt.send(client().get(server.url("/")))).await.unwrap();
    run(idempotent(), |attempt| attempt.send(client().post(server.url("/")))).await.unwrap();
    assert_eq!(headers(&server.seen(), "idempotency-key"), [None, None]);
    assert_eq!(headers(&server.seen(), "retry-attempt"), [Some("1"), Some("1")]);

    // Unless its author says so.
    let server = Server::start([status("200 OK")]).await;
    let key: IdempotencyKey = KEY.parse().unwrap();
    let get = run(idempotent(), |attempt| attempt.send(client().get(server.url("/"))).key(key));
    get.await.unwrap();
    assert_eq!(headers(&server.seen(), "idempotency-key"), [Some(&*format!("\"{KEY}\""))]);
}

#[tokio::test]
async fn an_idempotent_operation_does_not_send_a_post_again() {
    for method in [Method::POST, Method::PATCH, Method::from_bytes(b"PROPPATCH").unwrap()] {
        let server = Server::start([status(UNAVAILABLE), status("200 OK")]).await;
        let request = || client().request(method.clone(), server.url("/"));
        let stopped = run(idempotent(), |attempt| attempt.send(request())).await.unwrap_err();

        assert_eq!(server.seen().len(), 1, "{method}");
        // Whether the first one took effect is for a person to find out.
        assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::ManualReview, 2));
        assert!(
            matches!(stopped.error(), Some(SendError::NotRepeatable(refused)) if *refused == method)
        );
        let first = stopped.failures().first().unwrap();
        assert_eq!(first.error().unwrap().status().unwrap(), 503);
        assert_eq!(
            stopped.error().unwrap().to_string(),
            format!(
                "{method} was not sent again in an `idempotent` operation; say `.repeatable()` \
                 where repeating this request is harmless, else give the operation a key or make \
                 it `at_most_once`"
            )
        );
    }
}

#[tokio::test]
async fn a_request_that_is_repeatable_is_sent_again() {
    for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE] {
        let server = Server::start([status(UNAVAILABLE), status("200 OK")]).await;
        let request = || client().request(method.clone(), server.url("/"));
        run(idempotent(), |attempt| attempt.send(request())).await.unwrap();
        assert_eq!(methods(&server.seen()), [method.as_str(); 2]);
    }

    let server = Server::start([status(UNAVAILABLE), status("200 OK")]).await;
    let search = || client().post(server.url("/search"));
    run(idempotent(), |attempt| attempt.send(search()).repeatable()).await.unwrap();
    assert_eq!(methods(&server.seen()), ["POST", "POST"]);
}

#[tokio::test]
async fn at_most_once_repeats_a_post_after_a_refusal_only() {
    let refused = Refused::bind();
    let server = Server::start([status("429 Too Many Requests"), status(UNAVAILABLE)]).await;
    let stopped = run(at_most_once(), |attempt| {
        let url = if attempt.number() == 1 { refused.url() } else { server.url("/labels") };
        attempt.send(client().post(url))
    })
    .await
    .unwrap_err();
    // Refused, throttled, then a status that may have done its work.
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::ManualReview, 3));
    assert_eq!(headers(&server.seen(), "retry-attempt"), [Some("2"), Some("3")]);

    let server = Server::start([Act::Reset(String::new())]).await;
    let post = || client().post(server.url("/labels"));
    let stopped = run(at_most_once(), |attempt| attempt.send(post())).await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::ManualReview, 1));
}

#[tokio::test]
async fn a_keyed_operation_goes_on_after_every_broken_connection() {
    let refused = Refused::bind();
    let cut = "HTTP/1.1 201 Created\r\ncontent-length: 6\r\n\r\nboo".to_owned();
    let server = Server::start([
        Act::Reset(String::new()),
        Act::Say(cut),
        answer("201 Created", &[], "booked"),
    ])
    .await;
    let operation = Operation::keyed(
        "payments.charge",
        "order-1",
        Policy::new(4, DEADLINE).backoff(Backoff::fixed(Duration::ZERO)),
    );
    let receipt = run(operation, |attempt| {
        let url = if attempt.number() == 1 { refused.url() } else { server.url("/charges") };
        attempt.send(client().post(url))
    })
    .await;
    assert_eq!(receipt.unwrap(), "booked");
    assert_eq!(headers(&server.seen(), "retry-attempt"), [Some("2"), Some("3"), Some("4")]);
}

#[tokio::test]
async fn a_late_answer_is_cut_and_asked_for_again_with_the_same_key() {
    let clock = VirtualClock::manual();
    let late = Act::Late(clock.clone(), Duration::from_secs(1));
    let server = Server::start([late, answer("200 OK", &[], "booked")]).await;
    let policy = POLICY.attempt_timeout(Duration::from_secs(1));
    let client = client();
    let receipt = Operation::keyed("payments.charge", "order-1", policy)
        .with(&retrier(&clock))
        .run(async |attempt: Attempt| {
            if attempt.number() == 2 {
                let cut = attempt.previous().unwrap();
                assert_eq!((cut.effect(), cut.kind()), (Effect::Possible, Kind::Timeout));
            }
            let response = attempt.send(client.post(server.url("/charges"))).await?;
            Ok::<_, SendError>(response.text().await?)
        })
        .await;
    assert_eq!(receipt.unwrap(), "booked");
    let seen = server.seen();
    assert_eq!(headers(&seen, "retry-remaining-ms"), [Some("1000"); 2]);
    assert_eq!(seen[0].header("idempotency-key"), seen[1].header("idempotency-key"));
}

#[tokio::test]
async fn nothing_is_sent_when_no_time_is_left() {
    let clock = VirtualClock::manual();
    let server = Server::start([]).await;
    let request = client().get(server.url("/"));
    let stopped = idempotent()
        .with(&retrier(&clock))
        .run(async |attempt: Attempt| {
            // Less than a millisecond: the attempt is not cut yet.
            clock.advance(attempt.remaining() - Duration::from_nanos(1));
            attempt.send(request.try_clone().unwrap()).await
        })
        .await
        .unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::DeadlineExceeded, 1));
    let error = stopped.into_error().unwrap();
    assert!(matches!(error, SendError::NoTimeLeft(_)), "{error:?}");
    assert_eq!(error.classify().effect(), Effect::None);
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn what_is_left_is_that_of_the_shortest_scope_around_the_request() {
    let server = Server::start([status("200 OK"), status("200 OK")]).await;
    let request = || client().get(server.url("/"));
    let send = |attempt: Attempt| within(DEADLINE / 2, attempt.send(request()).into_future());
    run(idempotent(), send).await.unwrap();
    let send = |attempt: Attempt| within(DEADLINE * 2, attempt.send(request()).into_future());
    run(idempotent(), send).await.unwrap();
    assert_eq!(headers(&server.seen(), "retry-remaining-ms"), [Some("15000"), Some("30000")]);
}

#[tokio::test]
async fn every_form_of_retry_after_is_judged_by_the_operations_clock() {
    for form in [
        "10",
        "Sun, 06 Nov 1994 08:49:47 GMT",
        "Sunday, 06-Nov-94 08:49:47 GMT",
        "Sun Nov  6 08:49:47 1994",
    ] {
        let busy = answer("429 Too Many Requests", &[("retry-after", form)], "");
        let server = Server::start([busy, status("404 Not Found")]).await;
        let clock = VirtualClock::manual();
        clock.set_utc(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777));
        let client = client();
        let stopped = idempotent()
            .with(&retrier(&clock))
            .run(async |attempt: Attempt| attempt.send(client.get(server.url("/"))).await)
            .await
            .unwrap_err();

        assert_eq!(stopped.reason(), StopReason::FailPermanent);
        let throttled = &stopped.failures()[0];
        let failure = throttled.failure();
        assert_eq!(failure.hint(), Some(Hint::Wait(Duration::from_secs(10))), "{form}");
        assert_eq!((failure.kind(), failure.code()), (Kind::Throttled, Some(429)));
        let delay = throttled.delay().unwrap();
        assert!((10..=15).contains(&delay.as_secs()), "{form}: {delay:?}");
        assert_eq!(stopped.elapsed(), delay);
    }
}

#[tokio::test]
async fn the_other_side_can_forbid_the_retry() {
    let forbidden = answer(UNAVAILABLE, &[("retry-forbidden", "1")], "");
    let server = Server::start([forbidden]).await;
    let stopped = run(keyed(), |attempt| attempt.send(client().post(server.url("/"))));
    assert_eq!(stopped.await.unwrap_err().reason(), StopReason::DoNotRetry);
}

#[tokio::test]
async fn the_profile_judges_the_status() {
    let script = ["500 Internal Server Error", "409 Conflict", "409 Conflict", "409 Conflict"];
    let server = Server::start(script.map(status)).await;
    let post = || client().post(server.url("/"));

    let by_otlp = run(keyed(), |attempt| attempt.send(post()).profile(Profile::OTLP));
    assert_eq!(by_otlp.await.unwrap_err().reason(), StopReason::FailPermanent);
    // With a key, 409 says that the first call with it is still at work.
    let keyed = run(keyed(), |attempt| attempt.send(post())).await.unwrap_err();
    assert_eq!(keyed.reason(), StopReason::AttemptsExhausted);
    assert_eq!(keyed.failures()[0].failure().class(), Class::Transient);
    assert_eq!(server.seen().len(), 4);

    let server = Server::start([status("409 Conflict")]).await;
    let put = || client().put(server.url("/"));
    let plain = run(idempotent(), |attempt| attempt.send(put())).await.unwrap_err();
    assert_eq!(plain.reason(), StopReason::FailPermanent);
}

#[tokio::test]
async fn the_answer_in_the_error_can_be_read() {
    let server = Server::start([answer("402 Payment Required", &[], "declined")]).await;
    let stopped = run(keyed(), |attempt| attempt.send(client().post(server.url("/")))).await;
    let error = stopped.unwrap_err().into_error().unwrap();
    assert_eq!(error.to_string(), "the answer was 402 Payment Required");
    let SendError::Status { response, .. } = error else { panic!("{error:?}") };
    assert_eq!(response.text().await.unwrap(), "declined");
}

#[tokio::test]
async fn a_redirect_that_the_client_does_not_follow_is_a_response() {
    let elsewhere = answer("303 See Other", &[("location", "/receipt")], "");
    let server = Server::start([elsewhere]).await;
    let client = crate::client().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let sent = at_most_once()
        .with(&retrier(&VirtualClock::manual()))
        .run(async |attempt: Attempt| attempt.send(client.post(server.url("/"))).await);
    assert_eq!(sent.await.unwrap().status(), 303);
}

#[tokio::test]
async fn e8_a_body_that_can_be_read_once_is_whole_on_every_attempt() {
    let server = Server::start([status(UNAVAILABLE), status("200 OK")]).await;
    let parcels = || {
        let parts = ["par", "cel"].map(Ok::<_, std::io::Error>);
        client().put(server.url("/")).body(Body::wrap_stream(futures::stream::iter(parts)))
    };
    // reqwest cannot copy such a request; only building it again can repeat it.
    assert!(parcels().try_clone().is_none());
    run(idempotent(), |attempt| attempt.send(parcels())).await.unwrap();
    let bodies: Vec<_> = server.seen().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, ["parcel", "parcel"]);
}

#[tokio::test]
async fn a_request_that_cannot_be_built_is_not_tried_again() {
    let stopped = run(keyed(), |attempt| attempt.send(client().post("payments"))).await;
    let stopped = stopped.unwrap_err();
    assert_eq!((stopped.reason(), stopped.attempts()), (StopReason::FailPermanent, 1));
}

#[retryable(name = "payments.charge", key = order, attempt, policy = POLICY, with = retries)]
async fn charge(url: &str, order: &str, retries: &Retrier) -> Result<String, Stopped<SendError>> {
    let request = client().post(url).body(order.to_owned());
    let response = attempt.send(request).key(key).await?;
    Ok(response.text().await?)
}

#[tokio::test]
async fn an_annotated_function_sends_as_a_closure_does() {
    let server = Server::start([status(UNAVAILABLE), answer("201 Created", &[], "booked")]).await;
    let retries = retrier(&VirtualClock::manual());
    let receipt = charge(&server.url("/charges"), "order-1", &retries).await;
    assert_eq!(receipt.unwrap(), "booked");
    let quoted = format!("\"{KEY}\"");
    assert_eq!(headers(&server.seen(), "idempotency-key"), [Some(quoted.as_str()); 2]);
}

/// What `anyhow` and a spawned task ask for.
#[test]
fn errors_and_requests_can_leave_the_task() {
    fn error<E: std::error::Error + Send + Sync + 'static>() {}
    error::<SendError>();
    error::<Stopped<SendError>>();
    fn spawned<F: IntoFuture<IntoFuture: Send + 'static>>(
        _: impl Fn(&Attempt, RequestBuilder) -> F,
    ) {
    }
    spawned(Attempt::send);
}
