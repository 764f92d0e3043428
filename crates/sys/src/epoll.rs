//! Readiness of many descriptors, with timeouts finer than a millisecond.

use crate::calls::count;
use crate::socket::{check, timespec};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// How many descriptors one wait reports at most; the rest come with the next.
const EVENTS_A_TURN: usize = 256;

/// What a descriptor is known by in [`Readiness`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

/// What to be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a driver asks for one of these four"
)]
pub enum Interest {
    /// Octets to read, or the end.
    Read,
    /// Room to write.
    Write,
    /// Both.
    ReadWrite,
    /// Only errors and the end: a peer is not read while it does not read.
    Neither,
}

impl Interest {
    const fn bits(self) -> u32 {
        (match self {
            Self::Read => libc::EPOLLIN | libc::EPOLLRDHUP,
            Self::Write => libc::EPOLLOUT,
            Self::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP,
            Self::Neither => 0,
        }) as u32
    }
}

/// What one descriptor is ready for.
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    /// Which descriptor.
    pub token: Token,
    /// There are octets, or the end, or an error that reading will tell.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
}

/// A set of descriptors to wait for, level triggered but for [bells](Self::add_bell).
pub struct Epoll {
    fd: OwnedFd,
    events: Box<[libc::epoll_event; EVENTS_A_TURN]>,
    ready: usize,
}

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new() -> io::Result<Self> {
        // SAFETY: epoll_create1 touches no memory.
        let raw = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Self {
            // SAFETY: `raw` was just opened and nobody else owns it.
            fd: unsafe { OwnedFd::from_raw_fd(raw) },
            events: Box::new([libc::epoll_event { events: 0, u64: 0 }; EVENTS_A_TURN]),
            ready: 0,
        })
    }

    /// Adds a descriptor. It leaves the set when it is closed.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add(&self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest.bits())
    }

    /// Adds a [`TimerFd`](crate::TimerFd) or a [`WakeFd`](crate::WakeFd) that is reported once each
    /// time it goes off: it need not be cleared, which spares a system call.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add_bell(&self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        let edge = (libc::EPOLLIN | libc::EPOLLET) as u32;
        self.control(libc::EPOLL_CTL_ADD, fd, token, edge)
    }

    /// Adds a socket that is reported each time something comes, room appears or it ends, and not
    /// again until then.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add_edges(&self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        let edges = Interest::ReadWrite.bits() | libc::EPOLLET as u32;
        self.control(libc::EPOLL_CTL_ADD, fd, token, edges)
    }

    /// Changes what to be told of a descriptor.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn change(&self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest.bits())
    }

    /// Takes a descriptor out.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, Token(0), 0)
    }

    fn control(
        &self,
        what: libc::c_int,
        fd: BorrowedFd<'_>,
        token: Token,
        events: u32,
    ) -> io::Result<()> {
        count(|calls| &mut calls.changes);
        let mut event = libc::epoll_event {
            events,
            u64: token.0,
        };
        // SAFETY: both descriptors are open and `event` outlives the call, which only reads it.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), what, fd.as_raw_fd(), &raw mut event) })
            .map(drop)
    }

    /// Waits until something is ready, at most `timeout` (`None`: until then); gives how many.
    /// An interrupted wait is a wait for nothing.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        count(|calls| &mut calls.waits);
        let left = timeout.map(timespec);
        let left = left.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the event array has EVENTS_A_TURN entries, the timespec (or null) outlives the
        // call, and no signal mask is given.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                EVENTS_A_TURN as libc::c_int,
                left,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        self.ready = match usize::try_from(result) {
            Ok(ready) => ready,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => 0,
                error => return Err(error),
            },
        };
        Ok(self.ready)
    }

    /// The `index`-th of those that the last wait counted.
    #[must_use]
    pub fn readiness(&self, index: usize) -> Option<Readiness> {
        let event = self.events[..self.ready].get(index)?;
        let bits = event.events;
        let told = |what: libc::c_int| bits & what as u32 != 0;
        Some(Readiness {
            token: Token(event.u64),
            readable: told(libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR),
            writable: told(libc::EPOLLOUT),
        })
    }
}

/// A set is readable itself when something in it is ready.
impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl std::fmt::Debug for Epoll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Epoll({:?})", self.fd)
    }
}

// Miri has no kernel for these.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::{TimerFd, WakeFd};
    use std::time::Instant;

    #[test]
    fn a_wait_ends_with_readiness_or_in_time() {
        let mut epoll = Epoll::new().unwrap();
        let wake = WakeFd::new().unwrap();
        epoll.add(wake.as_fd(), Token(7), Interest::Read).unwrap();
        let before = Instant::now();
        assert_eq!(epoll.wait(Some(Duration::from_micros(300))).unwrap(), 0);
        assert!(before.elapsed() >= Duration::from_micros(300));

        wake.wake();
        assert_eq!(epoll.wait(Some(Duration::from_secs(5))).unwrap(), 1);
        let readiness = epoll.readiness(0).unwrap();
        assert_eq!(readiness.token, Token(7));
        assert!(readiness.readable && !readiness.writable);
        assert!(epoll.readiness(1).is_none());

        wake.clear();
        assert_eq!(epoll.wait(Some(Duration::ZERO)).unwrap(), 0);
    }

    #[test]
    fn a_bell_is_heard_each_time_and_needs_no_clearing() {
        let mut epoll = Epoll::new().unwrap();
        let (wake, timer) = (WakeFd::new().unwrap(), TimerFd::new().unwrap());
        epoll.add_bell(wake.as_fd(), Token(1)).unwrap();
        epoll.add_bell(timer.as_fd(), Token(2)).unwrap();
        for _ in 0..3 {
            wake.wake();
            wake.wake();
            assert_eq!(epoll.wait(Some(Duration::from_secs(5))).unwrap(), 1);
            assert_eq!(epoll.readiness(0).unwrap().token, Token(1));
            assert_eq!(epoll.wait(Some(Duration::ZERO)).unwrap(), 0);
            timer.set(Duration::from_micros(50)).unwrap();
            assert_eq!(epoll.wait(Some(Duration::from_secs(5))).unwrap(), 1);
            assert_eq!(epoll.readiness(0).unwrap().token, Token(2));
            assert_eq!(epoll.wait(Some(Duration::ZERO)).unwrap(), 0);
        }
        // One that went off before it is set again is not told of.
        timer.set(Duration::from_nanos(1)).unwrap();
        while epoll.wait(Some(Duration::from_secs(5))).unwrap() == 0 {}
        timer.set(Duration::from_secs(3600)).unwrap();
        assert_eq!(epoll.wait(Some(Duration::ZERO)).unwrap(), 0);
    }
}
