//! Settings of a store, and what it says of itself.

use crate::log::WriteError;
use std::time::Duration;

/// Settings of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How long an acknowledged change may wait until it is on the disk. The loss of the whole machine
    /// costs at most what was acknowledged in this time and during one `fdatasync`. Zero: changes
    /// are acknowledged when the disk has them. Default: 20 ms.
    pub sync_interval: Duration,
    /// Changes are refused while an `fdatasync` has taken longer than this. Default: 5 s.
    pub stall_limit: Duration,
    /// How long a disk that refuses is left alone before it is tried again. Default: 250 ms.
    pub retry_interval: Duration,
    /// What happens at the start when a part of the log cannot be read. Default: serve the rest.
    pub on_damage: OnDamage,
    /// The log is written anew when it has grown by this much and by twice what was left of it the last
    /// time. Default: 64 MiB.
    pub growth: u64,
    /// How far the file is ahead of its records, in bytes, at least half of it: a write that makes a
    /// file longer waits for the file system's own journal, 10 ms and more while a sync is in progress.
    /// Default: 1 MiB.
    pub ahead: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync_interval: Duration::from_millis(20),
            stall_limit: Duration::from_secs(5),
            retry_interval: Duration::from_millis(250),
            on_damage: OnDamage::Serve,
            growth: 64 << 20,
            ahead: 1 << 20,
        }
    }
}

/// What happens when a part of the log cannot be read at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "to start or not to start")]
pub enum OnDamage {
    /// Keep a copy of the log, report what is lost, and serve the rest.
    #[default]
    Serve,
    /// Do not start. The log stays as it is.
    Refuse,
}

/// Whether changes are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a store takes changes or does not")]
pub enum State {
    /// Changes are taken.
    Serving,
    /// Changes are refused, for this reason; reads are not affected.
    Refusing(WriteError),
}

/// What a store says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Whether changes are taken.
    pub state: State,
    /// What the operating system said last, with the file it was about.
    pub fault: Option<String>,
    /// Changes that were refused since the start.
    pub refused: u64,
    /// Changes that were found to be lost when the log was opened, as far as they can be counted.
    pub lost: u64,
    /// [`Options::sync_interval`].
    pub sync_interval: Duration,
}
