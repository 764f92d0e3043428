//! What ends a loop's wait when something is due.

use corewire_driver::clock;
use corewire_sys::{Epoll, TimerFd, Token};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// What is due sooner than this is near.
const NEAR: Duration = Duration::from_millis(100);

/// Two timers of the kernel: one for what is due soon, such as a sleep, one for what seldom comes due,
/// such as the deadlines of calls. With one alone each sleep that ends would have it set to the next
/// deadline, and the next sleep set it back.
#[derive(Debug)]
pub(super) struct Alarms([Alarm; 2]);

#[derive(Debug)]
struct Alarm {
    timer: TimerFd,
    /// When it goes off, if it is set.
    at: Option<Instant>,
}

impl Alarms {
    /// Both are in the set, and neither is going to go off. Their tokens are `token` and the next.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn new(epoll: &Epoll, token: Token) -> io::Result<Self> {
        let alarm = |token| {
            let timer = TimerFd::new()?;
            epoll.add_bell(timer.as_fd(), token)?;
            io::Result::Ok(Alarm { timer, at: None })
        };
        Ok(Self([alarm(token)?, alarm(Token(token.0 + 1))?]))
    }

    /// Sees that one goes off at `due` or before: it may be earlier, and then the loop wakes once for
    /// nothing, never later.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn set(&mut self, due: Instant) -> io::Result<()> {
        let is_early = |alarm: &Alarm| alarm.at.is_some_and(|at| at <= due);
        if self.0.iter().any(is_early) {
            return Ok(());
        }
        let left = due.saturating_duration_since(clock());
        let [near, far] = &mut self.0;
        let alarm = if left < NEAR { near } else { far };
        alarm.timer.set(left)?;
        alarm.at = Some(due);
        Ok(())
    }

    /// The one with this token went off.
    pub(super) fn rang(&mut self, token: Token) {
        self.0[(token.0 & 1) as usize].at = None;
    }
}
