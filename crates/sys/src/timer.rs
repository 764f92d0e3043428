//! A timer that epoll reports.

use crate::calls::count;
use crate::socket::{check, timespec};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A descriptor that becomes readable at a time (`timerfd`).
///
/// Set when the earliest of many times changes, which is seldom, it spares each wait the setting up
/// and taking down of a timer of its own.
#[derive(Debug)]
pub struct TimerFd {
    fd: OwnedFd,
}

impl TimerFd {
    /// One that is not set.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: timerfd_create touches no memory.
        let raw = check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
        // SAFETY: `raw` was just opened and nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Self { fd })
    }

    /// Sets it; a time set before is forgotten, and it is unreadable until the new one. Zero is
    /// rounded up: to the kernel it would mean "never".
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set(&self, after: Duration) -> io::Result<()> {
        count(|calls| &mut calls.timers);
        let value = libc::itimerspec {
            it_interval: timespec(Duration::ZERO),
            it_value: timespec(after.max(Duration::from_nanos(1))),
        };
        let nothing = std::ptr::null_mut();
        // SAFETY: the value outlives the call, which only reads it; the old value is not asked for.
        let result =
            unsafe { libc::timerfd_settime(self.fd.as_raw_fd(), 0, &raw const value, nothing) };
        check(result).map(drop)
    }

    /// Makes it unreadable until it is set again.
    pub fn clear(&self) {
        count(|calls| &mut calls.timers);
        let mut times = [0u8; 8];
        // SAFETY: pointer and length are those of eight live octets that may be written.
        unsafe { libc::read(self.fd.as_raw_fd(), times.as_mut_ptr().cast(), times.len()) };
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

// Miri has no kernel for these.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::{Epoll, Interest, Token};
    use std::time::Instant;

    #[test]
    fn it_is_readable_when_its_time_has_come() {
        let mut epoll = Epoll::new().unwrap();
        let timer = TimerFd::new().unwrap();
        epoll.add(timer.as_fd(), Token(3), Interest::Read).unwrap();
        timer.set(Duration::from_secs(3600)).unwrap();
        assert_eq!(epoll.wait(Some(Duration::ZERO)).unwrap(), 0);
        let before = Instant::now();
        timer.set(Duration::from_millis(2)).unwrap();
        assert_eq!(epoll.wait(Some(Duration::from_secs(5))).unwrap(), 1);
        assert!(before.elapsed() >= Duration::from_millis(2));
        timer.clear();
        assert_eq!(epoll.wait(Some(Duration::ZERO)).unwrap(), 0);
    }
}
