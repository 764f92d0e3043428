//! The receiver's end of a native connection.

use super::{OPERATION, config};
use bytes::{Bytes, BytesMut};
use corewire_driver::clock;
use corewire_message::{CallKind, Code, Response, Status};
use corewire_sys::Socket;
use corewire_wire::native::Connection;
use corewire_wire::rmr::record::{Record, RecordFault, RecordReader};
use corewire_wire::{Core, Input, Outbox, Output};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Instant;

/// A connection that events come in by.
pub(crate) struct NativeReceiver {
    core: Connection,
    outbox: Outbox,
    batches: VecDeque<Bytes>,
    /// Where in the first of them we are.
    reader: RecordReader,
}

impl NativeReceiver {
    /// Of a connection that began with the protocol's magic.
    pub(crate) fn new(most_octets: usize) -> Self {
        let kind = |operation: &_| (*operation == OPERATION).then_some(CallKind::Unary);
        Self {
            core: Connection::server(config(most_octets), Arc::new(kind), clock()),
            outbox: Outbox::new(),
            batches: VecDeque::new(),
            reader: RecordReader::default(),
        }
    }

    /// Takes octets in, and says to the peer what is due.
    ///
    /// # Errors
    /// The peer broke the protocol, or is gone.
    pub(crate) fn take_in(&mut self, octets: &mut BytesMut, socket: &Socket) -> io::Result<()> {
        let now = clock();
        let taken = self.core.handle_event(now, Input::Octets(octets));
        while let Some(output) = self.core.poll() {
            match output {
                Output::Event(event) if event.operation == OPERATION => {
                    self.batches.push_back(event.body.into_bytes());
                }
                Output::Request { call, .. } => {
                    let status = Status::new(Code::Unimplemented, "only events are taken here");
                    self.core.respond(call, Response::failed(status));
                }
                _ => {}
            }
        }
        self.answer(now, socket)?;
        taken.map_err(io::Error::other)
    }

    fn answer(&mut self, now: Instant, socket: &Socket) -> io::Result<()> {
        loop {
            let added = self.core.poll_transmit(now, &mut self.outbox);
            if self.outbox.is_empty() && !added {
                return Ok(());
            }
            match socket.send_now(&[IoSlice::new(self.outbox.first())]) {
                Ok(written) => self.outbox.advance(written),
                // A few octets of credit: they go with the next.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next record and where it ends; `None` when more must be read.
    pub(crate) fn next(&mut self) -> Result<Option<(Record<'_>, usize)>, RecordFault> {
        while let Some(batch) = self.batches.front()
            && self.reader.is_done(batch)
        {
            self.batches.pop_front();
            self.reader = RecordReader::default();
        }
        match self.batches.front() {
            Some(batch) => self.reader.peek(batch),
            None => Ok(None),
        }
    }

    /// The record that ends there is dealt with.
    pub(crate) fn advance(&mut self, end: usize) {
        self.reader.advance(end);
    }

    /// Octets of messages that are there in part; each counts with the whole length that it announced.
    pub(crate) fn held(&self) -> usize {
        let waiting: usize = self.batches.iter().map(Bytes::len).sum();
        usize::try_from(self.core.held()).unwrap_or(0) + waiting
    }

    /// Octets that are to come for the frame that has begun.
    pub(crate) fn wants(&self) -> usize {
        self.core.wants().max(1)
    }
}
