//! Messages that a call sends, and keeps in case that they must be sent again.

use super::message::{CallHead, Kind, Message};
use corewire_message::{Bytes, Event, Headers, Request};
use std::time::Instant;

/// Header blocks up to this many bytes are kept without an allocation.
const INLINE: usize = 256;

/// A request that can be sent more than once: its body is shared, its headers are copied to the stack
/// when it is first sent.
struct ReplayableRequest {
    /// Without its headers once it was sent.
    request: Request,
    kept: KeptHeaders,
    /// The header block that is kept, where it is short.
    block: [u8; INLINE],
}

enum KeptHeaders {
    /// The request was not sent yet and has its headers.
    Unsent,
    /// The first bytes of `block`.
    Short(usize),
    Long(Headers),
}

impl ReplayableRequest {
    const fn new(request: Request) -> Self {
        Self {
            request,
            kept: KeptHeaders::Unsent,
            block: [0; INLINE],
        }
    }

    /// What routes and limits look at; without headers once it was sent.
    const fn head(&self) -> CallHead<'_> {
        CallHead {
            operation: &self.request.operation,
            headers: &self.request.headers,
            priority: self.request.priority,
            deadline: self.request.deadline,
        }
    }

    /// The request for the next attempt, with this deadline.
    fn next(&mut self, deadline: Instant) -> Request {
        let headers = match &self.kept {
            KeptHeaders::Unsent => self.keep_headers(),
            KeptHeaders::Short(0) => Headers::new(),
            KeptHeaders::Short(length) => {
                let block = Bytes::copy_from_slice(&self.block[..*length]);
                // It was a valid block before.
                Headers::from_block(block).unwrap_or_default()
            }
            KeptHeaders::Long(headers) => headers.clone(),
        };
        Request {
            operation: self.request.operation.clone(),
            headers,
            body: self.request.body.clone(),
            deadline: Some(deadline),
            priority: self.request.priority,
        }
    }

    /// Takes the headers out and keeps a copy.
    fn keep_headers(&mut self) -> Headers {
        let headers = std::mem::take(&mut self.request.headers);
        let block = headers.as_block();
        self.kept = match self.block.get_mut(..block.len()) {
            Some(short) => {
                short.copy_from_slice(block);
                KeptHeaders::Short(block.len())
            }
            None => KeptHeaders::Long(headers.clone()),
        };
        headers
    }

    /// A copy for a mirror, before the request was sent.
    fn copy(&self, deadline: Instant) -> Request {
        let mut copy = self.request.clone();
        copy.deadline = Some(copy.deadline.map_or(deadline, |at| at.min(deadline)));
        copy
    }
}

/// A call with one answer.
pub(crate) struct Unary(ReplayableRequest);

/// A call that opens a stream.
pub(crate) struct Streaming(ReplayableRequest);

/// A call without an answer.
pub(crate) struct OneWay(pub(crate) Event);

impl Unary {
    pub(crate) const fn new(request: Request) -> Self {
        Self(ReplayableRequest::new(request))
    }
}

impl Streaming {
    pub(crate) const fn new(request: Request) -> Self {
        Self(ReplayableRequest::new(request))
    }
}

impl Message for Unary {
    type Sent = Request;
    const KIND: Kind = Kind::Unary;

    fn head(&self) -> CallHead<'_> {
        self.0.head()
    }

    fn next(&mut self, deadline: Instant) -> Request {
        self.0.next(deadline)
    }

    fn mirrored(&self, deadline: Instant) -> Option<Request> {
        Some(self.0.copy(deadline))
    }
}

impl Message for Streaming {
    type Sent = Request;
    const KIND: Kind = Kind::Stream;

    fn head(&self) -> CallHead<'_> {
        self.0.head()
    }

    fn next(&mut self, deadline: Instant) -> Request {
        self.0.next(deadline)
    }
}

impl Message for OneWay {
    type Sent = Event;
    const KIND: Kind = Kind::Event;

    fn head(&self) -> CallHead<'_> {
        CallHead {
            operation: &self.0.operation,
            headers: &self.0.headers,
            priority: self.0.priority,
            deadline: None,
        }
    }

    fn next(&mut self, _deadline: Instant) -> Event {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_message::{Operation, Priority};

    #[test]
    fn every_attempt_sends_the_whole_request() {
        let deadline = Instant::now();
        for values in [0, 1, 5, 20] {
            let mut headers = Headers::new();
            for number in 0..values {
                headers
                    .append("x-header", format!("value number {number}"))
                    .unwrap();
            }
            let request = Request::new(Operation::from_static("a/b"))
                .with_body(vec![7; 1000])
                .with_headers(headers.clone())
                .with_priority(Priority::HIGHEST);
            let mut replayable = ReplayableRequest::new(request);
            assert_eq!(*replayable.head().headers, headers);
            for _ in 0..3 {
                let sent = replayable.next(deadline);
                assert_eq!(sent.operation.as_str(), "a/b");
                assert_eq!(sent.headers, headers);
                assert_eq!(sent.body.into_bytes(), vec![7; 1000]);
                assert_eq!(
                    (sent.deadline, sent.priority),
                    (Some(deadline), Priority::HIGHEST)
                );
            }
        }
    }
}
