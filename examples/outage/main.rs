//! An outage of a few seconds, seen by what is called: first as services retry
//! today, then with a retry budget. Both runs are on virtual time, and give the
//! same figures everywhere.

mod args;
mod book;
mod budgeted;
mod figures;
mod naive;
mod picture;
mod report;
mod run;
mod store;
mod world;

use std::error::Error;

use args::Args;
use clap::Parser;
use report::Report;

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let runs = run::run(args.callers)?;
    let report = Report::of(&runs);
    let pictures = picture::draw(&runs, &args.out)?;
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
        return Ok(());
    }
    println!("{report}");
    for picture in pictures {
        println!("  {}", picture.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
