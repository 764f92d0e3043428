//! The event loop: one thread, one epoll set, any number of connections, both sides of calls.
//!
//! A turn: do what came by the inbox, write what waits, sleep until something is ready or due,
//! read, dispatch, write. Every connection is written at most once for each time it was read.
//! Nothing in a turn locks except the inbox, and a request that is answered at once costs no
//! allocation; a call that a future awaits costs one, where its end is left for it.
//!
//! ```text
//!   other threads, futures            EventLoop::turn
//!   ───────────────────────┐   ┌──────────────────────────────────────┐
//!   Client::call  ── Command ──▶ inbox ─▶ channels ─▶ core.call ──┐   │
//!   Outbound::send ─ Command ──▶                                  ▼   │
//!   woken tasks   ── TaskRef ──▶ tasks ──▶ core.respond ──▶ outbox ──▶ socket
//!                          │   │ tasks ◀── core.poll ◀── core ◀── buffer ◀── socket
//!   CallFuture ◀── CallSlot ◀──── completions ◀─┘                     │
//!   ───────────────────────┘   └──────────────────────────────────────┘
//! ```

mod alarm;
mod arena;
mod call;
mod call_map;
mod call_slot;
mod client;
mod closing;
mod commands;
mod connection;
mod dispatch;
mod giving_back;
mod handle;
mod inbox;
mod listener;
mod memory;
mod shm_links;
mod spawned;
mod stream;
mod stream_slot;
mod tasks;
mod threads;
mod timers;
mod watcher;

pub use client::Client;
pub use handle::LoopHandle;
pub use listener::ServerCounters;
pub use watcher::ConnectionWatcher;

pub(crate) use closing::NO_TLS_THERE;
pub(crate) use threads::Loops;

use crate::ServerOptions;
use crate::detection::ProtocolDetector;
use alarm::Alarms;
use arena::{Arena, Key};
use client::Channel;
use connection::Connection;
use corewire_driver::{AdaptiveSpin, ReadBuffers, SpinWait, after, clock, may_yield};
use corewire_message::Service;
use corewire_sys::{Address, Epoll, Interest, Listener, Readiness, Token};
use inbox::{Command, Shared, TaskRef};
use listener::Accepting;
use shm_links::ShmLinks;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tasks::Tasks;
use timers::{Due, Sleep, Timers};

/// How long a loop that drains waits for the first octets of connections that came in just before:
/// whoever has sent a call already is told that it was refused, instead of being cut off.
const UNDECIDED_GRACE: Duration = Duration::from_millis(100);

/// A loop that serves sockets asks at most so long before it sleeps: about what it costs both ends
/// that it sleeps and is woken. Its next request comes so soon only when it is busy.
const SERVING_PATIENCE: Duration = Duration::from_micros(5);

/// How often a connection whose messages are held back is looked at for what is due.
const HELD_BACK: Duration = Duration::from_millis(5);

/// What an epoll token stands for: its top octet.
mod source {
    pub(super) const WAKE: u8 = 0;
    pub(super) const LISTENER: u8 = 1;
    pub(super) const CONNECTION: u8 = 2;
    pub(super) const TIMER: u8 = 3;
}

/// An event loop. Runs on the thread that calls it; other threads reach it by its
/// [`handle`](Self::handle).
pub struct EventLoop {
    epoll: Epoll,
    shared: Arc<Shared>,
    connections: Arena<Connection>,
    services: Vec<Box<dyn Tasks>>,
    spawned: spawned::Spawned,
    listeners: Vec<Option<Accepting>>,
    channels: Vec<Option<Channel>>,
    buffers: ReadBuffers,
    /// Connections with something to write.
    dirty: Vec<Key>,
    /// Connections that have had their share of a turn and have more to do.
    behind: VecDeque<Key>,
    timers: Timers,
    alarms: Alarms,
    commands: Vec<Command>,
    /// Of the commands that were taken last, those that are still to be done.
    to_come: usize,
    ready: Vec<TaskRef>,
    /// The time of this turn, read once after each wait.
    now: Instant,
    waiting: Waiting,
    phase: Phase,
    shm_links: ShmLinks,
    /// A call's end was told in this turn.
    told: bool,
    /// A timer is set to give memory back.
    gives_back_later: bool,
}

/// How a turn waits: it asks again and again for a while before it sleeps, where that pays.
struct Waiting {
    /// For so long after something happened it never sleeps.
    busy_poll: Duration,
    /// When something last happened.
    active: Instant,
    /// How long it spins before it sleeps: a loop that serves.
    serving_patience: Duration,
    /// The same of a program that drives its loop and waits for answers: the most patient channel's.
    calling_patience: Duration,
    /// Whether that pays.
    spin: AdaptiveSpin,
}

impl Waiting {
    fn new(now: Instant) -> Self {
        Self {
            busy_poll: Duration::ZERO,
            active: now,
            serving_patience: Duration::ZERO,
            calling_patience: Duration::ZERO,
            spin: AdaptiveSpin::new(),
        }
    }

    fn polls(&self, now: Instant) -> bool {
        self.busy_poll > Duration::ZERO && now < after(self.active, self.busy_poll)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// Ends when nothing is in flight, at the latest then.
    Draining {
        since: Instant,
        until: Instant,
        /// No call of others is left: calls from here are refused too.
        callers: bool,
    },
    Ended,
}

impl EventLoop {
    /// A loop that has nothing to do yet.
    ///
    /// # Errors
    /// When the kernel gives no descriptor, or does not know how to wait (Linux before 5.11).
    pub fn new() -> io::Result<Self> {
        let mut epoll = Epoll::new()?;
        // What this kernel or this sandbox does not allow is told here, not by a loop that has been
        // started and ends.
        epoll.wait(Some(Duration::ZERO))?;
        let shared = Arc::new(Shared::new()?);
        let token = Token(u64::from(source::WAKE) << 56);
        epoll.add_bell(shared.wake_fd().as_fd(), token)?;
        let alarms = Alarms::new(&epoll, Token(u64::from(source::TIMER) << 56))?;
        let now = clock();
        Ok(Self {
            epoll,
            shared,
            connections: Arena::new(),
            services: Vec::new(),
            spawned: spawned::Spawned::default(),
            listeners: Vec::new(),
            channels: Vec::new(),
            buffers: ReadBuffers::default(),
            dirty: Vec::new(),
            behind: VecDeque::new(),
            timers: Timers::default(),
            alarms,
            commands: Vec::new(),
            to_come: 0,
            ready: Vec::new(),
            now,
            waiting: Waiting::new(now),
            phase: Phase::Running,
            shm_links: ShmLinks::new(),
            told: false,
            gives_back_later: false,
        })
    }

    /// A way to this loop from any thread.
    #[must_use]
    pub fn handle(&self) -> LoopHandle {
        LoopHandle(Arc::clone(&self.shared))
    }

    /// Asks again and again for so long after something happened before sleeping. Burns the CPU
    /// meanwhile; pays only when both ends have a core each. Default zero: off.
    pub const fn set_busy_poll(&mut self, busy_poll: Duration) {
        self.waiting.busy_poll = busy_poll;
    }

    /// Serves connections that come in at `address`; gives the address with its port.
    ///
    /// # Errors
    /// What the kernel says, for example that the address is in use.
    pub fn listen<S: Service>(
        &mut self,
        address: &Address,
        service: Arc<S>,
        options: Arc<ServerOptions>,
    ) -> io::Result<Address> {
        let listener = Listener::bind(address, false)?;
        self.accept_from(listener, service, options, Arc::default())
    }

    pub(crate) fn accept_from<S: Service>(
        &mut self,
        socket: Listener,
        service: Arc<S>,
        options: Arc<ServerOptions>,
        counters: Arc<ServerCounters>,
    ) -> io::Result<Address> {
        let address = socket.address()?;
        let token = Token(u64::from(source::LISTENER) << 56 | self.listeners.len() as u64);
        self.epoll.add(socket.as_fd(), token, Interest::Read)?;
        self.waiting.busy_poll = self.waiting.busy_poll.max(options.busy_poll);
        self.shm_links.window = options.patience;
        self.waiting.serving_patience = self
            .waiting
            .serving_patience
            .max(options.patience.min(SERVING_PATIENCE));
        let tasks = tasks::tasks_of(service, Arc::clone(&self.shared), self.services.len());
        let kind_of = tasks.kind_of();
        // A listener and its service have the same number.
        self.services.push(tasks);
        self.listeners.push(Some(Accepting {
            socket: Some(socket),
            detector: ProtocolDetector { kind_of, options },
            counters,
            orphans: 0,
        }));
        Ok(address)
    }

    /// Runs until it is stopped or drained.
    ///
    /// # Errors
    /// When the kernel refuses to wait; the loop has ended and calls in flight have failed then.
    pub fn run(&mut self) -> io::Result<()> {
        while self.phase != Phase::Ended {
            if let Err(error) = self.turn(None, self.waiting.serving_patience) {
                self.end();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Runs one turn, which waits at most `timeout` (`None`: until something happens); says
    /// whether the loop goes on.
    ///
    /// A thread that drives its loop so waits for answers as a blocking caller does: it asks for
    /// [`ClientOptions::patience`](crate::ClientOptions::patience) of its most patient client before it
    /// sleeps, as long as that pays, and lets others run between. A loop that serves somebody waits as
    /// it does in [`run`](Self::run).
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn run_once(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let patience = if self.listeners.is_empty() {
            self.waiting.calling_patience
        } else {
            self.waiting.serving_patience
        };
        self.turn(timeout, patience)?;
        Ok(self.phase != Phase::Ended)
    }

    /// Runs until `future` completes. Its wakers may be used from any thread.
    ///
    /// # Errors
    /// When the kernel refuses to wait, or the loop is stopped first.
    pub fn block_on<F: Future>(&mut self, future: F) -> io::Result<F::Output> {
        struct Flag(Arc<Shared>, AtomicBool);
        impl Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.wake_by_ref();
            }
            fn wake_by_ref(self: &Arc<Self>) {
                // Who set it first interrupts.
                if !self.1.swap(true, Ordering::AcqRel) {
                    self.0.interrupt();
                }
            }
        }
        let flag = Arc::new(Flag(Arc::clone(&self.shared), AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&flag));
        let mut future = pin!(future);
        loop {
            if flag.1.swap(false, Ordering::AcqRel) {
                // The wake that is heeded now must not end the next wait as well. One that comes from
                // here on sets the flag again, which is looked at below.
                self.shared.acknowledge_interrupt();
                let mut cx = Context::from_waker(&waker);
                if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                    return Ok(output);
                }
            }
            let timeout = flag.1.load(Ordering::Acquire).then_some(Duration::ZERO);
            self.turn(timeout, self.waiting.serving_patience)?;
            if self.phase == Phase::Ended {
                return Err(io::Error::other("the event loop was stopped"));
            }
        }
    }

    fn turn(&mut self, timeout: Option<Duration>, patience: Duration) -> io::Result<()> {
        self.told = false;
        self.do_inbox();
        self.flush_dirty();
        self.end_when_drained();
        if self.phase == Phase::Ended {
            return Ok(());
        }
        let timeout = if self.told || !self.behind.is_empty() {
            Some(Duration::ZERO)
        } else {
            timeout
        };
        let ready = self.wait(timeout, patience)?;
        if ready > 0 || self.shm_links.has_news() {
            self.waiting.active = self.now;
            self.shm_links.happened();
        }
        for index in 0..ready {
            if let Some(readiness) = self.epoll.readiness(index) {
                self.do_readiness(readiness);
            }
        }
        self.do_memories();
        self.do_behind();
        self.do_timers();
        self.flush_dirty();
        self.end_when_drained();
        Ok(())
    }

    /// Waits for readiness; gives how much of it there is and sets the turn's time.
    fn wait(&mut self, timeout: Option<Duration>, patience: Duration) -> io::Result<usize> {
        let polling = self.waiting.polls(self.now);
        self.arm()?;
        let ready = if !self.shm_links.is_empty() {
            self.wait_with_memories(if polling {
                Some(Duration::ZERO)
            } else {
                timeout
            })
        } else if polling || !self.shared.fall_asleep() {
            self.epoll.wait(Some(Duration::ZERO))
        } else {
            let is_patient =
                patience > Duration::ZERO && timeout.is_none_or(|timeout| timeout >= patience);
            let is_awake = is_patient && may_yield(self.now) && self.waiting.spin.should_spin();
            let ready = if is_awake {
                self.wait_awake(timeout, patience)
            } else {
                self.epoll.wait(timeout)
            };
            self.shared.awake();
            ready
        };
        self.now = clock();
        ready
    }

    /// Asks for a while before it sleeps. Others ring as if it slept.
    fn wait_awake(&mut self, timeout: Option<Duration>, patience: Duration) -> io::Result<usize> {
        let mut awake = SpinWait::begin(self.now, patience);
        while awake.yield_now() {
            let ready = self.epoll.wait(Some(Duration::ZERO))?;
            if ready > 0 {
                self.waiting.spin.learn_from(awake.end(true));
                return Ok(ready);
            }
        }
        self.waiting.spin.learn_from(awake.end(false));
        self.epoll.wait(timeout)
    }

    /// Sees that the wait ends when something is due.
    fn arm(&mut self) -> io::Result<()> {
        match self.next_due() {
            Some(due) => self.alarms.set(due),
            None => Ok(()),
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let timer = self.timers.next();
        match self.phase {
            Phase::Draining { since, until, .. } => {
                let grace = since + UNDECIDED_GRACE;
                let until = if self.now < grace {
                    until.min(grace)
                } else {
                    until
                };
                Some(timer.map_or(until, |at| at.min(until)))
            }
            _ => timer,
        }
    }

    fn do_readiness(&mut self, readiness: Readiness) {
        match (readiness.token.0 >> 56) as u8 {
            // A bell: that the wait has ended is all.
            source::WAKE => {}
            source::TIMER => self.alarms.rang(readiness.token),
            source::LISTENER => {
                let listener = (readiness.token.0 & 0xffff_ffff) as usize;
                self.accept(listener);
            }
            _ => {
                if let Some(key) = self.connections.find(readiness.token) {
                    self.on_bell(key, readiness);
                }
            }
        }
    }

    fn do_timers(&mut self) {
        while let Some(due) = self.timers.pop_due(self.now) {
            match due {
                Due::Wake(sleep) => Sleep::end(&sleep),
                Due::Connection(key) => self.do_timeout(key),
                Due::Accept(listener) => self.resume_accepting(listener),
                Due::GiveBack => self.give_back_now(),
            }
        }
    }

    /// Sees that the connection is looked at when it wants it. It has one timer, which is set earlier
    /// but never later: a call that ended in time costs nothing here, the timer finds nothing to do
    /// and is set anew.
    fn set_timer(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Some(mut at) = connection.due() else {
            return;
        };
        if connection.held_back {
            // It is due at once as long as something is held back, and can do nothing about it.
            at = at.max(after(self.now, HELD_BACK));
        }
        if let Some((set, id)) = connection.timer {
            if set <= at {
                return;
            }
            self.timers.remove(id);
        }
        connection.timer = Some((at, self.timers.insert(at, Due::Connection(key))));
    }

    fn mark_dirty(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && !connection.dirty
        {
            connection.dirty = true;
            self.dirty.push(key);
        }
    }

    fn flush_dirty(&mut self) {
        while let Some(key) = self.dirty.pop() {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.dirty = false;
                self.flush(key);
            }
        }
    }

    /// Writes what waits, then sees to the timer, to epoll, and to whether it is time to close.
    fn flush(&mut self, key: Key) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if let Err(error) = connection.flush(now) {
            self.drain_input(key);
            self.close(key, Some(error.to_string()));
            return;
        }
        if connection.is_done() {
            self.close(key, None);
            return;
        }
        // Writing makes room: for streams that waited for it, for requests that were held back. One that
        // has had its share of the turn waits for its next.
        if !connection.behind {
            self.do_outputs(key);
        }
        let limits = self.limits(key);
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let interest = connection.wanted_interest(limits.backlog);
        if interest != connection.interest && connection.socket.is_memory() {
            // Its bell is always waited for; the memory itself is looked at for what is wanted.
            connection.interest = interest;
        } else if interest != connection.interest {
            connection.interest = interest;
            let token = key.to_token(source::CONNECTION);
            if let Err(error) = self
                .epoll
                .change(connection.socket.as_fd(), token, interest)
            {
                self.close(key, Some(error.to_string()));
                return;
            }
        }
        self.set_timer(key);
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        if self.phase != Phase::Ended {
            self.end();
        }
    }
}

impl std::fmt::Debug for EventLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "EventLoop({} connections, {:?})",
            self.connections.len(),
            self.phase
        )
    }
}

#[cfg(test)]
mod tests;
