//! Holds the arrows between the workspace's crates to the ones drawn in `docs/architecture.md`.
//!
//! Cargo forbids circles but not a shortcut from a low room into a higher one. The document lists
//! for each crate which others it may depend on; this test reads what they do depend on from
//! `cargo metadata`. Only normal and build dependencies count: tests may reach anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const BEGIN: &str = "<!-- arrows:begin -->";
const END: &str = "<!-- arrows:end -->";

/// From each crate to those it depends on, by their folders below `crates`.
type Arrows = BTreeMap<String, BTreeSet<String>>;

#[test]
fn crates_depend_on_what_the_architecture_allows() {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let allowed = drawn(&text).unwrap();
    let found = actual();
    assert_eq!(
        allowed.keys().collect::<Vec<_>>(),
        found.keys().collect::<Vec<_>>(),
        "docs/architecture.md must list the crates of the workspace, each once"
    );
    let faults = faults(&allowed, &found);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_arrow_that_is_not_drawn_is_a_fault() {
    let allowed = drawn(&format!("{BEGIN}\n- `a -> b`\n- `b -> (none)`\n{END}")).unwrap();
    let found = |text: &str| drawn(&format!("{BEGIN}\n{text}\n{END}")).unwrap();
    assert!(faults(&allowed, &found("a -> b\nb -> (none)")).is_empty());
    assert!(faults(&allowed, &found("a -> (none)\nb -> (none)")).is_empty());
    assert_eq!(
        faults(&allowed, &found("a -> b\nb -> a")),
        ["b depends on a, which docs/architecture.md does not allow"]
    );
}

#[test]
fn a_list_that_cannot_be_read_is_a_fault() {
    assert!(drawn("no list at all").is_err());
    assert!(drawn(&format!("{BEGIN}\na -> b\n")).is_err());
    assert!(drawn(&format!("{BEGIN}\na depends on b\n{END}")).is_err());
    assert!(drawn(&format!("{BEGIN}\na -> b\na -> c\n{END}")).is_err());
}

fn faults(allowed: &Arrows, found: &Arrows) -> Vec<String> {
    let none = BTreeSet::new();
    found
        .iter()
        .flat_map(|(from, to)| {
            to.difference(allowed.get(from).unwrap_or(&none))
                .map(move |to| {
                    format!("{from} depends on {to}, which docs/architecture.md does not allow")
                })
        })
        .collect()
}

/// The list between the markers: `from -> to, to`, or `from -> (none)`; a line may be an item of a
/// Markdown list, in backticks or in a code block.
fn drawn(text: &str) -> Result<Arrows, String> {
    let (_, rest) = text.split_once(BEGIN).ok_or("no list of arrows")?;
    let (list, _) = rest
        .split_once(END)
        .ok_or("the list of arrows has no end")?;
    let mut arrows = Arrows::new();
    for line in list.lines() {
        let line = line.trim_start_matches(['-', ' ']).replace('`', "");
        let line = line.trim();
        if line.is_empty() || line == "text" {
            continue;
        }
        let (from, to) = line
            .split_once("->")
            .ok_or_else(|| format!("{line:?} is no arrow"))?;
        let to = to
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| name != "(none)")
            .collect();
        if arrows.insert(from.trim().to_owned(), to).is_some() {
            return Err(format!("{from:?} is listed twice"));
        }
    }
    Ok(arrows)
}

/// What the manifests say, by way of Cargo.
fn actual() -> Arrows {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let rooms: BTreeMap<&str, String> = packages
        .iter()
        .map(|package| (package["name"].as_str().unwrap(), room(package)))
        .collect();
    packages
        .iter()
        .map(|package| {
            let to = package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .filter_map(|dependency| rooms.get(dependency["name"].as_str().unwrap()).cloned())
                .collect();
            (room(package), to)
        })
        .collect()
}

/// The crate's name in the document: its folder below `crates`.
fn room(package: &serde_json::Value) -> String {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    let crates = root().canonicalize().unwrap().join("crates");
    let folder = manifest.parent().unwrap().strip_prefix(crates).unwrap();
    folder.to_str().unwrap().to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
