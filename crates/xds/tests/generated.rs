//! The committed code is what `prost-build` makes from `proto/`.
//!
//! Needs `protoc` (`scripts/setup`); says so and passes where there is none. With
//! `COREWIRE_REGENERATE=1` it writes the code instead of comparing.

use prost::Message;
use prost_types::FileDescriptorSet;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn protos(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            protos(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "proto") {
            found.push(path);
        }
    }
}

fn files_of(folder: &Path) -> BTreeMap<String, String> {
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| read(entry.unwrap())).collect()
}

/// Makes the code from `proto` in `out`; `false` when there is no `protoc`.
fn generate(proto: &Path, out: &Path) -> bool {
    let mut files = Vec::new();
    protos(proto, &mut files);
    files.sort();
    let set = out.join("descriptors");
    let protoc = Command::new("protoc")
        .arg("--include_imports")
        .arg(format!("--proto_path={}", proto.display()))
        .arg(format!("--descriptor_set_out={}", set.display()))
        .args(&files)
        .output();
    let output = match protoc {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return false,
        Err(error) => panic!("protoc: {error}"),
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "protoc: {told}");
    let descriptors = FileDescriptorSet::decode(fs::read(&set).unwrap().as_slice()).unwrap();
    fs::remove_file(&set).unwrap();
    prost_build::Config::new()
        .out_dir(out)
        .include_file("mod.rs")
        .enable_type_names()
        // In order, so that equal messages have equal octets: versions are made of those.
        .btree_map(["."])
        .type_name_domain(["."], "type.googleapis.com")
        .extern_path(".google.protobuf.Any", "crate::Any")
        .compile_fds(descriptors)
        .unwrap();
    true
}

#[test]
fn the_committed_code_is_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = here.join("src/generated");
    let made = tempfile::tempdir().unwrap();
    if !generate(&here.join("proto"), made.path()) {
        eprintln!("skipped: there is no protoc (scripts/setup installs it)");
        return;
    }
    let new = files_of(made.path());
    if std::env::var_os("COREWIRE_REGENERATE").is_some() {
        for name in files_of(&committed).keys() {
            fs::remove_file(committed.join(name)).unwrap();
        }
        for (name, text) in &new {
            fs::write(committed.join(name), text).unwrap();
        }
        return;
    }
    let old = files_of(&committed);
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&old), names(&new), "other files than committed");
    for (name, text) in &new {
        assert!(
            old[name] == *text,
            "{name} is not what proto/ makes; run\n    COREWIRE_REGENERATE=1 cargo test -p corewire-xds --test generated"
        );
    }
}
