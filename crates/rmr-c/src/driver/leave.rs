//! The end of connections over which something was sent that the peer has not got yet.
//!
//! When a socket is closed that holds something unread, or that something comes to later, the kernel
//! resets the connection and forgets what it still had to send. So where a peer sends too, its octets
//! are taken, and counted as unread, until it has ours.

use super::{Driver, Observer, Stopped, Verdict};
use corewire_driver::clock;
use corewire_sys::unsent;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Between two looks whether the peers have everything: the kernel tells of room, not of emptiness.
const LOOK: Duration = Duration::from_millis(1);

impl Driver {
    /// Lets the peers get what the kernel has for them, at most until `deadline`. `unread` is called for
    /// each message that comes meanwhile.
    ///
    /// Who never sent us anything need not be waited for: the kernel goes on by itself.
    pub(crate) fn take_leave(
        &mut self,
        deadline: Instant,
        observer: &mut impl Observer,
        mut unread: impl FnMut(),
    ) {
        self.listener = None;
        self.memory_listener = None;
        let mut looked = false;
        while clock() < deadline && self.owes(looked) {
            let stopped = self.next(observer, |_| Verdict::Done(()));
            match stopped {
                Stopped::Done(()) => unread(),
                Stopped::Dry | Stopped::Left => {
                    // At first only what is there already: it may be the first that a peer sent.
                    let wait = if looked { LOOK } else { Duration::ZERO };
                    looked = true;
                    if self.poll(Some(wait), observer).is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Whether a peer that sends too has not got everything; before it was `looked` for what peers sent,
    /// each may.
    fn owes(&self, looked: bool) -> bool {
        self.connections.iter().any(|connection| {
            let sends_too = !looked || connection.heard > 0;
            sends_too && !connection.socket.is_memory() && unsent(connection.socket.as_fd()) > 0
        })
    }
}
