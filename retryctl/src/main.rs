//! Shows what retried operations did, why they stopped and what follows; plans
//! their schedules. The README has the exit codes and the fields of `--json`.

mod args;
mod exit;
mod plan;
mod table;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;
use exit::{Error, Exit};

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let exit = match run(&args, &mut out).and_then(|exit| Ok(out.flush().map(|()| exit)?)) {
        Ok(exit) => exit,
        // Whoever reads has seen enough, as `head` does.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Sound,
        Err(error) => {
            // Nobody may be listening there either.
            let _ = writeln!(io::stderr(), "error: {error}");
            error.exit()
        }
    };
    ExitCode::from(exit as u8)
}

fn run(args: &Args, out: &mut dyn Write) -> Result<Exit, Error> {
    match &args.command {
        Command::Plan(plan) => plan::run(plan, args.json, out),
    }
}
