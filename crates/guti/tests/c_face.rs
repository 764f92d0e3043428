//! Compiles `c/face.c` against the header and the static library, as a C server would, and runs it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The static library that Cargo built along with this test.
fn static_library() -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let deps = deps.parent().unwrap();
    // Other versions of it, of earlier builds, may lie beside it: the newest is ours.
    std::fs::read_dir(deps)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| {
            let name = entry.file_name().into_string().unwrap_or_default();
            name.starts_with("libcorewire_guti") && name.ends_with(".a")
        })
        .max_by_key(|entry| entry.metadata().unwrap().modified().unwrap())
        .expect("crate-type holds staticlib")
        .path()
}

#[test]
fn a_c11_program_uses_every_function() {
    compile_and_run(&[]);
}

/// Sees writes beyond the C program's buffers, use after free, and an allocator that is not freed.
#[test]
fn a_c11_program_uses_every_function_under_sanitizers() {
    compile_and_run(&["-g", "-fsanitize=address,undefined"]);
}

fn compile_and_run(flags: &[&str]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let program = out.path().join("face");
    let compiled = Command::new("cc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-I",
        ])
        .arg(here.join("include"))
        .args(flags)
        .arg(here.join("tests/c/face.c"))
        .arg(static_library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    let ran = Command::new(&program).output().unwrap();
    assert!(ran.status.success(), "{}", text(&ran.stderr));
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}
