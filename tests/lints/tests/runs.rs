//! What lets no lint pass must run all the same.

use std::time::Duration;

use futures::executor::block_on;
use retry_core::clock::{Clock, VirtualClock};
use retry_core::store::MemoryStore;
use retry_core::{IdempotencyKey, Retrier, StopReason};
use retry_lints::{Config, Service, Status, Store, awaits};

fn run<F: Future>(future: F) -> F::Output {
    block_on(VirtualClock::new().scope(future))
}

fn service(failing: u32) -> Service {
    let mut service = Service::default();
    service.failing = failing;
    service
}

#[test]
fn every_option_does_what_it_says() {
    assert_eq!(run(service(1).literals()).unwrap(), 4);
    assert_eq!(run(service(1).computed(Duration::from_secs(1))).unwrap(), 2);
    assert_eq!(run(service(9).by_policy()).unwrap_err().attempts(), 2);
    let key = IdempotencyKey::derive("service.keyed", "id").unwrap();
    assert_eq!(run(service(2).keyed("id")).unwrap(), key);
    let refused = run(service(0).keyed("much too long")).unwrap_err();
    assert_eq!(refused.reason(), StopReason::FailPermanent);
    assert_eq!(run(service(1).refreshed()).unwrap(), 102);
    assert_eq!(run(service(0).rejected()).unwrap(), 2);
    assert_eq!(run(service(9).converted()), Err(Status(503)));
    assert_eq!(run(async { service(1).once(5).await }).unwrap(), 8);
    assert_eq!(run(awaits(" ab ")).unwrap().count(), 2);
    let mut store: Box<dyn Store> = Box::new(service(2));
    assert_eq!(run(store.put(1, "text")).unwrap(), 41);
}

#[test]
fn what_is_kept_runs_once() {
    let mut service = service(1);
    service.retries = Retrier::builder().store(MemoryStore::new()).build();
    let kept = run(service.kept("id", 1)).unwrap();
    assert_eq!(run(service.kept("id", 1)).unwrap(), kept);
    assert_eq!(run(service.kept("id", 2)).unwrap_err().reason(), StopReason::KeyReused);
    let config = Config::default();
    assert_eq!(run(service.kept_once(7, &config)), Ok(6));
    assert_eq!(run(service.kept_once(7, &config)), Ok(6));
    assert_eq!(
        [run(service.put_kept(7, "text")).unwrap(), run(service.put_kept(7, "text")).unwrap()],
        [40; 2]
    );
}
