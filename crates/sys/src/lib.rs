//! The few places that need `unsafe`: sockets, shared memory, epoll, eventfd, futex, SCTP.
//!
//! Each module is a thin, safe face over one facility of the operating system or one C library and
//! holds no policy. Every unsafe block names the invariant that makes it sound.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![allow(unsafe_code, reason = "this crate exists to hold it")]

mod allocator;
mod association_change;
mod association_status;
mod calls;
mod epoll;
mod listener;
mod memory;
mod options;
pub mod sctp;
mod socket;
mod timer;
pub mod usrsctp;
mod wait_set;
mod wake;

pub use allocator::release_free_memory;
pub use calls::Calls;
#[cfg(feature = "count-calls")]
pub use calls::calls_of_this_thread;
pub use epoll::{Epoll, Interest, Readiness, Token};
pub use listener::Listener;
pub use options::{Arrived, set_receive_buffer, unsent};
pub use socket::{Address, SendMemory, Socket};
pub use timer::{TimerFd, monotonic_nanos, sleep_exactly, sleep_exactly_from_now_on};
pub use wait_set::{WaitSet, WaitSlot};
pub use wake::WakeFd;
