//! A payments service whose operations survive its process. The process is killed
//! again and again in the middle of its work; then what it has recorded is compared
//! with the book of the gateway, which is a process too and does not know the store.

mod args;
mod audit;
mod gateway;
mod report;
mod run;
mod service;
mod worker;

use std::error::Error;
use std::process::ExitCode;

use args::{Args, Process};
use clap::Parser;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args = Args::parse();
    match &args.process {
        None => return run::run(&args).await,
        Some(Process::Gateway { seed }) => gateway::serve(*seed).await?,
        Some(Process::Worker { gateway, store }) => worker::work(gateway, store.as_deref()).await?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests;
