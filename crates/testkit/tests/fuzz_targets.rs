//! Every fuzz target stands in the table of `fuzz/README.md`, has a committed corpus, and a test that
//! replays it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A line of the table: the target, where its decoder is, which crate replays its corpus.
struct Row {
    target: String,
    decoder: String,
    replayed_by: String,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("fuzz/README.md")).expect("the table");
    let table = text
        .split_once("<!-- targets:begin -->")
        .and_then(|(_, rest)| rest.split_once("<!-- targets:end -->"))
        .expect("its marks")
        .0;
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let plain = |at: usize| cells[at].trim_matches('`').to_owned();
        Row {
            target: plain(1),
            decoder: plain(3),
            replayed_by: plain(4),
        }
    })
    .collect()
}

/// The names of what is in a folder, without their endings.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join(folder)).expect("a folder");
    let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    entries
        .filter_map(|entry| stem(entry.expect("an entry").path()))
        .collect()
}

#[test]
fn the_table_has_every_target() {
    let rows = rows();
    let table: BTreeSet<_> = rows.iter().map(|row| row.target.clone()).collect();
    assert_eq!(table.len(), rows.len(), "a target stands there twice");
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("a manifest");
    let built: BTreeSet<_> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"))
        .filter_map(|rest| rest.strip_suffix(".rs\""))
        .map(str::to_owned)
        .collect();
    for (place, found) in [
        ("fuzz/Cargo.toml", built),
        ("fuzz/fuzz_targets", names("fuzz/fuzz_targets")),
        ("fuzz/src", names("fuzz/src")),
        ("fuzz/corpus", names("fuzz/corpus")),
    ] {
        assert_eq!(table, found, "fuzz/README.md beside {place}");
    }
}

#[test]
fn every_corpus_is_replayed_and_every_decoder_is_where_it_is_said_to_be() {
    for row in rows() {
        let target = row.target;
        assert!(
            root().join(&row.decoder).exists(),
            "{target}: {} is not there",
            row.decoder
        );
        let inputs = root().join("fuzz/corpus").join(&target);
        assert!(
            std::fs::read_dir(inputs).is_ok_and(|mut inputs| inputs.next().is_some()),
            "{target} has no corpus"
        );
        let tests = root().join(&row.replayed_by).join("tests");
        let replays = std::fs::read_dir(tests).expect("tests").any(|entry| {
            let path = entry.expect("an entry").path();
            let mut text = std::fs::read_to_string(path).unwrap_or_default();
            // However its line is broken.
            text.retain(|letter| !letter.is_whitespace());
            text.contains(&format!("replay(\"{target}\","))
        });
        assert!(
            replays,
            "{target}: no test of {} replays it",
            row.replayed_by
        );
    }
}
