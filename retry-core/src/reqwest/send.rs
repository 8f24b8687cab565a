//! A request as part of an attempt.

use std::future::Future;
use std::pin::Pin;

use ::http::HeaderMap;
use ::reqwest::{RequestBuilder, Response};

use super::SendError;
use crate::attempt::Attempt;
use crate::http::{IDEMPOTENCY_KEY, KeySyntax, Profile, insert_attempt, insert_key};
use crate::key::IdempotencyKey;
use crate::safety::Safety;

impl Attempt {
    /// Sends a request as part of this attempt, when it is awaited. Feature
    /// `reqwest`.
    ///
    /// It is sent with these headers:
    ///
    /// | header | value |
    /// |---|---|
    /// | `Idempotency-Key` | the operation's key, if it has one and the method is not safe |
    /// | `retry-attempt` | the number of the attempt, from 1 |
    /// | `retry-remaining-ms` | what is left of the attempt's time, or of a [`within`](crate::within()) around the request where that is less |
    ///
    /// A status of 400 or above is a [`SendError::Status`], judged by
    /// [`Profile::STANDARD`], where a key is sent by its
    /// [`keyed`](Profile::keyed) form. All others, redirects that the client
    /// does not follow included, are the response.
    ///
    /// The request is built anew by each attempt, so its body may be a stream.
    /// One that was built before the attempts cannot be sent by each of them:
    ///
    /// ```compile_fail,E0507
    /// # use retry_core::{Operation, Policy, Stopped, reqwest::SendError};
    /// # async fn upload(client: &reqwest::Client, body: reqwest::Body, policy: Policy)
    /// #     -> Result<reqwest::Response, Stopped<SendError>> {
    /// let request = client.put("https://files.example/1").body(body);
    /// Operation::idempotent("files.upload", policy)
    ///     .run(|attempt| async move { attempt.send(request).await })
    ///     .await
    /// # }
    /// ```
    ///
    /// ```
    /// use retry_core::Attempt;
    /// use retry_core::reqwest::SendError;
    ///
    /// async fn search(attempt: &Attempt, client: &reqwest::Client) -> Result<String, SendError> {
    ///     let request = client.post("https://search.example/").body("query");
    ///     // A POST that only reads: harmless to repeat, and only the author knows.
    ///     let response = attempt.send(request).repeatable().await?;
    ///     Ok(response.text().await?)
    /// }
    /// ```
    ///
    /// # Errors
    /// Beside what reqwest and the status say, some requests are refused, and
    /// nothing is sent:
    ///
    /// - in an `idempotent` operation, from attempt 2 on, a method that is not
    ///   idempotent (RFC 9110, section 9.2.2: POST, PATCH, CONNECT and all that
    ///   it does not name), unless it is [`repeatable`](SendRequest::repeatable);
    /// - a request that has another `Idempotency-Key` already;
    /// - any request when less than a millisecond is left. Where it is the
    ///   operation's time that is over, the operation stops with
    ///   `deadline_exceeded`.
    pub fn send(&self, request: RequestBuilder) -> SendRequest {
        SendRequest {
            attempt: self.clone(),
            request,
            key: None,
            syntax: KeySyntax::Quoted,
            profile: None,
            repeatable: false,
        }
    }
}

/// A request about to be sent. Made by [`Attempt::send`].
#[derive(Debug)]
#[must_use = "a request is not sent until it is awaited"]
pub struct SendRequest {
    attempt: Attempt,
    request: RequestBuilder,
    key: Option<IdempotencyKey>,
    syntax: KeySyntax,
    profile: Option<Profile>,
    repeatable: bool,
}

impl SendRequest {
    /// Repeating this request is harmless, whatever its method says: an
    /// `idempotent` operation may send it again.
    pub fn repeatable(self) -> Self {
        Self { repeatable: true, ..self }
    }

    /// Judges the status by this profile.
    pub fn profile(self, profile: Profile) -> Self {
        Self { profile: Some(profile), ..self }
    }

    /// Sends this key in place of the operation's: for the second endpoint of
    /// an attempt, which must not be given the key of the first.
    ///
    /// ```
    /// # use retry_core::{Attempt, reqwest::SendError};
    /// # async fn doc(attempt: &Attempt, client: &reqwest::Client) -> Result<(), SendError> {
    /// attempt.send(client.post("https://payments.example/charges")).await?;
    /// if let Some(key) = attempt.key() {
    ///     let ship = client.post("https://parcels.example/shipments");
    ///     attempt.send(ship).key(key.child("ship")).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn key(self, key: IdempotencyKey) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Sends the key without the quotes that the standard demands, for servers
    /// that would make them a part of it.
    pub fn bare_key(self) -> Self {
        Self { syntax: KeySyntax::Bare, ..self }
    }

    async fn send(self) -> Result<Response, SendError> {
        let Self { attempt, request, key, syntax, profile, repeatable } = self;
        let (client, request) = request.build_split();
        let mut request = request?;

        let again = attempt.number() > 1 && attempt.safety() == Safety::Idempotent;
        if again && !repeatable && !request.method().is_idempotent() {
            return Err(SendError::NotRepeatable(request.method().clone()));
        }
        let own = attempt.key().filter(|_| !request.method().is_safe());
        let key = key.or(own);
        if let Some(key) = key {
            add_key(request.headers_mut(), key, syntax)?;
        }
        insert_attempt(request.headers_mut(), attempt.number(), attempt.remaining())
            .map_err(SendError::NoTimeLeft)?;

        let response = client.execute(request).await?;
        let standard = if key.is_some() { Profile::STANDARD.keyed() } else { Profile::STANDARD };
        let now = attempt.clock.utc();
        match profile.unwrap_or(standard).failure(response.status(), response.headers(), now) {
            Some(failure) => Err(SendError::Status { failure, response: Box::new(response) }),
            None => Ok(response),
        }
    }
}

impl IntoFuture for SendRequest {
    type Output = Result<Response, SendError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// Leaves a header that holds this key, in either syntax, as it is.
fn add_key(
    headers: &mut HeaderMap,
    key: IdempotencyKey,
    syntax: KeySyntax,
) -> Result<(), SendError> {
    let mut lines = headers.get_all(IDEMPOTENCY_KEY).iter();
    match (lines.next(), lines.next()) {
        (None, _) => insert_key(headers, &key, syntax),
        (Some(line), None)
            if line == key.to_string().as_str() || line == format!("\"{key}\"").as_str() => {}
        _ => return Err(SendError::OtherKey(key)),
    }
    Ok(())
}
