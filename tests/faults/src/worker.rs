//! The process that is killed.

use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use futures::stream::{FuturesUnordered, StreamExt};
use retry_core::store::StoreError;
use retry_faults::disk::SmallDisk;
use retry_faults::{Answer, Faults, Kind, Pen, Said};
use retry_sqlite::SqliteStore;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::args::Worker;
use crate::calendar::Calendar;
use crate::service::Service;
use crate::upkeep::Upkeep;

/// # Errors
/// It was told what it cannot do. A store that cannot be opened is said, and no
/// error.
pub(crate) fn run(args: &Worker) -> Result<ExitCode> {
    // Both before there is any other thread.
    let disk = match args.disk.map(|disk| SmallDisk::new(disk, &args.store)).transpose() {
        Ok(disk) => disk,
        Err(error) => {
            Said::CannotOpen { error: format!("NoDisk: {error:#}") }.say();
            return Ok(ExitCode::FAILURE);
        }
    };
    if args.without_rights {
        without_rights()?;
    }
    let path = disk.as_ref().map_or(args.store.as_path(), SmallDisk::store);
    let store = match open(args, path) {
        Ok(store) => store,
        Err(error) => {
            Said::CannotOpen { error: format!("{error:?}") }.say();
            return Ok(ExitCode::FAILURE);
        }
    };
    Said::Open.say();
    // One thread for all bodies: one that blocks starves them all.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(args, store.clone(), disk.as_ref()))?;
    // Its threads have ended then.
    drop(store);
    if let Some(disk) = disk {
        disk.leave(&args.store)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn open(args: &Worker, path: &std::path::Path) -> Result<SqliteStore, StoreError> {
    let store = SqliteStore::builder(path);
    let store = match &args.calendar {
        Some(file) => store.clock(Calendar(file.clone())),
        None => store,
    };
    if args.read_only { store.open_read_only() } else { store.open() }
}

async fn serve(args: &Worker, store: SqliteStore, disk: Option<&SmallDisk>) -> Result<()> {
    let lease = Duration::from_millis(args.lease);
    let faults = Faults::new(store.clone(), args.fault, Duration::from_micros(args.later));
    let service = Service::new(faults, Pen::new(args.book.clone()), lease)?;
    let (reclaims, retains) = (args.reclaims, args.retains);
    let upkeep = Upkeep { service: service.clone(), lease, reclaims, retains };

    let mut commands = commands();
    let mut is_told = true;
    let mut calls = FuturesUnordered::new();
    let upkeep = upkeep.run();
    tokio::pin!(upkeep);
    while is_told || !calls.is_empty() {
        tokio::select! {
            command = commands.recv(), if is_told => match command.as_deref() {
                None => is_told = false,
                Some(command) => match (command.split_once(' '), disk) {
                    (Some(("ask", number)), _) => {
                        let number = number.parse().context("a number of an operation")?;
                        calls.push(ask(service.clone(), number));
                    }
                    (None, Some(disk)) if command == "fill" => {
                        disk.fill()?;
                        Said::Did { command: command.to_owned() }.say();
                    }
                    (None, Some(disk)) if command == "free" => {
                        disk.free()?;
                        Said::Did { command: command.to_owned() }.say();
                    }
                    _ => return Err(anyhow!("`{command}` is not understood")),
                },
            },
            Some(answer) = calls.next(), if !calls.is_empty() => Said::Answered(answer?).say(),
            () = &mut upkeep => {}
        }
    }
    store.close().await?;
    Ok(())
}

async fn ask(service: Service, number: u32) -> Result<Answer, StoreError> {
    match Kind::of(number) {
        Kind::Queued => service.queue(number).await,
        _ => Ok(service.ask(number).await),
    }
}

fn commands() -> UnboundedReceiver<String> {
    let (sender, commands) = unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    commands
}

/// To root, every file can be written.
fn without_rights() -> Result<()> {
    use nix::unistd::{Gid, Uid, setgid, setuid};

    const NOBODY: u32 = 65_534;
    if Uid::effective().is_root() {
        setgid(Gid::from_raw(NOBODY))?;
        setuid(Uid::from_raw(NOBODY))?;
    }
    Ok(())
}
