//! A day at the shop: every order is charged, and what was charged gets a
//! label.

use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt};
use reqwest::Client;
use retry_core::observe::{Event, Recorder};
use retry_core::{OperationId, Retrier};
use retry_examples::gateway::{self, Directory, Label};
use tokio::sync::Semaphore;

use crate::args::{Args, Broken};
use crate::report::{Report, Tallies};
use crate::service::{Order, Payments};
use crate::timeline::Timeline;

/// How many customers are served at a time.
const COUNTERS: usize = 64;

/// How many orders go to one account.
const ORDERS_AN_ACCOUNT: u32 = 4;

/// Starts a gateway, charges the orders, and compares what came back with the
/// gateway's book.
///
/// # Errors
/// No port could be bound, no client built, or nothing printed.
pub(crate) async fn run(args: &Args) -> Result<Report, Box<dyn Error>> {
    let gateway = gateway::start(args.seed, Duration::ZERO).await?;
    let shop = Shop {
        args: *args,
        client: Client::builder().no_proxy().build()?,
        gateway: gateway.directory(),
        counters: Semaphore::new(COUNTERS),
    };
    let mut tallies = Tallies::default();

    let mut orders = Vec::new();
    let mut served = shop.in_turn(args.orders, Shop::serve);
    while let Some(served) = served.next().await {
        shop.show(&served)?;
        tallies.add(&served.events);
        orders.push(served);
    }
    // Asked when all is settled: each answer then depends on the seed alone.
    let accounts = args.orders.div_ceil(ORDERS_AN_ACCOUNT);
    let mut asked = shop.in_turn(accounts, Shop::balance);
    while let Some(asked) = asked.next().await {
        shop.show(&asked)?;
        tallies.add(&asked.events);
    }

    let book = gateway.book();
    let booked = book.charged();
    let is_unexplained = |order: &&Served| !order.stopped && !booked.contains_key(&order.subject);
    let was_lost = |order: &&Served| order.stopped && booked.contains_key(&order.subject);
    let summary = book.summary();
    Ok(Report {
        orders: orders.len(),
        charged: summary.charged,
        duplicates: summary.duplicates,
        unexplained: orders.iter().filter(is_unexplained).count(),
        calls: summary.calls,
        stops: tallies.of("payments.charge").stops,
        lost: orders.iter().filter(was_lost).count(),
        book: summary,
        tallies,
    })
}

/// What became of an order, or of an account.
struct Served {
    subject: String,
    /// Whether charging it was stopped, for a reason.
    stopped: bool,
    events: Vec<(OperationId, Event)>,
}

struct Shop {
    args: Args,
    client: Client,
    gateway: Directory,
    counters: Semaphore,
}

impl Shop {
    /// Serves so many at once as there are counters, and gives them in turn.
    fn in_turn<'a, F>(
        &'a self,
        number: u32,
        serve: impl Fn(&'a Self, u32) -> F + 'a,
    ) -> impl Stream<Item = Served> + 'a
    where
        F: Future<Output = Served> + 'a,
    {
        let served = stream::iter(1..=number).map(move |number| {
            let serve = serve(self, number);
            async {
                let _counter = self.counters.acquire().await;
                serve.await
            }
        });
        // Without a bound of its own, so that a slow one holds nobody up.
        served.buffered(usize::MAX)
    }

    fn show(&self, Served { subject, events, .. }: &Served) -> io::Result<()> {
        if self.args.json {
            return Ok(());
        }
        writeln!(io::stdout(), "{}", Timeline { subject, events })
    }

    /// Charges an order, and prints its label.
    async fn serve(&self, number: u32) -> Served {
        let (payments, recorder) = self.payments();
        let order = Order {
            id: format!("order-{number}"),
            account: format!("account-{}", number.div_ceil(ORDERS_AN_ACCOUNT)),
            amount: u64::from(number) * 100,
        };
        let charged = match self.args.broken {
            None => payments.charge(&order).await,
            Some(Broken::Key) => payments.charge_with_fresh_keys(&order).await,
        };
        if charged.is_ok() {
            let label = Label { parcel: order.id.clone() };
            // Why it stopped, if it did, is in the events.
            let _ = payments.print_label(&label).await;
        }
        Served { subject: order.id, stopped: charged.is_err(), events: recorder.take() }
    }

    /// Asks for the balance of an account.
    async fn balance(&self, number: u32) -> Served {
        let (payments, recorder) = self.payments();
        let account = format!("account-{number}");
        let stopped = payments.balance(&account).await.is_err();
        Served { subject: account, stopped, events: recorder.take() }
    }

    /// The service, under an observer of its own: a real one is built once.
    fn payments(&self) -> (Payments, Recorder) {
        let recorder = Recorder::new();
        let retries = Retrier::builder().observer(recorder.clone()).build();
        let Self { client, gateway, .. } = self;
        (Payments { client: client.clone(), gateway: *gateway, retries }, recorder)
    }
}
