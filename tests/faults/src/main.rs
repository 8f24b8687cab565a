//! `faults worker` runs operations on a store until it is killed, `faults soak`
//! kills workers by the thousand, `faults points` lists where.
#![cfg_attr(not(unix), allow(unused))]

#[cfg(unix)]
mod args;
#[cfg(unix)]
mod calendar;
#[cfg(unix)]
mod service;
#[cfg(unix)]
mod soak;
#[cfg(unix)]
mod upkeep;
#[cfg(unix)]
mod worker;

#[cfg(unix)]
fn main() -> anyhow::Result<std::process::ExitCode> {
    use clap::Parser as _;

    match args::Args::parse() {
        args::Args::Worker(worker) => worker::run(&worker),
        args::Args::Soak(soak) => soak::run(&soak),
        args::Args::Points => {
            for boundary in retry_faults::Boundary::ALL {
                let moments = retry_faults::Moment::ALL.map(|moment| {
                    let point = retry_faults::Point { boundary, moment };
                    point.to_string()
                });
                println!("{:<10} {}", boundary.word(), moments.join("  "));
            }
            Ok(std::process::ExitCode::SUCCESS)
        }
    }
}

#[cfg(not(unix))]
fn main() {
    eprintln!("processes are killed by signals, and this system has none");
}
