//! Names the shared library as existing programs look for it, and compiles the one function that
//! stable Rust cannot express: printf's arguments.

/// The name that programs linked against RMR 4 ask the loader for.
const SONAME: &str = "librmr_si.so.4";

fn main() {
    println!("cargo:rerun-if-changed=src/vlog.c");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
    // Threads of the library run until a context is closed, and what waits is flushed at exit:
    // unloading its code before that would be a crash.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    cc::Build::new()
        .file("src/vlog.c")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("corewire_rmr_vlog");
}
