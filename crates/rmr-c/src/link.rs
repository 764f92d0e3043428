//! One peer to send to: its connection, what waits for it, and what became of messages.
//!
//! A link to an endpoint lives as long as its context and connects when there is something to
//! send; one that belongs to a connection which a peer made lives as long as that.

use crate::flush::{Advice, FlushPolicy, LARGE, Pace};
use crate::flusher::{Gathering, Maintained};
use crate::log::say;
use crate::memories;
use crate::names;
use crate::native::outgoing::NativeSender;
use crate::native::record;
use crate::nng::NngSender;
use crate::outgoing::{MOST_WAITING, Outgoing};
use crate::ready::Ready;
use crate::send_timeout::SendTimeout;
use crate::shared;
use crate::state::{self, Refused};
use corewire_rmr::{Counter, DropKind, Endpoint, EndpointCounters};
use corewire_sys::{Address, Socket};
use corewire_wire::rmr::record::MAX_TRACE;
use corewire_wire::rmr::si95::TRANSPORT_OCTETS;
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// How long a peer may take to answer that it is there.
const CONNECT_WAIT: Duration = Duration::from_secs(1);
/// A peer that did not answer is not asked again for as long: each asking costs a sender the wait.
const CONNECT_PAUSE: Duration = Duration::from_secs(1);
/// The same when only what waited is to be sent again, and other peers wait for the flusher.
const RECONNECT_WAIT: Duration = Duration::from_millis(100);
/// After a pause as long as this the connection is looked at before it is written to.
const LOOK_AFTER: Duration = Duration::from_millis(1);
/// Frames as large as this are not copied when they need not be.
const LARGE_FRAME: usize = 32 * 1024;
/// A sender that waits for room looks at least as often.
const ROOM_WAIT: Duration = Duration::from_millis(1);

/// A sender waits for a peer that reads nothing as long when the kernel has the beginning of its message,
/// which cannot be taken back.
const STALLED: Duration = Duration::from_secs(1);
/// What the kernel counts for a frame beside its octets, at most.
const KERNEL_OVERHEAD: usize = 4096;

/// Nothing that could be written waits longer, however busy its sender is.
const LONGEST_WAIT: Duration = Duration::from_micros(250);

/// What everything of one context shares.
pub(crate) type Shared = shared::Shared<Link>;

/// What a sender is told when there is no connection and none can be made.
const UNREACHABLE: Refused = Refused::new(state::NO_ENDPOINT, libc::ENXIO);

thread_local! {
    /// Whether this thread sends with leisure, whoever it sends to.
    static PACE: Cell<Pace> = const { Cell::new(Pace::new()) };
}

/// How messages are carried over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carriage {
    /// As SI95 frames.
    Si95,
    /// As records in events of the native protocol; messages up to so many octets. With `memory`
    /// through shared memory where the peer offers it.
    Native { most_octets: usize, memory: bool },
    /// By NNG, which connects before the first message is sent or meanwhile.
    Nng { waits: bool },
}

/// A peer.
pub(crate) struct Link {
    name: String,
    /// Whether we make the connection, or the peer made it.
    dials: bool,
    carriage: Carriage,
    out: Mutex<Out>,
    open: AtomicBool,
    shared: Arc<Shared>,
    /// What became of messages: the endpoint's, or where the peer is known by its connection only,
    /// shared with all others of the context that are.
    pub(crate) counts: Arc<EndpointCounters>,
}

struct Out {
    socket: Option<Arc<Socket>>,
    waiting: Outgoing,
    /// Octets that the kernel keeps until more comes or it is to send them.
    corked: usize,
    /// Octets that the kernel will take for certain.
    room: usize,
    /// The connection's protocol, if it is the native one.
    native: Option<Box<NativeSender>>,
    /// The connection, if NNG makes it.
    nng: Option<NngSender>,
    /// The source in the last record that waits.
    source: Option<record::Source>,
    policy: FlushPolicy,
    /// The flusher knows of this link.
    armed: bool,
    /// When something was last sent.
    used: Instant,
    /// When connecting took long in vain.
    unreachable: Option<Instant>,
}

impl Out {
    /// Whether nothing is left to be done for what was accepted.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.corked == 0
    }

    /// Has the kernel send what it keeps.
    fn push_corked(&mut self) {
        if std::mem::take(&mut self.corked) > 0
            && let Some(socket) = &self.socket
        {
            socket.push();
        }
    }

    /// Whether the kernel takes a frame of `length` octets without keeping anybody waiting in the middle
    /// of it. One that fills a good part of its buffer is begun when there is some room.
    fn has_room(&mut self, length: usize) -> bool {
        let needed = length + KERNEL_OVERHEAD;
        if self.room < needed
            && let Some(memory) = self.socket.as_ref().and_then(|socket| socket.send_memory())
        {
            self.room = memory.limit.saturating_sub(memory.used);
            if self.room < needed.min(memory.limit / 4) {
                return false;
            }
        }
        // The kernel that does not tell of its room tells by taking less.
        self.room = self.room.saturating_sub(needed);
        true
    }

    /// Leaves a message with those that wait, if that is all there is to do about it.
    fn joins(&mut self, message: &Ready<'_>) -> bool {
        let octets = message.frame().len();
        // Who waits, and is to be written by the flusher at the latest, has a connection.
        let joins = self.armed
            && self.socket.is_some()
            && !self.waiting.is_empty()
            && octets < LARGE_FRAME
            && self.waiting.waiting() + octets < LARGE
            && message.parts.trace.len() <= MAX_TRACE
            && PACE.with(|pace| {
                let mut changed = pace.get();
                let blind = changed.is_blind();
                pace.set(changed);
                blind
            });
        if joins && self.native.is_some() {
            self.push_record(message);
        } else if joins {
            self.waiting.push(message.frame(), 0);
        }
        joins
    }

    fn push_record(&mut self, message: &Ready<'_>) {
        let source = &mut self.source;
        self.waiting
            .push_with(|octets| record::write(message, source, octets));
    }
}

impl Gathering for Link {
    fn maintain(self: &Arc<Self>, linger: Duration) -> Maintained {
        self.write_left_over(linger)
    }
}

impl Link {
    /// To an endpoint that will be connected to.
    pub(crate) fn to(endpoint: &Endpoint, shared: &Arc<Shared>, carriage: Carriage) -> Self {
        let counts = Arc::clone(endpoint.counters());
        Self::new(endpoint.name().to_owned(), None, counts, shared, carriage)
    }

    /// Back over a connection that a peer made.
    pub(crate) fn back(socket: Arc<Socket>, shared: &Arc<Shared>) -> Self {
        let counts = Arc::clone(&shared.back_counts);
        Self::new(socket.peer(), Some(socket), counts, shared, Carriage::Si95)
    }

    fn new(
        name: String,
        socket: Option<Arc<Socket>>,
        counts: Arc<EndpointCounters>,
        shared: &Arc<Shared>,
        carriage: Carriage,
    ) -> Self {
        Self {
            name,
            dials: socket.is_none(),
            carriage,
            open: AtomicBool::new(socket.is_some()),
            out: Mutex::new(Out {
                socket,
                waiting: Outgoing::default(),
                corked: 0,
                room: 0,
                native: None,
                nng: None,
                source: None,
                policy: FlushPolicy::new(),
                armed: false,
                used: Instant::now(),
                unreachable: None,
            }),
            shared: Arc::clone(shared),
            counts,
        }
    }

    /// Whom it leads to.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is connected.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// Whether it is connected, as the kernel knows it now.
    pub(crate) fn look_open(&self) -> bool {
        if self.is_open() {
            self.look(&mut self.out());
        }
        self.is_open()
    }

    /// Connects if it is not connected.
    pub(crate) fn connect(self: &Arc<Self>) -> Result<(), Refused> {
        let mut out = self.out();
        if let Carriage::Nng { waits } = self.carriage {
            // NNG would try for ever and say nothing: ask by ourselves whether somebody is there.
            if out.nng.is_none() {
                drop(dial(&self.name, CONNECT_WAIT, false, false).map_err(|_| UNREACHABLE)?);
            }
            return self.connected_by_nng(&mut out, waits).map(drop);
        }
        self.connected(&mut out, CONNECT_WAIT)
    }

    /// Sends a message whose header is complete: writes it now, or queues it and sees to it that it
    /// is written.
    ///
    /// # Errors
    /// Nothing of it was or will be sent.
    pub(crate) fn send(
        self: &Arc<Self>,
        message: &Ready<'_>,
        timeout: SendTimeout,
    ) -> Result<(), Refused> {
        let mut out = self.out();
        if self.gathers(&out) && out.joins(message) {
            self.count(&self.counts.accepted, 1);
            return Ok(());
        }
        let result = self.try_send(&mut out, message, timeout);
        if result.is_ok() {
            self.count(&self.counts.accepted, 1);
        }
        self.count_written(&mut out);
        result
    }

    /// Whether messages that come fast wait in this process, and not in the kernel.
    fn gathers(&self, out: &Out) -> bool {
        out.native.is_some() || self.shared.conduct().gathers
    }

    /// A message was refused, and its sender is told.
    pub(crate) fn count_refused(&self, refused: Refused) {
        let _alone = self.out();
        self.count(
            if refused.state == state::RETRY {
                &self.counts.retry
            } else {
                &self.counts.failed
            },
            1,
        );
    }

    /// A message was refused, and its sender is told that it went, since others took it.
    pub(crate) fn count_lost_copy(&self) {
        let _alone = self.out();
        self.count(&self.counts.accepted, 1);
        self.count(self.counts.dropped(DropKind::Copy), 1);
    }

    fn count_written(&self, out: &mut Out) {
        let done = out.waiting.take_done();
        if done > 0 {
            self.count(&self.counts.written, done);
        }
    }

    /// Counts while `out` is locked.
    fn count(&self, counter: &Counter, count: u64) {
        if self.dials {
            counter.add_exclusively(count);
        } else {
            counter.add(count);
        }
    }

    fn try_send(
        self: &Arc<Self>,
        out: &mut Out,
        message: &Ready<'_>,
        timeout: SendTimeout,
    ) -> Result<(), Refused> {
        if let Carriage::Nng { waits } = self.carriage {
            return self.send_by_nng(out, message, timeout, waits);
        }
        let mut now = Instant::now();
        let unused = now.saturating_duration_since(out.used);
        out.used = now;
        if unused >= LOOK_AFTER {
            self.look(out);
        }
        self.connected(out, CONNECT_WAIT)?;
        if out.native.is_some() && message.parts.trace.len() > MAX_TRACE {
            return Err(Refused::new(state::OVERFLOW, libc::EMSGSIZE));
        }
        let frame = message.frame();
        if !self.gathers(out) {
            return self.hand_over(out, frame, now, timeout);
        }
        let length = frame.len();
        if !out.waiting.is_empty() && out.waiting.waiting() + length > MOST_WAITING {
            self.make_room(out, length, timeout)?;
            now = Instant::now();
        }
        let mut pace = PACE.get();
        let waiting = out.waiting.waiting() + length;
        let mut advice = out.policy.accepted(&mut pace, now, waiting);
        if length >= LARGE_FRAME {
            advice = Advice::Write;
            // Perhaps all that waits goes: then the frame need not be copied.
            self.flush(out, 0, CONNECT_WAIT)?;
        }
        if out.native.is_some() {
            out.push_record(message);
        } else if advice == Advice::Write && out.waiting.is_empty() {
            self.write_through(out, frame)?;
        } else {
            out.waiting.push(frame, 0);
        }
        if advice == Advice::Write {
            if !out.waiting.is_empty() {
                self.flush(out, 1, CONNECT_WAIT)?;
            }
            pace.wrote(now, Instant::now());
        } else {
            pace.gathered(now);
        }
        PACE.set(pace);
        if out.waiting.is_empty() {
            out.policy.written();
        } else {
            self.arm(out);
        }
        Ok(())
    }

    /// Gives a frame to the kernel, which delivers it whatever becomes of this process. In a rush the
    /// kernel gathers, too.
    fn hand_over(
        self: &Arc<Self>,
        out: &mut Out,
        frame: &[u8],
        now: Instant,
        timeout: SendTimeout,
    ) -> Result<(), Refused> {
        if !out.waiting.is_empty() {
            self.make_room(out, MOST_WAITING, timeout)?;
        }
        let mut pace = PACE.get();
        let advice = out
            .policy
            .accepted(&mut pace, now, out.corked + frame.len());
        let gathers = advice == Advice::Gather && frame.len() < LARGE_FRAME;
        if let Err(refused) = self.write_all(out, frame, gathers, timeout) {
            if out.is_idle() {
                out.policy.written();
            }
            return Err(refused);
        }
        if gathers {
            out.corked += frame.len();
            pace.gathered(now);
            self.arm(out);
        } else {
            out.corked = 0;
            out.policy.written();
            pace.wrote(now, Instant::now());
        }
        PACE.set(pace);
        Ok(())
    }

    /// Writes a frame as a whole, waiting for room.
    fn write_all(
        self: &Arc<Self>,
        out: &mut Out,
        frame: &[u8],
        gathers: bool,
        timeout: SendTimeout,
    ) -> Result<(), Refused> {
        let (mut end, mut attempts) = (None, 0);
        loop {
            self.connected(out, CONNECT_WAIT)?;
            let has_room = out.has_room(frame.len());
            let Some(socket) = &out.socket else {
                return Err(UNREACHABLE);
            };
            let sent = match has_room {
                false => Err(io::ErrorKind::WouldBlock.into()),
                true if gathers => socket.send_more(frame),
                true => socket.send_now(&[IoSlice::new(frame)]),
            };
            match sent {
                Ok(count) if count == frame.len() => {
                    out.waiting.passed();
                    return Ok(());
                }
                Ok(count) => {
                    out.push_corked();
                    out.waiting.push(frame, count);
                    return self.write_rest(out);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    out.push_corked();
                    let now = Instant::now();
                    let end = *end.get_or_insert(now + timeout.0);
                    if now >= end || self.shared.is_closed() {
                        return Err(Refused::new(state::RETRY, libc::EAGAIN));
                    }
                    wait_for_peer(out, end.min(now + ROOM_WAIT));
                }
                // The connection is gone; over a new one it may go.
                Err(error) => {
                    self.lose(out, &error);
                    attempts += 1;
                    if attempts > 1 {
                        return Err(Refused::new(state::SEND_FAILED, crate::errno::of(&error)));
                    }
                }
            }
        }
    }

    /// Writes the rest of a frame of which the kernel has the beginning, for as long as its peer reads.
    /// After that it waits here, and goes with whoever sends next, or by the flusher.
    fn write_rest(self: &Arc<Self>, out: &mut Out) -> Result<(), Refused> {
        let (mut left, mut end) = (usize::MAX, Instant::now());
        while !self.flush(out, 1, CONNECT_WAIT)? {
            let now = Instant::now();
            let waiting = out.waiting.waiting();
            if std::mem::replace(&mut left, waiting) != waiting {
                end = now + STALLED;
            }
            if now >= end || self.shared.is_closed() {
                self.arm(out);
                break;
            }
            wait_for_peer(out, end.min(now + ROOM_WAIT));
        }
        Ok(())
    }

    fn send_by_nng(
        &self,
        out: &mut Out,
        message: &Ready<'_>,
        timeout: SendTimeout,
        waits: bool,
    ) -> Result<(), Refused> {
        let nng = self.connected_by_nng(out, waits)?;
        let octets = message.frame().get(TRANSPORT_OCTETS..).unwrap_or_default();
        nng.send(octets, timeout)?;
        out.waiting.passed();
        Ok(())
    }

    fn connected_by_nng<'a>(
        &self,
        out: &'a mut Out,
        waits: bool,
    ) -> Result<&'a mut NngSender, Refused> {
        if self.shared.is_closed() {
            return Err(UNREACHABLE);
        }
        if out.nng.is_none() {
            let paused = |since: Instant| since.elapsed() < CONNECT_PAUSE;
            if waits && out.unreachable.is_some_and(paused) {
                return Err(UNREACHABLE);
            }
            // NNG would wait as long as the kernel does: two minutes for a host that is silent.
            if waits && let Err(error) = dial(&self.name, CONNECT_WAIT, false, false) {
                out.unreachable = Some(Instant::now());
                say!(Warning, "cannot connect to {}: {error}", self.name);
                return Err(UNREACHABLE);
            }
            out.unreachable = None;
            let nng = NngSender::dial(&self.name, waits).map_err(|error| {
                say!(Warning, "cannot connect to {}: {error}", self.name);
                UNREACHABLE
            })?;
            out.nng = Some(nng);
            self.open.store(true, Ordering::Relaxed);
        }
        out.nng.as_mut().ok_or(UNREACHABLE)
    }

    /// Has the flusher look after what waits.
    fn arm(self: &Arc<Self>, out: &mut Out) {
        if !out.armed {
            out.armed = true;
            self.shared.flusher.arm(Arc::clone(self));
        }
    }

    /// Writes a frame that nothing waits in front of; what the kernel does not take waits.
    fn write_through(self: &Arc<Self>, out: &mut Out, frame: &[u8]) -> Result<(), Refused> {
        let mut attempts = 0;
        loop {
            self.connected(out, CONNECT_WAIT)?;
            let Some(socket) = &out.socket else {
                return Err(UNREACHABLE);
            };
            match socket.send_now(&[IoSlice::new(frame)]) {
                Ok(count) if count == frame.len() => {
                    out.waiting.passed();
                    return Ok(());
                }
                Ok(count) => {
                    out.waiting.push(frame, count);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    out.waiting.push(frame, 0);
                    return Ok(());
                }
                // The connection is gone; over a new one it may go.
                Err(error) => {
                    self.lose(out, &error);
                    attempts += 1;
                    if attempts > 1 {
                        return Err(Refused::new(state::SEND_FAILED, crate::errno::of(&error)));
                    }
                }
            }
        }
    }

    /// Writes what waits. When the connection is lost and no new one can be made within `wait`, what
    /// waits is given up and reported, except for the last `told` frames, whose sender learns it
    /// now.
    fn flush(self: &Arc<Self>, out: &mut Out, told: u64, wait: Duration) -> Result<bool, Refused> {
        let mut attempts = 0;
        loop {
            if let Err(refused) = self.connected(out, wait) {
                self.give_up(out, DropKind::ConnectionLost, refused.errno, told);
                return Err(refused);
            }
            let Some(socket) = &out.socket else {
                return Err(UNREACHABLE);
            };
            let written = match &mut out.native {
                Some(native) => native.flush(&mut out.waiting, socket),
                None => out.waiting.flush(socket),
            };
            // What is gathered next may begin a batch.
            out.source = None;
            match written {
                Ok(all) => {
                    if all {
                        out.policy.written();
                    }
                    return Ok(all);
                }
                Err(error) => {
                    self.lose(out, &error);
                    attempts += 1;
                    if attempts > 1 {
                        let errno = crate::errno::of(&error);
                        self.give_up(out, DropKind::ConnectionLost, errno, told);
                        return Err(Refused::new(state::SEND_FAILED, errno));
                    }
                }
            }
        }
    }

    /// Waits until there is room for `length` octets more.
    fn make_room(
        self: &Arc<Self>,
        out: &mut Out,
        length: usize,
        timeout: SendTimeout,
    ) -> Result<(), Refused> {
        let end = Instant::now() + timeout.0;
        loop {
            self.flush(out, 0, CONNECT_WAIT)?;
            if out.waiting.is_empty() || out.waiting.waiting() + length <= MOST_WAITING {
                return Ok(());
            }
            let now = Instant::now();
            if now >= end || self.shared.is_closed() {
                return Err(Refused::new(state::RETRY, libc::EAGAIN));
            }
            wait_for_peer(out, end.min(now + ROOM_WAIT));
        }
    }

    /// What the flusher does with it: writes what waits, if its sender does not.
    fn write_left_over(self: &Arc<Self>, linger: Duration) -> Maintained {
        let mut out = match self.out.try_lock() {
            Ok(out) => out,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Somebody is sending.
            Err(TryLockError::WouldBlock) => return Maintained::Young,
        };
        let out = &mut *out;
        if out.is_idle() {
            out.armed = false;
            return Maintained::Idle;
        }
        // Its sender is at work, and writes when it is time.
        let now = Instant::now();
        let age = out.policy.age(now).unwrap_or_default();
        if now.saturating_duration_since(out.used) < linger && age < LONGEST_WAIT {
            return Maintained::Young;
        }
        out.push_corked();
        if out.is_idle() {
            out.policy.written();
            return Maintained::Written;
        }
        let flushed = self.flush(out, 0, RECONNECT_WAIT);
        self.count_written(out);
        match flushed {
            Ok(true) => Maintained::Written,
            Ok(false) => Maintained::Blocked,
            Err(_) => {
                out.armed = false;
                Maintained::Idle
            }
        }
    }

    /// Writes what waits before the context goes, until `deadline`; then it is given up. Nothing is
    /// sent by it any more.
    pub(crate) fn finish(self: &Arc<Self>, deadline: Instant) {
        let mut out = self.out();
        let out = &mut *out;
        out.push_corked();
        while !out.waiting.is_empty() {
            let flushed = self.flush(out, 0, RECONNECT_WAIT);
            self.count_written(out);
            match flushed {
                Ok(true) => break,
                Err(_) => return,
                Ok(false) if Instant::now() >= deadline => {
                    return self.give_up(out, DropKind::Closed, libc::ETIMEDOUT, 0);
                }
                Ok(false) => wait_for_peer(out, deadline),
            }
        }
        if let (Some(native), Some(socket)) = (&mut out.native, &out.socket)
            && !socket.is_memory()
        {
            native.say_goodbye(socket, deadline);
        }
    }

    /// Closes it; what waits is given up.
    pub(crate) fn close(&self) {
        let mut out = self.out();
        self.give_up(&mut out, DropKind::Closed, libc::ESHUTDOWN, 0);
        out.socket = None;
        out.nng = None;
        self.open.store(false, Ordering::Relaxed);
    }

    /// Whoever reads the connection found its end.
    pub(crate) fn ended(self: &Arc<Self>, socket: &Arc<Socket>) {
        let mut out = match self.out.try_lock() {
            Ok(out) => out,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Who sends now may wait long for something else, and this thread is to receive. The
            // socket is shut down: whoever writes to it next finds out.
            Err(TryLockError::WouldBlock) => return,
        };
        if !out
            .socket
            .as_ref()
            .is_some_and(|ours| Arc::ptr_eq(ours, socket))
        {
            return;
        }
        let error = io::Error::from_raw_os_error(libc::ECONNRESET);
        self.lose(&mut out, &error);
        if !self.dials {
            self.give_up(&mut out, DropKind::ConnectionLost, libc::ECONNRESET, 0);
        } else if !out.waiting.is_empty() {
            self.arm(&mut out);
        }
    }

    /// Makes the connection if there is none.
    fn connected(self: &Arc<Self>, out: &mut Out, wait: Duration) -> Result<(), Refused> {
        if out.socket.is_some() {
            return Ok(());
        }
        if !self.dials || self.shared.is_closed() {
            return Err(UNREACHABLE);
        }
        let paused = |since: Instant| since.elapsed() < CONNECT_PAUSE;
        if out.unreachable.is_some_and(paused) {
            return Err(UNREACHABLE);
        }
        let memory = matches!(self.carriage, Carriage::Native { memory: true, .. });
        match dial(&self.name, wait, self.shared.quick_ack(), memory) {
            Ok(socket) => {
                let socket = Arc::new(socket);
                out.unreachable = None;
                out.socket = Some(Arc::clone(&socket));
                self.open.store(true, Ordering::Relaxed);
                match self.carriage {
                    Carriage::Si95 | Carriage::Nng { .. } => {
                        self.shared.adopt(Arc::clone(&socket), Arc::clone(self));
                    }
                    // Nothing but credit comes back, which the sender takes itself.
                    Carriage::Native { most_octets, .. } => {
                        out.native = Some(Box::new(NativeSender::new(most_octets)));
                    }
                }
                let how = if memory && !socket.is_memory() {
                    ", by TCP: no shared memory is offered there"
                } else {
                    ""
                };
                say!(Info, "connected to {}{how}", self.name);
                Ok(())
            }
            Err(error) => {
                let costly = [io::ErrorKind::TimedOut, io::ErrorKind::HostUnreachable];
                if costly.contains(&error.kind()) {
                    out.unreachable = Some(Instant::now());
                }
                say!(Warning, "cannot connect to {}: {error}", self.name);
                Err(UNREACHABLE)
            }
        }
    }

    /// Finds out whether the peer has closed the connection while it was not used.
    fn look(&self, out: &mut Out) {
        let Some(socket) = &out.socket else {
            return;
        };
        if socket.is_memory() {
            socket.heed();
        }
        let ended = match &mut out.native {
            // Credit may stand in front of the end.
            Some(native) => loop {
                match native.listen(socket) {
                    Ok(true) => {}
                    Ok(false) => break None,
                    Err(error) => break Some(error),
                }
            },
            None => socket
                .has_ended()
                .then(|| io::Error::from_raw_os_error(libc::ECONNRESET)),
        };
        if let Some(error) = ended {
            self.lose(out, &error);
        }
    }

    fn lose(&self, out: &mut Out, error: &io::Error) {
        if let Some(socket) = out.socket.take() {
            socket.shutdown();
            say!(Info, "the connection to {} is lost: {error}", self.name);
        }
        self.open.store(false, Ordering::Relaxed);
        out.native = None;
        out.source = None;
        out.corked = 0;
        out.room = 0;
        out.waiting.rewind();
        self.count_written(out);
    }

    fn give_up(&self, out: &mut Out, kind: DropKind, errno: i32, told: u64) {
        let frames = out.waiting.give_up().saturating_sub(told);
        out.policy.written();
        self.count_written(out);
        if frames > 0 {
            self.count(self.counts.dropped(kind), frames);
            let error = io::Error::from_raw_os_error(errno);
            say!(
                Error,
                "{frames} messages to {} were accepted and are lost: {error}",
                self.name
            );
        }
    }

    fn out(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until the peer may take more. An error shows when it is written to again.
fn wait_for_peer(out: &Out, until: Instant) {
    if let Some(socket) = &out.socket {
        let _ = match &out.native {
            // There is room, and no credit: that comes by reading.
            Some(native) if native.lacks_credit() => socket.wait(false, Some(until)),
            _ => socket.wait_for_room(until),
        };
    }
}

/// Connects to the first address of `name` that answers, with `memory` by that if it can be.
fn dial(name: &str, wait: Duration, quick_ack: bool, memory: bool) -> io::Result<Socket> {
    let deadline = Instant::now() + wait;
    let mut result = Err(io::Error::from_raw_os_error(libc::EADDRNOTAVAIL));
    let addresses = names::addresses(name, wait).map_err(|error| {
        // As silent as a host that does not answer, and asking may have taken as long.
        io::Error::new(io::ErrorKind::HostUnreachable, error)
    })?;
    for address in addresses {
        if memory && let Ok(socket) = memories::connect(address) {
            return Ok(socket);
        }
        result = dial_one(&Address::Tcp(address), deadline);
        if result.is_ok() {
            break;
        }
    }
    let socket = result?;
    if quick_ack {
        socket.set_quick_ack()?;
    }
    Ok(socket)
}

fn dial_one(address: &Address, deadline: Instant) -> io::Result<Socket> {
    let socket = Socket::begin_connect(address)?;
    if !socket.wait_for_room(deadline)? {
        return Err(io::ErrorKind::TimedOut.into());
    }
    socket.take_error()?;
    if socket.is_its_own_peer() {
        // The kernel chose the port asked for as the one to ask from, and connected it to itself.
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(socket)
}
