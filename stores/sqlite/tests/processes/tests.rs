//! The tests, one after the other.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use retry_core::record::{Phase, RecordId};
use retry_core::store::{List, Store};
use retry_sqlite::SqliteStore;

use crate::child::complete_due;
use crate::support::{Folder, enqueue, keyed, new, wait};

pub(crate) const ALL: &[(&str, fn())] = &[
    ("each_due_operation_is_claimed_once", each_due_operation_is_claimed_once),
    ("what_was_answered_survives_a_kill", what_was_answered_survives_a_kill),
    ("many_processes_make_the_file_at_once", many_processes_make_the_file_at_once),
    ("who_waits_hears_of_another_process", who_waits_hears_of_another_process),
    ("who_waits_hears_of_a_process_that_was_killed", who_waits_hears_of_a_process_that_was_killed),
    (
        "a_file_that_may_not_be_written_is_said_to_be_that",
        a_file_that_may_not_be_written_is_said_to_be_that,
    ),
    ("a_file_that_may_not_grow_loses_nothing", a_file_that_may_not_grow_loses_nothing),
];

/// A child, and both of its ends.
struct Running {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    told: ChildStdin,
}

impl Running {
    fn start(what: &str, path: &Path, rest: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["child", what]).arg(path).args(rest);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let told = child.stdin.take().unwrap();
        Self { child, said, told }
    }

    fn hears(&mut self) -> String {
        self.said.next().unwrap().unwrap()
    }

    fn tell(&mut self) {
        self.told.write_all(b"go on\n").unwrap();
    }

    /// What it says until it ends.
    fn ends(mut self) -> Vec<String> {
        drop(self.told);
        let said = self.said.map(Result::unwrap).collect();
        assert!(self.child.wait().unwrap().success());
        said
    }

    /// SIGKILL, and what it had said.
    fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.said.map(Result::unwrap).collect()
    }
}

fn each_due_operation_is_claimed_once() {
    const OPERATIONS: usize = 2_000;
    let folder = Folder::new();
    let store = folder.store();
    let operations: Vec<_> = (0..OPERATIONS).map(|key| new(keyed(&key.to_string()))).collect();
    for operation in &operations {
        drop(store.enqueue(operation.clone()));
    }
    let mut children: Vec<_> =
        (0..4).map(|_| Running::start("claim", &folder.file(), &[])).collect();
    for child in &mut children {
        assert_eq!(child.hears(), "ready");
    }
    children.iter_mut().for_each(Running::tell);
    let claim = || {
        let mut claimed = Vec::new();
        complete_due(&store, |record| claimed.push(record));
        claimed
    };
    let mut claimed: Vec<RecordId> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(claim)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for child in children {
        claimed.extend(child.ends().iter().map(|record| record.parse::<RecordId>().unwrap()));
    }
    assert_eq!(claimed.len(), OPERATIONS, "none is claimed twice");
    let claimed: HashSet<_> = claimed.into_iter().collect();
    for operation in &operations {
        assert!(claimed.contains(&operation.record));
        let read = wait(store.read(operation.record)).unwrap().unwrap();
        assert_eq!((read.head().phase, read.head().started), (Phase::Done, 1));
    }
}

fn what_was_answered_survives_a_kill() {
    let folder = Folder::new();
    let mut acknowledged = 0;
    for (round, lines) in [1, 2, 30, 77, 141, 200].into_iter().enumerate() {
        let mut child = Running::start("write", &folder.file(), &[&round.to_string()]);
        let mut said: Vec<_> = (0..lines).map(|_| child.hears()).collect();
        said.extend(child.kill());
        let store = folder.store();
        for line in &said {
            let mut words = line.split(' ');
            let (kind, record) = (words.next().unwrap(), words.next().unwrap());
            let read = wait(store.read(record.parse().unwrap())).unwrap().unwrap();
            if kind == "done" {
                assert_eq!(read.result(), words.next());
                assert_eq!(read.head().phase, Phase::Done);
            }
        }
        acknowledged += said.len();
    }
    println!("6 kills, {acknowledged} answers, 0 lost");
    let sql = "SELECT count(*) FROM worker";
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    let left: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(left, 6, "those who were killed have left their rows");
    let sql = "PRAGMA integrity_check";
    let whole: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
}

fn many_processes_make_the_file_at_once() {
    for _ in 0..5 {
        let folder = Folder::new();
        let children: Vec<_> =
            (0..4).map(|_| Running::start("open", &folder.file(), &[])).collect();
        for child in children {
            assert_eq!(child.ends(), ["opened"]);
        }
    }
}

fn who_waits_hears_of_another_process() {
    let folder = Folder::new();
    let store = folder.store();
    let mut child = Running::start("hold", &folder.file(), &["3600000"]);
    let record: RecordId = child.hears().parse().unwrap();
    let freed = store.freed(record);
    let waiting = thread::spawn(|| wait(freed));
    child.tell();
    assert_eq!(waiting.join().unwrap(), Ok(()));
    assert_eq!(wait(store.read(record)).unwrap().unwrap().head().phase, Phase::Done);
    child.ends();
}

fn who_waits_hears_of_a_process_that_was_killed() {
    let folder = Folder::new();
    let store = folder.store();
    let mut child = Running::start("hold", &folder.file(), &["300"]);
    let record: RecordId = child.hears().parse().unwrap();
    child.kill();
    assert_eq!(wait(store.freed(record)), Ok(()));
    let judged = wait(store.reclaim(10)).unwrap();
    assert_eq!((judged.len(), judged[0].record, judged[0].crashes), (1, record, 1));
}

/// Root may write everything, so the child is nobody.
fn nobody(what: &str, folder: &Folder) -> String {
    let program = folder.path().join("program");
    if !program.exists() {
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        set_mode(&program, 0o555);
    }
    let mut command = Command::new(program);
    command.args(["child", what]).arg(folder.path().join("files/store.db"));
    command.current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    Running::of(command).ends().remove(0)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn a_file_that_may_not_be_written_is_said_to_be_that() {
    let folder = Folder::new();
    set_mode(folder.path(), 0o755);
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    let file = files.join("store.db");
    // A folder in which nothing may be made.
    set_mode(&files, 0o555);
    let said = nobody("open", &folder);
    assert!(said.starts_with("ReadOnly"), "{said}");
    // A file that may only be read, in a folder that may be written.
    set_mode(&files, 0o777);
    enqueue(&SqliteStore::open(&file).unwrap(), new(keyed("order-1")));
    set_mode(&file, 0o444);
    let said = nobody("open", &folder);
    assert!(said.starts_with("ReadOnly"), "{said}");
    assert_eq!(nobody("read", &folder), "Ok(true)", "which is enough to read it");
    // And in a folder where the log cannot be made.
    for log in ["store.db-wal", "store.db-shm"] {
        fs::remove_file(files.join(log)).unwrap();
    }
    set_mode(&files, 0o555);
    let said = nobody("open", &folder);
    assert!(said.starts_with("ReadOnly"), "{said}");
    let said = nobody("read", &folder);
    assert!(said.starts_with("CannotOpen") && said.contains("read a copy"), "{said}");
    // Beside somebody who has it open, it can be read.
    set_mode(&files, 0o755);
    let store = SqliteStore::open(&file);
    if let Ok(store) = &store {
        assert_eq!(nobody("read", &folder), "Ok(true)");
        assert!(wait(store.find(keyed("order-1"))).unwrap().is_some());
    }
    set_mode(&files, 0o777);
}

fn a_file_that_may_not_grow_loses_nothing() {
    let folder = Folder::new();
    let child = Running::start("grow", &folder.file(), &[]);
    let said = child.ends();
    let (kept, errors): (Vec<_>, Vec<_>) = said.iter().partition(|line| line.starts_with("kept "));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("limits of a file's size"), "{errors:?}");
    println!("{} were kept before the file could not grow, and 10 after", kept.len() - 10);
    let store = folder.store();
    for line in &kept {
        let record = line.trim_start_matches("kept ").parse().unwrap();
        assert!(wait(store.read(record)).unwrap().is_some());
    }
    let list = List { limit: usize::MAX, ..List::default() };
    assert_eq!(wait(store.list(list)).unwrap().len(), kept.len(), "and nothing else");
}
