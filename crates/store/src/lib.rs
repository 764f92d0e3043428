//! Named values that outlive a process: a map whose every change is appended to a log before it is
//! acknowledged.
//!
//! ```text
//!   put, remove ──▶ Log::append: one write(2), under a lock ──▶ NAME.log
//!                          │ refused: nothing was changed              ▲
//!                          ▼                                           │ fdatasync, repair,
//!                    Ok(change) or WriteError         writer thread ───┘ a new log of what is left
//! ```
//!
//! **The promise.** A change that [`Journal::put`] or [`Journal::remove`] returned `Ok` for is in the
//! kernel: it is there after `kill -9`. The loss of the whole machine may cost the changes of the last
//! [`Options::sync_interval`]; with an interval of zero, [`Journal::settled`] waits until the disk has
//! them. A change that was refused is not there. While the disk refuses, reads go on, writes are refused,
//! and the store tries by itself until the disk takes writes again.
//!
//! **What is read back.** Each record carries checks under a key of its file, its number, and the
//! fingerprint of the name before it. So a torn tail, a rotten record and a repeated one are told apart,
//! records behind a rotten one are read, and an older value does not come back in place of a rotten newer
//! one. Nothing is cut or replaced before a copy is kept beside it (`NAME.kept-N.log`).
//!
//! | module | holds |
//! |---|---|
//! | `record` | bytes of a log and what they mean: pure functions |
//! | `scan` | reads a whole log: records, damage, tail |
//! | `log` | the store without clock and thread: time is an argument |
//! | `journal` | its driver: a lock, a thread, the clock |
//! | [`file_system`] | what the store asks of the operating system, as a trait |
//! | [`faulty`] | a file system in memory that fails, forgets and loses power on demand, for tests |
//! | [`fuzzing`] | the entry of the fuzz target |
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod faulty;
pub mod file_system;
#[doc(hidden)]
pub mod fuzzing;
mod journal;
mod log;
mod options;
mod place;
mod record;
mod scan;
mod version_1;

pub use journal::{Journal, Settled};
pub use log::{Contents, OpenError, Recovered, WriteError};
pub use options::{OnDamage, Options, State, Status};
pub use place::{Check, check};
pub use record::{MAX_NAME, MAX_VALUE};
pub use scan::{Damage, DamageKind};
