//! The unstructured data storage function: contexts of other network functions (TS 29.598).
//!
//! Records are answered from memory and written behind, in groups, to a log of our own (`--store`), or
//! live in Redis when several machines share them (`--store redis://…`). A record is what its owner
//! put there, octet for octet: one block of any media type, or the specification's parts.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod embedded;
mod program;
mod record;
mod records;
mod redis;
mod store;
#[cfg(test)]
mod tests;

pub use program::UdsfArgs;
