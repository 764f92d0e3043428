//! The sender's end of a native connection.

use super::{OPERATION, config};
use crate::outgoing::Outgoing;
use bytes::{Bytes, BytesMut};
use corewire_message::Event;
use corewire_sys::Socket;
use corewire_wire::native::Connection;
use corewire_wire::{Core, Input, Outbox};
use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

/// Room to receive into: credit and little else comes back.
const RECEIVE: usize = 4096;
/// Pieces of one gathering write.
const PIECES: usize = 8;
/// How often a memory is asked whether its other end still lives, which costs a system call.
const HEED: Duration = Duration::from_millis(1);

/// A connection that events go out by.
pub(crate) struct NativeSender {
    core: Connection,
    outbox: Outbox,
    received: BytesMut,
    heeded: Instant,
}

impl NativeSender {
    /// Of a connection that was just made.
    pub(crate) fn new(most_octets: usize) -> Self {
        Self {
            core: Connection::client(config(most_octets), Instant::now()),
            outbox: Outbox::new(),
            received: BytesMut::with_capacity(RECEIVE),
            heeded: Instant::now(),
        }
    }

    /// Writes what waits, as much as kernel and peer take; whether that was everything.
    ///
    /// # Errors
    /// The connection is lost; what it did not take as a whole still waits.
    pub(crate) fn flush(&mut self, waiting: &mut Outgoing, socket: &Socket) -> io::Result<bool> {
        let now = Instant::now();
        // A socket fails when it is written to; a memory takes octets until somebody looks.
        if socket.is_memory() && now.saturating_duration_since(self.heeded) >= HEED {
            self.heeded = now;
            socket.heed();
        }
        loop {
            if !self.write(socket)? {
                return Ok(false);
            }
            if self.core.poll_transmit(now, &mut self.outbox) {
                continue;
            }
            if self.core.queued() > 0 {
                // The peer's credit is used up, or so it was when we last looked.
                if !self.listen(socket)? {
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

    /// Whether what waits here waits for the peer's credit, not for the kernel.
    pub(crate) fn lacks_credit(&self) -> bool {
        self.outbox.is_empty() && self.core.queued() > 0
    }

    fn hand_over(&mut self, batch: Bytes, now: Instant) -> io::Result<()> {
        let event = Event::new(OPERATION, batch);
        self.core.send_event(now, event).map_err(io::Error::other)
    }

    /// Writes the outbox; whether all of it went.
    fn write(&mut self, socket: &Socket) -> io::Result<bool> {
        while !self.outbox.is_empty() {
            let mut slices = [IoSlice::new(&[]); PIECES];
            let count = self.outbox.slices(&mut slices);
            match socket.send_now(&slices[..count]) {
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
    pub(crate) fn say_goodbye(&mut self, socket: &Socket, deadline: Instant) {
        socket.shutdown_sending();
        while Instant::now() < deadline {
            match self.listen(socket) {
                Ok(true) => {}
                Ok(false) => {
                    let _later = socket.wait(false, Some(deadline));
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
    pub(crate) fn listen(&mut self, socket: &Socket) -> io::Result<bool> {
        self.received.reserve(RECEIVE);
        match socket.receive_now(&mut self.received) {
            Ok(0) => Err(io::ErrorKind::ConnectionReset.into()),
            Ok(_) => {
                let input = Input::Octets(&mut self.received);
                let taken = self.core.handle_event(Instant::now(), input);
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
