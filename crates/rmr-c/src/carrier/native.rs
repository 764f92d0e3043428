//! Corewire's own protocol as a carrier (`docs/native-protocol.md`): many messages in one event.
//!
//! A connection is one of the native protocol, made by the sender, and every event of the
//! operation [`OPERATION`] holds records, one a message. What was gathered while the connection was
//! busy goes as one event, so that framing, credit and a system call are paid once for all of it;
//! a record has a tenth of SI95's overhead.
//!
//! Here is the sender's end; the receiver's is [`incoming`].

pub(crate) mod incoming;
pub(crate) mod received;
pub(crate) mod record;

use crate::outgoing::Outgoing;
use crate::ready::Ready;
use bytes::{Bytes, BytesMut};
use corewire_driver::clock;
use corewire_message::{Event, Operation};
use corewire_sys::Socket;
use corewire_wire::native::{Config, Connection};
use corewire_wire::{Core, Input, Outbox, rmr};
use std::io::{self, IoSlice};
use std::time::Instant;

/// What events with records are about.
pub(crate) const OPERATION: Operation = Operation::from_static(rmr::record::OPERATION);

/// Octets of records that a sender may have in one event: a batch, or one message of any length.
const BATCH_ROOM: usize = 1 << 20;

/// Room to receive into: credit and little else comes back.
const RECEIVE: usize = 4096;
/// Pieces of one gathering write.
const PIECES: usize = 8;
/// A connection that events go out by.
pub(crate) struct Native {
    socket: Socket,
    core: Connection,
    outbox: Outbox,
    received: BytesMut,
    /// The source in the last record that waits.
    source: Option<record::Source>,
}

impl Native {
    /// Over a connection that was just made.
    pub(crate) fn new(socket: Socket, most_octets: usize) -> Self {
        Self {
            socket,
            core: Connection::client(config(most_octets), clock()),
            outbox: Outbox::new(),
            received: BytesMut::with_capacity(RECEIVE),
            source: None,
        }
    }

    pub(crate) const fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Leaves a message with those that wait.
    #[inline]
    pub(crate) fn push(&mut self, waiting: &mut Outgoing, message: &Ready<'_>) {
        let source = &mut self.source;
        waiting.push_with(|octets| record::write(message, source, octets));
    }

    /// Writes what waits, as much as kernel and peer take; whether that was everything.
    ///
    /// # Errors
    /// The connection is lost; what it did not take as a whole still waits.
    pub(crate) fn flush(&mut self, waiting: &mut Outgoing, now: Instant) -> io::Result<bool> {
        // What is gathered next may begin a batch.
        self.source = None;
        loop {
            if !self.write()? {
                return Ok(false);
            }
            if self.core.poll_transmit(now, &mut self.outbox) {
                continue;
            }
            if self.core.queued() > 0 {
                // The peer's credit is used up, or so it was when we last looked.
                if !self.listen()? {
                    return Ok(false);
                }
                continue;
            }
            waiting.batch_written();
            let Some(batch) = waiting.take_batch() else {
                return Ok(true);
            };
            self.hand_over(batch, now)?;
        }
    }

    /// Waits until the peer may take more. An error shows when it is written to again.
    pub(crate) fn wait_for_room(&self, until: Instant) {
        let lacks_credit = self.outbox.is_empty() && self.core.queued() > 0;
        let _shows_later = if lacks_credit {
            // There is room; credit comes by reading.
            self.socket.wait(false, Some(until))
        } else {
            self.socket.wait_for_room(until)
        };
    }

    /// How the connection ended while it was not used, if it has: credit may stand in front of the end.
    pub(crate) fn ended(&mut self) -> Option<io::Error> {
        loop {
            match self.listen() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(error),
            }
        }
    }

    fn hand_over(&mut self, batch: Bytes, now: Instant) -> io::Result<()> {
        let event = Event::new(OPERATION, batch);
        self.core.send_event(now, event).map_err(io::Error::other)
    }

    /// Writes the outbox; whether all of it went.
    fn write(&mut self) -> io::Result<bool> {
        while !self.outbox.is_empty() {
            let mut slices = [IoSlice::new(&[]); PIECES];
            let count = self.outbox.slices(&mut slices);
            match self.socket.send_now(&slices[..count]) {
                Ok(written) => self.outbox.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Everything is written and nothing will follow: lets the peer read it, at most until `deadline`.
    ///
    /// The peer goes on to give credit. A socket that is closed before that was read ends with a
    /// reset, and what the peer has not read by then is lost to it.
    pub(crate) fn finish(&mut self, deadline: Instant) {
        self.socket.shutdown_sending();
        while clock() < deadline {
            match self.listen() {
                Ok(true) => {}
                Ok(false) => {
                    let _later = self.socket.wait(false, Some(deadline));
                }
                // The peer has read all of it, or is gone.
                Err(_) => return,
            }
        }
    }

    /// Takes in what the peer says; whether it said anything.
    ///
    /// # Errors
    /// The peer has closed the connection, or broke the protocol.
    fn listen(&mut self) -> io::Result<bool> {
        self.received.reserve(RECEIVE);
        match self.socket.receive_now(&mut self.received) {
            Ok(0) => Err(io::ErrorKind::ConnectionReset.into()),
            Ok(_) => {
                let input = Input::Octets(&mut self.received);
                let taken = self.core.handle_event(clock(), input);
                taken.map_err(io::Error::other)?;
                // Nothing that a server may tell concerns events.
                while self.core.poll().is_some() {}
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What either end allows.
fn config(most_octets: usize) -> Config {
    Config::with(|config| {
        let longest = most_octets.saturating_add(BATCH_ROOM);
        config.max_message = u32::try_from(longest)
            .unwrap_or(u32::MAX)
            .min(i32::MAX as u32);
        // Whether a peer lives shows when something is sent to it, as with every RMR.
        config.keep_alive_interval = None;
        config.passive = true;
        // The driver here reads what it can take in at once, from each connection in turn.
        config.turn_work = usize::MAX;
        // What is held of partial messages is bounded by `COREWIRE_RMR_MAX_PARTIAL`, for all carriers
        // alike; a message of `COREWIRE_RMR_MAX_MESSAGE` must fit whatever else is in use.
        config.max_connection_memory = usize::MAX;
    })
}
