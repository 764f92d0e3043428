//! One connection of a loop: a socket, a protocol core, and what waits between them.

use super::call_map::CallMap;
use super::inbox::Completion;
use super::stream_slot::StreamSlot;
use super::timers::TimerId;
use bytes::BytesMut;
use corewire_driver::{ReadBuffers, clock, is_half};
use corewire_message::{CallContext, Peer};
use corewire_sys::{Interest, Socket};
use corewire_wire::{Core, Input, Outbox};
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Receives from one socket in one turn at most this often, so that a fast peer does not keep the
/// others waiting; and only once when the core has had enough, or it has taken this long.
const RECEIVES_A_TURN: usize = 4;
pub(crate) const SHARE_OF_A_TURN: Duration = Duration::from_micros(500);

/// Octets written to one socket in one turn, and at most a piece more: a peer that reads as fast as the loop
/// writes would have it for the whole of a long answer.
const WRITTEN_A_TURN: usize = 256 * 1024;

/// A peer is read for so many octets while none of its events can begin, since answers to pings and
/// credit are among them.
const READ_AHEAD: usize = 32 * 1024;

/// Pieces given to the kernel in one gathering write.
const PIECES_A_WRITE: usize = 64;

/// One connection. Its core is absent only while a server waits for the octets that tell which
/// protocol the peer speaks.
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    pub(crate) core: Option<Box<dyn Core + Send>>,
    pub(crate) role: Role,
    /// The start of a message whose rest has not come.
    partial: Option<BytesMut>,
    pub(crate) outbox: Outbox,
    /// Calls made since the last write.
    pub(crate) unwritten: usize,
    pub(crate) interest: Interest,
    /// When the loop will look at what is due here; never later than it is.
    pub(crate) timer: Option<(Instant, TimerId)>,
    /// Until when it must be connected, or have shown which protocol it speaks, and have ended TLS's
    /// handshake; `None` once it has.
    pub(crate) settle_by: Option<Instant>,
    pub(crate) state: State,
    /// Stands in the loop's list of connections to flush.
    pub(crate) dirty: bool,
    /// Stands in the loop's list of connections that have had their share of a turn.
    pub(crate) behind: bool,
    /// It had more to do than its share when it was last read: those that had not go first.
    pub(crate) is_heavy: bool,
    /// What its core tells is held back: until answers are written, events have ended, or its next turn.
    pub(crate) held_back: bool,
    /// Nobody will call on it any more: it is closed when its calls have ended.
    pub(crate) close_when_idle: bool,
    /// Server: events whose task has not ended.
    pub(crate) events: usize,
    /// Octets read since as many events were in progress as may be; `None` when fewer are.
    pub(crate) read_ahead: Option<usize>,
    /// Why it is being closed, for the errors of its calls.
    pub(crate) why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The socket is not connected yet: calls gather in the core.
    Connecting,
    Open,
    /// Is closed as soon as what waits has been written.
    Closing,
    /// Everything is over and said. What still comes is thrown away, so that the peer hears why: a
    /// socket that is closed with octets unread takes back what was sent last.
    Lingering {
        /// Octets that are still waited for.
        patience: usize,
    },
}

/// What a connection is for, and who waits for its calls.
pub(crate) enum Role {
    Server {
        service: usize,
        context: CallContext,
        /// Calls whose task waits.
        tasks: CallMap<usize>,
        streams: CallMap<Arc<StreamSlot>>,
    },
    Client {
        channel: usize,
        calls: CallMap<Completion>,
        streams: CallMap<Arc<StreamSlot>>,
    },
}

impl Role {
    /// A server's calls and streams, taken from a connection that stays a little longer.
    pub(crate) fn leave(&mut self) -> Option<Self> {
        let Self::Server {
            service, context, ..
        } = self
        else {
            return None;
        };
        let empty = Self::Server {
            service: *service,
            context: context.clone(),
            tasks: CallMap::default(),
            streams: CallMap::default(),
        };
        Some(std::mem::replace(self, empty))
    }

    pub(crate) const fn streams(&mut self) -> &mut CallMap<Arc<StreamSlot>> {
        match self {
            Self::Server { streams, .. } | Self::Client { streams, .. } => streams,
        }
    }
}

/// How reading ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// There may be more: epoll will tell.
    Octets,
    /// The peer's end, or an error, or octets that break the protocol.
    End(Option<String>),
}

impl Connection {
    pub(crate) fn new(socket: Socket, role: Role, state: State, interest: Interest) -> Self {
        Self {
            socket,
            core: None,
            role,
            partial: None,
            outbox: Outbox::new(),
            unwritten: 0,
            interest,
            timer: None,
            settle_by: None,
            state,
            dirty: false,
            behind: false,
            is_heavy: false,
            held_back: false,
            close_when_idle: false,
            events: 0,
            read_ahead: None,
            why: None,
        }
    }

    /// Reads what is there and gives it to `take`, which consumes whole frames.
    pub(crate) fn receive(
        &mut self,
        buffers: &mut ReadBuffers,
        mut take: impl FnMut(&mut Self, &mut BytesMut) -> Result<(), String>,
    ) -> Received {
        let mut buffer = match self.partial.take() {
            Some(start) => buffers.take_with(start),
            None => buffers.take(),
        };
        let mut end = None;
        if self.has_more() {
            // What is left of the last turn, and nothing else.
            if let Err(why) = take(self, &mut buffer) {
                end = Some(Some(why));
            }
            self.partial = buffers.give_but_start(buffer);
            return end.map_or(Received::Octets, Received::End);
        }
        let mut began = None;
        for _ in 0..RECEIVES_A_TURN {
            let wanted = self.core.as_ref().map_or(0, |core| core.wants());
            ReadBuffers::make_room(&mut buffer, wanted);
            let room = buffer.capacity() - buffer.len();
            match self.socket.receive_now(&mut buffer) {
                Ok(0) => end = Some(None),
                Ok(count) => {
                    if let Some(ahead) = &mut self.read_ahead {
                        *ahead += count;
                    }
                    if let Err(why) = take(self, &mut buffer) {
                        end = Some(Some(why));
                    } else if count == room && !self.has_more() {
                        let now = clock();
                        if now.duration_since(*began.get_or_insert(now)) < SHARE_OF_A_TURN {
                            continue;
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => end = Some(Some(error.to_string())),
            }
            break;
        }
        self.partial = buffers.give_but_start(buffer);
        end.map_or(Received::Octets, Received::End)
    }

    /// Whether octets were read that its core has left for another turn.
    pub(crate) fn has_more(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.has_more())
    }

    /// Notes that the two ends have agreed on how to speak, once they have; says whether that is
    /// new.
    pub(crate) fn settle(&mut self) -> bool {
        let Some(core) = self.core.as_ref().filter(|core| core.is_established()) else {
            return false;
        };
        if self.settle_by.take().is_none() {
            return false;
        }
        if let Role::Server { context, .. } = &mut self.role {
            let peer = Peer::new(context.peer().address.clone(), core.protocol());
            let peer = peer.with_certificate(core.peer_certificate());
            *context = CallContext::new(Arc::new(peer));
        }
        true
    }

    /// Throws away what came after everything was over; says whether that is the end.
    pub(crate) fn receive_and_discard(&mut self, buffers: &mut ReadBuffers) -> bool {
        let received = self.receive(buffers, |connection, buffer| {
            let count = buffer.len();
            buffer.clear();
            match &mut connection.state {
                State::Lingering { patience } if *patience > count => *patience -= count,
                _ => return Err(String::new()),
            }
            Ok(())
        });
        received != Received::Octets
    }

    /// Tells the core that nothing more comes or goes.
    pub(crate) fn end_core(&mut self, now: Instant) {
        if let Some(core) = &mut self.core {
            // The connection ends either way.
            let _fault_at_the_end = core.handle_event(now, Input::Closed);
        }
    }

    /// Whether the calls made so far should be written although `to_come` more are about to be made.
    pub(crate) fn is_worth_writing(&self, to_come: usize) -> bool {
        let in_flight = self.core.as_ref().map_or(0, |core| core.in_flight());
        to_come > 0 && is_half(self.unwritten, in_flight + to_come)
    }

    /// Writes what waits, as far as the kernel takes it and this turn is for it. An error means that the peer
    /// is gone.
    pub(crate) fn flush(&mut self, now: Instant) -> io::Result<()> {
        self.write(now, WRITTEN_A_TURN)
    }

    /// The same when there is no next turn: all that the kernel takes.
    pub(crate) fn flush_last(&mut self, now: Instant) -> io::Result<()> {
        self.write(now, usize::MAX)
    }

    fn write(&mut self, now: Instant, share: usize) -> io::Result<()> {
        if self.state == State::Connecting {
            return Ok(());
        }
        self.unwritten = 0;
        let mut written = 0;
        loop {
            if let Some(core) = &mut self.core
                && self.outbox.budget() > 0
            {
                core.poll_transmit(now, &mut self.outbox);
            }
            // What is left goes in a next turn, when epoll says that there is room.
            if self.outbox.is_empty() || written >= share {
                return Ok(());
            }
            let sent = if self.outbox.pieces() == 1 {
                self.socket.send_now(&[IoSlice::new(self.outbox.first())])
            } else {
                let mut slices = [IoSlice::new(&[]); PIECES_A_WRITE];
                let count = self.outbox.slices(&mut slices);
                self.socket.send_now(&slices[..count])
            };
            match sent {
                Ok(count) => {
                    self.outbox.advance(count);
                    written += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// When it must be looked at.
    pub(crate) fn due(&self) -> Option<Instant> {
        let core = self.core.as_ref().and_then(|core| core.poll_timeout());
        match (core, self.settle_by) {
            (Some(core), Some(settle)) => Some(core.min(settle)),
            (core, settle) => core.or(settle),
        }
    }

    /// Octets that wait for the peer to read.
    pub(crate) fn waiting(&self) -> usize {
        self.outbox.len() + self.core.as_ref().map_or(0, |core| core.backlog())
    }

    /// Octets that wait for the peer to read or to give credit: answers that were given.
    pub(crate) fn queued(&self) -> usize {
        self.outbox.len() + self.core.as_ref().map_or(0, |core| core.queued())
    }

    /// What to ask epoll for now.
    pub(crate) fn wanted_interest(&self, max_backlog: usize) -> Interest {
        let listens = matches!(self.state, State::Open | State::Lingering { .. });
        let read = listens
            && self.waiting() <= max_backlog
            && self.read_ahead.is_none_or(|octets| octets <= READ_AHEAD);
        let write = self.state == State::Connecting || !self.outbox.is_empty();
        match (read, write) {
            (true, true) => Interest::ReadWrite,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::Neither,
        }
    }

    /// Whether its shared memory has something that is wanted, or room that is waited for.
    pub(crate) fn has_memory_news(&self) -> bool {
        self.reads() && self.socket.is_readable()
            || !self.outbox.is_empty() && self.socket.is_writable()
    }

    /// Before the loop sleeps: whether its shared memory lets it.
    pub(crate) fn may_sleep(&self) -> bool {
        (!self.reads() || self.socket.may_sleep())
            && (self.outbox.is_empty() || !self.socket.is_writable())
    }

    const fn reads(&self) -> bool {
        matches!(self.interest, Interest::Read | Interest::ReadWrite)
    }

    /// Whether nothing is in progress and nothing waits to be sent: an event that waits in the core
    /// for the connection, or for the peer's credit, has been promised to its sender.
    pub(crate) fn is_idle(&self) -> bool {
        let core_idle = || match &self.core {
            Some(core) => core.in_flight() == 0 && core.backlog() == 0,
            None => true,
        };
        self.outbox.is_empty() && self.events == 0 && core_idle()
    }

    /// Whether there is nothing left to do but to close.
    pub(crate) fn is_done(&self) -> bool {
        let is_over = || self.core.as_ref().is_some_and(|core| core.is_over());
        self.state == State::Closing && self.outbox.is_empty()
            || (self.close_when_idle || is_over()) && self.is_idle()
    }
}
