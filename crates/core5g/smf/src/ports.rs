//! What an SMF's procedures need of the world: time, and other network functions ([`corewire_core5g_runtime::ports`]). Nothing
//! below the driver reads a clock, opens a socket or starts a task.

pub(crate) use corewire_core5g_runtime::ports::{Clock, Peers, Sbi};
