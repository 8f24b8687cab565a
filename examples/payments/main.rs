//! A payments service at work against a gateway that misbehaves: what was
//! tried, why it waited and why it stopped, then what the gateway's book says.

mod args;
mod broken;
mod report;
mod run;
mod service;
mod timeline;

use std::error::Error;
use std::process::ExitCode;

use args::Args;
use clap::Parser;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args = Args::parse();
    let report = run::run(&args).await?;
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("{report}");
    }
    let as_it_should = report.is_sound() || args.broken.is_some();
    Ok(if as_it_should { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests;
