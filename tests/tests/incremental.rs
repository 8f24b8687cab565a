//! One mistake is one error on an author's machine too: trybuild compiles anew,
//! where the compiler drops some errors that it reports in an incremental build.
#![allow(clippy::unwrap_used, reason = "in helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TESTS: &str = env!("CARGO_MANIFEST_DIR");

/// The sources that do not compile, with the number of errors that are expected.
fn mistakes() -> BTreeMap<PathBuf, usize> {
    let folders = ["classify", "non_idempotent", "retryable"];
    let files = folders.iter().flat_map(|folder| {
        fs::read_dir(Path::new(TESTS).join("ui").join(folder).join("fail")).unwrap()
    });
    let sources = files.map(|file| file.unwrap().path());
    let sources =
        sources.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let expected = |source: &PathBuf| {
        let texts = fs::read_to_string(source.with_extension("stderr")).unwrap();
        texts.lines().filter(|line| line.starts_with("error")).count()
    };
    sources.map(|source| (source.clone(), expected(&source))).collect()
}

/// A package with a program for each source, and the dependencies of this one.
fn package(sources: &BTreeMap<PathBuf, usize>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("incremental");
    fs::create_dir_all(&folder).unwrap();
    let core = Path::new(TESTS).join("../retry-core").canonicalize().unwrap();
    let mut manifest = format!(
        "[package]\nname = \"mistakes\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [workspace]\n\n[dependencies]\nasync-trait = \"0.1\"\nfutures = \"0.3\"\n\
         thiserror = \"2\"\ntracing = \"0.1\"\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt\", \"sync\", \"time\"] }}\n\
         retry-core = {{ path = {core:?}, features = [\"macros\", \"tokio\"] }}\n"
    );
    for (number, source) in sources.keys().enumerate() {
        manifest += &format!("\n[[bin]]\nname = \"mistake{number}\"\npath = {source:?}\n");
    }
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    // The versions of the workspace, which are there.
    fs::copy(Path::new(TESTS).join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

#[test]
fn an_incremental_build_reports_no_error_more() {
    let expected = mistakes();
    assert!(expected.len() > 50, "{}", expected.len());
    let folder = package(&expected);
    let checked = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--keep-going", "--bins", "--message-format", "short"])
        .env("CARGO_INCREMENTAL", "1")
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTFLAGS")
        .current_dir(&folder)
        .output()
        .unwrap();
    let printed = String::from_utf8(checked.stderr).unwrap();
    let reported = |source: &Path| {
        let place = format!("{}:", source.display());
        let lines = printed.lines().filter(|line| line.starts_with(&place));
        lines.filter(|line| line.contains(": error")).count()
    };
    assert!(printed.contains("error"), "nothing was checked:\n{printed}");
    for (source, expected) in &expected {
        assert_eq!(reported(source), *expected, "{}\n{printed}", source.display());
    }
}
