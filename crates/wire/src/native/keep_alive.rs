//! Whether the peer still lives.
//!
//! ```text
//!            interval without an octet            timeout without an octet
//!   Heard ------------------------------> Asked -----------------------------> dead
//!     ^                                     |
//!     +------------- any octet -------------+
//! ```

use std::time::{Duration, Instant};

/// When something was last heard, and whether it was asked for.
#[derive(Debug)]
pub(super) struct KeepAlive {
    interval: Option<Duration>,
    timeout: Duration,
    heard: Instant,
    asked: Option<Instant>,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    Ping,
    Dead,
}

impl KeepAlive {
    pub(super) const fn new(interval: Option<Duration>, timeout: Duration, now: Instant) -> Self {
        Self {
            interval,
            timeout,
            heard: now,
            asked: None,
        }
    }

    /// The peer will not answer while no call waits: do not ask.
    pub(super) const fn turn_off(&mut self) {
        self.interval = None;
        self.asked = None;
    }

    pub(super) const fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    pub(super) fn next(&self) -> Option<Instant> {
        match self.asked {
            Some(asked) => asked.checked_add(self.timeout),
            None => self.heard.checked_add(self.interval?),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) -> Due {
        if self.next().is_none_or(|next| next > now) {
            return Due::Nothing;
        }
        if self.asked.is_some() {
            return Due::Dead;
        }
        self.asked = Some(now);
        Due::Ping
    }
}
