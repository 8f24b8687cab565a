//! The guide quotes code that runs: each of its blocks stands in the file that is
//! named before it.

use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const GUIDE: &str = include_str!("../../../retry-core/docs/recipes.md");

#[test]
fn every_block_of_the_guide_stands_in_the_file_that_it_names() {
    let mut blocks = 0;
    let mut before = "";
    for (index, part) in GUIDE.split("\n```").enumerate() {
        // Text, block, text, block, …
        if index % 2 == 0 {
            before = part;
            continue;
        }
        let (language, block) = part.split_once('\n').unwrap();
        assert_eq!(language, "text", "{block}");
        let caption = before.trim_end().lines().last().unwrap();
        let file = caption.strip_prefix("From `").and_then(|rest| rest.strip_suffix("`:"));
        let file = file.unwrap_or_else(|| panic!("no \"From `file`:\" before\n{block}"));
        let source = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        assert!(stands_in(block, &source), "not in {file}:\n{block}");
        blocks += 1;
    }
    assert!(blocks >= 3, "{blocks}");
}

/// Line by line and without indentation; a line `…` skips some.
fn stands_in(block: &str, source: &str) -> bool {
    let source: Vec<_> = source.lines().map(str::trim).collect();
    let mut at = 0;
    block.split("\n…\n").all(|piece| {
        let piece: Vec<_> = piece.lines().map(str::trim).collect();
        let found = source[at..].windows(piece.len()).position(|window| window == piece);
        at += found.unwrap_or_default() + piece.len();
        found.is_some()
    })
}
