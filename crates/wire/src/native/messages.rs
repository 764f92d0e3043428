//! What all messages that come in have in common: fields, header block, body, credit, fragments.

use super::codec::Fields;
use super::connection::{Connection, Pending};
use super::credit::cost;
use super::fault::Violation;
use super::frame::{Header, flag};
use super::reassembly::{Partial, What};
use crate::{CallId, Output};
use bytes::{Buf, Bytes, BytesMut};
use corewire_message::{Body, Headers};

/// How the payload of a message's first frame is laid out, checked against every limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    length: usize,
    fields: usize,
    headers: usize,
    /// The whole body's length, if it goes on in fragments.
    pub(super) more: Option<u32>,
    /// The whole body's length.
    pub(super) total: u32,
}

impl Layout {
    /// What it costs, if it is not an answer: that costs its body alone.
    pub(super) fn cost(self) -> u32 {
        cost(self.total)
    }

    /// How long its header block is.
    pub(super) const fn headers(self) -> usize {
        self.headers
    }

    /// Skips the payload.
    pub(super) fn skip(self, octets: &mut BytesMut) {
        octets.advance(self.length);
    }

    /// Takes header block and body (or its first fragment) as slices of the read buffer.
    pub(super) fn take(self, octets: &mut BytesMut) -> Result<(Headers, Bytes), Violation> {
        if self.fields > 0 {
            octets.advance(self.fields);
        }
        let headers = if self.headers == 0 {
            Headers::new()
        } else {
            let block = octets.split_to(self.headers).freeze();
            Headers::from_block(block).map_err(|_| Violation::HeaderBlock)?
        };
        let length = self.length - self.fields - self.headers;
        let body = if length == 0 {
            Bytes::new()
        } else {
            octets.split_to(length).freeze()
        };
        Ok((headers, body))
    }
}

impl Connection {
    /// Reads the fields of a message's first frame and checks its lengths.
    pub(super) fn layout<'a>(
        &self,
        header: Header,
        octets: &'a [u8],
    ) -> Result<(Fields<'a>, Layout), Violation> {
        let length = header.length as usize;
        let (fields, taken) = Fields::decode(header, &octets[..length])?;
        let body = length - taken - fields.headers;
        let total = match fields.total {
            Some(total) => total,
            None => u32::try_from(body).map_err(|_| Violation::MessageTooLong)?,
        };
        if total > self.enforced.max_message {
            return Err(Violation::MessageTooLong);
        }
        if fields.headers > self.enforced.max_header_block as usize {
            return Err(Violation::HeaderBlockTooLong);
        }
        let layout = Layout {
            length,
            fields: taken,
            headers: fields.headers,
            more: fields.total,
            total,
        };
        Ok((fields, layout))
    }

    /// A message begins: takes its cost from the connection's credit. What costs nothing needs none.
    pub(super) fn charge(&mut self, cost: u32) -> Result<(), Violation> {
        let slack = self.enforced.connection_credit - self.own.connection_credit;
        if cost == 0 || self.receive_credit.charge(cost, slack) {
            Ok(())
        } else {
            Err(Violation::ConnectionCredit)
        }
    }

    pub(super) fn tell_costly(&mut self, output: Output, cost: u32) {
        self.outputs.push_back(Pending { output, cost });
    }

    pub(super) fn on_event(
        &mut self,
        header: Header,
        octets: &mut BytesMut,
    ) -> Result<(), Violation> {
        let (fields, layout) = self.layout(header, octets)?;
        let (name, priority) = (fields.name, fields.priority.unwrap_or_default());
        let operation = self.operation(header.aux, name)?;
        if header.call != 0 {
            return Err(Violation::CallNumber);
        }
        self.charge(layout.cost())?;
        let (headers, body) = layout.take(octets)?;
        let mut event = corewire_message::Event {
            operation,
            headers,
            body: Body::new(),
            priority,
        };
        let lane = self
            .partial_events
            .binary_search_by_key(&priority.value(), |entry| entry.0);
        match (layout.more, lane) {
            (_, Ok(_)) => return Err(Violation::WithinMessage),
            (Some(total), Err(at)) => {
                event.headers.detach();
                let partial = Partial::new(What::Event(event), total, &body)?;
                self.partial_events
                    .insert(at, (priority.value(), Box::new(partial)));
            }
            (None, Err(_)) => {
                event.body = Body::from(body);
                self.tell_costly(Output::Event(event), layout.cost());
            }
        }
        Ok(())
    }

    pub(super) fn on_fragment(&mut self, header: Header, payload: &[u8]) -> Result<(), Violation> {
        let more = header.has(flag::MORE);
        if header.call == 0 {
            return self.on_event_fragment(header.aux, payload, more);
        }
        let Some(slot) = self.slot_of(header.call)? else {
            return Ok(());
        };
        let call = self.calls.get_mut(slot);
        let Some(partial) = call.partial.as_mut() else {
            // What comes after the answer is not kept.
            return if call.answered {
                Ok(())
            } else {
                Err(Violation::FragmentUnexpected)
            };
        };
        if partial.add(payload, more)?
            && let Some(partial) = call.partial.take()
        {
            let cost = partial.cost();
            self.complete(slot, header.call, *partial, cost);
        }
        Ok(())
    }

    fn on_event_fragment(
        &mut self,
        priority: u16,
        payload: &[u8],
        more: bool,
    ) -> Result<(), Violation> {
        let at = self
            .partial_events
            .binary_search_by_key(&priority, |entry| u16::from(entry.0))
            .map_err(|_| Violation::FragmentUnexpected)?;
        if self.partial_events[at].1.add(payload, more)? {
            let (_, partial) = self.partial_events.remove(at);
            let cost = partial.cost();
            if let (What::Event(mut event), body) = partial.into_parts() {
                event.body = Body::from(body);
                self.tell_costly(Output::Event(event), cost);
            }
        }
        Ok(())
    }

    /// The last fragment came.
    fn complete(&mut self, slot: u32, number: u32, partial: Partial, cost: u32) {
        let call = CallId::new(number);
        let (what, body) = partial.into_parts();
        match what {
            What::Request(mut request) => {
                request.body = Body::from(body);
                self.calls.get_mut(slot).delivered = true;
                self.tell_costly(Output::Request { call, request }, cost);
            }
            What::Message => self.deliver(slot, number, body, cost),
            What::Response {
                mut response,
                not_executed,
            } => {
                response.body = Body::from(body);
                self.answered(slot, call, response, not_executed, cost);
            }
            What::Event(_) => {}
        }
    }
}
