//! The descriptor that tells of messages: what `rmr_get_rcvfd` gives.
//!
//! It is to be polled, as RMR's page says, and then it is readable exactly while a message waits. But a
//! program may also read it, as one reads an eventfd of one's own, before or after it takes a message.
//! A reading takes one, as from the C library's, and must not hide that messages wait: a program that
//! was seen to read finds more than one in it, and all others are looked after now and then.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// What a program that reads finds in it while a message waits: one for a reading before the
/// message is taken, or after, and one that stays.
const FOR_READERS: u64 = 2;

/// A descriptor that is readable while it is not empty; a reading takes one.
#[derive(Debug)]
pub(crate) struct Readable {
    fd: OwnedFd,
}

impl Readable {
    /// An empty one.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK | libc::EFD_SEMAPHORE;
        // SAFETY: eventfd touches no memory.
        let raw = unsafe { libc::eventfd(0, flags) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Self { fd })
    }

    /// The descriptor's number.
    pub(crate) fn number(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Makes it readable; `is_read`: a program was seen to read it.
    pub(crate) fn fill(&self, is_read: bool) {
        let count = if is_read { FOR_READERS } else { 1 };
        let octets = count.to_ne_bytes();
        // SAFETY: pointer and length are those of eight live octets.
        unsafe { libc::write(self.number(), octets.as_ptr().cast(), octets.len()) };
    }

    /// Empties it; whether there was anything in it.
    pub(crate) fn empty(&self) -> bool {
        let mut was_full = false;
        let mut octets = [0u8; 8];
        // SAFETY: pointer and length are those of eight live octets that may be written.
        while unsafe { libc::read(self.number(), octets.as_mut_ptr().cast(), octets.len()) } > 0 {
            was_full = true;
        }
        was_full
    }

    /// Whether there is anything in it.
    pub(crate) fn is_full(&self) -> bool {
        let mut asked = libc::pollfd {
            fd: self.number(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one live pollfd, and no waiting.
        unsafe { libc::poll(&raw mut asked, 1, 0) > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(readable: &Readable) -> bool {
        let mut octets = [0u8; 8];
        // SAFETY: as in `empty`.
        unsafe { libc::read(readable.number(), octets.as_mut_ptr().cast(), 8) == 8 }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no such eventfd")]
    fn one_reading_leaves_something_for_those_who_poll() {
        let readable = Readable::new().unwrap();
        assert!(!readable.is_full() && !readable.empty());
        readable.fill(false);
        assert!(readable.is_full());
        assert!(read(&readable) && !readable.is_full() && !readable.empty());
        readable.fill(true);
        assert!(read(&readable) && readable.is_full());
        assert!(readable.empty() && !readable.is_full());
    }
}
