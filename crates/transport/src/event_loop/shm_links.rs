//! A loop's connections in shared memory, and when it looks at them by itself.
//!
//! Awake it looks for [`ServerOptions::patience`] after something happened, a few times between its other
//! duties; when nothing comes in that time it learns that this does not pay, as a blocking caller does.
//!
//! [`ServerOptions::patience`]: crate::ServerOptions::patience

use super::arena::{Arena, Key};
use super::connection::Connection;
use corewire_driver::{ShmPolling, after};
use std::time::{Duration, Instant};

/// The shared memories of a loop.
#[derive(Debug)]
pub(super) struct ShmLinks {
    keys: Vec<Key>,
    /// Those with something to do, found by the last look.
    pub(super) news: Vec<Key>,
    pub(super) window: Duration,
    pub(super) polling: ShmPolling,
    /// Looks by itself until the window has passed.
    awake: bool,
}

impl ShmLinks {
    pub(super) fn new() -> Self {
        Self {
            keys: Vec::new(),
            news: Vec::new(),
            window: Duration::from_micros(50),
            polling: ShmPolling::new(),
            awake: false,
        }
    }

    pub(super) fn add(&mut self, key: Key) {
        self.keys.push(key);
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.keys.retain(|other| *other != key);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) const fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    pub(super) fn take_news(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.news)
    }

    pub(super) fn give_back(&mut self, mut news: Vec<Key>) {
        news.clear();
        self.news = news;
    }

    /// Something happened: whether to stay awake after it is decided anew.
    pub(super) fn happened(&mut self) {
        if !self.awake && !self.keys.is_empty() {
            self.awake = self.window > Duration::ZERO && self.polling.should_look(self.keys.len());
        }
    }

    /// Whether the loop should look by itself now.
    pub(super) fn is_awake(&mut self, now: Instant, active: Instant) -> bool {
        if self.awake && now >= after(active, self.window) {
            self.polling.learn(false);
            self.awake = false;
        }
        self.awake
    }

    /// Looks for connections with something to do.
    pub(super) fn look(&mut self, connections: &mut Arena<Connection>) -> bool {
        let Self { keys, news, .. } = self;
        let has_news = |key: &&Key| {
            let found = connections.get_mut(**key);
            found.is_some_and(|connection| connection.has_memory_news())
        };
        news.extend(keys.iter().filter(has_news));
        !news.is_empty()
    }

    /// Before the loop sleeps: whether it may. All peers ring from now on.
    pub(super) fn may_sleep(&mut self, connections: &mut Arena<Connection>) -> bool {
        let Self { keys, news, .. } = self;
        let is_busy = |key: &&Key| {
            let found = connections.get_mut(**key);
            found.is_some_and(|connection| !connection.may_sleep())
        };
        news.extend(keys.iter().filter(is_busy));
        news.is_empty()
    }
}
