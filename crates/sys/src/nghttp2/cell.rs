//! What callbacks and commands share.

use super::StreamMap;
use super::outgoing::{Outgoing, Sink};
use super::{ErrorCode, Event, HeadersKind};
use std::collections::VecDeque;
use std::ptr::NonNull;

/// Emptied stream states kept for the next streams.
const SPARE_STREAMS: usize = 256;
/// Field memory kept between turns, octets.
const KEEP_FIELDS: usize = 64 << 10;

/// What callbacks and commands share. It lives on the heap behind a raw pointer; whoever borrows
/// it does so for a few lines that do not call the library.
pub(super) struct Cell {
    pub(super) events: VecDeque<Event>,
    /// Fields of the header sections among `events`, flat.
    pub(super) fields: Vec<u8>,
    /// The header section being received.
    pub(super) section: Section,
    pub(super) max_header_list: usize,
    /// Where the octets being received start, and how many there are.
    pub(super) input: (usize, usize),
    pub(super) outgoing: StreamMap<Outgoing>,
    pub(super) spare: Vec<Outgoing>,
    /// Octets queued on all streams.
    pub(super) queued: usize,
    /// Where octets go; only while the library is asked to send.
    pub(super) sink: Option<NonNull<dyn Sink>>,
    /// Whether something was written to `sink`.
    pub(super) wrote: bool,
    /// The last request whose HEADERS were written.
    pub(super) last_request: u32,
    /// The error code of a GOAWAY that was sent.
    pub(super) sent_goaway: Option<ErrorCode>,
}

/// The header section being received.
#[derive(Default)]
pub(super) struct Section {
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) oversized: bool,
}

impl Cell {
    pub(super) fn new(max_header_list: u32) -> Self {
        Self {
            events: VecDeque::new(),
            fields: Vec::new(),
            section: Section::default(),
            max_header_list: max_header_list as usize,
            input: (0, 0),
            outgoing: StreamMap::default(),
            spare: Vec::new(),
            queued: 0,
            sink: None,
            wrote: false,
            last_request: 0,
            sent_goaway: None,
        }
    }

    /// Drops the fields of events that were taken. Not while a header section is half received.
    pub(super) fn forget_fields(&mut self) {
        if self.events.is_empty() {
            let open = self.section.start;
            self.fields.drain(..open);
            self.section.start = 0;
            if self.fields.is_empty() {
                self.fields.shrink_to(KEEP_FIELDS);
            }
        }
    }

    pub(super) fn begin_section(&mut self) {
        self.section = Section {
            start: self.fields.len(),
            size: 0,
            oversized: false,
        };
    }

    pub(super) fn add_field(&mut self, name: &[u8], value: &[u8]) {
        // RFC 9113, 6.5.2: the list's size counts 32 octets more for each field.
        self.section.size += name.len() + value.len() + 32;
        if self.section.oversized
            || self.section.size > self.max_header_list
            || !super::outgoing::append_flat(&mut self.fields, name, value)
        {
            self.section.oversized = true;
        }
    }

    pub(super) fn end_section(&mut self, stream: u32, kind: HeadersKind) {
        let fields = self.section.start..self.fields.len();
        self.section.start = self.fields.len();
        self.events.push_back(Event::Headers {
            stream,
            kind,
            fields,
            oversized: self.section.oversized,
        });
    }

    /// A stream is gone: nothing of it goes out any more.
    pub(super) fn close(&mut self, stream: u32, code: ErrorCode) {
        self.forget_outgoing(stream);
        self.events.push_back(Event::Closed { stream, code });
    }

    pub(super) fn forget_outgoing(&mut self, stream: u32) {
        if let Some(mut outgoing) = self.outgoing.remove(&stream) {
            self.queued -= outgoing.queued;
            if self.spare.len() < SPARE_STREAMS {
                outgoing.clear();
                self.spare.push(outgoing);
            }
        }
    }
}
