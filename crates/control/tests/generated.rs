//! The committed code is what `prost-build` makes from `proto/`.
//!
//! Needs `protoc` (`scripts/setup`); says so and passes where there is none. With
//! `COREWIRE_REGENERATE=1` it writes the code instead of comparing.

use prost::Message;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Makes the code from `proto` in `out`; `false` when there is no `protoc`.
fn generate(proto: &Path, out: &Path) -> bool {
    let set = out.join("descriptors");
    let protoc = Command::new("protoc")
        .arg(format!("--proto_path={}", proto.display()))
        .arg(format!("--descriptor_set_out={}", set.display()))
        .args(["registry.proto", "control.proto"])
        .output();
    let output = match protoc {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return false,
        Err(error) => panic!("protoc: {error}"),
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "protoc: {told}");
    let octets = fs::read(&set).unwrap();
    let descriptors = prost_types::FileDescriptorSet::decode(octets.as_slice()).unwrap();
    fs::remove_file(&set).unwrap();
    prost_build::Config::new()
        .out_dir(out)
        .btree_map(["."])
        .message_attribute(".", "#[derive(::serde::Serialize, ::serde::Deserialize)]")
        .message_attribute(".", "#[serde(default)]")
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
    for name in ["corewire.registry.v1.rs", "corewire.control.v1.rs"] {
        let new = fs::read_to_string(made.path().join(name)).unwrap();
        if std::env::var_os("COREWIRE_REGENERATE").is_some() {
            fs::create_dir_all(&committed).unwrap();
            fs::write(committed.join(name), new).unwrap();
            continue;
        }
        let old = fs::read_to_string(committed.join(name)).unwrap();
        assert!(
            old == new,
            "{name} is not what proto/ makes; run\n    COREWIRE_REGENERATE=1 cargo test -p corewire-control --test generated"
        );
    }
}
