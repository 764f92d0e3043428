//! The files of the channel do not import each other in a ring, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The sibling modules that a file names outside its tests.
fn siblings(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let named = code.split("super::").skip(1).map(|rest| {
        let end = rest.find(|next: char| !next.is_ascii_lowercase() && next != '_');
        rest[..end.unwrap_or(rest.len())].to_owned()
    });
    named.collect()
}

/// What is left when files that import none of the others are taken away again and again.
fn rings(mut imports: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let names: BTreeSet<String> = imports.keys().cloned().collect();
        let before = names.len();
        imports.retain(|_, named| named.iter().any(|name| names.contains(name)));
        if imports.len() == before {
            return imports.into_keys().collect();
        }
    }
}

#[test]
fn the_channel_has_no_import_ring() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/channel");
    let mut imports = BTreeMap::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|it| it == "rs") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            imports.insert(name, siblings(&text));
        }
    }
    assert!(imports.len() > 20 && imports["attempts"].contains("plan"));
    assert_eq!(rings(imports), Vec::<String>::new());
}

#[test]
fn a_ring_is_found() {
    let files = [
        ("a", "use super::b;"),
        ("b", "use super::c::C;"),
        ("c", "super::a::f()"),
    ];
    let imports = files.map(|(name, text)| (name.to_owned(), siblings(text)));
    assert_eq!(rings(imports.clone().into()), ["a", "b", "c"]);
    assert_eq!(rings(imports[..2].iter().cloned().collect()), [""; 0]);
}
