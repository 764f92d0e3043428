//! Who may use the network: subscribers as a file or a command provides them.
//!
//! A file is TOML; an entry is a range of SUPIs with the same key material, slices and data networks,
//! so that a hundred thousand subscribers are five lines and no memory.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod command;
mod entry;
mod file;

pub use command::{ADDED, AddedSubscriber, SubscriberArgs};
pub use entry::{Entries, Entry, Material, Slice};
pub use file::SubscriberFile;
