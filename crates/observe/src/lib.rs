//! What a process reports about itself.
//!
//! - [`log`]: one path for log lines. Code anywhere says `tracing::warn!(name: "kind", ..)`; a
//!   program calls [`log::start`] once, and the lines go to standard error.
//! - [`terminal`]: text for the person who runs a command, [`outln!`] and [`errln!`].
//!
//! Both keep one promise: **writing never ends or blocks the process.** A closed descriptor, a
//! reader that left or stopped reading, and a full disk cost the line, and the loss is counted.
//! Libraries emit `tracing` events only; without a program that calls [`log::start`] they are
//! silent.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod log;
pub mod terminal;
pub mod utc;
