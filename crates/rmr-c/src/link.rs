//! One peer to send to: its connection, what waits for it, and what became of messages.
//!
//! A link to an endpoint lives as long as its context and connects when there is something to
//! send; one that belongs to a connection which a peer made lives as long as that.

mod writing;

use crate::carrier::{Carrier, CarrierKind};
use crate::flush::{FlushPolicy, LARGE, Pace};
use crate::flusher::{Gathering, Maintained};
use crate::log::say;
use crate::outgoing::Outgoing;
use crate::ready::Ready;
use crate::send_timeout::SendTimeout;
use crate::shared;
use crate::state::{self, Refused};
use corewire_driver::clock;
use corewire_rmr::{Counter, DropKind, Endpoint, EndpointCounters};
use corewire_sys::Socket;
use corewire_wire::rmr::record::MAX_TRACE;
use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// How long a peer may take to answer that it is there.
const CONNECT_WAIT: Duration = Duration::from_secs(1);
/// A peer that did not answer is not asked again for as long: each asking costs a sender the wait.
const CONNECT_PAUSE: Duration = Duration::from_secs(1);
/// The same when only what waited is to be sent again, and other peers wait for the flusher.
const RECONNECT_WAIT: Duration = Duration::from_millis(100);
/// Frames as large as this are not copied when they need not be.
const LARGE_FRAME: usize = 32 * 1024;

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

/// A peer.
pub(crate) struct Link {
    name: String,
    /// Whether we make the connection, or the peer made it.
    dials: bool,
    kind: CarrierKind,
    /// Messages that come fast wait in this process, and not in the kernel.
    gathers: bool,
    out: Mutex<Out>,
    open: AtomicBool,
    shared: Arc<Shared>,
    /// What became of messages: the endpoint's, or where the peer is known by its connection only,
    /// shared with all others of the context that are.
    pub(crate) counts: Arc<EndpointCounters>,
}

struct Out {
    /// The connection, while there is one.
    carrier: Option<Carrier>,
    waiting: Outgoing,
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
        self.waiting.is_empty() && self.carrier.as_ref().map_or(0, Carrier::kept) == 0
    }

    /// Has the kernel send what it keeps.
    fn push_kept(&mut self) {
        if let Some(carrier) = &mut self.carrier {
            carrier.push_kept();
        }
    }

    /// Waits until the peer may take more. An error shows when it is written to again.
    fn wait_for_peer(&self, until: Instant) {
        if let Some(carrier) = &self.carrier {
            carrier.wait_for_room(until);
        }
    }

    /// Leaves a message with those that wait, if that is all there is to do about it.
    fn joins(&mut self, message: &Ready<'_>) -> bool {
        let octets = message.frame().len();
        // Who waits, and is to be written by the flusher at the latest, has a connection.
        let Some(carrier) = self.carrier.as_mut().filter(|_| self.armed) else {
            return false;
        };
        let joins = !self.waiting.is_empty()
            && octets < LARGE_FRAME
            && self.waiting.waiting() + octets < LARGE
            && message.parts.trace.len() <= MAX_TRACE
            && PACE.with(|pace| {
                let mut changed = pace.get();
                let blind = changed.is_blind();
                pace.set(changed);
                blind
            });
        if joins {
            carrier.push(&mut self.waiting, message);
        }
        joins
    }
}

impl Gathering for Link {
    fn maintain(self: &Arc<Self>, linger: Duration) -> Maintained {
        self.write_left_over(linger)
    }
}

impl Link {
    /// To an endpoint that will be connected to.
    pub(crate) fn to(endpoint: &Endpoint, shared: &Arc<Shared>, kind: CarrierKind) -> Self {
        let counts = Arc::clone(endpoint.counters());
        Self::new(endpoint.name().to_owned(), None, counts, shared, kind)
    }

    /// Back over a connection that a peer made.
    pub(crate) fn back(socket: Arc<Socket>, shared: &Arc<Shared>) -> Self {
        let counts = Arc::clone(&shared.back_counts);
        let (name, carrier) = (socket.peer(), Carrier::si95(socket));
        Self::new(name, Some(carrier), counts, shared, CarrierKind::Si95)
    }

    fn new(
        name: String,
        carrier: Option<Carrier>,
        counts: Arc<EndpointCounters>,
        shared: &Arc<Shared>,
        kind: CarrierKind,
    ) -> Self {
        Self {
            name,
            dials: carrier.is_none(),
            kind,
            gathers: kind.has_records() || shared.conduct().gathers,
            open: AtomicBool::new(carrier.is_some()),
            out: Mutex::new(Out {
                carrier,
                waiting: Outgoing::default(),
                policy: FlushPolicy::new(),
                armed: false,
                used: clock(),
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
        if out.carrier.is_none() {
            let found = self.kind.probe(&self.name, CONNECT_WAIT);
            found.map_err(|_| UNREACHABLE)?;
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
        if self.gathers && out.joins(message) {
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
        let now = clock();
        let age = out.policy.age(now).unwrap_or_default();
        if now.saturating_duration_since(out.used) < linger && age < LONGEST_WAIT {
            return Maintained::Young;
        }
        out.push_kept();
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
        out.push_kept();
        while !out.waiting.is_empty() {
            let flushed = self.flush(out, 0, RECONNECT_WAIT);
            self.count_written(out);
            match flushed {
                Ok(true) => break,
                Err(_) => return,
                Ok(false) if clock() >= deadline => {
                    return self.give_up(out, DropKind::Closed, libc::ETIMEDOUT, 0);
                }
                Ok(false) => out.wait_for_peer(deadline),
            }
        }
        if let Some(carrier) = &mut out.carrier {
            carrier.finish(deadline);
        }
    }

    /// Closes it; what waits is given up.
    pub(crate) fn close(&self) {
        let mut out = self.out();
        self.give_up(&mut out, DropKind::Closed, libc::ESHUTDOWN, 0);
        out.carrier = None;
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
        if !out.carrier.as_ref().is_some_and(|it| it.is_over(socket)) {
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
        if out.carrier.is_some() {
            return Ok(());
        }
        if !self.dials || self.shared.is_closed() {
            return Err(UNREACHABLE);
        }
        let paused = |since: Instant| since.elapsed() < CONNECT_PAUSE;
        if out.unreachable.is_some_and(paused) {
            return Err(UNREACHABLE);
        }
        match self.kind.connect(&self.name, wait, self.shared.quick_ack()) {
            Ok(carrier) => {
                self.note_connected(&carrier);
                out.unreachable = None;
                out.carrier = Some(carrier);
                self.open.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                let costly = [io::ErrorKind::TimedOut, io::ErrorKind::HostUnreachable];
                if costly.contains(&error.kind()) {
                    out.unreachable = Some(clock());
                }
                say!(Warning, "cannot connect to {}: {error}", self.name);
                Err(UNREACHABLE)
            }
        }
    }

    /// There is a connection: what comes back over it is read by whoever drives the sockets.
    fn note_connected(self: &Arc<Self>, carrier: &Carrier) {
        let how = match (carrier, self.kind) {
            (Carrier::Si95(si95), _) => {
                self.shared
                    .adopt(Arc::clone(si95.socket()), Arc::clone(self));
                ""
            }
            (Carrier::Native(_), CarrierKind::Shm { .. }) => {
                ", by TCP: no shared memory is offered there"
            }
            // Nothing but credit comes back, which the sender takes itself.
            (Carrier::Native(_) | Carrier::Shm(_), _) => "",
            // NNG reads by itself, and does not say when it is connected.
            (Carrier::Nng(_), _) => return,
        };
        say!(Info, "connected to {}{how}", self.name);
    }

    /// Finds out whether the peer has closed the connection while it was not used.
    fn look(&self, out: &mut Out) {
        if let Some(error) = out.carrier.as_mut().and_then(Carrier::ended) {
            self.lose(out, &error);
        }
    }

    fn lose(&self, out: &mut Out, error: &io::Error) {
        if let Some(carrier) = out.carrier.take() {
            carrier.shutdown();
            say!(Info, "the connection to {} is lost: {error}", self.name);
        }
        self.open.store(false, Ordering::Relaxed);
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
