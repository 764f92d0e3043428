//! A protocol core behind TLS: records on the outside, a [`Core`] inside.

use super::name::{is_refusal, name_of};
use super::resumption::Bound;
use super::settings::ClientSession;
use super::{ALPN_HTTP2, ALPN_NATIVE};
use crate::detection::{Detection, ProtocolDetector};
use bytes::{Buf, Bytes, BytesMut};
use corewire_driver::ReadBuffers;
use corewire_message::{Body, CallError, Code, Event, Headers, Origin, Request, Response};
use corewire_wire::{CallId, Core, Fault, Input, Outbox, Output};
use rustls::{Connection, ServerConnection};
use std::cell::RefCell;
use std::io::{self, BufRead, IoSlice, Write};
use std::time::Instant;

/// Pieces of the inner core's output that are sealed together, so that a frame and the short body
/// behind it share a record.
const PIECES_A_RECORD: usize = 64;

thread_local! {
    /// What is decrypted on this thread: bodies are shared slices of it, as of what is read from a
    /// socket.
    static BUFFERS: RefCell<ReadBuffers> = RefCell::default();
}

/// TLS around the core of a protocol.
///
/// The session is sans-IO like the rest: records in, records out. Nothing of the inner core leaves
/// before the peer has proved who it is.
pub(crate) struct Secured {
    session: Connection,
    /// Until when the session may be resumed.
    bound: Bound,
    inside: Inside,
    /// Decrypted octets that the inner core has not taken: the start of a frame.
    start: Option<BytesMut>,
    /// What the inner core wants to send, for the moment in which it is sealed.
    open: Outbox,
    /// Octets of records taken in.
    received: u64,
    /// Something of the application has come: the peer has accepted this end.
    heard: bool,
    fault: Option<Fault>,
    /// The peer ended it before it heard anything: no call was executed.
    refused: bool,
}

/// What is inside.
enum Inside {
    /// Server: not known before the handshake ends, and for a client without ALPN not before its
    /// first octets.
    Undecided {
        detector: ProtocolDetector,
        draining: bool,
    },
    Core(Box<dyn Core + Send>),
}

impl Secured {
    /// The calling side of `inner`.
    pub(crate) fn client(session: ClientSession, inner: Box<dyn Core + Send>) -> Self {
        let ClientSession { session, bound } = session;
        Self::new(session.into(), bound, Inside::Core(inner))
    }

    /// The answering side of what the client asks for among what is spoken here.
    pub(crate) fn server(session: ServerConnection, detector: ProtocolDetector) -> Self {
        let draining = false;
        let inside = Inside::Undecided { detector, draining };
        Self::new(session.into(), Bound::default(), inside)
    }

    fn new(mut session: Connection, bound: Bound, inside: Inside) -> Self {
        // What is sealed goes to the outbox at once, and that is bounded by its budget.
        session.set_buffer_limit(None);
        Self {
            session,
            bound,
            inside,
            start: None,
            open: Outbox::new(),
            received: 0,
            heard: false,
            fault: None,
            refused: false,
        }
    }

    fn core(&self) -> Option<&(dyn Core + Send)> {
        match &self.inside {
            Inside::Core(core) => Some(&**core),
            Inside::Undecided { .. } => None,
        }
    }

    fn core_mut(&mut self) -> Option<&mut Box<dyn Core + Send>> {
        match &mut self.inside {
            Inside::Core(core) => Some(core),
            Inside::Undecided { .. } => None,
        }
    }

    /// Takes records; gives what they hold to the inner core, until that has had enough for one turn.
    fn take_records(&mut self, now: Instant, records: &mut BytesMut) -> Result<(), Fault> {
        if self.has_more() {
            self.hand_in(now)?;
        }
        while !records.is_empty() && !self.has_more() {
            let mut rest = &records[..];
            let read = self.session.read_tls(&mut rest);
            let taken = records.len() - rest.len();
            let read = read.map_err(|_| self.break_off("a TLS record is too long"))?;
            records.advance(taken);
            self.received += taken as u64;
            let session = &mut self.session;
            let processed = self.bound.within(|| session.process_new_packets());
            let state = processed.map_err(|error| {
                self.refused = is_refusal(&error) && !self.heard;
                self.break_off(name_of(&error))
            })?;
            self.decide_by_alpn(now)?;
            if state.plaintext_bytes_to_read() > 0 {
                self.heard = true;
                self.hand_in(now)?;
            }
            if read == 0 || state.peer_has_closed() {
                // The end of the socket follows.
                records.clear();
            }
        }
        Ok(())
    }

    fn break_off(&mut self, what: &'static str) -> Fault {
        let offset = self.received;
        self.fault.get_or_insert(Fault { what, offset }).clone()
    }

    /// Once the handshake has ended, ALPN tells the protocol.
    fn decide_by_alpn(&mut self, now: Instant) -> Result<(), Fault> {
        let Inside::Undecided { detector, draining } = &self.inside else {
            return Ok(());
        };
        if self.session.is_handshaking() {
            return Ok(());
        }
        let core = match self.session.alpn_protocol() {
            Some(ALPN_NATIVE) => detector.native(now),
            Some(ALPN_HTTP2) => detector.http2(now),
            _ => return Ok(()),
        };
        match core {
            Some(core) => {
                self.inside = Inside::Core(decided(core, *draining));
                Ok(())
            }
            None => Err(self.break_off("the peer asked by ALPN for a protocol not spoken here")),
        }
    }

    /// Gives decrypted octets to the inner core, whose bodies share them.
    fn hand_in(&mut self, now: Instant) -> Result<(), Fault> {
        let start = self.start.take();
        let mut plain = BUFFERS.with_borrow_mut(|buffers| match start {
            Some(start) => buffers.take_with(start),
            None => buffers.take(),
        });
        let mut reader = self.session.reader();
        // The end of what was decrypted, or `WouldBlock`: nothing more for now.
        while let Ok(octets) = reader.fill_buf()
            && !octets.is_empty()
        {
            let count = octets.len();
            ReadBuffers::make_room(&mut plain, count);
            plain.extend_from_slice(octets);
            reader.consume(count);
        }
        let taken = self.let_take(now, &mut plain);
        self.start = BUFFERS.with_borrow_mut(|buffers| buffers.give_but_start(plain));
        taken
    }

    fn let_take(&mut self, now: Instant, plain: &mut BytesMut) -> Result<(), Fault> {
        if let Inside::Undecided { detector, draining } = &self.inside {
            match detector.detect(plain, now) {
                Detection::Undecided => return Ok(()),
                Detection::Speaks(core) => self.inside = Inside::Core(decided(core, *draining)),
                Detection::Http1 | Detection::Unknown => {
                    return Err(self.break_off("the peer speaks nothing known inside TLS"));
                }
            }
        }
        match &mut self.inside {
            Inside::Core(core) => core.handle_event(now, Input::Octets(plain)),
            Inside::Undecided { .. } => Ok(()),
        }
    }

    /// Moves sealed records to where they are sent from.
    fn put_records(&mut self, outbox: &mut Outbox) {
        while self.session.wants_write() {
            // An outbox takes everything.
            let Ok(1..) = self.session.write_tls(&mut Gather(outbox)) else {
                return;
            };
        }
    }

    /// Seals what the inner core wants to send.
    fn seal(&mut self) {
        while !self.open.is_empty() {
            let mut slices = [IoSlice::new(&[]); PIECES_A_RECORD];
            let count = self.open.slices(&mut slices);
            // The session has no limit and takes all of it; if not, the rest would never leave.
            match self.session.writer().write_vectored(&slices[..count]) {
                Ok(taken @ 1..) => self.open.advance(taken),
                _ => {
                    self.break_off("TLS takes nothing more");
                    return;
                }
            }
        }
    }
}

/// A server's core, told at once to drain where the loop does.
fn decided(mut core: Box<dyn Core + Send>, draining: bool) -> Box<dyn Core + Send> {
    if draining {
        core.drain();
    }
    core
}

/// Writes into an outbox.
struct Gather<'a>(&'a mut Outbox);

impl Write for Gather<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.put(octets);
        Ok(octets.len())
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        pieces.iter().for_each(|piece| self.0.put(piece));
        Ok(pieces.iter().map(|piece| piece.len()).sum())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// No call is known before there is a core.
fn not_connected() -> CallError {
    let context = "the TLS handshake has not ended";
    CallError::not_sent(Origin::Local, context)
}

impl Core for Secured {
    fn handle_event(&mut self, now: Instant, input: Input<'_>) -> Result<(), Fault> {
        match input {
            Input::Octets(records) => {
                if let Some(fault) = self.fault() {
                    return Err(fault.clone());
                }
                let taken = self.take_records(now, records);
                if taken.is_err() {
                    records.clear();
                }
                taken
            }
            Input::Closed => match self.core_mut() {
                Some(core) => core.handle_event(now, Input::Closed),
                None => Ok(()),
            },
        }
    }

    fn has_more(&self) -> bool {
        self.core().is_some_and(Core::has_more)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(core) = self.core_mut() {
            core.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant, outbox: &mut Outbox) -> bool {
        let before = outbox.len();
        self.put_records(outbox);
        // After a fault of TLS itself only the alert goes out.
        while self.is_established() && self.fault.is_none() && outbox.budget() > 0 {
            let Inside::Core(core) = &mut self.inside else {
                break;
            };
            if !core.poll_transmit(now, &mut self.open) {
                break;
            }
            self.seal();
            self.put_records(outbox);
        }
        outbox.len() > before
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.core()?.poll_timeout()
    }

    fn poll(&mut self) -> Option<Output> {
        let refused = self.refused;
        let why = self.fault.as_ref().map(|fault| fault.what);
        match self.core_mut()?.poll()? {
            Output::Failed { call, .. } if refused => {
                let context = why.unwrap_or("the peer refused the connection");
                let error = CallError::not_sent(Origin::Peer, context);
                Some(Output::Failed { call, error })
            }
            output => Some(output),
        }
    }

    fn call(&mut self, now: Instant, request: Request) -> Result<CallId, CallError> {
        let core = self.core_mut().ok_or_else(not_connected)?;
        core.call(now, request)
    }

    fn open(&mut self, now: Instant, request: Request) -> Result<CallId, CallError> {
        let core = self.core_mut().ok_or_else(not_connected)?;
        core.open(now, request)
    }

    fn send_event(&mut self, now: Instant, event: Event) -> Result<(), CallError> {
        let core = self.core_mut().ok_or_else(not_connected)?;
        core.send_event(now, event)
    }

    fn room(&self, call: CallId) -> Option<usize> {
        self.core()?.room(call)
    }

    fn send(&mut self, call: CallId, message: Body) -> Result<(), CallError> {
        let core = self.core_mut().ok_or_else(not_connected)?;
        core.send(call, message)
    }

    fn finish(&mut self, call: CallId) {
        if let Some(core) = self.core_mut() {
            core.finish(call);
        }
    }

    fn send_headers(&mut self, call: CallId, headers: &Headers) {
        if let Some(core) = self.core_mut() {
            core.send_headers(call, headers);
        }
    }

    fn respond(&mut self, call: CallId, response: Response) {
        if let Some(core) = self.core_mut() {
            core.respond(call, response);
        }
    }

    fn cancel(&mut self, call: CallId, code: Code) {
        if let Some(core) = self.core_mut() {
            core.cancel(call, code);
        }
    }

    fn consumed(&mut self, call: CallId, octets: usize) {
        if let Some(core) = self.core_mut() {
            core.consumed(call, octets);
        }
    }

    fn drain(&mut self) {
        match &mut self.inside {
            Inside::Core(core) => core.drain(),
            Inside::Undecided { draining, .. } => *draining = true,
        }
    }

    fn in_flight(&self) -> usize {
        self.core().map_or(0, Core::in_flight)
    }

    fn queued(&self) -> usize {
        self.core().map_or(0, Core::queued)
    }

    fn backlog(&self) -> usize {
        self.core().map_or(0, Core::backlog)
    }

    fn is_over(&self) -> bool {
        self.core().is_some_and(Core::is_over)
    }

    fn fault(&self) -> Option<&Fault> {
        let inner = || self.core()?.fault();
        self.fault.as_ref().or_else(inner)
    }

    fn is_established(&self) -> bool {
        !self.session.is_handshaking() && self.core().is_some()
    }

    fn peer_certificate(&self) -> Option<Bytes> {
        let certificate = self.session.peer_certificates()?.first()?;
        Some(Bytes::copy_from_slice(certificate))
    }

    fn protocol(&self) -> &'static str {
        self.core().map_or("tls", Core::protocol)
    }
}

impl std::fmt::Debug for Secured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secured({})", self.protocol())
    }
}
