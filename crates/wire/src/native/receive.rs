//! From octets to frames, and each frame to who handles it.

use super::MAGIC;
use super::connection::{Connection, Greeting, Role};
use super::fault::Violation;
use super::frame::{HEADER, Header, IGNORABLE, Kind, flag};
use super::hello::{Hello, MAX_HELLO, feature};
use crate::{Fault, Output};
use bytes::{Buf, BytesMut};
use std::time::Instant;

/// What a frame counts as work beside its octets.
const FRAME_WORK: usize = 256;
/// The part of its octets that counts: most of a body is never looked at.
const WORK_SHARE: usize = 4;

impl Connection {
    pub(super) fn receive(&mut self, now: Instant, octets: &mut BytesMut) -> Result<(), Fault> {
        self.has_more = false;
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.closed || octets.is_empty() {
            return Ok(());
        }
        self.keep_alive.heard(now);
        self.frames(now, octets)
            .map_err(|violation| self.fail(violation))
    }

    fn frames(&mut self, now: Instant, octets: &mut BytesMut) -> Result<(), Violation> {
        self.wants = 0;
        if self.greeting == Greeting::Magic {
            let seen = octets.len().min(MAGIC.len());
            if octets[..seen] != MAGIC[..seen] {
                return Err(Violation::Preface);
            }
            if seen < MAGIC.len() {
                return Ok(());
            }
            octets.advance(MAGIC.len());
            self.offset += MAGIC.len() as u64;
            self.greeting = Greeting::Hello;
        }
        let mut work = 0;
        while let Some(header) = Header::decode(octets) {
            self.check_header(header)?;
            let length = header.length as usize;
            self.wants = (HEADER + length).saturating_sub(octets.len());
            if self.wants > 0 {
                break;
            }
            if work > self.config.turn_work {
                self.has_more = true;
                break;
            }
            work += FRAME_WORK + length / WORK_SHARE;
            octets.advance(HEADER);
            self.frame(now, header, octets)?;
            self.offset += (HEADER + length) as u64;
        }
        self.control.check(self.config.max_control_backlog)
    }

    /// What can be told before the whole frame has come.
    fn check_header(&self, header: Header) -> Result<(), Violation> {
        if self.greeting != Greeting::Done {
            if header.kind != Kind::Hello.number() {
                return Err(Violation::HelloFirst);
            }
            if header.length > MAX_HELLO {
                return Err(Violation::HelloTooLong);
            }
        } else if header.length > self.enforced.max_frame {
            return Err(Violation::FrameTooLong);
        }
        Ok(())
    }

    /// One whole frame, whose payload stands at the front of `octets`. Takes exactly that.
    fn frame(
        &mut self,
        now: Instant,
        header: Header,
        octets: &mut BytesMut,
    ) -> Result<(), Violation> {
        let length = header.length as usize;
        let Some(kind) = Kind::from_number(header.kind) else {
            octets.advance(length);
            return if header.kind & IGNORABLE == 0 {
                Err(Violation::UnknownFrame)
            } else {
                Ok(())
            };
        };
        if header.flags & !kind.flags() != 0 {
            return Err(Violation::UnknownFlag);
        }
        match kind {
            Kind::Request => return self.on_request(now, header, octets),
            Kind::Response => return self.on_response(header, octets),
            Kind::Message => return self.on_message(header, octets),
            Kind::Event => return self.on_event(header, octets),
            _ => {}
        }
        let payload = &octets[..length];
        match kind {
            Kind::Hello => self.on_hello(header, payload)?,
            Kind::Fragment => self.on_fragment(header, payload)?,
            Kind::Credit => {
                let octets = payload.try_into().map_err(|_| Violation::FrameLength)?;
                self.on_credit(header.call, u32::from_le_bytes(octets))?;
            }
            Kind::Ping if length == 8 => {
                self.control.pong(payload, self.config.max_pending_pings)?;
            }
            Kind::Pong if length == 8 => {}
            Kind::Finish if length == 0 => self.on_finish(header.call)?,
            Kind::Cancel if length == 0 => self.on_cancel(header)?,
            Kind::Drain if length == 0 => self.on_drain(header.call)?,
            Kind::Close => return self.on_close(payload),
            _ => return Err(Violation::FrameLength),
        }
        octets.advance(length);
        Ok(())
    }

    fn on_hello(&mut self, header: Header, payload: &[u8]) -> Result<(), Violation> {
        if header.has(flag::SETTLED) {
            let expected = self.greeting == Greeting::Done && matches!(self.role, Role::Server(_));
            if !expected || !payload.is_empty() {
                return Err(Violation::SettledUnasked);
            }
            self.enforced = self.own;
            return Ok(());
        }
        if self.greeting == Greeting::Done {
            return Err(Violation::HelloAgain);
        }
        let hello = Hello::decode(payload)?;
        hello.common_version()?;
        self.greeting = Greeting::Done;
        if hello.features & feature::PASSIVE != 0 {
            self.keep_alive.turn_off();
        }
        let before = self.limits;
        let could = self.send_credit.may_begin();
        self.limits = self.own.towards(hello.limits);
        self.send_credit
            .shift(before.connection_credit, self.limits.connection_credit);
        if matches!(self.role, Role::Client) {
            self.control.settled();
            self.fit_to_limits(before.stream_credit, could);
        }
        Ok(())
    }

    fn on_close(&mut self, payload: &[u8]) -> Result<(), Violation> {
        let reason = &payload[..payload.len().min(super::control::MAX_TEXT)];
        self.close_reason = Some(String::from_utf8_lossy(reason).into_owned());
        Err(Violation::ClosedByPeer)
    }

    fn on_drain(&mut self, last: u32) -> Result<(), Violation> {
        if !matches!(self.role, Role::Client) {
            return Err(Violation::WrongDirection);
        }
        if self.peer_drains.replace(last).is_some() {
            return Err(Violation::DrainAgain);
        }
        self.tell(Output::Draining);
        self.refuse_above(last);
        Ok(())
    }

    /// Whether a call with this number was made at some time: frames for it may still come after
    /// its end.
    pub(super) fn was_made(&self, number: u32) -> bool {
        number % 2 == 1
            && match self.role {
                Role::Client => number < self.number,
                Role::Server(_) => number <= self.number,
            }
    }

    /// The slot a frame is for; `None` when the call has ended.
    pub(super) fn slot_of(&self, number: u32) -> Result<Option<u32>, Violation> {
        match self.calls.find(number) {
            Some(slot) if matches!(self.role, Role::Client) && !self.calls.get(slot).begun => {
                Err(Violation::AnswerTooEarly)
            }
            Some(slot) => Ok(Some(slot)),
            None if self.was_made(number) => Ok(None),
            None => Err(Violation::CallUnknown),
        }
    }
}
