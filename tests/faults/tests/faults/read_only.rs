//! A store that cannot be written to.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use retry_faults::{Kind, Said};

use crate::service::Service;

#[test]
fn a_file_that_may_not_be_written_is_said_to_be_that_and_loses_nothing() {
    let (done, new) = (Kind::Charged.number(0), Kind::Charged.number(1));
    let mut service = Service::new();
    service.settle(&[done]);
    let (folder, store) = (service.folder.path().to_owned(), service.folder.store());
    let before = fs::read(&store).unwrap();
    let allow = |folder_mode, store_mode| {
        fs::set_permissions(&store, Permissions::from_mode(store_mode)).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(folder_mode)).unwrap();
    };

    allow(0o555, 0o444);
    let mut worker = service.worker(&["--without-rights"]);
    let error = worker.listen_for(|said| match said {
        Said::CannotOpen { error } => Some(error.clone()),
        _ => None,
    });
    let error = error.unwrap();
    assert!(error.starts_with("ReadOnly"), "{error}");
    worker.end().unwrap();
    assert!(fs::read(&store).unwrap() == before, "the file is left alone");

    allow(0o755, 0o644);
    service.settle(&[done, new]);
    service.audit(&[done, new]);
}

#[test]
fn a_service_that_only_reads_answers_what_is_recorded_and_begins_nothing() {
    let (done, new) = (Kind::Charged.number(0), Kind::Charged.number(1));
    let mut service = Service::new();
    service.settle(&[done]);

    let mut worker = service.worker(&["--read-only"]);
    worker.ask(done);
    assert!(worker.answer_of(done).unwrap().receipt.is_some());
    worker.ask(new);
    let stopped = worker.again_of(new, "store_failed").unwrap();
    assert!(stopped.error.as_ref().unwrap().starts_with("ReadOnly"), "{stopped:?}");
    assert_eq!(service.book.attempts(new).unwrap(), [0; 0], "its body never ran");
    worker.kill().unwrap();
    service.remember(&worker);

    service.settle(&[new]);
    service.audit(&[done, new]);
}
