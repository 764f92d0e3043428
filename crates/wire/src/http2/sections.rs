//! Header sections as they come: HEADERS, CONTINUATION, HPACK.

use super::event::{Event, HeadersKind};
use super::flow::SendWindow;
use super::frame::{self, CONTINUATION, END_HEADERS, END_STREAM, Head, WITH_PRIORITY, number};
use super::messaging::{self, Malformed};
use super::receive::Taken;
use super::session::{Role, Session};
use super::{ErrorCode, Fields};
use crate::hpack;
use std::ops::Range;
use std::time::Instant;

/// The table that the peer's header compression may use: what every connection begins with.
const TABLE_SIZE: u32 = 4096;

/// A header block that did not fit into its HEADERS frame.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The HEADERS frame's head, while CONTINUATION is to follow.
    head: Option<Head>,
    /// The stream was said to depend on itself.
    is_loop: bool,
    octets: Vec<u8>,
    frames: usize,
}

impl Block {
    pub(super) const fn goes_on(&self) -> bool {
        self.head.is_some()
    }

    /// RFC 9113, 6.10: CONTINUATION of the same stream.
    pub(super) fn is_followed_by(&self, head: Head) -> bool {
        let begun = self.head.map(|begun| begun.stream);
        head.kind == CONTINUATION && begun == Some(head.stream)
    }
}

/// What is kept from one header section to the next, and those that came in this turn.
pub(super) struct Sections {
    decoder: hpack::Decoder,
    /// A header block that goes on.
    pub(super) block: Block,
    /// Fields of the header sections among the session's events, flat.
    pub(super) fields: Vec<u8>,
}

impl Sections {
    pub(super) fn new() -> Self {
        Self {
            decoder: hpack::Decoder::new(TABLE_SIZE),
            block: Block::default(),
            fields: Vec::new(),
        }
    }
}

/// What was read of a header block: where its fields stand, and whether some are missing.
struct Section {
    fields: Range<usize>,
    oversized: bool,
}

impl Session {
    pub(super) fn headers(&mut self, now: Instant, head: Head, payload: &[u8]) -> Taken {
        // RFC 9113, 6.2.
        let Some((mut block, _)) = frame::without_padding(head, payload) else {
            return Err(ErrorCode::PROTOCOL_ERROR);
        };
        let mut is_loop = false;
        if head.has(WITH_PRIORITY) {
            // RFC 9113, 4.2: too short for what its flags announce.
            let Some((priority, rest)) = block.split_first_chunk::<5>() else {
                return Err(ErrorCode::FRAME_SIZE_ERROR);
            };
            let [p0, p1, p2, p3, _weight] = *priority;
            // RFC 7540, 5.3.1; all else of a priority is ignored (RFC 9113, 5.3.2).
            is_loop = number([p0, p1, p2, p3]) == head.stream;
            block = rest;
        }
        if head.has(END_HEADERS) {
            return self.whole_block(now, head, is_loop, block);
        }
        self.sections.block.head = Some(head);
        self.sections.block.is_loop = is_loop;
        self.sections.block.frames = 0;
        self.sections.block.octets.clear();
        self.sections.block.octets.extend_from_slice(block);
        Ok(())
    }

    pub(super) fn continuation(&mut self, now: Instant, head: Head, payload: &[u8]) -> Taken {
        // RFC 9113, 6.10: it continues nothing.
        let Some(begun) = self.sections.block.head else {
            return Err(ErrorCode::PROTOCOL_ERROR);
        };
        self.sections.block.frames += 1;
        let length = self.sections.block.octets.len() + payload.len();
        // RFC 9113, 10.5.1. Compressed it is hardly longer than the list that is taken.
        let longest =
            (self.limits.max_frame as usize).max(4 * self.limits.max_header_list as usize);
        if self.sections.block.frames > self.limits.max_continuations || length > longest {
            return Err(ErrorCode::ENHANCE_YOUR_CALM);
        }
        self.sections.block.octets.extend_from_slice(payload);
        if !head.has(END_HEADERS) {
            return Ok(());
        }
        let block = std::mem::take(&mut self.sections.block);
        self.whole_block(now, begun, block.is_loop, &block.octets)
    }

    /// A header block is here: finds out what it is a section of. Whatever that is, it must be
    /// decompressed, or those behind it could not be (RFC 9113, 4.3).
    fn whole_block(&mut self, now: Instant, head: Head, is_loop: bool, block: &[u8]) -> Taken {
        let stream = head.stream;
        let Some(place) = self.streams.find(stream) else {
            // RFC 9113, 5.1.1: odd, and above all before.
            let opens = self.role == Role::Server && stream % 2 == 1 && stream > self.ended.last();
            if opens {
                return self.opens(now, head, is_loop, block);
            }
            self.of_no_stream(head)?;
            // It was on its way when this side ended the stream (RFC 9113, 5.1).
            let section = self.read(now, block)?;
            self.sections.fields.truncate(section.fields.start);
            return Ok(());
        };
        // RFC 9113, 5.1: idle.
        if self.is_unsent(stream) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        let known = self.streams.at(place);
        // RFC 9113, 5.1: half-closed (remote). 5.4.1 allows to end the connection for it.
        if known.received_all {
            return Err(ErrorCode::STREAM_CLOSED);
        }
        let ends = head.has(END_STREAM);
        let is_leading = !known.body.has_head;
        let section = self.read(now, block)?;
        let fields = Fields(&self.sections.fields[section.fields.clone()]);
        let known = self.streams.at(place);
        let checked = if is_leading {
            known.body.response(fields)
        } else if ends {
            messaging::check_trailers(fields)
        } else {
            // RFC 9113, 8.1: trailers end the stream.
            Err(Malformed)
        };
        // RFC 9113, 8.1.1.
        if is_loop || checked.is_err() {
            if ends && self.role == Role::Server {
                self.ended.end(stream);
            }
            return self.stream_error(now, stream, ErrorCode::PROTOCOL_ERROR);
        }
        let kind = if is_leading {
            HeadersKind::Leading
        } else {
            HeadersKind::Later
        };
        self.tell_section(stream, kind, section);
        if ends {
            return self.ends(now, place);
        }
        Ok(())
    }

    /// Server: a request begins.
    fn opens(&mut self, now: Instant, head: Head, is_loop: bool, block: &[u8]) -> Taken {
        let stream = head.stream;
        let ends = head.has(END_STREAM);
        self.ended.open(stream);
        let section = self.read(now, block)?;
        if self.closing.said_goodbye {
            // It was on its way when this side said that it takes no more (RFC 9113, 6.8).
            self.sections.fields.truncate(section.fields.start);
            return Ok(());
        }
        // RFC 9113, 5.1.2; nothing was processed, so that it may be tried again (8.7).
        if self.streams.len() >= self.limits.max_streams as usize {
            if ends {
                self.ended.end(stream);
            }
            // A peer that has heard of the limit exceeds it on purpose.
            if self.settings.acknowledged {
                return self.stream_error(now, stream, ErrorCode::REFUSED_STREAM);
            }
            self.control.reset(stream, ErrorCode::REFUSED_STREAM);
            return Ok(());
        }
        let mut body = messaging::Body::default();
        let fields = Fields(&self.sections.fields[section.fields.clone()]);
        let checked = body.request(fields, !section.oversized);
        let window = self.first_window();
        let credit = SendWindow::new(self.settings.peer.window);
        // RFC 9113, 8.1.1.
        if is_loop || checked.is_err() || ends && body.end().is_err() {
            if ends {
                self.ended.end(stream);
            }
            return self.stream_error(now, stream, ErrorCode::PROTOCOL_ERROR);
        }
        let place = self.streams.insert(stream, credit, window);
        self.streams.at(place).body = body;
        self.tell_section(stream, HeadersKind::Leading, section);
        if ends {
            return self.ends(now, place);
        }
        Ok(())
    }

    fn tell_section(&mut self, stream: u32, kind: HeadersKind, section: Section) {
        self.events.push_back(Event::Headers {
            stream,
            kind,
            fields: section.fields,
            oversized: section.oversized,
        });
    }

    /// Decompresses a block; its fields stand behind those of earlier ones.
    fn read(&mut self, now: Instant, block: &[u8]) -> Result<Section, ErrorCode> {
        let start = self.sections.fields.len();
        let limit = self.limits.max_header_list as usize;
        // RFC 9113, 4.3.
        let decoded = self
            .sections
            .decoder
            .decode(block, limit, &mut self.sections.fields)
            .map_err(|_| ErrorCode::COMPRESSION_ERROR)?;
        self.reading.work += block.len() + self.sections.fields.len() - start;
        // RFC 9113, 10.5.1: it may be refused, but was decompressed.
        if decoded.oversized {
            self.rates.oversized.count(now)?;
        }
        Ok(Section {
            fields: start..self.sections.fields.len(),
            oversized: decoded.oversized,
        })
    }
}
