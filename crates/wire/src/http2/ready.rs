//! Frames that are made as soon as they are asked for.
//!
//! Most header sections say what was said before, and most bodies are short: their frames are written at
//! once, behind each other, and wait for the sink. None of them changes what is remembered by header
//! compression, so those of a stream that is given up meanwhile can be taken out again: the peer never
//! hears of them.

use super::frame::{DATA, END_HEADERS, END_STREAM, HEAD, HEADERS, Head};
use super::session::{Role, Session};
use super::{Field, HeaderPrefix, Sink};

/// Octets that wait this way; what comes when there are more waits for its turn in the queues.
const MOST: usize = 32 << 10;

/// The longest header section that is written at once: it fits into a frame of any peer.
const LONGEST_SECTION: usize = 1 << 14;

/// The longest shared part of a body that is copied.
const LONGEST_COPY: usize = 4096;

/// Where a frame's flags are.
const FLAGS: usize = 4;

/// Frames that wait for the sink.
#[derive(Debug, Default)]
pub(super) struct Ready {
    pub(super) octets: Vec<u8>,
    /// Client: the last request among them.
    request: u32,
    /// The stream whose DATA is the last of the frames, and where that begins.
    last_data: Option<(u32, usize)>,
}

impl Ready {
    pub(super) const fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    const fn has_room(&self) -> bool {
        self.octets.len() < MOST
    }
}

impl Session {
    /// Writes a header section now, if it can be; says whether it did.
    pub(super) fn section_now(
        &mut self,
        stream: u32,
        lead: Option<&mut HeaderPrefix>,
        fields: &[Field<'_>],
        ends: bool,
    ) -> bool {
        if !self.ready.has_room() {
            return false;
        }
        let out = &mut self.ready.octets;
        let start = out.len();
        out.extend_from_slice(&[0; HEAD]);
        let is_known = self.encoder.without_change(|encoder| {
            if let Some(lead) = lead {
                lead.encode(encoder, out);
            }
            for field in fields {
                let (name, value, indexing) = field.coded();
                encoder.field(name, value, indexing, out);
            }
        });
        let length = out.len() - start - HEAD;
        if !is_known || length > LONGEST_SECTION {
            out.truncate(start);
            return false;
        }
        let head = Head {
            length,
            kind: HEADERS,
            flags: END_HEADERS | if ends { END_STREAM } else { 0 },
            stream,
        };
        out[start..start + HEAD].copy_from_slice(&head.write());
        self.ready.last_data = None;
        if self.role == Role::Client {
            self.ready.request = self.ready.request.max(stream);
        }
        true
    }

    /// Writes a piece of a body now, if it can be; says whether it did. What was before it has been
    /// written.
    pub(super) fn data_now(&mut self, place: usize, inline: &[u8], shared: &[u8]) -> bool {
        let stream = self.streams.at(place);
        let length = inline.len() + shared.len();
        if shared.len() >= LONGEST_COPY
            || !self.ready.has_room()
            || stream.credit.with(self.credit) < length
        {
            return false;
        }
        stream.credit.spend(length);
        self.credit.spend(length);
        let stream = stream.number;
        let out = &mut self.ready.octets;
        self.ready.last_data = Some((stream, out.len()));
        let head = Head {
            length,
            kind: DATA,
            flags: 0,
            stream,
        };
        out.reserve(HEAD + length);
        out.extend_from_slice(&head.write());
        out.extend_from_slice(inline);
        out.extend_from_slice(shared);
        true
    }

    /// Ends a body now that has been written.
    pub(super) fn end_now(&mut self, stream: u32) {
        let out = &mut self.ready.octets;
        match self.ready.last_data {
            Some((last, place)) if last == stream => out[place + FLAGS] |= END_STREAM,
            _ => {
                let head = Head {
                    length: 0,
                    kind: DATA,
                    flags: END_STREAM,
                    stream,
                };
                out.extend_from_slice(&head.write());
            }
        }
        self.ready.last_data = None;
    }

    /// The stream is given up: what was not sent of it never will be.
    pub(super) fn withdraw(&mut self, stream: u32) {
        if self.ready.is_empty() {
            return;
        }
        self.ready.last_data = None;
        let mut kept = Vec::with_capacity(self.ready.octets.len());
        let mut rest = &self.ready.octets[..];
        while let Some(head) = rest.first_chunk() {
            let head = Head::read(*head);
            let (frame, behind) = rest.split_at(HEAD + head.length);
            rest = behind;
            if head.stream != stream {
                kept.extend_from_slice(frame);
            } else if head.kind == DATA {
                self.credit.unspend(head.length);
            }
        }
        self.ready.octets = kept;
    }

    /// What waits goes out before the frames that the caller adds to the control frames: they change what
    /// may be sent.
    pub(super) fn commit_ready(&mut self) {
        let Ready { octets, .. } = &mut self.ready;
        self.control.octets.append(octets);
        self.ready_is_sent();
    }

    pub(super) fn send_ready(&mut self, sink: &mut dyn Sink) {
        sink.put(&self.ready.octets);
        self.ready.octets.clear();
        self.ready_is_sent();
    }

    fn ready_is_sent(&mut self) {
        self.ready.last_data = None;
        self.requests.last_written = self.requests.last_written.max(self.ready.request);
    }
}
