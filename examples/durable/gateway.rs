//! The gateway as a process of its own: it outlives those that call it, and knows
//! nothing of their store.

use std::error::Error;
use std::io::{self, Write};
use std::process::Stdio;
use std::time::Duration;

use retry_examples::gateway::{self, Statement};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A call is that long on its way in, and again on its way out.
const PACE: Duration = Duration::from_millis(15);

/// The gateway's process: says its address, and serves until whoever started it is
/// gone.
///
/// # Errors
/// No port could be bound, or nothing printed.
pub(crate) async fn serve(seed: u64) -> io::Result<()> {
    let gateway = gateway::start(seed, PACE).await?;
    writeln!(io::stdout(), "http://{}", gateway.address())?;
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    Ok(())
}

/// A gateway's process, from outside. It ends when this is dropped.
pub(crate) struct Gateway {
    url: String,
    _process: Child,
}

impl Gateway {
    /// # Errors
    /// The process could not be started, or did not say its address.
    pub(crate) async fn start(seed: u64) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["gateway", "--seed", &seed.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn()?;
        let stdout = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let url = BufReader::new(stdout).lines().next_line().await?;
        let url = url.ok_or_else(|| io::Error::other("the gateway did not start"))?;
        Ok(Self { url, _process: process })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What it has on record.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) async fn statements(&self) -> Result<Vec<Statement>, Box<dyn Error>> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        Ok(client.get(format!("{}/book", self.url)).send().await?.json().await?)
    }
}
