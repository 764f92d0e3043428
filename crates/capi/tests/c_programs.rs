//! Compiles the programs in `c/` and the examples against the headers and the static library, as a network function
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

/// Where the libraries are. Cargo does not build them for this test, because no Rust program could
/// link them; so the test does, once, in Cargo's own folder.
static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| {
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
    target.join("debug")
});

fn succeeded(what: &str, output: &Output) {
    let (out, err) = (&output.stdout, &output.stderr);
    let text = [String::from_utf8_lossy(out), String::from_utf8_lossy(err)].concat();
    assert!(output.status.success(), "{what}: {}\n{text}", output.status);
}

/// A program's source and what it is compiled with.
struct Program {
    compiler: &'static str,
    standard: &'static str,
    source: &'static str,
    /// A path in the repository that it is given, if it needs one.
    argument: Option<&'static str>,
}

const C: Program = Program {
    compiler: "cc",
    standard: "-std=c11",
    source: "tests/c/face.c",
    argument: None,
};
const CXX: Program = Program {
    compiler: "c++",
    standard: "-std=c++20",
    source: "tests/c/face.cpp",
    argument: None,
};

impl Program {
    /// Gives what it printed.
    fn compile_and_run(&self, flags: &[&str], library: &[&str]) -> String {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = tempfile::tempdir().unwrap();
        let program = out.path().join("program");
        let compiled = Command::new(self.compiler)
            .args([self.standard, "-g", "-O1", "-D_DEFAULT_SOURCE"])
            .args(WARNINGS)
            .args(flags)
            .arg("-I")
            .arg(here.join("include"))
            .arg("-I")
            .arg(here.join("../guti/include"))
            .arg(here.join(self.source))
            .arg("-L")
            .arg(&*LIBRARIES)
            .args(library)
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program)
            .output()
            .unwrap();
        succeeded(self.source, &compiled);
        // Bounded: a program that hangs fails the test.
        let ran = Command::new("timeout")
            .arg("120")
            .arg(&program)
            .args(self.argument.map(|path| here.join(path)))
            .env("LD_LIBRARY_PATH", &*LIBRARIES)
            .output()
            .unwrap();
        succeeded(self.source, &ran);
        String::from_utf8(ran.stdout).unwrap()
    }
}

const STATIC: [&str; 1] = ["-l:libcorewire.a"];
const SHARED: [&str; 1] = ["-lcorewire"];

#[test]
fn a_c11_program_uses_every_face() {
    C.compile_and_run(&[], &STATIC);
}

#[test]
fn a_c11_program_is_clean_under_sanitizers() {
    C.compile_and_run(&SANITIZERS, &STATIC);
}

#[test]
fn a_c11_program_may_link_the_shared_library() {
    C.compile_and_run(&[], &SHARED);
}

#[test]
fn a_cxx20_program_uses_every_face() {
    CXX.compile_and_run(&[], &STATIC);
}

#[test]
fn a_cxx20_program_is_clean_under_sanitizers() {
    CXX.compile_and_run(&SANITIZERS, &STATIC);
}

const CERTIFICATES: Option<&str> = Some("../testkit/certificates");

#[test]
fn a_c11_program_speaks_tls_and_shared_memory_clean_under_sanitizers() {
    let program = Program {
        source: "tests/c/carriers.c",
        argument: CERTIFICATES,
        ..C
    };
    program.compile_and_run(&SANITIZERS, &STATIC);
}

#[test]
fn a_cxx20_program_speaks_tls_and_shared_memory_clean_under_sanitizers() {
    let program = Program {
        source: "tests/c/carriers.cpp",
        argument: CERTIFICATES,
        ..CXX
    };
    program.compile_and_run(&SANITIZERS, &STATIC);
}

#[test]
fn the_examples_greet() {
    for example in [
        Program {
            source: "examples/c/hello.c",
            ..C
        },
        Program {
            source: "examples/c/hello.cpp",
            ..CXX
        },
    ] {
        assert_eq!(example.compile_and_run(&[], &STATIC), "hello, AMF\n");
    }
}
