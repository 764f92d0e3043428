//! Waking a thread that waits in epoll.

use crate::calls::count;
use crate::socket::check;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A descriptor that becomes readable when woken (`eventfd`).
#[derive(Debug)]
pub struct WakeFd {
    fd: OwnedFd,
}

impl WakeFd {
    /// One that is not woken.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new() -> io::Result<Self> {
        // SAFETY: eventfd touches no memory.
        let raw = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: `raw` was just opened and nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Self { fd })
    }

    /// Makes it readable. Fails only when it has been woken 2^64 - 2 times: it is readable then.
    pub fn wake(&self) {
        count(|calls| &mut calls.bells);
        let one = 1u64.to_ne_bytes();
        // SAFETY: pointer and length are those of eight live octets.
        unsafe { libc::write(self.fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Makes it unreadable until it is woken again.
    pub fn clear(&self) {
        count(|calls| &mut calls.bells);
        let mut times = [0u8; 8];
        // SAFETY: pointer and length are those of eight live octets that may be written.
        unsafe { libc::read(self.fd.as_raw_fd(), times.as_mut_ptr().cast(), times.len()) };
    }
}

impl AsFd for WakeFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
