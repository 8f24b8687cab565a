//! A payment gateway that misbehaves by script.
//!
//! | endpoint | |
//! |---|---|
//! | `POST /charges` | books a [`Charge`], once a key; needs `Idempotency-Key` |
//! | `GET /balance/{account}` | what was charged to the account |
//! | `POST /labels` | prints a label; each call prints one |
//! | `GET /book` | what is on record, a [`Statement`] a key |
//!
//! The key is a structured-field string. Without one the answer is 400, with
//! another payload than before 422, and 409 while the first call with it is
//! still at work.

mod book;
mod line;
mod script;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use retry_core::http::Inbound;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;

use book::Opening;
pub use book::{Book, Charge, Statement, Summary};
use line::{Line, Lines};
use script::{Act, Hint, Script};

/// How long a late answer takes: longer than any client waits.
pub const LATE: Duration = Duration::from_secs(30);

/// The answer to a charge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// What was charged.
    pub order: String,
    /// In cents.
    pub amount: u64,
}

/// The answer to a question for a balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// Whose it is.
    pub account: String,
    /// In cents.
    pub balance: u64,
}

/// The payload of `POST /labels`, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// What it is for.
    pub parcel: String,
}

/// Starts a gateway on a free loopback port. It stops when it is dropped.
///
/// `pace` is the time that a call to charge takes on its way in, and again on its
/// way out: who goes away in between does not know what was booked.
///
/// # Errors
/// No port could be bound.
pub async fn start(seed: u64, pace: Duration) -> io::Result<Gateway> {
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = TcpListener::bind(loopback).await?;
    let refused = TcpSocket::new_v4()?;
    refused.bind(loopback)?;

    let script = Script::new(seed);
    let directory =
        Directory { addr: listener.local_addr()?, refused: refused.local_addr()?, script };
    let desk = Desk { script, pace, book: Arc::new(Book::default()) };
    let book = Arc::clone(&desk.book);
    let router = Router::new()
        .route("/charges", post(charge))
        .route("/balance/{account}", get(balance))
        .route("/labels", post(label))
        .route("/book", get(statements))
        .with_state(desk)
        .into_make_service_with_connect_info::<Line>();
    let server = tokio::spawn(async move { axum::serve(Lines(listener), router).await });
    Ok(Gateway { directory, _refused: refused, book, server })
}

/// A running gateway.
#[derive(Debug)]
pub struct Gateway {
    directory: Directory,
    /// Bound, so that nobody else gets the port, and never listening.
    _refused: TcpSocket,
    book: Arc<Book>,
    server: JoinHandle<io::Result<()>>,
}

/// Where to find the gateway. Now and then it is out of date, and names an
/// address where nobody listens.
#[derive(Clone, Copy, Debug)]
pub struct Directory {
    addr: SocketAddr,
    refused: SocketAddr,
    script: Script,
}

impl Directory {
    /// Where this attempt, counted from 1, finds a path of the gateway.
    pub fn url(&self, path: &str, subject: &str, attempt: u32) -> String {
        let stale = self.script.is_stale(subject, attempt);
        format!("http://{}{path}", if stale { self.refused } else { self.addr })
    }
}

impl Gateway {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.directory.addr
    }

    /// Where to find it.
    pub fn directory(&self) -> Directory {
        self.directory
    }

    /// What was booked.
    pub fn book(&self) -> &Arc<Book> {
        &self.book
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[derive(Clone, Debug)]
struct Desk {
    script: Script,
    pace: Duration,
    book: Arc<Book>,
}

async fn charge(
    State(Desk { script, pace, book }): State<Desk>,
    ConnectInfo(line): ConnectInfo<Line>,
    headers: HeaderMap,
    Json(charge): Json<Charge>,
) -> Response {
    let call = book.charge_called(&charge.order);
    let Some(key) = idempotency_key(&headers) else {
        return problem(StatusCode::BAD_REQUEST, "Idempotency-Key is missing or not a string");
    };
    book.note(&key, &charge.order, Inbound::from_headers(&headers).attempt());
    tokio::time::sleep(pace).await;
    match book.open(&key, &charge) {
        Opening::OtherPayload => {
            return problem(StatusCode::UNPROCESSABLE_ENTITY, "the key came with another payload");
        }
        Opening::InFlight => {
            // The script's clock ticks by calls: the one at work is done now.
            book.charge(&key, &charge);
            return problem(StatusCode::CONFLICT, "the first call with the key is still at work");
        }
        Opening::Free => {}
    }
    let act = script.charge(&charge.order, call);
    if act == Act::Stall {
        book.begin(&key, &charge);
    }
    let work = || {
        book.charge(&key, &charge);
        let receipt = Receipt { order: charge.order.clone(), amount: charge.amount };
        (StatusCode::CREATED, Json(receipt)).into_response()
    };
    let answer = perform(act, &line, work).await;
    tokio::time::sleep(pace).await;
    answer
}

async fn statements(State(Desk { book, .. }): State<Desk>) -> Json<Vec<Statement>> {
    Json(book.statements())
}

async fn balance(
    State(Desk { script, book, .. }): State<Desk>,
    ConnectInfo(line): ConnectInfo<Line>,
    Path(account): Path<String>,
) -> Response {
    let act = script.balance(&account, book.balance_called(&account));
    let work = || {
        let balance = book.balance(&account);
        Json(Balance { account: account.clone(), balance }).into_response()
    };
    perform(act, &line, work).await
}

async fn label(
    State(Desk { script, book, .. }): State<Desk>,
    ConnectInfo(line): ConnectInfo<Line>,
    Json(label): Json<Label>,
) -> Response {
    let act = script.label(&label.parcel, book.label_called(&label.parcel));
    let work = || {
        book.label(&label.parcel);
        (StatusCode::CREATED, Json(label.clone())).into_response()
    };
    perform(act, &line, work).await
}

/// Plays one act. A client that goes away drops this future, and with it what
/// was not done yet.
async fn perform(act: Act, line: &Line, work: impl Fn() -> Response) -> Response {
    let work_if = |worked: bool| worked.then(&work);
    match act {
        Act::Work => work(),
        Act::Fail { status, hint, worked } => {
            work_if(worked);
            failed(status, hint)
        }
        Act::Reset { after_bytes, worked } => {
            let answer = work_if(worked).unwrap_or_default();
            line.cut_after(after_bytes);
            answer
        }
        Act::Late => {
            let answer = work();
            tokio::time::sleep(LATE).await;
            answer
        }
        Act::Stall => {
            tokio::time::sleep(LATE).await;
            work()
        }
        Act::Garble { worked } => {
            work_if(worked);
            "<html>ok?".into_response()
        }
        Act::Decline => problem(StatusCode::PAYMENT_REQUIRED, "declined"),
    }
}

fn failed(status: u16, hint: Hint) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = problem(status, "the gateway is not well");
    if let Some(value) = retry_after(hint) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

fn retry_after(hint: Hint) -> Option<HeaderValue> {
    match hint {
        Hint::None => None,
        Hint::Seconds(seconds) => Some(HeaderValue::from(seconds)),
        Hint::Date(ahead) => {
            let date = Timestamp::now().saturating_add(ahead).ok()?;
            let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&date).ok()?;
            HeaderValue::try_from(text).ok()
        }
    }
}

fn problem(status: StatusCode, title: &str) -> Response {
    (status, Json(serde_json::json!({ "title": title }))).into_response()
}

/// `None` where there is no key, several, or one that is not a structured-field
/// string.
fn idempotency_key(headers: &HeaderMap) -> Option<String> {
    let mut lines = headers.get_all("idempotency-key").iter();
    let (Some(value), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let item: sfv::Item = sfv::Parser::new(value.as_bytes()).parse().ok()?;
    let key = item.bare_item.as_string()?.as_str();
    (!key.is_empty()).then(|| key.to_owned())
}

#[cfg(test)]
mod tests;
