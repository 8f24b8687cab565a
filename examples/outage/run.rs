//! Both runs, on a virtual clock each.

use std::error::Error;
use std::time::Duration;

use futures::executor::block_on;
use futures::future::join_all;
use retry_core::clock::{Clock, VirtualClock};

use crate::book::Book;
use crate::budgeted::Budgeted;
use crate::naive::Naive;
use crate::store::Store;
use crate::world::{EVERY, Outcome, Service, Tenant, phase};

/// What the store saw, twice.
pub(crate) struct Runs {
    pub(crate) callers: u32,
    pub(crate) naive: Book,
    pub(crate) budgeted: Book,
}

/// # Errors
/// The budget cannot be built.
pub(crate) fn run(callers: u32) -> Result<Runs, Box<dyn Error>> {
    let store = Store::new(&VirtualClock::new(), callers);
    ask(&store, callers, &Naive { store: &store });
    let naive = store.into_book();

    let store = Store::new(&VirtualClock::new(), callers);
    ask(&store, callers, &Budgeted::new(&store, callers)?);
    let budgeted = store.into_book();
    Ok(Runs { callers, naive, budgeted })
}

/// Lets every caller ask what it has to ask.
fn ask(store: &Store, callers: u32, service: &impl Service) {
    let asking = (0..callers).map(|caller| async move {
        let tenant = Tenant::of(caller);
        let mut at = phase(caller, callers);
        while at < tenant.asks_until() {
            store.sleep_until(at).await;
            let order = store.asked(tenant);
            if service.serve(&order).await == Outcome::Refused {
                store.refused(&order);
            }
            at = next(at, store.clock().elapsed());
        }
    });
    block_on(store.clock().clone().scope(join_all(asking)));
}

/// The next round that has not begun.
fn next(mut at: Duration, now: Duration) -> Duration {
    while at <= now {
        at += EVERY;
    }
    at
}
