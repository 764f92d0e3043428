//! The machine's monotonic clock, and a timer on it. tokio's own timers round to a millisecond, which
//! would show as latency: a sender that is paced by them is late by half of one.

use std::io;

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

pub(crate) const SECOND: u64 = 1_000_000_000;

/// All processes of a machine share this clock.
pub(crate) fn now_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// CPU time of this process.
pub(crate) fn own_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ProcessCPUTime))
}

fn ns(time: Timespec) -> u64 {
    time.tv_sec.cast_unsigned() * SECOND + time.tv_nsec.cast_unsigned()
}

/// A timer of the kernel's, to the nanosecond.
#[derive(Debug)]
pub(crate) struct Timer(AsyncFd<rustix::fd::OwnedFd>);

impl Timer {
    #[expect(
        deprecated,
        reason = "its successor is unsafe for types that may change their descriptor; an OwnedFd does not"
    )]
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self(AsyncFd::new(timer)?))
    }

    /// Comes back at `due`, or at once when that is past.
    pub(crate) async fn until(&self, due: u64) -> io::Result<()> {
        if due <= now_ns() {
            // The others have their turn all the same.
            tokio::task::yield_now().await;
            return Ok(());
        }
        let when = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: (due / SECOND).cast_signed(),
                tv_nsec: (due % SECOND).cast_signed(),
            },
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::ABSTIME, &when)?;
        loop {
            let mut ready = self.0.readable().await?;
            let mut times = [0; 8];
            let read = ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut times)?));
            if let Ok(read) = read {
                read?;
                return Ok(());
            }
        }
    }
}
