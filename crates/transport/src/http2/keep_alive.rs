//! Whether the peer still lives: silence is answered with a PING, silence after that is death.

use std::time::{Duration, Instant};

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

    pub(super) const fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    pub(super) fn next(&self) -> Option<Instant> {
        let interval = self.interval?;
        match self.asked {
            Some(asked) => asked.checked_add(self.timeout),
            None => self.heard.checked_add(interval),
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
