//! The front page and the options quote the compiler; it must say so.

use std::path::Path;

const QUOTING: [(&str, &str); 2] = [
    ("README.md", include_str!("../../README.md")),
    ("retryable.md", include_str!("../../retry-core/docs/retryable.md")),
];

#[test]
fn the_compiler_says_so() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/front_page/fail/*.rs");
}

#[test]
fn every_quoted_text_is_the_compilers() {
    let said = read(Path::new("ui")).unwrap() + &read(Path::new("durable/ui")).unwrap();
    let mut quoted = 0;
    for (page, text) in QUOTING {
        for line in text.lines().filter(|line| is_quote(line)) {
            quoted += 1;
            // A list that is cut short ends in a comma and an ellipsis.
            let line = line.trim_start_matches("warning: ").trim_start_matches("error: ");
            let line = line.strip_suffix(", …").unwrap_or(line);
            assert!(said.contains(line), "{page} quotes what no test has the compiler say: {line}");
        }
    }
    assert!(quoted > 20, "only {quoted} quotes were found");
}

/// The message of an error or a warning, or a note under one.
fn is_quote(line: &str) -> bool {
    ["error: ", "error[", "warning: ", "   = note: "].iter().any(|start| line.starts_with(start))
}

/// What the compiler said in every case below a directory.
fn read(directory: &Path) -> std::io::Result<String> {
    let mut said = String::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            said += &read(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "stderr") {
            said += &std::fs::read_to_string(path)?;
        }
    }
    Ok(said)
}
