//! Connections in shared memory: looked at while it pays, waited for otherwise.
//!
//! A loop that looks by itself needs no system call for a message; one that sleeps is rung for at a
//! descriptor in its epoll set. Awake it looks at the memories for [`ServerOptions::patience`]
//! after something happened, a few times between its other duties; when nothing comes in that time
//! it learns that this does not pay, as a blocking caller does.
//!
//! [`ServerOptions::patience`]: crate::ServerOptions::patience

use super::arena::{Arena, Key};
use super::connection::Connection;
use super::{EventLoop, after};
use crate::blocking::Patience;
use std::io;
use std::time::{Duration, Instant};

/// Looks at the memories between two looks at the clock, the inbox and the timers.
const LOOKS_A_TURN: usize = 64;

/// Turns with something in a memory between two looks at the sockets.
const TURNS_WITHOUT_SOCKETS: usize = 16;

/// More connections than this are not looked at by turns, they ring: looking costs for each.
const MOST_LOOKED_AT: usize = 64;

/// The shared memories of a loop.
#[derive(Debug)]
pub(super) struct Memories {
    keys: Vec<Key>,
    /// Those with something to do, found by the last look.
    news: Vec<Key>,
    pub(super) window: Duration,
    patience: Patience,
    /// Looks by itself until the window has passed.
    awake: bool,
    turns: usize,
}

impl Memories {
    pub(super) fn new() -> Self {
        Self {
            keys: Vec::new(),
            news: Vec::new(),
            window: Duration::from_micros(50),
            patience: Patience::new(),
            awake: false,
            turns: 0,
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
            self.awake = self.keys.len() <= MOST_LOOKED_AT
                && self.window > Duration::ZERO
                && self.patience.is_worth_it();
        }
    }

    /// Whether the loop should look by itself now.
    fn is_awake(&mut self, now: Instant, active: Instant) -> bool {
        if self.awake && now >= after(active, self.window) {
            self.patience.learn(false);
            self.awake = false;
        }
        self.awake
    }

    /// Looks for connections with something to do.
    fn look(&mut self, connections: &mut Arena<Connection>) -> bool {
        let Self { keys, news, .. } = self;
        let has_news = |key: &&Key| {
            let found = connections.get_mut(**key);
            found.is_some_and(|connection| connection.has_memory_news())
        };
        news.extend(keys.iter().filter(has_news));
        !news.is_empty()
    }

    /// Before the loop sleeps: whether it may. All peers ring from now on.
    fn may_sleep(&mut self, connections: &mut Arena<Connection>) -> bool {
        let Self { keys, news, .. } = self;
        let is_busy = |key: &&Key| {
            let found = connections.get_mut(**key);
            found.is_some_and(|connection| !connection.may_sleep())
        };
        news.extend(keys.iter().filter(is_busy));
        news.is_empty()
    }
}

impl EventLoop {
    /// Waits as [`Epoll::wait`](corewire_sys::Epoll::wait) does, and for news in shared memory.
    pub(super) fn wait_with_memories(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        if timeout != Some(Duration::ZERO) && self.memories.is_awake(self.now, self.active) {
            for _ in 0..LOOKS_A_TURN {
                if self.memories.look(&mut self.connections) {
                    self.memories.patience.learn(true);
                    break;
                }
                std::hint::spin_loop();
            }
            self.memories.turns += 1;
            if !self.memories.news.is_empty() && self.memories.turns < TURNS_WITHOUT_SOCKETS {
                return Ok(0);
            }
            self.memories.turns = 0;
            return self.epoll.wait(Some(Duration::ZERO));
        }
        let at_once = Some(Duration::ZERO);
        if timeout == at_once || !self.memories.may_sleep(&mut self.connections) {
            self.memories.look(&mut self.connections);
            self.memories.news.dedup();
            return self.epoll.wait(at_once);
        }
        if !self.shared.fall_asleep() {
            return self.epoll.wait(at_once);
        }
        let ready = self.epoll.wait(timeout);
        self.shared.awake();
        ready
    }

    /// Does what the last look at the memories found.
    pub(super) fn do_memories(&mut self) {
        let news = self.memories.take_news();
        for key in &news {
            self.do_connection_in_memory(*key);
        }
        self.memories.give_back(news);
    }
}
