//! How many system calls a thread has made through this crate: for tests that fail when a message
//! comes to cost more of them. Counted with the feature `count-calls` only.

/// System calls of one thread, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Calls {
    /// Waits of an [`Epoll`](crate::Epoll), or in a [`WaitSet`](crate::WaitSet).
    pub waits: u64,
    /// Receives from sockets.
    pub receives: u64,
    /// Sends to sockets.
    pub sends: u64,
    /// Changes of an epoll set.
    pub changes: u64,
    /// Timers set, or cleared.
    pub timers: u64,
    /// Bells rung, or cleared, by a [`WakeFd`](crate::WakeFd); threads woken together in
    /// a [`WaitSet`](crate::WaitSet).
    pub bells: u64,
}

#[cfg(feature = "count-calls")]
mod counted {
    use super::Calls;
    use std::cell::Cell;

    thread_local! {
        static CALLS: Cell<Calls> = const {
            Cell::new(Calls {
                waits: 0,
                receives: 0,
                sends: 0,
                changes: 0,
                timers: 0,
                bells: 0,
            })
        };
    }

    /// Those that this thread has made since it began.
    #[must_use]
    pub fn calls_of_this_thread() -> Calls {
        CALLS.get()
    }

    pub(crate) fn count(which: impl FnOnce(&mut Calls) -> &mut u64) {
        // A thread that ends has nobody to ask.
        let _ = CALLS.try_with(|calls| {
            let mut all = calls.get();
            *which(&mut all) += 1;
            calls.set(all);
        });
    }
}

#[cfg(feature = "count-calls")]
pub use counted::calls_of_this_thread;
#[cfg(feature = "count-calls")]
pub(crate) use counted::count;

#[cfg(not(feature = "count-calls"))]
pub(crate) fn count(_which: impl FnOnce(&mut Calls) -> &mut u64) {}
