//! One connection's state.

use super::Config;
use crate::{CallId, Core, Fault, Input, KindOf, Outbox, Output};
use corewire_message::{Body, CallError, Code, Event, Request, Response};
use std::time::Instant;

/// One end of one connection that speaks the native protocol.
#[derive(Debug)]
pub struct Connection {}

impl Connection {
    /// The end that calls.
    #[must_use]
    pub fn client(config: Config, now: Instant) -> Self {
        let _ = (config, now);
        Self {}
    }

    /// The end that answers. `kind_of` tells which operations it knows and their shape.
    #[must_use]
    pub fn server(config: Config, kind_of: KindOf, now: Instant) -> Self {
        let _ = (config, kind_of, now);
        Self {}
    }

    /// How many octets of the current frame have not come yet: a driver may make room for as many
    /// and read them in one go.
    #[must_use]
    pub fn wants(&self) -> usize {
        0
    }

    /// Why the connection ends, once it does; also set when the peer is silent for too long.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        None
    }
}

impl Core for Connection {
    fn handle_event(&mut self, _now: Instant, _input: Input<'_>) -> Result<(), Fault> {
        todo!()
    }
    fn handle_timeout(&mut self, _now: Instant) {
        todo!()
    }
    fn poll_transmit(&mut self, _now: Instant, _outbox: &mut Outbox) -> bool {
        todo!()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        todo!()
    }
    fn poll(&mut self) -> Option<Output> {
        todo!()
    }
    fn call(&mut self, _now: Instant, _request: Request) -> Result<CallId, CallError> {
        todo!()
    }
    fn open(&mut self, _now: Instant, _request: Request) -> Result<CallId, CallError> {
        todo!()
    }
    fn send_event(&mut self, _now: Instant, _event: Event) -> Result<(), CallError> {
        todo!()
    }
    fn room(&self, _call: CallId) -> Option<usize> {
        todo!()
    }
    fn send(&mut self, _call: CallId, _message: Body) -> Result<(), CallError> {
        todo!()
    }
    fn finish(&mut self, _call: CallId) {
        todo!()
    }
    fn respond(&mut self, _call: CallId, _response: Response) {
        todo!()
    }
    fn cancel(&mut self, _call: CallId, _code: Code) {
        todo!()
    }
    fn consumed(&mut self, _call: CallId, _octets: usize) {
        todo!()
    }
    fn drain(&mut self) {
        todo!()
    }
    fn in_flight(&self) -> usize {
        todo!()
    }
    fn backlog(&self) -> usize {
        todo!()
    }
    fn wants(&self) -> usize {
        Self::wants(self)
    }
    fn fault(&self) -> Option<&Fault> {
        Self::fault(self)
    }
    fn protocol(&self) -> &'static str {
        "native"
    }
}
