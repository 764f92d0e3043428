//! Messages as the native transport carries them: records, many in the body of one event.
//!
//! ```text
//! offset  size  field                             all numbers little endian
//!      0     4  length of the record, itself included
//!      4     4  message type
//!      8     4  subscription, -1: none
//!     12     1  flags
//!     13     1  number of the caller that waits, or that this answers; 0: none
//!     14     2  length of the trace data
//!     16     *  what the flags announce, in this order:
//!                 01h  transaction       32 octets; else all zero
//!                 02h  managed element   u8 length, octets; else empty
//!                 04h  source            u8 length, octets; u8 length, octets: name and address;
//!                                        else those of the record before in this event
//!               trace data
//!               payload, to the end of the record
//! ```
//!
//! Flag 08h: a caller waits for this message. A flag that is not known is a fault, since flags
//! change how the rest is read.

use super::{MEID_OCTETS, SOURCE_OCTETS, XACTION_OCTETS};
use std::fmt;
use std::ops::Range;

/// Octets that every record has.
pub const FIXED_OCTETS: usize = 16;

/// The longest trace data that a record can carry.
pub const MAX_TRACE: usize = u16::MAX as usize;

/// What an event with records is about: the operation's name.
pub const OPERATION: &str = "corewire.rmr.v1.Router/Deliver";

const HAS_XACTION: u8 = 0x01;
const HAS_MEID: u8 = 0x02;
const HAS_SOURCE: u8 = 0x04;
const IS_CALL: u8 = 0x08;
const KNOWN: u8 = HAS_XACTION | HAS_MEID | HAS_SOURCE | IS_CALL;

const NO_XACTION: [u8; XACTION_OCTETS] = [0; XACTION_OCTETS];

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "version 1 has these fields")]
pub struct Record<'a> {
    /// The message's type.
    pub message_type: i32,
    /// The subscription, or -1.
    pub sub_id: i32,
    /// Whether a caller waits for this message.
    pub is_call: bool,
    /// The number of the caller that waits, or that this answers; 0: none.
    pub call_id: u8,
    /// The transaction.
    pub xaction: &'a [u8; XACTION_OCTETS],
    /// The managed element, shorter than [`MEID_OCTETS`]; empty: none.
    pub meid: &'a [u8],
    /// Whom it came from, `host:port`, shorter than [`SOURCE_OCTETS`].
    pub name: &'a [u8],
    /// The same by address.
    pub address: &'a [u8],
    /// Trace data, at most [`MAX_TRACE`] octets.
    pub trace: &'a [u8],
    /// The payload.
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// Appends the record; without its source, when that is the one of the record before. What is
    /// longer than it may be is cut.
    #[inline]
    pub fn write(&self, with_source: bool, out: &mut Vec<u8>) {
        let has_xaction = *self.xaction != NO_XACTION;
        let trace = &self.trace[..self.trace.len().min(MAX_TRACE)];
        let mut flags = 0;
        for (flag, is) in [
            (HAS_XACTION, has_xaction),
            (HAS_MEID, !self.meid.is_empty()),
            (HAS_SOURCE, with_source),
            (IS_CALL, self.is_call),
        ] {
            flags |= if is { flag } else { 0 };
        }
        let mut length = FIXED_OCTETS + trace.len() + self.payload.len();
        if has_xaction {
            length += XACTION_OCTETS;
        }
        if !self.meid.is_empty() {
            length += short_length(self.meid, MEID_OCTETS);
        }
        if with_source {
            length += short_length(self.name, SOURCE_OCTETS);
            length += short_length(self.address, SOURCE_OCTETS);
        }
        out.reserve(length);
        let mut fixed = [0; FIXED_OCTETS];
        let told = u32::try_from(length).unwrap_or(u32::MAX);
        fixed[..4].copy_from_slice(&told.to_le_bytes());
        fixed[4..8].copy_from_slice(&self.message_type.to_le_bytes());
        fixed[8..12].copy_from_slice(&self.sub_id.to_le_bytes());
        fixed[12] = flags;
        fixed[13] = self.call_id;
        fixed[14..].copy_from_slice(&(trace.len() as u16).to_le_bytes());
        out.extend_from_slice(&fixed);
        if has_xaction {
            out.extend_from_slice(self.xaction);
        }
        if !self.meid.is_empty() {
            put_short(out, self.meid, MEID_OCTETS);
        }
        if with_source {
            put_short(out, self.name, SOURCE_OCTETS);
            put_short(out, self.address, SOURCE_OCTETS);
        }
        out.extend_from_slice(trace);
        out.extend_from_slice(self.payload);
    }
}

/// What `put_short` takes.
fn short_length(octets: &[u8], most: usize) -> usize {
    1 + octets.len().min(most - 1)
}

/// Octets with their length, which is less than `most`.
fn put_short(out: &mut Vec<u8>, octets: &[u8], most: usize) {
    let octets = &octets[..octets.len().min(most - 1)];
    out.push(octets.len() as u8);
    out.extend_from_slice(octets);
}

/// Why octets are no record. There is no telling where the next one of the event begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordFault {
    /// It says that it is longer than what there is, or shorter than it can be.
    Length,
    /// A field goes beyond its end or is longer than it may be.
    Field,
    /// A flag that is not known.
    Flags,
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "a record's length does not fit into its event",
            Self::Field => "a field of a record goes beyond its end or is too long",
            Self::Flags => "a record has a flag that is not known",
        })
    }
}

impl std::error::Error for RecordFault {}

/// Reads the records of an event one after the other. It holds no octets: whoever has the event
/// gives them each time.
#[derive(Clone, Debug, Default)]
pub struct RecordReader {
    at: usize,
    name: Range<usize>,
    address: Range<usize>,
}

impl RecordReader {
    /// The next record of the event with this body, and where it ends; `None` after the last.
    /// Until [`advance`](Self::advance) it is the same one.
    ///
    /// # Errors
    /// When it is none: give up the connection, the peer does not speak this.
    #[inline]
    pub fn peek<'a>(&mut self, body: &'a [u8]) -> Result<Option<(Record<'a>, usize)>, RecordFault> {
        let Some(rest) = body.get(self.at..).filter(|rest| !rest.is_empty()) else {
            return Ok(None);
        };
        let fixed = rest.first_chunk::<FIXED_OCTETS>();
        let [a, b, c, d, e, f, g, h, i, j, k, l, flags, call_id, m, n] =
            *fixed.ok_or(RecordFault::Length)?;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length < FIXED_OCTETS || length > rest.len() {
            return Err(RecordFault::Length);
        }
        if flags & !KNOWN != 0 {
            return Err(RecordFault::Flags);
        }
        let mut fields = Fields {
            body: &body[..self.at + length],
            at: self.at + FIXED_OCTETS,
        };
        let xaction = match flags & HAS_XACTION {
            0 => &NO_XACTION,
            _ => body[fields.take(XACTION_OCTETS)?]
                .first_chunk()
                .ok_or(RecordFault::Field)?,
        };
        let meid = match flags & HAS_MEID {
            0 => 0..0,
            _ => fields.take_short(MEID_OCTETS)?,
        };
        if flags & HAS_SOURCE != 0 {
            self.name = fields.take_short(SOURCE_OCTETS)?;
            self.address = fields.take_short(SOURCE_OCTETS)?;
        }
        let trace = fields.take(usize::from(u16::from_le_bytes([m, n])))?;
        let record = Record {
            message_type: i32::from_le_bytes([e, f, g, h]),
            sub_id: i32::from_le_bytes([i, j, k, l]),
            is_call: flags & IS_CALL != 0,
            call_id,
            xaction,
            meid: &body[meid],
            name: body.get(self.name.clone()).unwrap_or_default(),
            address: body.get(self.address.clone()).unwrap_or_default(),
            trace: &body[trace],
            payload: &body[fields.at..fields.body.len()],
        };
        Ok(Some((record, self.at + length)))
    }

    /// Whether nothing is left of the event.
    #[must_use]
    pub fn is_done(&self, body: &[u8]) -> bool {
        self.at >= body.len()
    }

    /// Goes to the record that begins there: where the last one ended.
    pub fn advance(&mut self, end: usize) {
        self.at = end;
    }
}

/// The rest of a record.
struct Fields<'a> {
    body: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn take(&mut self, count: usize) -> Result<Range<usize>, RecordFault> {
        if count > self.body.len() - self.at {
            return Err(RecordFault::Field);
        }
        let range = self.at..self.at + count;
        self.at = range.end;
        Ok(range)
    }

    fn take_short(&mut self, most: usize) -> Result<Range<usize>, RecordFault> {
        let length = self.take(1)?;
        let count = usize::from(self.body[length.start]);
        if count >= most {
            return Err(RecordFault::Field);
        }
        self.take(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record<'a>(payload: &'a [u8]) -> Record<'a> {
        Record {
            message_type: 12010,
            sub_id: 7,
            is_call: true,
            call_id: 9,
            xaction: &[3; XACTION_OCTETS],
            meid: b"gnb",
            name: b"here:4560",
            address: b"10.0.0.1:4560",
            trace: b"trace",
            payload,
        }
    }

    #[test]
    fn records_come_out_as_they_went_in_and_the_source_stands_there_once() {
        let (first, second) = (record(b"payload"), record(b""));
        let mut body = Vec::new();
        first.write(true, &mut body);
        let one = body.len();
        second.write(false, &mut body);
        assert!(body.len() < 2 * one - 20);
        let mut reader = RecordReader::default();
        for expected in [first, second] {
            let (found, end) = reader.peek(&body).unwrap().unwrap();
            assert_eq!(found, expected);
            assert_eq!(reader.peek(&body).unwrap().unwrap(), (found, end));
            reader.advance(end);
        }
        assert_eq!(reader.peek(&body), Ok(None));
    }

    #[test]
    fn whatever_a_record_leaves_out_it_comes_out_as_it_went_in() {
        for parts in 0..16_u8 {
            let has = |part: u8| parts & part != 0;
            let first = record(b"first");
            let second = Record {
                is_call: has(1),
                xaction: if has(2) { first.xaction } else { &NO_XACTION },
                meid: if has(4) { first.meid } else { b"" },
                trace: if has(8) { first.trace } else { b"" },
                ..record(b"second")
            };
            let mut body = Vec::new();
            first.write(true, &mut body);
            second.write(false, &mut body);
            let mut reader = RecordReader::default();
            for expected in [first, second] {
                assert!(!reader.is_done(&body));
                let (found, end) = reader.peek(&body).unwrap().unwrap();
                assert_eq!(found, expected);
                reader.advance(end);
            }
            assert!(reader.is_done(&body));
        }
    }

    #[test]
    fn names_longer_than_they_may_be_are_cut() {
        let long = [b'x'; 300];
        let record = Record {
            meid: &long,
            name: &long,
            address: &long,
            ..record(b"payload")
        };
        let mut body = Vec::new();
        record.write(true, &mut body);
        let (found, end) = RecordReader::default().peek(&body).unwrap().unwrap();
        assert_eq!(end, body.len());
        let lengths = (found.meid.len(), found.name.len(), found.address.len());
        assert_eq!(lengths, (31, 63, 63));
        assert_eq!(found.payload, b"payload");
    }

    #[test]
    fn the_least_record_has_sixteen_octets() {
        let least = Record {
            message_type: 0,
            sub_id: -1,
            is_call: false,
            call_id: 0,
            xaction: &NO_XACTION,
            meid: b"",
            name: b"",
            address: b"",
            trace: b"",
            payload: b"",
        };
        let mut body = Vec::new();
        least.write(false, &mut body);
        assert_eq!(
            body,
            [16, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0]
        );
        let read = RecordReader::default().peek(&body);
        assert_eq!(read, Ok(Some((least, 16))));
    }

    #[test]
    fn whatever_stands_in_an_event_is_a_record_or_a_fault() {
        let mut body = Vec::new();
        record(b"payload").write(true, &mut body);
        for cut in 1..body.len() {
            assert!(RecordReader::default().peek(&body[..cut]).is_err());
        }
        let fault = |at: usize, value: u8| {
            let mut wrong = body.clone();
            wrong[at] = value;
            RecordReader::default().peek(&wrong).unwrap_err()
        };
        assert_eq!(fault(0, 15), RecordFault::Length);
        assert_eq!(fault(12, 0x80), RecordFault::Flags);
        assert_eq!(fault(48, 32), RecordFault::Field);
        assert_eq!(fault(14, 200), RecordFault::Field);
        for at in 0..body.len() {
            for value in 0..=u8::MAX {
                let mut wrong = body.clone();
                wrong[at] = value;
                if let Ok(found) = RecordReader::default().peek(&wrong) {
                    assert!(found.unwrap().1 <= wrong.len());
                }
            }
        }
    }
}
