//! What every store promises.

use std::cell::Cell;

use retry_core::store::conformance;
use retry_sqlite::SqliteStore;

use crate::support::Folder;

#[test]
fn it_keeps_what_every_store_promises() {
    let folder = Folder::new();
    let made = Cell::new(0);
    conformance::run(|clock| {
        made.set(made.get() + 1);
        let file = folder.path().join(format!("{}.db", made.get()));
        SqliteStore::builder(file).clock(clock).open().unwrap()
    });
    assert!(made.get() > 0);
}
