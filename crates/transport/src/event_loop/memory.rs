//! Waiting with connections in shared memory: looked at while it pays, waited for otherwise.
//!
//! A loop that looks by itself needs no system call for a message; one that sleeps is rung for at a
//! descriptor in its epoll set.

use super::EventLoop;
use corewire_driver::LOOKS_A_TURN;
use std::io;
use std::time::Duration;

impl EventLoop {
    /// Waits as [`Epoll::wait`](corewire_sys::Epoll::wait) does, and for news in shared memory.
    pub(super) fn wait_with_memories(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        if timeout != Some(Duration::ZERO) && self.shm_links.is_awake(self.now, self.waiting.active)
        {
            for _ in 0..LOOKS_A_TURN {
                if self.shm_links.look(&mut self.connections) {
                    self.shm_links.polling.learn(true);
                    break;
                }
                std::hint::spin_loop();
            }
            let found = self.shm_links.has_news();
            if !self.shm_links.polling.are_sockets_due(found) {
                return Ok(0);
            }
            return self.epoll.wait(Some(Duration::ZERO));
        }
        let at_once = Some(Duration::ZERO);
        if timeout == at_once || !self.shm_links.may_sleep(&mut self.connections) {
            self.shm_links.look(&mut self.connections);
            self.shm_links.news.dedup();
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
        let news = self.shm_links.take_news();
        for key in &news {
            self.do_connection_in_memory(*key);
        }
        self.shm_links.give_back(news);
    }
}
