//! Small frames that go before all messages: credit, cancellation, pings, refusals.

use super::fault::Violation;
use super::frame::{Header, Kind, flag};
use corewire_message::Code;

/// Control frames that wait to be transmitted, encoded.
#[derive(Debug)]
pub(super) struct Control {
    octets: Vec<u8>,
    pongs: u32,
}

impl Control {
    /// Starts with the preface.
    pub(super) const fn new(preface: Vec<u8>) -> Self {
        Self {
            octets: preface,
            pongs: 0,
        }
    }

    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }

    pub(super) fn clear(&mut self) {
        self.octets.clear();
        self.pongs = 0;
    }

    /// The peer does not read what it makes this end write.
    pub(super) fn check(&self, limit: usize) -> Result<(), Violation> {
        if self.octets.len() > limit {
            return Err(Violation::ControlBacklog);
        }
        Ok(())
    }

    pub(super) fn settled(&mut self) {
        self.octets.extend_from_slice(&super::hello::settled());
    }

    /// `call` 0 is the connection.
    pub(super) fn credit(&mut self, call: u32, octets: u32) {
        let header = Header::new(Kind::Credit).with_call(call).with_length(4);
        self.octets.extend_from_slice(&header.encode());
        self.octets.extend_from_slice(&octets.to_le_bytes());
    }

    pub(super) fn cancel(&mut self, call: u32, code: Code) {
        let header = Header::new(Kind::Cancel)
            .with_call(call)
            .with_aux(u16::from(code.number()));
        self.octets.extend_from_slice(&header.encode());
    }

    /// Answers a call that is not made: `not_executed` when it may be tried elsewhere at once.
    pub(super) fn refuse(&mut self, call: u32, code: Code, not_executed: bool, text: &str) {
        let text = cut(text, MAX_TEXT);
        let length = u16::try_from(text.len()).unwrap_or(0);
        let flags = flag::TEXT | if not_executed { flag::NOT_EXECUTED } else { 0 };
        let header = Header::new(Kind::Response)
            .with_call(call)
            .with_aux(u16::from(code.number()))
            .with_flags(flags)
            .with_length(2 + u32::from(length));
        self.octets.extend_from_slice(&header.encode());
        self.octets.extend_from_slice(&length.to_le_bytes());
        self.octets.extend_from_slice(text.as_bytes());
    }

    pub(super) fn ping(&mut self) {
        let header = Header::new(Kind::Ping).with_length(8);
        self.octets.extend_from_slice(&header.encode());
        self.octets.extend_from_slice(&[0; 8]);
    }

    /// Answers a ping with what it held.
    pub(super) fn pong(&mut self, payload: &[u8], limit: u32) -> Result<(), Violation> {
        if self.pongs >= limit {
            return Err(Violation::TooManyPings);
        }
        self.pongs += 1;
        let header = Header::new(Kind::Pong).with_length(8);
        self.octets.extend_from_slice(&header.encode());
        self.octets.extend_from_slice(payload);
        Ok(())
    }

    pub(super) fn drain(&mut self, last: u32) {
        let header = Header::new(Kind::Drain).with_call(last);
        self.octets.extend_from_slice(&header.encode());
    }

    /// Tells the peer why the connection ends.
    pub(super) fn close(&mut self, reason: &str) {
        let reason = cut(reason, MAX_TEXT);
        let length = u32::try_from(reason.len()).unwrap_or(0);
        let header = Header::new(Kind::Close).with_length(length);
        self.octets.extend_from_slice(&header.encode());
        self.octets.extend_from_slice(reason.as_bytes());
    }
}

/// The longest status text or reason, in octets; longer ones are cut.
pub(super) const MAX_TEXT: usize = 1024;

/// The first octets of a text, cut between characters.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_octets_may_wait_as_the_limit_says() {
        let control = Control::new(vec![0; 10]);
        assert_eq!(control.check(10), Ok(()));
        assert_eq!(control.check(9), Err(Violation::ControlBacklog));
    }
}
