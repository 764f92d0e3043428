//! The sockets that messages come by, driven by whichever thread holds this.
//!
//! One large buffer is read into; a connection keeps a buffer of its own only while a message of
//! it is there in part. Nothing is read from a connection before what came earlier is taken, so a
//! peer that is not listened to is held back by its own socket.

mod accepting;
mod burst;
mod connections;
mod leave;
mod room;
// Miri has no kernel for these.
#[cfg(all(test, not(miri)))]
mod tests;

pub(crate) use room::Limits;

use crate::arrival::{self, Arrival, Step};
use crate::link::{Link, Shared};
use crate::log::say;
use burst::Bursts;
use bytes::BytesMut;
use connections::Connections;
use corewire_driver::{LOOKS_A_TURN, ReadBuffers, ShmPolling, clock};
use corewire_rmr::LossKind;
use corewire_sys::{
    Epoll, Interest, Listener, Socket, Token, WakeFd, monotonic_nanos, sleep_exactly,
};
use corewire_wire::rmr::si95::Refusal;
use room::COPIED;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Octets that a message may be given room for before any of it has come.
const READ: usize = 256 * 1024;
/// Reads of one connection before the others have their turn.
const FAIR: u32 = 4;

/// After a failure, nothing is accepted for as long, unless a connection ends.
const MUTED: Duration = Duration::from_millis(100);
/// A wait as short as this means that messages follow each other closely.
const RUSH: Duration = Duration::from_micros(6);

/// How long to look at memories before sleeping.
const SHM_WINDOW: Duration = Duration::from_micros(50);

const LISTENER: Token = Token(u64::MAX);
const WAKE: Token = Token(u64::MAX - 1);
const MEMORY_LISTENER: Token = Token(u64::MAX - 2);

/// What whoever drives decides about a message.
pub(crate) enum Verdict<R> {
    /// It is dealt with; go on.
    Next,
    /// It is dealt with; stop with this.
    Done(R),
    /// It is not dealt with: leave it where it is and stop.
    Leave,
}

/// Why driving stopped.
pub(crate) enum Stopped<R> {
    /// With what was asked for.
    Done(R),
    /// A message was left where it is.
    Left,
    /// There is nothing more without waiting.
    Dry,
}

/// What the driver tells beside messages.
pub(crate) trait Observer {
    /// A connection has ended.
    fn ended(&mut self, link: &Arc<Link>, socket: &Arc<Socket>);
    /// A message or connection was refused because of what it says.
    fn refused(&mut self, kind: LossKind);
    /// A connection was made to us; it is known by this number.
    fn arrived(&mut self, number: i32, link: &Arc<Link>);
    /// The connection of that number is gone.
    fn departed(&mut self, number: i32);
}

/// Reads sockets and takes messages apart.
pub(crate) struct Driver {
    epoll: Epoll,
    listener: Option<Listener>,
    /// For peers of this host.
    memory_listener: Option<Listener>,
    shm_polling: ShmPolling,
    /// Since when nothing is accepted, because it failed.
    muted: Option<Instant>,
    shared: Arc<Shared>,
    wake: Arc<WakeFd>,
    connections: Connections,
    current: Option<Current>,
    buffers: ReadBuffers,
    /// Counts reads: which connection was silent longest.
    reads: u64,
    stamps: bool,
    /// The last wait was short.
    rushed: bool,
    bursts: Bursts,
    /// Why messages were refused of which nobody has been told.
    untold: Vec<Refusal>,
}

/// The connection being read.
struct Current {
    index: usize,
    buffer: BytesMut,
    at: usize,
    /// Reading again would find nothing.
    dry: bool,
    reads: u32,
    stamp: u64,
}

impl Driver {
    pub(crate) fn new(
        listener: Listener,
        memory_listener: Option<Listener>,
        shared: Arc<Shared>,
        limits: Limits,
        stamps: bool,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(listener.as_fd(), LISTENER, Interest::Read)?;
        if let Some(listener) = &memory_listener {
            epoll.add(listener.as_fd(), MEMORY_LISTENER, Interest::Read)?;
        }
        let wake = Arc::new(WakeFd::new()?);
        epoll.add(wake.as_fd(), WAKE, Interest::Read)?;
        shared.set_wake(&wake);
        Ok(Self {
            epoll,
            listener: Some(listener),
            memory_listener,
            shm_polling: ShmPolling::new(),
            muted: None,
            shared,
            wake,
            connections: Connections::new(limits),
            current: None,
            buffers: ReadBuffers::keeping(COPIED, 2 * READ),
            reads: 0,
            stamps,
            rushed: false,
            bursts: Bursts::default(),
            untold: Vec::new(),
        })
    }

    /// The next message of the connection being read, if it is there as a whole and `wanted`.
    pub(crate) fn at_hand<R>(&mut self, take: impl FnOnce(Arrival<'_>) -> Option<R>) -> Option<R> {
        let current = self.current.as_mut()?;
        let connection = self.connections.get_mut(current.index)?;
        loop {
            let octets = &current.buffer[current.at..];
            match connection.framing.step(octets) {
                Step::Message { consumed, message } => {
                    let arrival = Arrival {
                        message,
                        number: connection.number,
                        stamp: current.stamp,
                    };
                    let taken = take(arrival);
                    if taken.is_some() {
                        connection.framing.advance(consumed, &mut current.at);
                    }
                    return taken;
                }
                // The framing has noted it, so it is over; it is told of with the next turn.
                Step::Skipped { consumed, refused } => {
                    current.at += consumed;
                    if let Some(refusal) = refused {
                        self.untold.push(refusal);
                    }
                }
                Step::Need(_) | Step::Lost(_) => return None,
            }
        }
    }

    /// Takes messages until `take` says to stop or nothing is there without waiting.
    pub(crate) fn next<R>(
        &mut self,
        observer: &mut impl Observer,
        mut take: impl FnMut(Arrival<'_>) -> Verdict<R>,
    ) -> Stopped<R> {
        for refusal in self.untold.drain(..) {
            observer.refused(arrival::kind_of(&refusal));
            say!(Error, "a message is dropped: {refusal}");
        }
        loop {
            if self.current.is_none()
                && !self.open_next()
                && !(self.look(observer) && self.open_next())
            {
                return Stopped::Dry;
            }
            match self.drain(observer, &mut take) {
                Drained::Done(result) => return Stopped::Done(result),
                Drained::Left => return Stopped::Left,
                Drained::Lost => self.close_current(observer),
                Drained::Needs(octets) => self.read(observer, octets),
            }
        }
    }

    /// Waits for something to read, at most `timeout`, and accepts connections.
    pub(crate) fn wait(
        &mut self,
        timeout: Option<Duration>,
        observer: &mut impl Observer,
    ) -> io::Result<()> {
        self.adopt_newcomers();
        let begun = clock();
        if self.connections.in_memory() == 0 {
            let count = self.poll(timeout, observer)?;
            self.rushed = count > 0 && begun.elapsed() < RUSH;
            return Ok(());
        }
        self.rushed = false;
        let window = timeout.map_or(SHM_WINDOW, |timeout| timeout.min(SHM_WINDOW));
        if !window.is_zero() && self.shm_polling.should_look(self.connections.in_memory()) {
            let paid = self.look_for(begun, window);
            self.shm_polling.learn(paid);
            if paid {
                return Ok(());
            }
        }
        let at_once = Some(Duration::ZERO);
        let may_sleep = timeout != at_once && self.falls_asleep();
        let polled = self.poll(if may_sleep { timeout } else { at_once }, observer);
        // Until it sleeps again no peer need ring.
        self.connections.enqueue_in_memory(|socket| {
            socket.is_awake();
            false
        });
        polled.map(drop)
    }

    /// Looks for something in a memory, without a system call; now and then at the sockets as well.
    fn look(&mut self, observer: &mut impl Observer) -> bool {
        let found = self.connections.enqueue_in_memory(Socket::is_readable);
        if found && self.shm_polling.are_sockets_due(true) {
            // When this fails, so does waiting, which tells.
            let _ = self.poll(Some(Duration::ZERO), observer);
        }
        found
    }

    /// The same for a while.
    fn look_for(&mut self, begun: Instant, window: Duration) -> bool {
        loop {
            for _ in 0..LOOKS_A_TURN {
                if self.connections.enqueue_in_memory(Socket::is_readable) {
                    return true;
                }
                std::hint::spin_loop();
            }
            if begun.elapsed() >= window {
                return false;
            }
        }
    }

    /// Has all peers ring from now on; whether nothing is there.
    fn falls_asleep(&mut self) -> bool {
        let wakes = |socket: &Socket| !socket.may_sleep();
        !self.connections.enqueue_in_memory(wakes)
    }

    /// Sleeps for a moment before it asks again, while messages come so fast that each would wake
    /// its reader; whether something has come meanwhile.
    ///
    /// Nobody waits in the kernel then, so a program that writes each message by itself need not
    /// wake anybody, and what comes is read together.
    pub(crate) fn doze(&mut self, observer: &mut impl Observer) -> io::Result<bool> {
        if !self.rushed {
            return Ok(false);
        }
        sleep_exactly(self.pause());
        self.rushed = self.poll(Some(Duration::ZERO), observer)? > 0;
        Ok(self.rushed)
    }

    fn poll(
        &mut self,
        timeout: Option<Duration>,
        observer: &mut impl Observer,
    ) -> io::Result<usize> {
        let mut timeout = timeout;
        if let Some(since) = self.muted {
            if since.elapsed() >= MUTED {
                self.listen_again();
            } else {
                timeout = Some(timeout.map_or(MUTED, |timeout| timeout.min(MUTED)));
            }
        }
        let count = self.epoll.wait(timeout)?;
        for index in 0..count {
            let Some(readiness) = self.epoll.readiness(index) else {
                continue;
            };
            match readiness.token {
                WAKE => self.wake.clear(),
                LISTENER => self.accept(false, observer),
                MEMORY_LISTENER => self.accept(true, observer),
                Token(index) => {
                    if let Some(connection) = self.connections.get(index as usize) {
                        connection.socket.acknowledge_wake();
                    }
                    self.connections.enqueue(index as usize);
                }
            }
        }
        self.adopt_newcomers();
        Ok(count)
    }

    /// How long to leave messages to gather that follow each other closely.
    fn pause(&mut self) -> Duration {
        if !self.connections.holds_bursts() {
            return burst::PAUSE;
        }
        let accepted = self.connections.iter_mut();
        let accepted = accepted.filter(|it| it.accepted && !it.socket.is_memory());
        let looked_at = accepted.map(|it| (&*it.socket, &mut it.burst));
        self.bursts.pause(clock(), looked_at)
    }

    /// Goes to the next connection that has something.
    fn open_next(&mut self) -> bool {
        let Some((index, connection)) = self.connections.next_ready() else {
            return false;
        };
        let buffer = match connection.kept.take() {
            Some(kept) => self.buffers.take_with(kept),
            None => self.buffers.take(),
        };
        self.current = Some(Current {
            index,
            buffer,
            at: 0,
            dry: false,
            reads: 0,
            stamp: 0,
        });
        true
    }

    fn drain<R>(
        &mut self,
        observer: &mut impl Observer,
        take: &mut impl FnMut(Arrival<'_>) -> Verdict<R>,
    ) -> Drained<R> {
        let Some(current) = &mut self.current else {
            return Drained::Lost;
        };
        let Some(connection) = self.connections.get_mut(current.index) else {
            return Drained::Lost;
        };
        loop {
            let octets = &current.buffer[current.at..];
            match connection.framing.step(octets) {
                Step::Message { consumed, message } => {
                    let arrival = Arrival {
                        message,
                        number: connection.number,
                        stamp: current.stamp,
                    };
                    let verdict = take(arrival);
                    if !matches!(verdict, Verdict::Leave) {
                        connection.framing.advance(consumed, &mut current.at);
                    }
                    match verdict {
                        Verdict::Next => {}
                        Verdict::Done(result) => return Drained::Done(result),
                        Verdict::Leave => return Drained::Left,
                    }
                }
                Step::Skipped { consumed, refused } => {
                    current.at += consumed;
                    if let Some(refusal) = refused {
                        observer.refused(arrival::kind_of(&refusal));
                        say!(
                            Error,
                            "a message from {} is dropped: {refusal}",
                            connection.link.name()
                        );
                    }
                }
                Step::Need(octets) => return Drained::Needs(octets),
                Step::Lost(fault) => {
                    say!(
                        Error,
                        "the connection with {} is closed: {fault}",
                        connection.link.name()
                    );
                    observer.refused(LossKind::LostStream);
                    return Drained::Lost;
                }
            }
        }
    }

    /// Reads more of the current connection, or leaves it.
    fn read(&mut self, observer: &mut impl Observer, needed: usize) {
        let Some(current) = &mut self.current else {
            return;
        };
        let rest = current.buffer.len() - current.at;
        if current.at > 0 {
            current.buffer.copy_within(current.at.., 0);
            current.buffer.truncate(rest);
            current.at = 0;
        }
        if current.dry || current.reads >= FAIR {
            let again = !current.dry;
            self.leave(again);
            return self.make_room(observer);
        }
        let Some(connection) = self.connections.get_mut(current.index) else {
            return;
        };
        // A long message gets room as it comes, not as it promises.
        let wanted = needed.saturating_sub(rest).min(rest.max(READ));
        ReadBuffers::make_room(&mut current.buffer, wanted);
        let room = current.buffer.capacity() - current.buffer.len();
        match connection.socket.receive_now(&mut current.buffer) {
            Ok(0) => self.close_current(observer),
            Ok(count) => {
                current.reads += 1;
                self.reads += 1;
                connection.heard = self.reads;
                current.dry = count < room;
                if self.stamps {
                    current.stamp = monotonic_nanos();
                }
                let framing = &mut connection.framing;
                if let Err(error) = framing.take_in(&mut current.buffer, &connection.socket) {
                    let name = connection.link.name();
                    say!(Error, "the connection with {name} is closed: {error}");
                    observer.refused(LossKind::LostStream);
                    self.close_current(observer);
                } else if connection.accepted && framing.is_native() {
                    // It is no way back: only credit goes there.
                    connection.accepted = false;
                    observer.departed(connection.number);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                current.dry = true;
            }
            Err(_) => self.close_current(observer),
        }
    }

    /// Puts the current connection aside; `again` when there may be more to read.
    fn leave(&mut self, again: bool) {
        let Some(current) = self.current.take() else {
            return;
        };
        let kept = self.buffers.give_but_start(current.buffer);
        if let Some(connection) = self.connections.get_mut(current.index) {
            connection.kept = kept;
        }
        self.connections.account(current.index);
        if again {
            self.connections.enqueue(current.index);
        }
    }

    fn close_current(&mut self, observer: &mut impl Observer) {
        if let Some(current) = self.current.take() {
            self.buffers.give(current.buffer);
            self.close_one(current.index, observer);
        }
    }

    fn close_one(&mut self, index: usize, observer: &mut impl Observer) {
        if let Some(connection) = self.connections.take(index) {
            // It leaves the set before its number is used again.
            let _ = self.epoll.remove(connection.socket.as_fd());
            connection.socket.shutdown();
            if connection.accepted {
                observer.departed(connection.number);
            }
            observer.ended(&connection.link, &connection.socket);
            self.connections.leave_free(index);
            // Its descriptor, perhaps, is what accepting wanted.
            drop(connection);
            self.listen_again();
        }
    }

    /// Closes connections until the parts of messages take no more than they may.
    fn make_room(&mut self, observer: &mut impl Observer) {
        while let Some((index, [held, own, most])) = self.connections.crowded() {
            if let Some(connection) = self.connections.get(index) {
                say!(
                    Error,
                    "the connection with {} is closed: parts of messages take {held} octets, {own} of them \
                     its own; up to {most} are held",
                    connection.link.name()
                );
            }
            observer.refused(LossKind::Crowded);
            self.close_one(index, observer);
        }
    }

    /// Gives up the connection that was being read when something went wrong with it.
    pub(crate) fn abandon(&mut self, observer: &mut impl Observer) {
        if self.current.is_some() {
            say!(
                Critical,
                "a connection is given up: a fault of this library's"
            );
            observer.refused(LossKind::LostStream);
            self.close_current(observer);
        }
    }

    /// Closes everything.
    pub(crate) fn close(&mut self) {
        self.listener = None;
        self.memory_listener = None;
        for connection in self.connections.drain() {
            connection.socket.shutdown();
            connection.link.close();
        }
        self.current = None;
        self.buffers = ReadBuffers::keeping(COPIED, 2 * READ);
    }
}

enum Drained<R> {
    Done(R),
    Left,
    Lost,
    Needs(usize),
}
