//! A day at the shop, and a bad one: whoever is charging orders is killed again and
//! again, and somebody else goes on.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use retry_core::record::{Record, RecordId};
use retry_core::store::{List, Store};
use retry_sqlite::SqliteStore;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::args::Args;
use crate::audit::Audit;
use crate::gateway::Gateway;
use crate::report::Report;
use crate::worker::{Answer, Line};

/// How many orders are asked for in one question to the store.
const PAGE: usize = 256;

/// Starts a gateway, kills workers, and compares what is recorded with the
/// gateway's book.
///
/// # Errors
/// A process could not be started, the store not be read, or nothing printed.
pub(crate) async fn run(args: &Args) -> Result<ExitCode, Box<dyn Error>> {
    // Without a store there is nothing to be forgotten.
    let store = match args.broken {
        None => Some(new_store(args.store.as_deref())?),
        Some(_) => None,
    };
    let gateway = Gateway::start(args.seed).await?;
    let mut shop = Shop { args, gateway, store, answers: BTreeMap::new(), lives: 0, kills: 0 };
    shop.introduce()?;
    while shop.kills < args.kills || shop.answers.len() < args.orders as usize {
        shop.live().await?;
    }

    let book = shop.gateway.statements().await?;
    let records = match &shop.store {
        Some(path) => records(&SqliteStore::open_read_only(path)?).await?,
        None => Vec::new(),
    };
    let audit = Audit::of(args.orders, &book, &records, &shop.answers);
    let report = Report { audit, kills: shop.kills, store: shop.store };
    let mut stdout = io::stdout();
    if args.json {
        writeln!(stdout, "{}", serde_json::to_string(&report.figures())?)?;
    } else {
        writeln!(stdout, "\n{report}")?;
    }
    let as_it_should = report.is_sound() || args.broken.is_some();
    Ok(if as_it_should { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// # Errors
/// There is something at the path, or no folder could be made.
fn new_store(path: Option<&Path>) -> Result<PathBuf, Box<dyn Error>> {
    let Some(path) = path else {
        let folder = std::env::temp_dir().join(format!("retry-durable-{}", RecordId::new()));
        std::fs::create_dir(&folder)?;
        return Ok(folder.join("payments.db"));
    };
    if path.exists() {
        let path = path.display();
        return Err(format!(
            "there is a file {path}, and the gateway's book begins empty; name a new one"
        )
        .into());
    }
    Ok(path.to_owned())
}

/// Every record of the store, each verified.
async fn records(store: &impl Store) -> Result<Vec<Record>, Box<dyn Error>> {
    let (mut records, mut before) = (Vec::new(), None);
    loop {
        let heads = store.list(List { before, limit: PAGE, ..List::default() }).await?;
        let Some(last) = heads.last() else {
            return Ok(records);
        };
        before = Some(last.record);
        for head in heads {
            records.extend(store.read(head.record).await?);
        }
    }
}

/// What customers were told, by the number of the order.
type Answers = BTreeMap<u32, Answer>;

struct Shop<'a> {
    args: &'a Args,
    gateway: Gateway,
    /// Without, workers remember nothing.
    store: Option<PathBuf>,
    answers: Answers,
    lives: u32,
    kills: u32,
}

impl Shop<'_> {
    /// One life of a worker: it is asked for every order that was placed and has no
    /// answer yet, and killed in the middle of that while there are kills left.
    async fn live(&mut self) -> Result<(), Box<dyn Error>> {
        let Self { args, answers, .. } = self;
        let before = answers.len();
        let worker = Worker::start(self.gateway.url(), self.store.as_deref())?;
        let orders = (1..=placed(args, self.kills)).filter(|order| !answers.contains_key(order));
        let orders: String = orders.map(|order| format!("{order}\n")).collect();
        self.lives += 1;
        if self.kills < args.kills {
            let span = span(args.seed, self.lives);
            worker.serve_for(span, &orders, answers).await?;
            self.kills += 1;
            return Ok(self.show(Some(span))?);
        }
        worker.serve(&orders, answers).await?;
        if answers.len() == before {
            return Err("a worker was left alone, and no customer had an answer".into());
        }
        Ok(self.show(None)?)
    }

    fn introduce(&self) -> io::Result<()> {
        if self.args.json {
            return Ok(());
        }
        let orders = self.args.orders;
        match &self.store {
            Some(path) => writeln!(io::stdout(), "{orders} orders, kept in {}\n", path.display()),
            None => writeln!(io::stdout(), "{orders} orders, kept in the memory of a process\n"),
        }
    }

    fn show(&self, killed: Option<Duration>) -> io::Result<()> {
        if self.args.json {
            return Ok(());
        }
        let end = match killed {
            Some(span) => format!("killed after {} ms", span.as_millis()),
            None => "left alone".to_owned(),
        };
        let (life, answers, orders) = (self.lives, self.answers.len(), self.args.orders);
        writeln!(io::stdout(), "worker {life:>3}  {end:<20}  {answers} of {orders} answered")
    }
}

/// How many orders are placed by then: customers come from the first worker to the
/// last.
fn placed(args: &Args, kills: u32) -> u32 {
    let [orders, kills, all] = [args.orders, kills, args.kills].map(u64::from);
    let placed = (orders * (kills + 1)).div_ceil(all + 1);
    u32::try_from(placed).unwrap_or(args.orders)
}

/// How long a worker lives, from when its store is open.
fn span(seed: u64, life: u32) -> Duration {
    let digest = Sha256::digest(format!("{seed}/life/{life}"));
    let draw = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    Duration::from_millis(u64::from(50 + draw % 550))
}

/// A worker's process, from outside.
struct Worker {
    process: Child,
    stdin: ChildStdin,
    said: Said,
}

type Said = Lines<BufReader<ChildStdout>>;

impl Worker {
    fn start(gateway: &str, store: Option<&Path>) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["worker", "--gateway", gateway]);
        if let Some(path) = store {
            command.arg("--store").arg(path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn()?;
        let stdin = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, stdin, said: BufReader::new(stdout).lines() })
    }

    /// Asks for these orders, and notes its answers until it has no more.
    async fn serve(self, orders: &str, answers: &mut Answers) -> Result<(), Box<dyn Error>> {
        let Self { mut process, mut stdin, mut said } = self;
        // Closed behind the last one.
        let ask = async move { stdin.write_all(orders.as_bytes()).await };
        let (asked, noted) = futures::join!(ask, note_all(&mut said, answers));
        let status = process.wait().await?;
        if !status.success() {
            return Err(format!("a worker failed: {status}").into());
        }
        noted?;
        Ok(asked?)
    }

    /// The same for so long, from when its store is open. It waits for more orders
    /// until it is killed: with SIGKILL, where there are signals.
    async fn serve_for(
        self,
        span: Duration,
        orders: &str,
        answers: &mut Answers,
    ) -> Result<(), Box<dyn Error>> {
        let Self { mut process, mut stdin, mut said } = self;
        if let Some(line) = said.next_line().await? {
            note(&line, answers)?;
        }
        let ask = stdin.write_all(orders.as_bytes());
        let served = async { futures::join!(ask, note_all(&mut said, answers)) };
        if let Ok((_, noted)) = tokio::time::timeout(span, served).await {
            noted?;
            return Err(format!("a worker ended by itself: {}", process.wait().await?).into());
        }
        process.start_kill()?;
        // What it said before is said.
        note_all(&mut said, answers).await?;
        process.wait().await?;
        Ok(())
    }
}

async fn note_all(said: &mut Said, answers: &mut Answers) -> Result<(), Box<dyn Error>> {
    while let Some(line) = said.next_line().await? {
        note(&line, answers)?;
    }
    Ok(())
}

fn note(line: &str, answers: &mut Answers) -> Result<(), Box<dyn Error>> {
    match serde_json::from_str(line)? {
        Line::Open => {}
        Line::Answered(answer) => {
            answers.insert(answer.order, answer);
        }
    }
    Ok(())
}
