//! Keys: taken from a caller's request, handed down, one for each effect, and
//! made of a type of one's own.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderValue, StatusCode};
use retry_core::http::{IDEMPOTENCY_KEY, answer, idempotency_key};
use retry_core::key::{EmptyKey, ToKey};
use retry_core::{Classify, IdempotencyKey, Stopped, retryable};

/// A client's key names one call of that client: another client may have
/// chosen the same text.
struct ClientKey<'a> {
    client: &'a str,
    key: &'a str,
}

impl ToKey for ClientKey<'_> {
    fn to_key(&self, operation: &str) -> Result<IdempotencyKey, EmptyKey> {
        if self.key.is_empty() {
            return Err(EmptyKey);
        }
        Ok(self.client.to_key(operation)?.child(self.key))
    }
}

#[derive(Debug, thiserror::Error, Classify)]
#[error("the answer was lost")]
#[retry(transient, kind = connect)]
struct AnswerLost;

/// Acts once a key, and loses the first answer to each.
#[derive(Default)]
struct Bank(Mutex<HashMap<IdempotencyKey, u32>>);

impl Bank {
    async fn act(&self, what: &str, key: IdempotencyKey) -> Result<(), AnswerLost> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = seen.entry(key).or_default();
        *calls += 1;
        println!("  {what:<8} {key}  {}", if *calls == 1 { "done, answer lost" } else { "known" });
        if *calls == 1 { Err(AnswerLost) } else { Ok(()) }
    }
}

/// One call with two effects: a key for each, never one for both.
#[retryable(name = "orders.place", key = ClientKey { client, key: sent }, max_attempts = 5, deadline = "10s")]
async fn place(bank: &Bank, client: &str, sent: &str) -> Result<(), Stopped<AnswerLost>> {
    bank.act("charge", key.child("charge")).await?;
    bank.act("ship", key.child("ship")).await
}

/// What the server does with a request.
async fn handle(bank: &Bank, client: &str, request: &HeaderMap) -> StatusCode {
    let Some(sent) = idempotency_key(request) else {
        return StatusCode::BAD_REQUEST;
    };
    match place(bank, client, &sent).await {
        Ok(()) => StatusCode::CREATED,
        Err(stopped) => answer(stopped.reason(), None).status(),
    }
}

/// A key that is one already is handed down unchanged, whatever the name.
#[retryable(name = "orders.audit", key = order, max_attempts = 3, deadline = "10s")]
async fn audit(bank: &Bank, order: IdempotencyKey) -> Result<(), Stopped<AnswerLost>> {
    bank.act("audit", key).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let bank = Bank::default();
    let mut request = HeaderMap::new();
    request.insert(IDEMPOTENCY_KEY, HeaderValue::from_static(r#""order-1""#));

    println!("ada sends a request with the key \"order-1\":");
    println!("  {}\n", handle(&bank, "ada", &request).await);
    println!("She does not hear the answer and sends it again:");
    println!("  {}\n", handle(&bank, "ada", &request).await);
    println!("bob has chosen the same text:");
    println!("  {}\n", handle(&bank, "bob", &request).await);
    println!("A request without a key:");
    println!("  {}\n", handle(&bank, "ada", &HeaderMap::new()).await);

    println!("A key that is handed down stays what it is:");
    let order = ClientKey { client: "ada", key: "order-1" }.to_key("orders.place")?;
    println!("  order    {order}");
    audit(&bank, order).await?;
    Ok(())
}
