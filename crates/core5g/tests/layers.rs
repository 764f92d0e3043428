//! The floors of network functions: a file knows its own and those below it, no files know each other in a
//! ring, and below the driver nothing reads a clock, opens a socket or starts a task.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The network functions that have them: their crates' folders, and files that each has at least.
const FUNCTIONS: [(&str, usize); 2] = [("amf", 40), ("smf", 30)];

/// The floors, from the lowest.
const FLOORS: [&str; 7] = [
    "ports",
    "context",
    "peers",
    "procedures",
    "task",
    "driver",
    "args",
];
/// The first floor that may have time and I/O.
const DRIVER: &str = "driver";
/// What may not be below it.
const BANNED: [&str; 9] = [
    "Instant::now",
    "SystemTime",
    "thread::",
    "tokio",
    "corewire_transport",
    "getrandom",
    "UdpSocket",
    "Runtime",
    "event_loops::",
];

/// A module as segments below its network function, and its code without tests.
type Modules = BTreeMap<Vec<String>, String>;

fn modules(function: &str) -> Modules {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(function)
        .join("src");
    let mut found = Modules::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = segments(path.strip_prefix(&root).unwrap());
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
                found.insert(name, code.to_owned());
            }
        }
    }
    found.retain(|name, _| {
        let floor = name.first().map(String::as_str);
        !matches!(floor, None | Some("lib" | "transcripts"))
    });
    found
}

fn segments(path: &Path) -> Vec<String> {
    let path: PathBuf = path.with_extension("");
    let parts = path.iter().map(|part| part.to_str().unwrap().to_owned());
    parts.filter(|part| part != "mod").collect()
}

/// The paths of its network function that a module names: `crate::...` and `super::...`, trees unfolded.
fn named(module: &[String], code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (start, from) in [("crate::", Some(0)), ("super::", None)] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == ':') {
                continue;
            }
            let mut base: Vec<String> = match from {
                Some(_) => Vec::new(),
                None => module[..module.len() - 1].to_vec(),
            };
            let mut rest = &code[at + start.len()..];
            while let Some(above) = rest.strip_prefix("super::") {
                base.pop();
                rest = above;
            }
            unfold(&base, rest, &mut found);
        }
    }
    found
}

fn unfold(base: &[String], text: &str, found: &mut Vec<Vec<String>>) {
    let text = text.trim_start();
    if let Some(inside) = text.strip_prefix('{') {
        let mut depth = 1;
        let mut begin = 0;
        for (at, letter) in inside.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || (depth == 1 && letter == ',') {
                unfold(base, &inside[begin..at], found);
                begin = at + 1;
            }
            if depth == 0 {
                return;
            }
        }
        return;
    }
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let mut path = base.to_vec();
    if !name.is_empty() {
        path.push(name.to_owned());
    }
    match rest.strip_prefix("::") {
        Some(rest) => unfold(&path, rest, found),
        None => found.push(path),
    }
}

/// Which modules each module names.
fn arrows(modules: &Modules) -> BTreeMap<&[String], BTreeSet<&[String]>> {
    let mut arrows = BTreeMap::new();
    for (module, code) in modules {
        let targets = named(module, code).into_iter().filter_map(|path| {
            let fits = modules.keys().filter(|other| path.starts_with(other));
            fits.max_by_key(|other| other.len()).map(Vec::as_slice)
        });
        let others: BTreeSet<_> = targets.filter(|target| target != module).collect();
        arrows.insert(module.as_slice(), others);
    }
    arrows
}

#[test]
fn a_file_knows_no_floor_above_its_own() {
    for (function, least) in FUNCTIONS {
        let modules = modules(function);
        let floor = |module: &[String]| {
            let floor = FLOORS.iter().position(|floor| *floor == module[0]);
            floor.unwrap_or_else(|| panic!("{function}: {module:?} is on no floor"))
        };
        let arrows = arrows(&modules);
        assert!(arrows.len() > least, "{function}: {}", arrows.len());
        assert!(arrows.values().any(|targets| targets.len() > 5));
        for (module, targets) in &arrows {
            for target in targets {
                assert!(
                    floor(target) <= floor(module),
                    "{function}: {module:?} names {target:?}"
                );
            }
        }
    }
}

#[test]
fn no_files_know_each_other_in_a_ring() {
    for (function, _) in FUNCTIONS {
        let modules = modules(function);
        let mut arrows = arrows(&modules);
        // What names nothing any more is in no ring.
        loop {
            let ends: Vec<_> = arrows
                .iter()
                .filter(|(_, targets)| targets.is_empty())
                .map(|(module, _)| *module)
                .collect();
            if ends.is_empty() {
                break;
            }
            for end in ends {
                arrows.remove(end);
                for targets in arrows.values_mut() {
                    targets.remove(end);
                }
            }
        }
        assert!(arrows.is_empty(), "{function}: {arrows:#?}");
    }
}

#[test]
fn below_a_driver_there_is_no_clock_and_no_socket() {
    let driver = FLOORS.iter().position(|floor| *floor == DRIVER).unwrap();
    for (function, _) in FUNCTIONS {
        for (module, code) in modules(function) {
            if FLOORS[driver..].contains(&module[0].as_str()) {
                continue;
            }
            for banned in BANNED {
                assert!(
                    !code.contains(banned),
                    "{function}: {module:?} has {banned}"
                );
            }
        }
    }
}
