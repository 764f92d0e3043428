//! Every file with `unsafe` stands in the table of `docs/unsafe.md`, and what is said to check it does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A line of the table.
struct Row {
    modules: Vec<String>,
    checks: BTreeSet<String>,
}

fn rows() -> Vec<Row> {
    let text = read("docs/unsafe.md");
    let table = text
        .split_once("<!-- unsafe:begin -->")
        .and_then(|(_, rest)| rest.split_once("<!-- unsafe:end -->"))
        .expect("its marks")
        .0;
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let modules = cells[1].split_whitespace();
        Row {
            modules: modules
                .map(|path| path.trim_matches('`').to_owned())
                .collect(),
            checks: cells[3].split(", ").map(str::to_owned).collect(),
        }
    })
    .collect()
}

/// The Rust files below a folder of the repository, or the file itself.
fn files(path: &str) -> Vec<String> {
    let whole = root().join(path);
    if whole.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(&whole).unwrap_or_else(|error| panic!("{path}: {error}"));
    let below = entries.flat_map(|entry| {
        let name = entry.expect("an entry").file_name();
        let path = format!("{path}/{}", name.to_str().expect("a name"));
        match root().join(&path) {
            folder if folder.is_dir() => files(&path),
            file if file.extension().is_some_and(|kind| kind == "rs") => vec![path],
            _ => Vec::new(),
        }
    });
    below.collect()
}

/// Whether code says `unsafe`; comments and the names of lints do not count.
fn is_unsafe(file: &str) -> bool {
    read(file).lines().any(|line| {
        let code = line.split("//").next().unwrap_or_default();
        let mut words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.any(|word| word == "unsafe")
    })
}

fn sources() -> BTreeSet<String> {
    let all = files("crates").into_iter();
    all.filter(|file| file.contains("/src/")).collect()
}

#[test]
fn every_file_with_unsafe_has_a_line_and_every_line_has_unsafe() {
    let rows = rows();
    let listed: Vec<_> = rows.iter().flat_map(|row| &row.modules).collect();
    let once: BTreeSet<_> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a module stands there twice");
    let is_below = |file: &str, module: &str| {
        let rest = file.strip_prefix(module);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let sources = sources();
    // Tests are no modules: what they have they have for the module beside them.
    let modules = sources.iter().filter(|file| !file.ends_with("/tests.rs"));
    for file in modules.filter(|file| is_unsafe(file)) {
        let has_line = listed.iter().any(|module| is_below(file, module));
        assert!(
            has_line,
            "{file} has unsafe code and no line in docs/unsafe.md"
        );
    }
    for module in listed {
        let has_unsafe = files(module).iter().any(|file| is_unsafe(file));
        assert!(has_unsafe, "{module} has no unsafe code");
    }
}

#[test]
fn what_checks_a_module_is_there() {
    let miri = read("scripts/miri");
    for row in rows() {
        assert!(!row.checks.is_empty());
        for module in &row.modules {
            let name = module.split('/').nth(1).expect("crates/NAME/src");
            let below = files(module);
            let says = |what: &str| below.iter().any(|file| read(file).contains(what));
            for check in &row.checks {
                let holds = match check.as_str() {
                    "Miri" => miri.contains(&format!("-p corewire-{name}")),
                    "loom" => says("loom_tests"),
                    // Programs in C, of the crate itself or, for what stands below all, of those above.
                    "ASan" => {
                        let own = files(&format!("crates/{name}")).into_iter();
                        name == "sys"
                            || own
                                .filter(|file| file.contains("/tests/"))
                                .any(|file| read(file).contains("-fsanitize=address"))
                    }
                    "tests" => true,
                    _ => panic!("{module}: {check} is no check that this test knows"),
                };
                assert!(holds, "{module} is not checked by {check}");
            }
        }
    }
}
