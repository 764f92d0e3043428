//! One message in the body of an event.
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
//! Flag 08h: a caller waits for this message.

use crate::message::Message;
use corewire_wire::rmr::{D1_OCTETS, HEADER_OCTETS, HeaderMut, MEID_OCTETS, SOURCE_OCTETS};
use corewire_wire::rmr::{XACTION_OCTETS, flags};
use std::fmt;

const FIXED: usize = 16;
const HAS_XACTION: u8 = 0x01;
const HAS_MEID: u8 = 0x02;
const HAS_SOURCE: u8 = 0x04;
const IS_CALL: u8 = 0x08;
const KNOWN: u8 = HAS_XACTION | HAS_MEID | HAS_SOURCE | IS_CALL;

const XACTION: usize = 12;
const SOURCE: usize = 76;
const MEID: usize = 140;
const FLAGS: usize = 192;
const SOURCE_IP: usize = 216;

/// The longest trace data that a record can carry.
pub(crate) const MOST_TRACE: usize = u16::MAX as usize;

/// Name and address of a source, as they stand in the header.
pub(crate) type Source = [u8; 2 * SOURCE_OCTETS];

/// Appends a message. `source` is that of the record before; it becomes this one's.
pub(crate) fn write(message: &Message, source: &mut Option<Source>, out: &mut Vec<u8>) {
    let begin = out.len();
    let xaction = message.field::<XACTION_OCTETS>(XACTION);
    let meid = until_nul(message.field::<MEID_OCTETS>(MEID));
    let mut ours = [0; 2 * SOURCE_OCTETS];
    let (name, address) = ours.split_at_mut(SOURCE_OCTETS);
    name.copy_from_slice(message.field::<SOURCE_OCTETS>(SOURCE));
    address.copy_from_slice(message.field::<SOURCE_OCTETS>(SOURCE_IP));
    let has_xaction = xaction.iter().any(|octet| *octet != 0);
    let has_source = source.as_ref() != Some(&ours);
    let rmr_flags = <[u8; 4]>::try_from(message.field::<4>(FLAGS)).map_or(0, i32::from_ne_bytes);
    let mut told = 0;
    let mut tell = |flag, is| told |= if is { flag } else { 0 };
    tell(HAS_XACTION, has_xaction);
    tell(HAS_MEID, !meid.is_empty());
    tell(HAS_SOURCE, has_source);
    tell(IS_CALL, rmr_flags & flags::CALL != 0);
    let octets = message.rmr_octets();
    let call_id = octets.get(message.call_range()).and_then(|d1| d1.first());
    let trace = octets.get(message.trace_range()).unwrap_or_default();
    let trace = &trace[..trace.len().min(MOST_TRACE)];
    let payload = message.used_payload();

    out.reserve(FIXED + HEADER_OCTETS + trace.len() + payload.len());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&message.mtype.to_le_bytes());
    out.extend_from_slice(&message.sub_id.to_le_bytes());
    out.extend_from_slice(&[told, call_id.copied().unwrap_or(0)]);
    out.extend_from_slice(&(trace.len() as u16).to_le_bytes());
    if has_xaction {
        out.extend_from_slice(xaction);
    }
    if !meid.is_empty() {
        put_short(out, meid);
    }
    if has_source {
        put_short(out, until_nul(&ours[..SOURCE_OCTETS]));
        put_short(out, until_nul(&ours[SOURCE_OCTETS..]));
        *source = Some(ours);
    }
    out.extend_from_slice(trace);
    out.extend_from_slice(payload);
    // A message is never longer than a C int can count.
    let length = (out.len() - begin) as u32;
    out[begin..begin + 4].copy_from_slice(&length.to_ne_bytes());
}

/// At most 64 octets with their length.
fn put_short(out: &mut Vec<u8>, octets: &[u8]) {
    out.push(octets.len() as u8);
    out.extend_from_slice(octets);
}

fn until_nul(field: &[u8]) -> &[u8] {
    field.split(|octet| *octet == 0).next().unwrap_or_default()
}

/// A record that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    message_type: i32,
    sub_id: i32,
    told: u8,
    call_id: u8,
    xaction: &'a [u8; XACTION_OCTETS],
    meid: &'a [u8],
    name: &'a [u8],
    address: &'a [u8],
    trace: &'a [u8],
    payload: &'a [u8],
}

/// Why octets are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It says that it is longer than what there is, or shorter than it can be.
    Length,
    /// A field goes beyond its end or is longer than it may be.
    Field,
    /// A flag that is not known.
    Flags,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "a record's length does not fit into its event",
            Self::Field => "a field of a record goes beyond its end",
            Self::Flags => "a record has a flag that is not known",
        })
    }
}

impl std::error::Error for Fault {}

/// Where in an event's body the source of the last record stands: name, then address.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastSource {
    name: std::ops::Range<usize>,
    address: std::ops::Range<usize>,
}

/// Reads the record at `at` of an event's body; gives it and where the next one begins.
pub(crate) fn read<'a>(
    body: &'a [u8],
    at: usize,
    last: &mut LastSource,
) -> Result<(Record<'a>, usize), Fault> {
    const NO_XACTION: [u8; XACTION_OCTETS] = [0; XACTION_OCTETS];
    let rest = body.get(at..).ok_or(Fault::Length)?;
    let fixed = rest.first_chunk::<FIXED>().ok_or(Fault::Length)?;
    let [a, b, c, d, e, f, g, h, i, j, k, l, told, call_id, m, n] = *fixed;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let trace_length = usize::from(u16::from_le_bytes([m, n]));
    if length < FIXED || length > rest.len() {
        return Err(Fault::Length);
    }
    if told & !KNOWN != 0 {
        return Err(Fault::Flags);
    }
    let end = at + length;
    let mut next = at + FIXED;
    let mut take = |count: usize| {
        let range = next..next
            .checked_add(count)
            .filter(|to| *to <= end)
            .ok_or(Fault::Field)?;
        next = range.end;
        Ok(range)
    };
    let xaction = match told & HAS_XACTION {
        0 => &NO_XACTION,
        _ => body[take(XACTION_OCTETS)?]
            .first_chunk()
            .ok_or(Fault::Field)?,
    };
    let short = |take: &mut dyn FnMut(usize) -> Result<std::ops::Range<usize>, Fault>, most| {
        let count = usize::from(body[take(1)?][0]);
        if count < most {
            take(count)
        } else {
            Err(Fault::Field)
        }
    };
    let meid = match told & HAS_MEID {
        0 => 0..0,
        _ => short(&mut take, MEID_OCTETS)?,
    };
    if told & HAS_SOURCE != 0 {
        last.name = short(&mut take, SOURCE_OCTETS)?;
        last.address = short(&mut take, SOURCE_OCTETS)?;
    }
    let trace = take(trace_length)?;
    let record = Record {
        message_type: i32::from_le_bytes([e, f, g, h]),
        sub_id: i32::from_le_bytes([i, j, k, l]),
        told,
        call_id,
        xaction,
        meid: &body[meid],
        name: body.get(last.name.clone()).unwrap_or_default(),
        address: body.get(last.address.clone()).unwrap_or_default(),
        trace: &body[trace.clone()],
        payload: &body[trace.end..end],
    };
    Ok((record, end))
}

impl Record<'_> {
    /// The caller that waits for it; `None` for everything but replies to calls.
    pub(crate) fn reply_to(&self) -> Option<u8> {
        (self.told & IS_CALL == 0 && self.call_id != 0).then_some(self.call_id)
    }

    /// Its transaction.
    pub(crate) fn xaction(&self) -> &[u8; XACTION_OCTETS] {
        self.xaction
    }

    /// Octets that it takes in a message's buffer.
    pub(crate) fn room(&self) -> usize {
        crate::message::OVERHEAD + self.trace.len() + self.payload.len()
    }

    /// Copies it into a message; `false` when there is no memory.
    pub(crate) fn fill(&self, message: &mut Message, standard: usize) -> bool {
        if !message.grow(self.room().max(standard)) {
            return false;
        }
        message.set_usable(message.capacity());
        let octets = message.rmr_octets_mut();
        let Some(mut header) = HeaderMut::init(octets, self.trace.len()) else {
            return false;
        };
        header.set_message_type(self.message_type);
        header.set_sub_id(self.sub_id);
        header.set_payload_length(self.payload.len() as u32);
        header.set_source(self.name);
        header.set_source_ip(self.address);
        header.set_meid(self.meid);
        header.xaction_mut().copy_from_slice(self.xaction);
        header.set_call_id(self.call_id);
        if self.told & IS_CALL != 0 {
            header.set_flags(flags::CALL);
        }
        let trace_at = HEADER_OCTETS;
        octets[trace_at..][..self.trace.len()].copy_from_slice(self.trace);
        let payload_at = trace_at + self.trace.len() + D1_OCTETS;
        octets[payload_at..][..self.payload.len()].copy_from_slice(self.payload);
        message.received(self.message_type, self.sub_id, self.payload.len());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Names;
    use std::ptr::NonNull;

    struct Owned(NonNull<Message>);

    impl Owned {
        fn new() -> Self {
            let mut message = Message::new(4096, std::ptr::null()).unwrap();
            let names = Names {
                name: b"here:4560".to_vec(),
                address: b"10.0.0.1:4560".to_vec(),
            };
            // SAFETY: just made.
            assert!(unsafe { message.as_mut() }.begin(100, 5, &names));
            Self(message)
        }

        fn get(&mut self) -> &mut Message {
            // SAFETY: ours alone.
            unsafe { self.0.as_mut() }
        }
    }

    impl Drop for Owned {
        fn drop(&mut self) {
            // SAFETY: made in `new`, and not used again.
            unsafe { Message::destroy(self.0) };
        }
    }

    #[test]
    fn a_message_comes_out_as_it_went_in() {
        let mut sent = Owned::new();
        let message = sent.get();
        (message.mtype, message.sub_id) = (12010, 7);
        message.set_payload(b"payload");
        message.rmr_octets_mut()[XACTION..XACTION + 3].copy_from_slice(b"x/1");
        message.rmr_octets_mut()[HEADER_OCTETS..][..5].copy_from_slice(b"trace");
        message.header_mut().unwrap().set_meid(b"gnb");
        assert!(crate::send::set_call(message, 9, true));
        let (mut source, mut out) = (None, Vec::new());
        write(message, &mut source, &mut out);
        let first = out.len();
        write(message, &mut source, &mut out);
        assert!(out.len() < 2 * first, "the source stands there once");

        let mut last = LastSource::default();
        let (record, at) = read(&out, 0, &mut last).unwrap();
        assert_eq!(at, first);
        assert_eq!(record.reply_to(), None);
        let (record, at) = read(&out, at, &mut last).unwrap();
        assert_eq!(at, out.len());
        let mut received = Owned::new();
        assert!(record.fill(received.get(), 0));
        let (sent, received) = (sent.get(), received.get());
        assert_eq!(received.used_payload(), b"payload");
        assert_eq!((received.mtype, received.sub_id), (12010, 7));
        let whole = received.payload_at() + received.used_payload().len();
        let (mut a, mut b) = (
            sent.rmr_octets()[..whole].to_vec(),
            received.rmr_octets()[..whole].to_vec(),
        );
        // Sending writes type, subscription and length into the header; that was not done here.
        for octets in [&mut a, &mut b] {
            octets[..8].fill(0);
            octets[212..216].fill(0);
        }
        assert_eq!(a, b);
    }

    #[test]
    fn whatever_stands_in_an_event_is_a_record_or_a_fault() {
        let mut sent = Owned::new();
        let message = sent.get();
        message.set_payload(b"payload");
        let mut out = Vec::new();
        write(message, &mut None, &mut out);
        for cut in 0..out.len() {
            assert!(read(&out[..cut], 0, &mut LastSource::default()).is_err());
        }
        for at in 0..out.len() {
            for value in 0..=u8::MAX {
                let mut wrong = out.clone();
                wrong[at] = value;
                if let Ok((record, end)) = read(&wrong, 0, &mut LastSource::default()) {
                    assert!(end <= wrong.len() && record.payload.len() <= wrong.len());
                }
            }
        }
        let fault = |at: usize, value: u8| {
            let mut wrong = out.clone();
            wrong[at] = value;
            read(&wrong, 0, &mut LastSource::default()).unwrap_err()
        };
        assert_eq!(fault(0, 15), Fault::Length);
        assert_eq!(fault(12, 0x80), Fault::Flags);
        assert_eq!(fault(16, 64), Fault::Field);
    }
}
