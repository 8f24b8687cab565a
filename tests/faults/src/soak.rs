//! Kills by the thousand.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::Result;
use retry_faults::{Campaign, Crew, Draws, Point, Tally};

use crate::args::Soak;

/// A line after so many kills.
const SHOWN: u64 = 250;
/// More than this many findings tell no more.
const ENOUGH: usize = 100;

/// # Errors
/// Nobody knows where this program is.
pub(crate) fn run(args: &Soak) -> Result<ExitCode> {
    let program = std::env::current_exe()?;
    let began = Instant::now();
    // Most of the time they wait: for a lease to end, for the disk.
    let threads = 3 * thread::available_parallelism().map_or(1, usize::from);
    let (next, tally) = (AtomicU64::new(args.seed), Mutex::new(Tally::default()));
    // What the others do counts when it is done.
    let left = || {
        let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        let is_enough = tally.findings.len() >= ENOUGH;
        if is_enough { 0 } else { args.kills.saturating_sub(tally.kills()) }
    };
    let soak = || {
        loop {
            let left = left().div_ceil(threads as u64);
            if left == 0 {
                return;
            }
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let done = campaign(&program, seed, left).unwrap_or_else(|error| {
                let findings = vec![format!("given up: {error:#}")];
                Tally { findings, ..Tally::default() }
            });
            for finding in &done.findings {
                println!("seed {seed}: {finding}");
            }
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            let before = tally.kills();
            tally.add(done);
            if before / SHOWN < tally.kills() / SHOWN {
                println!("{:>5} s  {:>6} kills", began.elapsed().as_secs(), tally.kills());
            }
        }
    };
    println!("seed {}, {threads} stores at a time", args.seed);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(soak);
        }
    });
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("\n{tally}");
    println!("took          {} s", began.elapsed().as_secs());
    let is_sound = tally.findings.is_empty();
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One store: a kill at each point and a few more, in an order of its own.
fn campaign(program: &std::path::Path, seed: u64, left: u64) -> Result<Tally> {
    let mut draws = Draws::new(seed);
    let mut kills: Vec<Option<Point>> = Point::all().map(Some).collect();
    kills.extend([None; 13]);
    draws.shuffle(&mut kills);
    let mut campaign = Campaign::new(program, draws.next())?;
    for point in kills.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
        let crew = if draws.one_in(3) { Crew::Two } else { Crew::Alone };
        match point {
            Some(point) => campaign.kill_at(point, crew)?,
            None => campaign.kill_at_random(crew)?,
        }
    }
    campaign.finish()
}
