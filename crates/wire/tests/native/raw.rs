//! Frames put together by hand, as a peer that is old, new or broken would send them.

use crate::pair::{kind_of, transmitted};
use bytes::BytesMut;
use corewire_wire::native::{Config, Connection, MAGIC};
use corewire_wire::{Core, Fault, Input};
use std::sync::Arc;
use std::time::Instant;

pub(crate) const HELLO: u8 = 1;
pub(crate) const REQUEST: u8 = 2;
pub(crate) const EVENT: u8 = 3;
pub(crate) const MESSAGE: u8 = 4;
pub(crate) const RESPONSE: u8 = 5;
pub(crate) const FRAGMENT: u8 = 6;
pub(crate) const FINISH: u8 = 7;
pub(crate) const CREDIT: u8 = 8;
pub(crate) const CANCEL: u8 = 9;
pub(crate) const PING: u8 = 10;
pub(crate) const PONG: u8 = 11;
pub(crate) const DRAIN: u8 = 12;
pub(crate) const CLOSE: u8 = 13;

pub(crate) const MORE: u8 = 0x01;
pub(crate) const STREAM: u8 = 0x02;
pub(crate) const HEADERS: u8 = 0x04;
pub(crate) const DEFINE: u8 = 0x10;
pub(crate) const PRIORITY: u8 = 0x20;
pub(crate) const TEXT: u8 = 0x40;

/// One frame.
pub(crate) fn frame(kind: u8, flags: u8, aux: u16, call: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap();
    let mut octets = length.to_le_bytes().to_vec();
    octets.extend([kind, flags]);
    octets.extend(aux.to_le_bytes());
    octets.extend(call.to_le_bytes());
    octets.extend(payload);
    octets
}

/// The payload of a REQUEST or EVENT that defines an operation.
pub(crate) fn define(name: &str, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(name.len()).unwrap();
    [&length.to_le_bytes(), name.as_bytes(), rest].concat()
}

/// A HELLO payload.
pub(crate) fn hello(versions: (u16, u16), settings: &[(u16, &[u8])]) -> Vec<u8> {
    let mut payload = Vec::new();
    payload.extend(versions.0.to_le_bytes());
    payload.extend(versions.1.to_le_bytes());
    payload.extend([0; 4]);
    for (setting, value) in settings {
        payload.extend(setting.to_le_bytes());
        payload.extend(u16::try_from(value.len()).unwrap().to_le_bytes());
        payload.extend(*value);
    }
    payload
}

/// Magic and the plainest HELLO.
pub(crate) fn preface() -> Vec<u8> {
    let payload = hello((1, 1), &[]);
    [&MAGIC[..], &frame(HELLO, 0, 0, 0, &payload)].concat()
}

/// One connection whose peer is these tests.
pub(crate) struct Lone {
    pub(crate) core: Connection,
    pub(crate) now: Instant,
    buffer: BytesMut,
}

impl Lone {
    pub(crate) fn server(config: Config) -> Self {
        let now = Instant::now();
        Self::new(Connection::server(config, Arc::new(kind_of), now), now)
    }

    pub(crate) fn client(config: Config) -> Self {
        let now = Instant::now();
        Self::new(Connection::client(config, now), now)
    }

    fn new(mut core: Connection, now: Instant) -> Self {
        transmitted(&mut core, now);
        let buffer = BytesMut::new();
        Self { core, now, buffer }
    }

    /// The peer's preface has come, and a client's word that it knows the limits.
    pub(crate) fn greeted(mut self) -> Self {
        self.feed(&preface()).unwrap();
        if transmitted(&mut self.core, self.now).is_empty() {
            self.feed(&frame(HELLO, 1, 0, 0, &[])).unwrap();
        }
        self
    }

    pub(crate) fn feed(&mut self, octets: &[u8]) -> Result<(), Fault> {
        self.buffer.extend_from_slice(octets);
        loop {
            let input = Input::Octets(&mut self.buffer);
            self.core.handle_event(self.now, input)?;
            if !self.core.has_more() {
                return Ok(());
            }
        }
    }

    /// Feeds octets that must be a fault; gives its name.
    pub(crate) fn fault(&mut self, octets: &[u8]) -> &'static str {
        self.feed(octets).expect_err("not a fault").what
    }

    pub(crate) fn transmitted(&mut self) -> Vec<u8> {
        transmitted(&mut self.core, self.now)
    }
}
