//! SI95 over TCP as a carrier: what every RMR program speaks.
//!
//! A frame is given to the kernel before its sender hears that it went, which delivers it whatever
//! becomes of this process; in a rush the kernel keeps frames until it is told to send them, or has a
//! segment full. With gathering as a setting, frames wait in this process instead, which is cheaper, and
//! are lost with it.

use crate::outgoing::Outgoing;
use corewire_sys::Socket;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Instant;

/// What the kernel counts for a frame beside its octets, at most.
const KERNEL_OVERHEAD: usize = 4096;

/// A connection that frames go out by. Whoever drives the sockets reads it as well.
pub(crate) struct Si95 {
    socket: Arc<Socket>,
    /// Octets that the kernel keeps until more comes or it is to send them.
    kept: usize,
    /// Octets that the kernel will take for certain.
    room: usize,
}

impl Si95 {
    pub(crate) const fn new(socket: Arc<Socket>) -> Self {
        Self {
            socket,
            kept: 0,
            room: 0,
        }
    }

    pub(crate) const fn socket(&self) -> &Arc<Socket> {
        &self.socket
    }

    /// Octets that the kernel keeps.
    #[inline]
    pub(crate) const fn kept(&self) -> usize {
        self.kept
    }

    /// Has the kernel send what it keeps.
    pub(crate) fn push_kept(&mut self) {
        if std::mem::take(&mut self.kept) > 0 {
            self.socket.push();
        }
    }

    /// Gives a frame to the kernel, which with `gathers` may keep it; how much of it was taken.
    ///
    /// # Errors
    /// `WouldBlock` without room for it: nothing of it was taken. Else the connection is lost.
    #[inline]
    pub(crate) fn hand_over(&mut self, frame: &[u8], gathers: bool) -> io::Result<usize> {
        let sent = if !self.has_room(frame.len()) {
            Err(io::ErrorKind::WouldBlock.into())
        } else if gathers {
            self.socket.send_more(frame)
        } else {
            self.send(frame)
        };
        match &sent {
            Ok(count) if *count == frame.len() => {
                self.kept = if gathers { self.kept + count } else { 0 };
            }
            Ok(_) => self.push_kept(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.push_kept(),
            Err(_) => {}
        }
        sent
    }

    /// Writes a frame without asking whether there is room for all of it; how much of it was taken.
    ///
    /// # Errors
    /// What the kernel says.
    #[inline]
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<usize> {
        self.socket.send_now(&[IoSlice::new(frame)])
    }

    /// Writes what waits, as much as the kernel takes; whether that was everything.
    ///
    /// # Errors
    /// What the kernel says: the connection is lost, the octets still wait.
    pub(crate) fn flush(&self, waiting: &mut Outgoing) -> io::Result<bool> {
        waiting.flush(&self.socket)
    }

    /// Waits until the peer may take more. An error shows when it is written to again.
    pub(crate) fn wait_for_room(&self, until: Instant) {
        let _shows_later = self.socket.wait_for_room(until);
    }

    /// How the connection ended while it was not used, if it has.
    pub(crate) fn ended(&self) -> Option<io::Error> {
        let ended = self.socket.has_ended();
        ended.then(|| io::Error::from_raw_os_error(libc::ECONNRESET))
    }

    /// Whether the kernel takes a frame of `length` octets without keeping anybody waiting in the middle
    /// of it. One that fills a good part of its buffer is begun when there is some room.
    fn has_room(&mut self, length: usize) -> bool {
        let needed = length + KERNEL_OVERHEAD;
        if self.room < needed
            && let Some(memory) = self.socket.send_memory()
        {
            self.room = memory.limit.saturating_sub(memory.used);
            if self.room < needed.min(memory.limit / 4) {
                return false;
            }
        }
        // The kernel that does not tell of its room tells by taking less.
        self.room = self.room.saturating_sub(needed);
        true
    }
}
