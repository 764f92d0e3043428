//! Who may use the network: subscribers as a file or a command provides them.
//!
//! A file is TOML; an entry is a range of SUPIs with the same key material, slices and data networks,
//! so that a hundred thousand subscribers are five lines and no memory.

mod command;
mod entry;
mod file;

pub use command::SubscriberArgs;
pub(crate) use command::{ADDED, AddedSubscriber};
pub(crate) use entry::{Entries, Entry, Material, Slice};
pub use file::SubscriberFile;
