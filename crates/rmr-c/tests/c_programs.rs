//! Compiles the programs in `c/` as an xApp would be and runs them: against the shared library, and
//! with the static one under the sanitizers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];
const SANITIZERS: [&str; 3] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
    "-fno-omit-frame-pointer",
];

/// What the library is asked for at run time.
const SONAME: &str = "librmr_si.so.4";

/// Where the libraries are. Cargo does not build them for this test, because no Rust program could
/// link them; so the test does, once, in Cargo's own folder.
static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).expect("TARGET/debug/deps/test");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--package", env!("CARGO_PKG_NAME")])
        .arg("--target-dir")
        .arg(target)
        .output()
        .unwrap();
    succeeded("cargo build", &built);
    target.join("debug")
});

/// A folder where the shared library has the name that programs look for.
static INSTALLED: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let library = LIBRARIES.join("librmr_si.so");
    std::os::unix::fs::symlink(library, folder.path().join(SONAME)).unwrap();
    folder
});

fn succeeded(what: &str, output: &Output) {
    let (out, err) = (&output.stdout, &output.stderr);
    let text = [String::from_utf8_lossy(out), String::from_utf8_lossy(err)].concat();
    assert!(output.status.success(), "{what}: {}\n{text}", output.status);
}

fn compile_and_run(source: &str, flags: &[&str], library: &str) {
    compile_and_run_over("si95", source, flags, library);
}

fn compile_and_run_over(transport: &str, source: &str, flags: &[&str], library: &str) {
    compile_and_run_by(&[], transport, source, flags, library);
}

/// The same, started by `wrapper`, a command that ends in one.
fn compile_and_run_by(
    wrapper: &[&str],
    transport: &str,
    source: &str,
    flags: &[&str],
    library: &str,
) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-g", "-O1", "-D_DEFAULT_SOURCE"])
        .args(WARNINGS)
        .args(flags)
        .arg("-I")
        .arg(here.join("include"))
        .arg(here.join("tests/c").join(source))
        .arg("-L")
        .arg(&*LIBRARIES)
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    succeeded(source, &compiled);
    // Bounded: a program that hangs fails the test.
    let ran = Command::new("timeout")
        .arg("120")
        .args(wrapper)
        .arg(&program)
        .arg(folder.path())
        .env("LD_LIBRARY_PATH", INSTALLED.path())
        .env("COREWIRE_RMR_TRANSPORT", transport)
        .output()
        .unwrap();
    succeeded(source, &ran);
    assert_eq!(ran.stdout, b"ok\n", "{source}");
}

const STATIC: &str = "-l:librmr_si.a";
const SHARED: &str = "-lrmr_si";

#[test]
fn messages_by_themselves() {
    compile_and_run("messages.c", &[], SHARED);
}

#[test]
fn messages_by_themselves_under_sanitizers() {
    compile_and_run("messages.c", &SANITIZERS, STATIC);
}

#[test]
fn messages_between_contexts() {
    compile_and_run("exchange.c", &[], SHARED);
}

#[test]
fn messages_between_contexts_under_sanitizers() {
    compile_and_run("exchange.c", &SANITIZERS, STATIC);
}

#[test]
fn calls() {
    compile_and_run("calls.c", &[], SHARED);
}

#[test]
fn calls_under_sanitizers() {
    compile_and_run("calls.c", &SANITIZERS, STATIC);
}

#[test]
fn troubles() {
    compile_and_run("troubles.c", &[], SHARED);
    compile_and_run_over("native", "troubles.c", &[], SHARED);
    compile_and_run_over("shm", "troubles.c", &[], SHARED);
}

#[test]
fn what_was_accepted_arrives_when_its_sender_dies() {
    compile_and_run("deaths.c", &[], SHARED);
}

#[test]
fn what_nobody_takes() {
    compile_and_run("unread.c", &[], SHARED);
    compile_and_run_over("native", "unread.c", &[], SHARED);
}

#[test]
fn what_is_closed_or_was_large_is_given_back() {
    compile_and_run("leaks.c", &[], SHARED);
}

#[test]
fn every_message_is_accounted_for() {
    compile_and_run("accounts.c", &[], SHARED);
}

#[test]
fn every_message_is_accounted_for_by_records() {
    compile_and_run_over("native", "accounts.c", &[], SHARED);
    compile_and_run_over("shm", "accounts.c", &[], SHARED);
}

#[test]
fn the_native_protocol_carries_the_same() {
    compile_and_run_over("native", "exchange.c", &[], SHARED);
    compile_and_run_over("native", "calls.c", &[], SHARED);
}

#[test]
fn the_native_protocol_under_sanitizers() {
    compile_and_run_over("native", "exchange.c", &SANITIZERS, STATIC);
    compile_and_run_over("native", "calls.c", &SANITIZERS, STATIC);
}

#[test]
fn shared_memory_carries_the_same() {
    compile_and_run_over("shm", "exchange.c", &[], SHARED);
    compile_and_run_over("shm", "calls.c", &[], SHARED);
}

#[test]
fn shared_memory_between_processes() {
    compile_and_run_over("shm", "memory.c", &[], SHARED);
}

#[test]
fn shared_memory_under_sanitizers() {
    compile_and_run_over("shm", "exchange.c", &SANITIZERS, STATIC);
    compile_and_run_over("shm", "calls.c", &SANITIZERS, STATIC);
}

#[test]
fn nng_carries_calls() {
    // It is loaded at run time, where it is installed (scripts/setup installs it).
    let loadable = Command::new("cc")
        .args(["-shared", "-o", "/dev/null", "-l:libnng.so.1"])
        .output()
        .unwrap();
    if loadable.status.success() {
        compile_and_run_over("nng", "calls.c", &[], SHARED);
    } else {
        eprintln!("not run: libnng.so.1 is not installed");
    }
}

/// A network of its own, and a name server that nobody else has.
const ALONE: [&str; 9] = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "--net",
    "sh",
    "-c",
    "ip link set lo up && echo nameserver 127.0.0.1 >\"$RESOLV\" && \
     mount --bind \"$RESOLV\" /etc/resolv.conf && exec \"$@\"",
    "sh",
];

#[test]
fn a_name_server_that_never_answers() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let resolv = format!("RESOLV={}", file.path().display());
    let wrapper = [&["env", &*resolv][..], &ALONE].concat();
    let usable = Command::new(wrapper[0])
        .args(&wrapper[1..])
        .arg("true")
        .output()
        .unwrap();
    if usable.status.success() {
        compile_and_run_by(&wrapper, "si95", "names.c", &[], SHARED);
    } else {
        let why = String::from_utf8_lossy(&usable.stderr);
        eprintln!("not run: no namespaces of one's own here: {why}");
    }
}

/// Functions that a header declares.
fn declared(header: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("include/rmr")
        .join(header);
    let text = std::fs::read_to_string(path).unwrap();
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '(')
        .filter_map(|word| word.split_once('('))
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.starts_with("rmr_"))
        .collect()
}

/// Exactly what the headers declare leaves the library: it is loaded beside others.
#[test]
fn nothing_else_is_exported() {
    let listed = Command::new("nm")
        .args(["--dynamic", "--defined-only", "--format=posix"])
        .arg(LIBRARIES.join("librmr_si.so"))
        .output()
        .unwrap();
    succeeded("nm", &listed);
    let exported: BTreeSet<String> = String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect();
    let headers = ["rmr.h", "rmr_symtab.h", "rmr_logging.h", "rmr_corewire.h"];
    let mut expected: BTreeSet<String> =
        headers.iter().flat_map(|header| declared(header)).collect();
    // Mentioned in comments and macros only; and what bindings use without a header.
    expected.remove("rmr_payload_size()");
    expected.extend(["rmr_get_consts", "rmr_free_consts"].map(str::to_owned));
    assert_eq!(exported, expected);
}
