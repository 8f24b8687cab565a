use futures::stream::{self, StreamExt};
use reqwest::{Client, Response};

use super::*;

const SEED: u64 = 7;

/// Far below [`LATE`], and enough for a busy machine.
const PATIENT: Duration = Duration::from_secs(2);

struct Caller {
    gateway: Gateway,
    client: Client,
}

impl Caller {
    async fn new() -> Self {
        let client = Client::builder().timeout(PATIENT).no_proxy().build().unwrap();
        Self { gateway: start(SEED, Duration::ZERO).await.unwrap(), client }
    }

    async fn charge(&self, order: &str, key: &str) -> reqwest::Result<Response> {
        self.send(&self.url("/charges"), order, 250, key).await
    }

    async fn send(
        &self,
        url: &str,
        order: &str,
        amount: u64,
        key: &str,
    ) -> reqwest::Result<Response> {
        let charge = Charge { order: order.to_owned(), account: "ada".to_owned(), amount };
        let request = self.client.post(url).json(&charge);
        request.header("idempotency-key", format!("\"{key}\"")).send().await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.gateway.directory.addr)
    }

    fn book(&self) -> &Book {
        &self.gateway.book
    }

    /// How often the order was booked.
    fn booked(&self, order: &str) -> usize {
        self.book().charged().get(order).map_or(0, Vec::len)
    }

    /// An order whose first calls go by these acts.
    fn order(&self, acts: &[Act]) -> String {
        (0..1_000_000)
            .map(|number| format!("order-{number}"))
            .find(|order| {
                (1..)
                    .zip(acts)
                    .all(|(call, act)| self.gateway.directory.script.charge(order, call) == *act)
            })
            .unwrap()
    }
}

fn fail(status: u16, hint: Hint, worked: bool) -> Act {
    Act::Fail { status, hint, worked }
}

#[tokio::test]
async fn one_key_is_booked_once_and_two_keys_twice() {
    let caller = Caller::new().await;
    let order = caller.order(&[Act::Work, Act::Work, Act::Work]);
    for _ in 0..2 {
        let response = caller.charge(&order, "a").await.unwrap();
        assert_eq!(response.status(), 201);
        let receipt: Receipt = response.json().await.unwrap();
        assert_eq!(receipt, Receipt { order: order.clone(), amount: 250 });
    }
    let Summary { calls, booked, duplicates, .. } = caller.book().summary();
    assert_eq!((calls, booked, duplicates), (2, 1, 0));

    caller.charge(&order, "b").await.unwrap();
    let Summary { orders, booked, charged, duplicates, .. } = caller.book().summary();
    assert_eq!((orders, booked, charged, duplicates), (1, 2, 1, 1));
    assert_eq!(caller.book().charged()[&order], ["a", "b"]);
    assert_eq!(caller.book().balance("ada"), 500);
}

#[tokio::test]
async fn a_key_is_a_quoted_string_and_belongs_to_one_payload() {
    let caller = Caller::new().await;
    let order = caller.order(&[Act::Work, Act::Work]);
    let url = &caller.url("/charges");
    let charge = Charge { order: order.clone(), account: "ada".to_owned(), amount: 250 };
    let request = || caller.client.post(url).json(&charge);
    for bare in [
        request(),
        request().header("idempotency-key", "e3c4b417"),
        request().header("idempotency-key", "\"\""),
        request().header("idempotency-key", "\"a\"").header("idempotency-key", "\"b\""),
    ] {
        assert_eq!(bare.send().await.unwrap().status(), 400);
    }
    assert!(caller.book().charged().is_empty());

    let other = caller.order(&[Act::Work, Act::Work, Act::Work]);
    assert_eq!(caller.send(url, &other, 250, "a").await.unwrap().status(), 201);
    assert_eq!(caller.send(url, &other, 999, "a").await.unwrap().status(), 422);
    assert_eq!(caller.book().balance("ada"), 250);
}

#[tokio::test]
async fn an_answer_can_fail_before_and_after_the_booking() {
    let caller = Caller::new().await;
    for (act, status, hint) in [
        (fail(503, Hint::None, false), 503, None),
        (fail(503, Hint::None, true), 503, None),
        (fail(503, Hint::Seconds(0), false), 503, Some("0")),
        (fail(429, Hint::Seconds(1), false), 429, Some("1")),
        (fail(500, Hint::None, true), 500, None),
        (Act::Decline, 402, None),
    ] {
        let order = caller.order(&[act]);
        let response = caller.charge(&order, &order).await.unwrap();
        assert_eq!(response.status(), status, "{act:?}");
        let said = response.headers().get("retry-after").map(|value| value.to_str().unwrap());
        assert_eq!(said, hint, "{act:?}");
        let worked = matches!(act, Act::Fail { worked: true, .. });
        assert_eq!(caller.booked(&order), usize::from(worked), "{act:?}");
    }
}

#[tokio::test]
async fn a_hint_can_be_a_date() {
    let caller = Caller::new().await;
    let order = caller.order(&[fail(429, Hint::Date(Duration::from_secs(1)), false)]);
    let response = caller.charge(&order, "a").await.unwrap();
    let date = response.headers()["retry-after"].to_str().unwrap().to_owned();
    let date = jiff::fmt::strtime::parse("%a, %d %b %Y %H:%M:%S GMT", &date).unwrap();
    assert!(date.to_datetime().is_ok());
}

#[tokio::test]
async fn a_connection_is_refused_or_reset() {
    let caller = Caller::new().await;
    let refused = format!("http://{}/charges", caller.gateway.directory.refused);
    let error = caller.send(&refused, "order-1", 250, "a").await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    assert_eq!(caller.book().summary().calls, 0);

    for (after_bytes, worked) in [(0, false), (0, true), (40, true)] {
        let order = caller.order(&[Act::Reset { after_bytes, worked }]);
        let error = caller.charge(&order, &order).await.unwrap_err();
        assert!(!error.is_connect() && !error.is_timeout(), "{error:?}");
        assert_eq!(caller.booked(&order), usize::from(worked));
    }
}

#[tokio::test]
async fn an_answer_comes_too_late_after_the_booking() {
    let caller = Caller::new().await;
    let order = caller.order(&[Act::Late, Act::Work]);
    let error = caller.charge(&order, "a").await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(caller.booked(&order), 1);
    assert_eq!(caller.charge(&order, "a").await.unwrap().status(), 201);
    assert_eq!(caller.booked(&order), 1);
}

#[tokio::test]
async fn a_call_that_is_still_at_work_is_met_by_the_next_one() {
    let caller = Caller::new().await;
    let order = caller.order(&[Act::Stall, Act::Work, Act::Work]);
    assert!(caller.charge(&order, "a").await.unwrap_err().is_timeout());
    assert_eq!(caller.booked(&order), 0);
    assert_eq!(caller.charge(&order, "a").await.unwrap().status(), 409);
    assert_eq!(caller.charge(&order, "a").await.unwrap().status(), 201);
    assert_eq!(caller.booked(&order), 1);
}

#[tokio::test]
async fn an_answer_is_garbage_whether_or_not_it_was_booked() {
    let caller = Caller::new().await;
    for worked in [true, false] {
        let order = caller.order(&[Act::Garble { worked }]);
        let response = caller.charge(&order, &order).await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.json::<Receipt>().await.is_err());
        assert_eq!(caller.booked(&order), usize::from(worked));
    }
}

#[tokio::test]
async fn every_call_for_a_label_prints_one() {
    let caller = Caller::new().await;
    let parcel = (0..1000)
        .map(|number| format!("parcel-{number}"))
        .find(|parcel| {
            (1..=2).all(|call| caller.gateway.directory.script.label(parcel, call) == Act::Work)
        })
        .unwrap();
    for _ in 0..2 {
        let request =
            caller.client.post(caller.url("/labels")).json(&Label { parcel: parcel.clone() });
        assert_eq!(request.send().await.unwrap().status(), 201);
    }
    let Summary { label_calls, labelled, label_duplicates, .. } = caller.book().summary();
    assert_eq!((label_calls, labelled, label_duplicates), (2, 1, 1));
}

#[tokio::test]
async fn a_balance_is_what_was_booked() {
    let caller = Caller::new().await;
    let account = (0..1000)
        .map(|number| format!("account-{number}"))
        .find(|account| caller.gateway.directory.script.balance(account, 1) == Act::Work)
        .unwrap();
    let url = caller.url(&format!("/balance/{account}"));
    let balance: Balance = caller.client.get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(balance, Balance { account, balance: 0 });
}

#[tokio::test]
async fn the_book_says_which_attempts_came_with_a_key() {
    let caller = Caller::new().await;
    let order = caller.order(&[fail(503, Hint::None, true), Act::Work]);
    let declined = caller.order(&[Act::Decline]);
    let url = caller.url("/charges");
    for (order, key, attempt) in
        [(&order, "b", Some("1")), (&declined, "a", Some("1")), (&order, "b", Some("3"))]
            .into_iter()
            .chain([(&declined, "a", None), (&order, "b", Some("2"))])
    {
        let charge = Charge { order: order.clone(), account: "ada".to_owned(), amount: 250 };
        let request = caller.client.post(&url).json(&charge);
        let request = request.header("idempotency-key", format!("\"{key}\""));
        let request = attempt.into_iter().fold(request, |request, attempt| {
            request.header(retry_core::http::RETRY_ATTEMPT, attempt)
        });
        request.send().await.unwrap();
    }
    let book = caller.client.get(caller.url("/book")).send().await.unwrap();
    let statement = |key: &str, order: String, charged, attempts: &[Option<u32>]| Statement {
        key: key.to_owned(),
        order,
        charged,
        attempts: attempts.to_vec(),
    };
    assert_eq!(
        book.json::<Vec<Statement>>().await.unwrap(),
        [
            statement("a", declined, false, &[Some(1), None]),
            statement("b", order, true, &[Some(1), Some(3), Some(2)]),
        ]
    );
}

/// The loop that one writes without the library, against the whole script.
#[tokio::test]
async fn keys_decide_whether_repeating_is_safe() {
    for fresh_keys in [false, true] {
        let client = Client::builder().timeout(PATIENT / 4).no_proxy().build().unwrap();
        let caller = &Caller { gateway: start(SEED, Duration::ZERO).await.unwrap(), client };
        let orders = stream::iter((0..300).map(|number| format!("order-{number}")));
        orders
            .for_each_concurrent(100, |order| async move {
                for attempt in 1..=8 {
                    let key = if fresh_keys { format!("{order}/{attempt}") } else { order.clone() };
                    let url = caller.gateway.directory.url("/charges", &order, attempt);
                    let answer = caller.send(&url, &order, 100, &key).await;
                    if answer.is_ok_and(|response| response.status().is_success()) {
                        break;
                    }
                }
            })
            .await;
        let Summary { charged, duplicates, .. } = caller.book().summary();
        assert!(charged > 250, "{charged}");
        assert_eq!(duplicates > 0, fresh_keys, "{duplicates}");
    }
}
