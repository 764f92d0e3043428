//! The sockets that messages come by, driven by whichever thread holds this.
//!
//! One large buffer is read into; a connection keeps a buffer of its own only while a message of
//! it is there in part. Nothing is read from a connection before what came earlier is taken, so a
//! peer that is not listened to is held back by its own socket.

mod flood;
mod leave;
mod room;
// Miri has no kernel for these.
#[cfg(all(test, not(miri)))]
mod tests;

pub(crate) use room::Limits;

use crate::arrival::{self, Arrival, Framing, Step};
use crate::link::Link;
use crate::log::say;
use crate::memories::{LOOKS_A_TURN, Memories};
use crate::surroundings::Surroundings;
use bytes::BytesMut;
use corewire_rmr::LossKind;
use corewire_sys::{Epoll, Interest, Listener, Socket, Token, WakeFd};
use corewire_wire::rmr::si95::Refusal;
use flood::{Flood, Floods};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Octets to read at once.
const READ: usize = 256 * 1024;
/// Part of a message up to this is copied out of the large buffer, which the next connection uses.
const COPIED: usize = 16 * 1024;
/// Reads of one connection before the others have their turn.
const FAIR: u32 = 4;

/// A wait as short as this means that messages follow each other closely.
const RUSH: Duration = Duration::from_micros(6);
/// After a failure, nothing is accepted for as long, unless a connection ends.
const MUTED: Duration = Duration::from_millis(100);
/// How long to leave them to gather.
const DOZE: Duration = Duration::from_micros(15);

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
    memories: Memories,
    /// Since when nothing is accepted, because it failed.
    muted: Option<Instant>,
    around: Arc<Surroundings>,
    wake: Arc<WakeFd>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// Connections with something to read that have not had their turn.
    ready: VecDeque<usize>,
    current: Option<Current>,
    spare: Option<BytesMut>,
    next_number: i32,
    limits: Limits,
    /// Octets of messages that are there in part, all connections together.
    held: usize,
    /// Counts reads: which connection was silent longest.
    reads: u64,
    stamps: bool,
    /// The last wait was short.
    rushed: bool,
    floods: Floods,
    /// Why messages were refused of which nobody has been told.
    untold: Vec<Refusal>,
}

struct Connection {
    socket: Arc<Socket>,
    link: Arc<Link>,
    framing: Framing,
    /// What has come of a message.
    kept: Option<BytesMut>,
    /// Octets that it takes for that.
    held: usize,
    /// The number of its last read.
    heard: u64,
    queued: bool,
    number: i32,
    accepted: bool,
    flood: Flood,
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
        around: Arc<Surroundings>,
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
        around.set_wake(&wake);
        Ok(Self {
            epoll,
            listener: Some(listener),
            memory_listener,
            memories: Memories::new(),
            muted: None,
            around,
            wake,
            connections: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            current: None,
            spare: None,
            next_number: 0,
            limits: limits.usable(),
            held: 0,
            reads: 0,
            stamps,
            rushed: false,
            floods: Floods::default(),
            untold: Vec::new(),
        })
    }

    /// The next message of the connection being read, if it is there as a whole and `wanted`.
    pub(crate) fn at_hand<R>(&mut self, take: impl FnOnce(Arrival<'_>) -> Option<R>) -> Option<R> {
        let current = self.current.as_mut()?;
        let connection = self.connections.get_mut(current.index)?.as_mut()?;
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
        let begun = Instant::now();
        if self.memories.is_empty() {
            let count = self.poll(timeout, observer)?;
            self.rushed = count > 0 && begun.elapsed() < RUSH;
            return Ok(());
        }
        self.rushed = false;
        if let Some(window) = self.memories.window(timeout) {
            let paid = self.look_for(begun, window);
            self.memories.learn(paid);
            if paid {
                return Ok(());
            }
        }
        let at_once = Some(Duration::ZERO);
        let may_sleep = timeout != at_once && self.falls_asleep();
        let polled = self.poll(if may_sleep { timeout } else { at_once }, observer);
        // Until it sleeps again nobody need ring.
        self.each_memory(|socket| {
            socket.is_awake();
            false
        });
        polled.map(drop)
    }

    /// Looks for something in a memory, without a system call; now and then at the sockets as well.
    fn look(&mut self, observer: &mut impl Observer) -> bool {
        let found = self.each_memory(Socket::is_readable);
        if found && self.memories.is_sockets_turn() {
            // When this fails, so does waiting, which tells.
            let _ = self.poll(Some(Duration::ZERO), observer);
        }
        found
    }

    /// The same for a while.
    fn look_for(&mut self, begun: Instant, window: Duration) -> bool {
        loop {
            for _ in 0..LOOKS_A_TURN {
                if self.each_memory(Socket::is_readable) {
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
        !self.each_memory(|socket| !socket.may_sleep())
    }

    /// Has the memories of which `is_wanted` is true read next; whether there are any.
    fn each_memory(&mut self, is_wanted: impl Fn(&Socket) -> bool) -> bool {
        let mut any = false;
        for &index in self.memories.indexes() {
            if let Some(Some(connection)) = self.connections.get_mut(index)
                && is_wanted(&connection.socket)
            {
                any = true;
                if !connection.queued {
                    connection.queued = true;
                    self.ready.push_back(index);
                }
            }
        }
        any
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
        doze_for(self.doze_time());
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
                    if let Some(Some(connection)) = self.connections.get(index as usize) {
                        connection.socket.heed();
                    }
                    self.enqueue(index as usize);
                }
            }
        }
        self.adopt_newcomers();
        Ok(count)
    }

    /// Accepts again after descriptors had run out.
    fn listen_again(&mut self) {
        if self.muted.is_some() && self.listeners_want(Interest::Read) {
            self.muted = None;
        }
    }

    fn listeners_want(&self, interest: Interest) -> bool {
        let change = |listener: &Option<Listener>, token| {
            let Some(listener) = listener else {
                return true;
            };
            let changed = self.epoll.change(listener.as_fd(), token, interest);
            changed.is_ok()
        };
        let changed = change(&self.listener, LISTENER);
        change(&self.memory_listener, MEMORY_LISTENER) && changed
    }

    fn enqueue(&mut self, index: usize) {
        if let Some(Some(connection)) = self.connections.get_mut(index)
            && !connection.queued
        {
            connection.queued = true;
            self.ready.push_back(index);
        }
    }

    fn accept(&mut self, memory: bool, observer: &mut impl Observer) {
        loop {
            let listener = if memory {
                &self.memory_listener
            } else {
                &self.listener
            };
            let Some(listener) = listener else {
                return;
            };
            match listener.accept() {
                Ok(socket) => {
                    let socket = Arc::new(socket);
                    let link = Arc::new(Link::back(Arc::clone(&socket), &self.around));
                    // What comes by memory is the native protocol, in which nothing goes back.
                    let number = self.admit(socket, Arc::clone(&link), !memory);
                    if let Some(number) = number
                        && !memory
                    {
                        observer.arrived(number, &link);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    // Out of descriptors, most likely. It would be reported again at once.
                    say!(
                        Error,
                        "cannot accept a connection: {error}; trying again later"
                    );
                    self.listeners_want(Interest::Neither);
                    self.muted = Some(Instant::now());
                    return;
                }
            }
        }
    }

    fn adopt_newcomers(&mut self) {
        for (socket, link) in self.around.newcomers() {
            self.admit(socket, link, false);
        }
    }

    fn admit(&mut self, socket: Arc<Socket>, link: Arc<Link>, accepted: bool) -> Option<i32> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let token = Token(index as u64);
        if let Err(error) = self.epoll.add(socket.as_fd(), token, Interest::Read) {
            say!(
                Error,
                "cannot watch the connection to {}: {error}",
                link.name()
            );
            self.free.push(index);
            return None;
        }
        let number = self.next_number;
        self.next_number = number.checked_add(1).unwrap_or(0);
        if socket.is_memory() {
            self.memories.add(index);
        }
        self.connections[index] = Some(Connection {
            socket,
            link,
            framing: Framing::new(self.limits.message),
            kept: None,
            held: 0,
            heard: 0,
            queued: false,
            number,
            accepted,
            flood: Flood::default(),
        });
        Some(number)
    }

    /// Goes to the next connection that has something.
    fn open_next(&mut self) -> bool {
        while let Some(index) = self.ready.pop_front() {
            let Some(connection) = self.connections[index].as_mut() else {
                continue;
            };
            connection.queued = false;
            let buffer = match connection.kept.take() {
                Some(kept) if kept.len() > COPIED => kept,
                kept => {
                    let mut buffer = self
                        .spare
                        .take()
                        .unwrap_or_else(|| BytesMut::with_capacity(READ));
                    if let Some(kept) = kept {
                        buffer.extend_from_slice(&kept);
                    }
                    buffer
                }
            };
            self.current = Some(Current {
                index,
                buffer,
                at: 0,
                dry: false,
                reads: 0,
                stamp: 0,
            });
            return true;
        }
        false
    }

    fn drain<R>(
        &mut self,
        observer: &mut impl Observer,
        take: &mut impl FnMut(Arrival<'_>) -> Verdict<R>,
    ) -> Drained<R> {
        let Some(current) = &mut self.current else {
            return Drained::Lost;
        };
        let Some(connection) = self.connections[current.index].as_mut() else {
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
        let Some(connection) = self.connections[current.index].as_mut() else {
            return;
        };
        // A long message gets room as it comes, not as it promises.
        let room = needed.saturating_sub(rest).min(rest.max(READ));
        let room = room.max(READ.saturating_sub(rest)).max(COPIED);
        current.buffer.reserve(room);
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
        let Some(mut current) = self.current.take() else {
            return;
        };
        if let Some(connection) = self.connections[current.index].as_mut() {
            if current.buffer.len() > COPIED {
                connection.kept = Some(std::mem::take(&mut current.buffer));
            } else if !current.buffer.is_empty() {
                connection.kept = Some(BytesMut::from(&current.buffer[..]));
            }
        }
        self.account(current.index);
        self.keep_spare(current.buffer);
        if again {
            self.enqueue(current.index);
        }
    }

    fn close_current(&mut self, observer: &mut impl Observer) {
        if let Some(current) = self.current.take() {
            self.keep_spare(current.buffer);
            self.close_one(current.index, observer);
        }
    }

    fn close_one(&mut self, index: usize, observer: &mut impl Observer) {
        if let Some(connection) = self.connections[index].take() {
            self.held -= connection.held;
            // It leaves the set before its number is used again.
            let _ = self.epoll.remove(connection.socket.as_fd());
            connection.socket.shutdown();
            self.memories.remove(index);
            if connection.accepted {
                observer.departed(connection.number);
            }
            observer.ended(&connection.link, &connection.socket);
            self.free.push(index);
            // Its descriptor, perhaps, is what accepting wanted.
            drop(connection);
            self.listen_again();
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

    fn keep_spare(&mut self, mut buffer: BytesMut) {
        if self.spare.is_some() {
            return;
        }
        buffer.clear();
        // What was cut off its front and is not used any more comes back here, without allocating.
        buffer.reserve(READ);
        if buffer.capacity() <= 2 * READ {
            self.spare = Some(buffer);
        }
    }

    /// Closes everything.
    pub(crate) fn close(&mut self) {
        self.listener = None;
        self.memory_listener = None;
        self.memories = Memories::new();
        for connection in self.connections.drain(..).flatten() {
            connection.socket.shutdown();
            connection.link.close();
        }
        self.free.clear();
        self.ready.clear();
        self.current = None;
        self.spare = None;
        self.held = 0;
    }
}

enum Drained<R> {
    Done(R),
    Left,
    Lost,
    Needs(usize),
}

/// Sleeps as short as that: the kernel would add up to 50 us for ordinary threads.
fn doze_for(duration: Duration) {
    const LEAST: libc::c_ulong = 1000;
    // SAFETY: these options of prctl take or give a number and touch no memory.
    let usual = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) };
    // SAFETY: as above.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, LEAST, 0, 0, 0) };
    std::thread::sleep(duration);
    // The thread is the program's: it gets back what it had.
    if let Ok(usual) = libc::c_ulong::try_from(usual) {
        // SAFETY: as above.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, usual.max(1), 0, 0, 0) };
    }
}

/// Octets that were written to a socket and that its peer's kernel has not got.
fn unsent(socket: BorrowedFd<'_>) -> usize {
    let mut octets: libc::c_int = 0;
    // SAFETY: the descriptor is open, and the kernel writes one int, which is alive.
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut octets) };
    if asked < 0 {
        // It has ended.
        return 0;
    }
    usize::try_from(octets).unwrap_or(0)
}

/// What has come over a TCP connection.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    octets: u64,
    /// Those with octets in them.
    segments: u32,
}

/// Asks the kernel what has come over a connection; `None` when it does not tell.
fn arrived(socket: BorrowedFd<'_>) -> Option<Arrived> {
    // Of the kernel's `struct tcp_info`, which grows at its end: beyond what libc knows of it.
    const OCTETS: usize = 128;
    const SEGMENTS: usize = 152;
    let mut info = [0u8; 160];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: pointer and length are those of a live array, and the kernel writes no more than that.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if asked < 0 || (length as usize) < info.len() {
        return None;
    }
    let octets = info[OCTETS..].first_chunk()?;
    let segments = info[SEGMENTS..].first_chunk()?;
    Some(Arrived {
        octets: u64::from_ne_bytes(*octets),
        segments: u32::from_ne_bytes(*segments),
    })
}

/// Has the kernel hold about so many octets that nobody has read. When it fails the buffer stays.
fn set_receive_buffer(socket: BorrowedFd<'_>, octets: i32) {
    // SAFETY: pointer and length are those of one live int.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUF,
            (&raw const octets).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
}

/// Nanoseconds of the monotonic clock, as C programs read it.
fn monotonic_nanos() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes the timespec, which is alive.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
