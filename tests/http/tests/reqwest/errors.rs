//! What reqwest's errors mean: each is made by the fault itself.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use futures::FutureExt as _;
use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::{Body, ClientBuilder, Error, redirect};
use retry_core::{Class, Classify, Effect, Failure, Kind};

use crate::client;
use crate::server::{Act, Refused, Server, answer, status};

/// A time that passes while nothing else can happen.
const SOON: Duration = Duration::from_millis(1);

fn transient(effect: Effect, kind: Kind) -> Failure {
    Failure::transient().with_effect(effect).with_kind(kind)
}

async fn sent(client: ClientBuilder, url: &str) -> Error {
    client.build().unwrap().post(url).body("1 ducat").send().await.unwrap_err()
}

/// The error of reading the answer as JSON.
async fn read(act: Act) -> Error {
    let server = Server::start([act]).await;
    let response = client().build().unwrap().get(server.url("/")).send().await.unwrap();
    response.json::<serde_json::Value>().await.unwrap_err()
}

#[tokio::test]
async fn a_refused_connection_changed_nothing() {
    let error = sent(client(), &Refused::bind().url()).await;
    assert_eq!(error.classify(), transient(Effect::None, Kind::Connect), "{error:?}");
}

#[tokio::test]
async fn an_unknown_host_changed_nothing() {
    struct Nowhere;
    impl Resolve for Nowhere {
        fn resolve(&self, _: Name) -> Resolving {
            async { Err(io::Error::from(io::ErrorKind::NotFound).into()) }.boxed()
        }
    }
    let client = client().dns_resolver(Nowhere);
    let error = sent(client, "http://payments.example/").await;
    assert!(error.is_dns());
    assert_eq!(error.classify(), transient(Effect::None, Kind::Connect), "{error:?}");
}

struct Forever;
impl Resolve for Forever {
    fn resolve(&self, _: Name) -> Resolving {
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn a_timeout_of_the_connecting_changed_nothing() {
    let client = client().dns_resolver(Forever).connect_timeout(SOON);
    let error = sent(client, "http://payments.example/").await;
    assert_eq!(error.classify(), transient(Effect::None, Kind::Timeout), "{error:?}");
}

/// The same fault, but reqwest does not say that it was still connecting.
#[tokio::test]
async fn a_timeout_of_the_whole_may_have_changed_something() {
    let client = client().dns_resolver(Forever).timeout(SOON);
    let error = sent(client, "http://payments.example/").await;
    assert_eq!(error.classify(), transient(Effect::Possible, Kind::Timeout), "{error:?}");
}

#[tokio::test]
async fn a_reset_may_have_changed_something() {
    let server = Server::start([Act::Reset(String::new())]).await;
    let error = sent(client(), &server.url("/")).await;
    assert_eq!(error.classify(), transient(Effect::Possible, Kind::Connect), "{error:?}");
}

#[tokio::test]
async fn a_connection_closed_without_an_answer_may_have_changed_something() {
    for text in ["", "HTTP/1.1 200 OK\r\ncontent-"] {
        let server = Server::start([Act::Say(text.to_owned())]).await;
        let error = sent(client(), &server.url("/")).await;
        assert_eq!(error.classify(), transient(Effect::Possible, Kind::Connect), "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_cut_in_the_middle_may_have_changed_something() {
    let counted = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"order\": ".to_owned();
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"ord\r\n".to_owned();
    for act in [Act::Say(counted.clone()), Act::Say(chunked)] {
        let error = read(act).await;
        assert_eq!(error.classify(), transient(Effect::Possible, Kind::Connect), "{error:?}");
    }

    // A time-out wraps the body, and with it the error.
    let server = Server::start([Act::Say(counted)]).await;
    let client = client().timeout(Duration::from_secs(3600)).build().unwrap();
    let response = client.get(server.url("/")).send().await.unwrap();
    let error = response.bytes().await.unwrap_err();
    assert_eq!(error.classify(), transient(Effect::Possible, Kind::Connect), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_nobody_understands_is_for_a_person() {
    let garbage = read(answer("200 OK", &[], "<html>ok?")).await;
    assert!(garbage.is_decode());
    assert_eq!(garbage.classify(), Failure::unknown());

    let server = Server::start([Act::Say("220 mail.example ESMTP\r\n".to_owned())]).await;
    let other_protocol = sent(client(), &server.url("/")).await;
    assert_eq!(other_protocol.classify(), Failure::unknown(), "{other_protocol:?}");
}

#[tokio::test]
async fn a_request_body_that_fails_may_have_changed_something() {
    let server = Server::start([]).await;
    let parts = [Ok("1 "), Err(io::Error::from(io::ErrorKind::NotFound))];
    let body = Body::wrap_stream(futures::stream::iter(parts));
    let error =
        client().build().unwrap().post(server.url("/")).body(body).send().await.unwrap_err();
    assert_eq!(error.classify(), transient(Effect::Possible, Kind::Connect), "{error:?}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn what_cannot_be_sent_is_permanent() {
    for url in ["payments", "ftp://payments.example/"] {
        let error = sent(client(), url).await;
        assert!(error.is_builder());
        assert_eq!(error.classify().class(), Class::Permanent);
    }
}

#[tokio::test]
async fn a_redirect_that_is_not_followed_is_permanent() {
    let elsewhere = answer("307 Temporary Redirect", &[("location", "/")], "");
    let server = Server::start([elsewhere]).await;
    let client = client().redirect(redirect::Policy::limited(0));
    let error = sent(client, &server.url("/")).await;
    assert!(error.is_redirect());
    assert_eq!(error.classify().class(), Class::Permanent);
}

/// Written down in the module's documentation: reqwest does not say that it
/// followed a redirect.
#[tokio::test]
async fn known_limit_a_refused_connection_after_a_redirect_looks_like_one_before_it() {
    let refused = Refused::bind();
    let elsewhere = answer("303 See Other", &[("location", &refused.url())], "");
    let server = Server::start([elsewhere.clone(), elsewhere]).await;
    let error = sent(client(), &server.url("/")).await;
    assert_eq!(error.classify(), transient(Effect::None, Kind::Connect));

    let client = client().redirect(redirect::Policy::none()).build().unwrap();
    let response = client.post(server.url("/")).send().await.unwrap();
    assert_eq!(response.status(), 303);
}

#[tokio::test]
async fn an_error_status_is_judged_by_the_standard_profile() {
    let script = ["503 Service Unavailable", "404 Not Found"].map(status);
    let server = Server::start(script).await;
    for expected in [
        transient(Effect::Possible, Kind::Server).with_code(503),
        Failure::permanent().with_code(404),
    ] {
        let response = client().build().unwrap().get(server.url("/")).send().await.unwrap();
        assert_eq!(response.error_for_status().unwrap_err().classify(), expected);
    }
}

#[tokio::test]
async fn the_cause_can_be_reached() {
    let error = sent(client(), &Refused::bind().url()).await;
    let error = retry_core::reqwest::SendError::from(error);
    assert!(error.source().is_some());
    let io = retry_core::classify::find_source::<io::Error>(&error).unwrap();
    assert_eq!(io.kind(), io::ErrorKind::ConnectionRefused);
}
