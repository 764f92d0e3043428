//! The C ABI of Corewire: `include/corewire.h` and, on it, `include/corewire.hpp` for C++20.
//!
//! Thin on purpose: handles, result codes, and pointers that become references; what a call does
//! stands in `corewire-transport`. One module a face. What keeps all of them sound:
//!
//! - every function's body runs in a [panic boundary](boundary); nothing unwinds into C;
//! - a handle is a `Box` or an `Arc` that C holds by its address; the documentation of each
//!   function says who owns what, and that is the contract which `// SAFETY:` comments refer to as
//!   "the header";
//! - integers from C become enums by checked conversions only; a value of a C `enum` is never
//!   taken as a Rust one.
//!
//! The header is generated from this crate by cbindgen and committed; `tests/header.rs` keeps both
//! the same. The library also holds the C face of the GUTI allocator (`corewire_guti.h`), because
//! two Rust static libraries cannot be linked into one program.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![allow(unsafe_code, reason = "pointers from C are dereferenced here")]
#![allow(
    non_camel_case_types,
    reason = "names of types are C's: what stands here is what the header prints"
)]
#![allow(
    clippy::exhaustive_enums,
    reason = "enums here are the ABI's; C has no non_exhaustive"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the documentation of each function is the header's, which states its contract"
)]
#![allow(
    unreachable_pub,
    unnameable_types,
    reason = "what is exported is reached by the linker, not by Rust paths"
)]

mod body;
mod boundary;
mod channel;
mod error;
mod event_loop;
mod headers;
mod incoming;
mod operation;
mod options;
mod response;
mod server;
mod server_stream;
mod shared_tls;
mod stream;
#[cfg(test)]
mod tests;

// Named so that the linker keeps its symbols.
pub use corewire_guti::c_face;
