//! A timer that epoll reports, and short sleeps.

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

/// How late the kernel may wake a thread whose sleeps are to be exact.
const EXACT_NANOS: libc::c_ulong = 1000;

/// Has this thread woken when it asked to be, and not up to 50 us later, which is the kernel's own choice.
pub fn sleep_exactly_from_now_on() {
    set_slack(EXACT_NANOS);
}

/// Sleeps as short as this, once: the thread may be another library's, and keeps the slack that it had.
pub fn sleep_exactly(duration: Duration) {
    // SAFETY: this option of prctl gives a number and touches no memory.
    let usual = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) };
    set_slack(EXACT_NANOS);
    std::thread::sleep(duration);
    if let Ok(usual) = libc::c_ulong::try_from(usual) {
        set_slack(usual.max(1));
    }
}

fn set_slack(nanos: libc::c_ulong) {
    // SAFETY: this option of prctl takes a number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanos, 0, 0, 0) };
}

/// Nanoseconds of the monotonic clock, as C programs read it.
#[must_use]
pub fn monotonic_nanos() -> u64 {
    let mut now = timespec(Duration::ZERO);
    // SAFETY: the kernel writes the timespec, which is alive.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
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
    #[test]
    fn an_exact_sleep_leaves_the_slack_as_it_was() {
        // SAFETY: this option of prctl gives a number and touches no memory.
        let slack = || unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) };
        let usual = slack();
        let (before, nanos) = (Instant::now(), monotonic_nanos());
        sleep_exactly(Duration::from_micros(200));
        assert!(before.elapsed() >= Duration::from_micros(200));
        assert!(monotonic_nanos() - nanos >= 200_000);
        assert_eq!(slack(), usual);
        sleep_exactly_from_now_on();
        assert_eq!(slack(), EXACT_NANOS as i32);
    }
}
