//! Compiles the programs in `c/` against the headers and the static library, as a network function
//! in C or C++ would, and runs them: once plain, once under the sanitizers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];
const SANITIZERS: [&str; 3] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
    "-fno-omit-frame-pointer",
];

/// The static library. Cargo does not build it for this test, because no Rust program could link
/// it; so the test does, once, in Cargo's own folder.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).expect("TARGET/debug/deps/test");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--locked",
            "--package",
            env!("CARGO_PKG_NAME"),
            "--target-dir",
        ])
        .arg(target)
        .output()
        .unwrap();
    succeeded("cargo build", &built);
    target.join("debug/libcorewire.a")
});

fn succeeded(what: &str, output: &Output) {
    let (out, err) = (&output.stdout, &output.stderr);
    let text = [String::from_utf8_lossy(out), String::from_utf8_lossy(err)].concat();
    assert!(output.status.success(), "{what}: {}\n{text}", output.status);
}

fn compile_and_run(compiler: &str, standard: &str, source: &str, extra: &[&str]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let program = out.path().join("program");
    let compiled = Command::new(compiler)
        .args([standard, "-g", "-O1"])
        .args(WARNINGS)
        .args(extra)
        .arg("-D_DEFAULT_SOURCE")
        .arg("-I")
        .arg(here.join("include"))
        .arg("-I")
        .arg(here.join("../guti/include"))
        .arg(here.join("tests/c").join(source))
        .arg(&*LIBRARY)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    succeeded(source, &compiled);
    // Bounded: a program that hangs fails the test.
    let ran = Command::new("timeout")
        .arg("120")
        .arg(&program)
        .output()
        .unwrap();
    succeeded(source, &ran);
}

#[test]
fn a_c11_program_uses_every_face() {
    compile_and_run("cc", "-std=c11", "face.c", &[]);
}

#[test]
fn a_c11_program_is_clean_under_sanitizers() {
    compile_and_run("cc", "-std=c11", "face.c", &SANITIZERS);
}

#[test]
fn a_cxx20_program_uses_every_face() {
    compile_and_run("c++", "-std=c++20", "face.cpp", &[]);
}

#[test]
fn a_cxx20_program_is_clean_under_sanitizers() {
    compile_and_run("c++", "-std=c++20", "face.cpp", &SANITIZERS);
}
