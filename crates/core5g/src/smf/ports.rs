//! What an SMF's procedures need of the world: time, and other network functions ([`crate::ports`]). Nothing
//! below the driver reads a clock, opens a socket or starts a task.

pub(in crate::smf) use crate::ports::{Clock, Peers, Sbi};
