//! What links, driver and threads of one context share.

use crate::flusher::{Flusher, Gathering};
use corewire_rmr::EndpointCounters;
use corewire_sys::{Socket, WakeFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// What a program chooses for a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conduct {
    /// Whether SI95 messages that come fast wait in this process, and not in the kernel: cheaper, and lost
    /// when the process dies.
    pub(crate) gathers: bool,
    /// How long a queue that is full and from which nothing is taken holds senders back. `None`: for ever.
    pub(crate) holds_unread: Option<Duration>,
}

/// Shared by everything that belongs to one context.
pub(crate) struct Shared<L> {
    /// Writes what senders leave behind.
    pub(crate) flusher: Flusher<L>,
    /// Wakes whoever drives the sockets, as long as anybody may: a context outlives its sockets.
    wake: OnceLock<Weak<WakeFd>>,
    /// What became of messages to peers that are known by their connection only.
    pub(crate) back_counts: Arc<EndpointCounters>,
    conduct: Conduct,
    newcomers: Mutex<Vec<Newcomer<L>>>,
    quick_ack: AtomicBool,
    closed: AtomicBool,
    over: Condvar,
}

/// A connection that a sender made, on its way to the driver.
type Newcomer<L> = (Arc<Socket>, Arc<L>);

impl<L: Gathering> Shared<L> {
    /// Of a context that has just been made.
    pub(crate) fn new(conduct: Conduct) -> Self {
        Self {
            flusher: Flusher::default(),
            wake: OnceLock::new(),
            back_counts: Arc::default(),
            conduct,
            newcomers: Mutex::default(),
            quick_ack: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            over: Condvar::new(),
        }
    }

    /// What wakes whoever drives, which is the driver's.
    pub(crate) fn set_wake(&self, wake: &Arc<WakeFd>) {
        // A context has one driver.
        let _ = self.wake.set(Arc::downgrade(wake));
    }

    /// Wakes whoever drives the sockets, if anybody can.
    pub(crate) fn wake(&self) {
        if let Some(wake) = self.wake.get().and_then(Weak::upgrade) {
            wake.wake();
        }
    }

    /// What the program chose.
    pub(crate) fn conduct(&self) -> Conduct {
        self.conduct
    }

    /// A connection that a sender made is to be read as well.
    pub(crate) fn adopt(&self, socket: Arc<Socket>, link: Arc<L>) {
        self.queue().push((socket, link));
        self.wake();
    }

    /// The connections that were made since the last time.
    pub(crate) fn newcomers(&self) -> Vec<Newcomer<L>> {
        std::mem::take(&mut *self.queue())
    }

    /// Whether connections acknowledge at once.
    pub(crate) fn quick_ack(&self) -> bool {
        self.quick_ack.load(Ordering::Relaxed)
    }

    /// Connections made from now on acknowledge at once.
    pub(crate) fn set_quick_ack(&self) {
        self.quick_ack.store(true, Ordering::Relaxed);
    }

    /// Whether the context is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Marks the context as closed; whether it was open.
    pub(crate) fn close(&self) -> bool {
        let was_open = !self.closed.swap(true, Ordering::AcqRel);
        let _guard = self.queue();
        self.over.notify_all();
        was_open
    }

    /// Does nothing for a while, or until the context is closed.
    pub(crate) fn rest(&self, wait: Duration) {
        let guard = self.queue();
        if !self.is_closed() {
            // Whether it is over or in time, the caller looks.
            drop(self.over.wait_timeout(guard, wait));
        }
    }

    fn queue(&self) -> MutexGuard<'_, Vec<Newcomer<L>>> {
        self.newcomers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
