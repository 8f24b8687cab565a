//! What the README quotes of the report.

use anyhow::{Context, Result};

const BEGIN: &str = "<!-- bench:begin -->\n";
const END: &str = "<!-- bench:end -->";

/// The README with the table of operations between its two marks.
pub(crate) fn quoting(report: &str, readme: &str) -> Result<String> {
    let (before, rest) = readme.split_once(BEGIN).context("README.md has the first mark")?;
    let (_, after) = rest.split_once(END).context("README.md has the second mark")?;
    let table = table(report).context("the report has the table")?;
    Ok(format!(
        "{before}{BEGIN}Instructions of one operation, in brackets beside the hand-written loop \
         under\n`tokio::time::timeout`, which gives the same promise; allocations of the three; \
         bytes of\nthe future over those of its body. How they are counted: `benches/RESULTS.md`.\
         \n\n{table}\n{END}{after}"
    ))
}

/// The lines of the first table.
fn table(report: &str) -> Option<String> {
    let mut lines = report.lines().skip_while(|line| !line.starts_with("| | deadline"));
    let rows: Vec<_> = lines.by_ref().take_while(|line| line.starts_with('|')).collect();
    (!rows.is_empty()).then(|| rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_quotes_the_report_as_it_is() {
        let read = |name: &str| std::fs::read_to_string(crate::package().join(name)).unwrap();
        let readme = read("../README.md");
        let quoting = quoting(&read("RESULTS.md"), &readme).unwrap();
        assert!(readme == quoting, "run `cargo xtask bench`, which writes both");
    }
}
