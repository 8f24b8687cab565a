//! The report, as Markdown.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use crate::checking::{BACKON_NAME, OURS_NAME};
use crate::measured::{Measured, Row};
use crate::store::{PARKED, Times};
use crate::{bounds, machine};

pub(crate) fn markdown(measured: &Measured) -> Result<String> {
    let mut out = String::new();
    heading(&mut out)?;
    subjects(&mut out, measured)?;
    decision(&mut out, measured)?;
    store(&mut out, measured)?;
    checked(&mut out, measured)?;
    bounds_of_ours(&mut out, measured)?;
    Ok(out)
}

fn heading(out: &mut String) -> Result<()> {
    writeln!(
        out,
        "# Results\n\n\
         Written by `cargo xtask bench`; do not edit.\n\n\
         - {}\n- {}\n- {}\n- {}",
        jiff::Timestamp::now().strftime("%Y-%m-%d"),
        machine::description(),
        machine::version("rustc")?,
        machine::version("valgrind")?,
    )?;
    Ok(())
}

/// The table that the README quotes.
fn subjects(out: &mut String, measured: &Measured) -> Result<()> {
    let hand = measured.hand_under_timeout()?;
    let body = measured.others.first().map_or(0, |row| row.future_size);
    writeln!(
        out,
        "\n## An operation\n\n\
         Instructions of one operation in user space, by callgrind; in brackets the ratio to the \
         hand-written loop under `tokio::time::timeout`, which is the loop that gives the same \
         promise: cut at the deadline. Allocations of one operation: first attempt ready / waits \
         once / three failures. Bytes of the future of an operation, with a 56-byte error, over \
         the {body} of what its body awaits.\n\n\
         Three failures, then success, have no waits between them; a library that sleeps for a \
         zero delay goes through tokio's timer, which waits for its next millisecond. The \
         processor that valgrind imitates has no SHA instructions: three delays by SHA-256 cost \
         more here than on this machine.\n\n\
         | | deadline | ready at once | waits once | three failures | allocations | future |\n\
         |---|---|--:|--:|--:|--:|--:|"
    )?;
    for row in [&measured.ours].into_iter().chain(&measured.others) {
        write!(out, "| {} | {} |", row.subject.name, row.subject.deadline)?;
        for (count, hand) in row.instructions.iter().zip(&hand.instructions) {
            let count = count.total();
            write!(out, " {count:.0} ({:.2}) |", count / hand.total())?;
        }
        writeln!(out, " {} | +{} |", allocations(row), row.future_size.saturating_sub(body))?;
    }
    Ok(())
}

fn allocations(row: &Row) -> String {
    row.allocations.map(|count| format!("{count:.0}")).join(" / ")
}

fn decision(out: &mut String, measured: &Measured) -> Result<()> {
    let decision = &measured.decision;
    let sha = if machine::has_sha() { "has" } else { "does not have" };
    write!(
        out,
        "\n## A decision\n\n\
         One decision after a failure, the delay by SHA-256 included: {:.0} instructions \
         without SHA instructions",
        decision.instructions.total()
    )?;
    if let Some(nanoseconds) = decision.nanoseconds {
        write!(out, ", {nanoseconds:.0} ns (at most 150 with SHA instructions)")?;
    }
    writeln!(out, ". This processor {sha} SHA instructions.")?;
    Ok(())
}

fn store(out: &mut String, measured: &Measured) -> Result<()> {
    let pages = &measured.store.pages;
    writeln!(
        out,
        "\n## A store in a file\n\n\
         Of `retry-sqlite`, a second: writes that are on the disk when they are answered, or \
         operations that are claimed and completed. Raw SQLite writes the same rows and indexes in \
         the same rounds, with the same settings, by statements that are prepared once, and with \
         neither queue nor record nor checksums; for 64 producers it writes 64 rows to a commit and \
         waits for nobody. Last our own with {PARKED} operations that wait in the same file. \
         All begin behind some thousands that are not counted. Medians; in brackets the median of the ratios, round by round: to raw, and to ours.\n\n\
         | | raw | ours | with {PARKED} parked |\n\
         |---|--:|--:|--:|"
    )?;
    for Times { work, rates, to_raw, beside_parked_to_ours } in &measured.store.times {
        writeln!(
            out,
            "| {} | {:.0} | {:.0} ({to_raw:.2}) | {:.0} ({beside_parked_to_ours:.2}) |",
            work.name(),
            rates.raw,
            rates.ours,
            rates.beside_parked,
        )?;
    }
    writeln!(
        out,
        "\nOne producer writes {:.1} pages of 4 KiB to the log at a time, raw SQLite {:.1}; with \
         {PARKED} parked it is {:.1}.",
        pages.ours, pages.raw, pages.beside_parked,
    )?;
    Ok(())
}

fn checked(out: &mut String, measured: &Measured) -> Result<()> {
    writeln!(
        out,
        "\n## `cargo check` of 500 functions\n\n\
         Two awaits each; dependencies are built; median of five, after the file was touched. \
         Anew: nothing of the check before is reused, as in CI. Again: incremental, as on an \
         author's machine, where unchanged functions cost little but their expansion. In brackets \
         the ratio to {BACKON_NAME}; the bound on {OURS_NAME} is 1.20.\n\n\
         | | anew, wall clock | anew, CPU | again, wall clock | again, CPU |\n\
         |---|--:|--:|--:|--:|"
    )?;
    let rival = measured.checked.iter().find(|checked| checked.form == BACKON_NAME);
    let rival = rival.context("backon-macros is measured")?;
    for checked in &measured.checked {
        write!(out, "| {} |", checked.form)?;
        for (took, rival) in checked.took.iter().zip(&rival.took) {
            for (time, rival) in [(took.wall, rival.wall), (took.cpu, rival.cpu)] {
                let (time, rival) = (time.as_secs_f64(), rival.as_secs_f64());
                write!(out, " {time:.2} s ({:.2}) |", time / rival)?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn bounds_of_ours(out: &mut String, measured: &Measured) -> Result<()> {
    writeln!(out, "\n## Bounds\n\nWhat `cargo xtask bench --check` checks.\n\n```text")?;
    for bound in bounds::counted(measured)? {
        writeln!(out, "{bound}")?;
    }
    writeln!(
        out,
        "```\n\nWhat only the whole `cargo xtask bench` checks: ratios of times, on a machine that \
         does nothing else.\n\n```text"
    )?;
    for bound in bounds::timed(measured) {
        writeln!(out, "{bound}")?;
    }
    writeln!(out, "```")?;
    Ok(())
}
