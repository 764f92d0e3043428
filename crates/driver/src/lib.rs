//! What the drivers of sockets share, whatever they carry: the blocking client, the event loop and the
//! router of RMR.
//!
//! | module | holds |
//! |---|---|
//! | `clock` | the one clock, and times that lie beyond it |
//! | `adaptive_spin`, `yielding` | whether to look again before a sleep, and where to yield meanwhile |
//! | `shm_polling` | when to look at shared memory, and when at sockets |
//! | `leader_follower` | threads that share a connection: one reads for all |
//! | `halves` | when half of many calls is written ahead of the rest |
//! | `read_buffers` | memory to read into, which idle connections do not hold |
//! | `resolver`, `lookup` | names of hosts, looked up by threads of their own |
//!
//! Not here: protocols, and what is `unsafe` (`corewire-sys`, with the wait set that followers sleep in).
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod adaptive_spin;
mod clock;
mod halves;
mod leader_follower;
mod lookup;
mod read_buffers;
mod resolver;
mod shm_polling;
mod yielding;

pub use adaptive_spin::{AdaptiveSpin, SpinEnd, SpinWait};
pub use clock::{after, clock};
pub use halves::is_half;
pub use leader_follower::{Leader, LeaderFollower};
pub use lookup::{Answer, Lookup};
pub use read_buffers::{COPIED_BELOW, ReadBuffers};
pub use resolver::{Resolver, ipv4_first};
pub use shm_polling::{LOOKS_A_TURN, ShmPolling};
pub use yielding::may_yield;
