//! The header in front of every RMR message: 280 octets of which two thirds are names.
//!
//! All integers are in network order, but for the flags, which each host writes as it holds them.

use super::{MEID_OCTETS, SENDER_ID_OCTETS, SOURCE_OCTETS, UNSET, VERSION, XACTION_OCTETS};
use std::fmt;

/// Octets of the header that are written here.
pub const HEADER_OCTETS: usize = 280;

/// Octets of the first extra area, whose first one is the call identifier.
pub const D1_OCTETS: usize = 4;

/// What the header's flags say. They are written in the sender's own order of octets.
pub mod flags {
    /// There is trace data.
    pub const TRACE: i32 = 1;
    /// The subscription identifier is set.
    pub const SUB_ID: i32 = 2;
    /// A blocking call made this message: its call identifier is for the way back.
    pub const CALL: i32 = 4;

    /// Flags as they stand in a header. Those of a sender with the other order of octets are told by
    /// there being some that are known in that, and none in ours.
    #[must_use]
    pub const fn read(octets: [u8; 4]) -> i32 {
        const KNOWN: i32 = TRACE | SUB_ID | CALL;
        let ours = i32::from_ne_bytes(octets);
        let theirs = ours.swap_bytes();
        if ours & KNOWN == 0 && theirs & KNOWN != 0 {
            theirs
        } else {
            ours
        }
    }
}

// Where each field begins.
const MESSAGE_TYPE: usize = 0;
const PAYLOAD_LENGTH: usize = 4;
const RMR_VERSION: usize = 8;
const XACTION: usize = 12;
const SENDER_ID: usize = 44;
const SOURCE: usize = 76;
const MEID: usize = 140;
const FLAGS: usize = 192;
const HEADER_LENGTH: usize = 196;
const TRACE_LENGTH: usize = 200;
const D1_LENGTH: usize = 204;
const D2_LENGTH: usize = 208;
const SUB_ID: usize = 212;
const SOURCE_IP: usize = 216;

/// A message whose lengths have been checked against its octets: nothing read through it can be
/// outside of them.
#[derive(Clone, Copy)]
pub struct Header<'a> {
    octets: &'a [u8],
    layout: Layout,
}

impl<'a> Header<'a> {
    /// Reads a message: header, trace data, extra areas and payload. What follows the payload is
    /// left alone, as a sender may send a buffer that it did not fill.
    ///
    /// # Errors
    /// When the octets are fewer than the header or than its lengths add up to; the message is to
    /// be dropped and counted.
    pub fn parse(octets: &'a [u8]) -> Result<Self, HeaderFault> {
        if octets.len() < HEADER_OCTETS {
            return Err(HeaderFault::Truncated {
                octets: octets.len(),
            });
        }
        let length = |at| u32::from_be_bytes(array(octets, at));
        let header = length(HEADER_LENGTH);
        if u64::from(header) < HEADER_OCTETS as u64 {
            return Err(HeaderFault::HeaderTooShort { length: header });
        }
        let parts = [
            header,
            length(TRACE_LENGTH),
            length(D1_LENGTH),
            length(D2_LENGTH),
            length(PAYLOAD_LENGTH),
        ];
        let claimed = parts.iter().map(|part| u64::from(*part)).sum();
        if claimed > octets.len() as u64 {
            return Err(HeaderFault::BeyondEnd {
                claimed,
                octets: octets.len(),
            });
        }
        // Each part is at most their sum, which is a length in memory.
        let [header, trace, d1, d2, payload] = parts.map(|part| part as usize);
        Ok(Self {
            octets,
            layout: Layout {
                header,
                trace,
                d1,
                d2,
                payload,
            },
        })
    }

    /// The lengths of the message's parts.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The message's type, by which it is routed.
    #[must_use]
    pub fn message_type(&self) -> i32 {
        self.integer(MESSAGE_TYPE)
    }

    /// The subscription's identifier, or [`UNSET`].
    #[must_use]
    pub fn sub_id(&self) -> i32 {
        self.integer(SUB_ID)
    }

    /// The version that the sender claims. Nothing depends on it.
    #[must_use]
    pub fn version(&self) -> i32 {
        self.integer(RMR_VERSION)
    }

    /// The [`flags`].
    #[must_use]
    pub fn flags(&self) -> i32 {
        flags::read(array(self.octets, FLAGS))
    }

    /// The transaction's identifier; any octets.
    #[must_use]
    pub fn xaction(&self) -> &'a [u8; XACTION_OCTETS] {
        field(self.octets, XACTION)
    }

    /// The sender's identifier; unused, and carried.
    #[must_use]
    pub fn sender_id(&self) -> &'a [u8; SENDER_ID_OCTETS] {
        field(self.octets, SENDER_ID)
    }

    /// Whom a reply goes to, `host:port`; not ended by a NUL, and not checked to be text.
    #[must_use]
    pub fn source(&self) -> &'a [u8] {
        until_nul(field::<SOURCE_OCTETS>(self.octets, SOURCE))
    }

    /// The same by address, `address:port`.
    #[must_use]
    pub fn source_ip(&self) -> &'a [u8] {
        until_nul(field::<SOURCE_OCTETS>(self.octets, SOURCE_IP))
    }

    /// The managed element's identifier; empty when it is not set.
    #[must_use]
    pub fn meid(&self) -> &'a [u8] {
        until_nul(field::<MEID_OCTETS>(self.octets, MEID))
    }

    /// The call identifier: 0 when no caller waits for this message.
    #[must_use]
    pub fn call_id(&self) -> u8 {
        self.d1().first().copied().unwrap_or(0)
    }

    /// The trace data.
    #[must_use]
    pub fn trace(&self) -> &'a [u8] {
        self.part(self.layout.trace_at(), self.layout.trace)
    }

    /// The first extra area.
    #[must_use]
    pub fn d1(&self) -> &'a [u8] {
        self.part(self.layout.d1_at(), self.layout.d1)
    }

    /// The second extra area.
    #[must_use]
    pub fn d2(&self) -> &'a [u8] {
        self.part(self.layout.d2_at(), self.layout.d2)
    }

    /// The payload.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.part(self.layout.payload_at(), self.layout.payload)
    }

    /// Every octet of the message, from the header to the end of the payload.
    #[must_use]
    pub fn octets(&self) -> &'a [u8] {
        self.part(0, self.layout.total())
    }

    fn integer(&self, at: usize) -> i32 {
        i32::from_be_bytes(array(self.octets, at))
    }

    /// `parse` made sure that all parts are within the octets.
    fn part(&self, at: usize, length: usize) -> &'a [u8] {
        &self.octets[at..at + length]
    }
}

impl fmt::Debug for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header")
            .field("message_type", &self.message_type())
            .field("sub_id", &self.sub_id())
            .field("source", &String::from_utf8_lossy(self.source()))
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

/// The lengths of a message's parts, which follow each other in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the parts of version 3")]
pub struct Layout {
    /// Octets of the header; those beyond [`HEADER_OCTETS`] belong to versions to come.
    pub header: usize,
    /// Octets of trace data.
    pub trace: usize,
    /// Octets of the first extra area.
    pub d1: usize,
    /// Octets of the second extra area.
    pub d2: usize,
    /// Octets of the payload that are used.
    pub payload: usize,
}

impl Layout {
    /// Where the trace data begins.
    #[must_use]
    pub fn trace_at(&self) -> usize {
        self.header
    }

    /// Where the first extra area begins.
    #[must_use]
    pub fn d1_at(&self) -> usize {
        self.header + self.trace
    }

    /// Where the second extra area begins.
    #[must_use]
    pub fn d2_at(&self) -> usize {
        self.d1_at() + self.d1
    }

    /// Where the payload begins.
    #[must_use]
    pub fn payload_at(&self) -> usize {
        self.d2_at() + self.d2
    }

    /// Octets of the whole message.
    #[must_use]
    pub fn total(&self) -> usize {
        self.payload_at() + self.payload
    }
}

/// Why octets are no RMR message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderFault {
    /// The octets end within the header.
    Truncated {
        /// How many there are.
        octets: usize,
    },
    /// The header calls itself shorter than version 3 is.
    HeaderTooShort {
        /// What it says.
        length: u32,
    },
    /// The parts add up to more than there is.
    BeyondEnd {
        /// Their sum.
        claimed: u64,
        /// How many octets there are.
        octets: usize,
    },
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { octets } => write!(
                f,
                "{octets} octets end within the header, which takes {HEADER_OCTETS}"
            ),
            Self::HeaderTooShort { length } => write!(
                f,
                "the header says that it has {length} octets; version 3 has {HEADER_OCTETS}"
            ),
            Self::BeyondEnd { claimed, octets } => write!(
                f,
                "header and payload add up to {claimed} octets, and the message has {octets}"
            ),
        }
    }
}

impl std::error::Error for HeaderFault {}

/// Writes a header into a message's buffer.
pub struct HeaderMut<'a> {
    octets: &'a mut [u8],
}

impl<'a> HeaderMut<'a> {
    /// Begins a message: clears header, trace data and extra area, and sets version, lengths, and
    /// that there is no subscription. `None` when the buffer is too short for them, or the trace
    /// data is longer than a length field can say.
    #[must_use]
    pub fn init(octets: &'a mut [u8], trace: usize) -> Option<Self> {
        let trace_length = u32::try_from(trace).ok()?;
        let extent = HEADER_OCTETS.checked_add(trace)?.checked_add(D1_OCTETS)?;
        octets.get_mut(..extent)?.fill(0);
        let mut header = Self { octets };
        header.integer(MESSAGE_TYPE, UNSET);
        header.integer(RMR_VERSION, VERSION);
        header.integer(SUB_ID, UNSET);
        header.put(HEADER_LENGTH, &(HEADER_OCTETS as u32).to_be_bytes());
        header.put(TRACE_LENGTH, &trace_length.to_be_bytes());
        header.put(D1_LENGTH, &(D1_OCTETS as u32).to_be_bytes());
        Some(header)
    }

    /// The header of a message that was begun or received before. `None` when the buffer is too
    /// short for one.
    #[must_use]
    pub fn over(octets: &'a mut [u8]) -> Option<Self> {
        (octets.len() >= HEADER_OCTETS).then_some(Self { octets })
    }

    /// Sets the message's type.
    pub fn set_message_type(&mut self, message_type: i32) {
        self.integer(MESSAGE_TYPE, message_type);
    }

    /// Sets the subscription's identifier.
    pub fn set_sub_id(&mut self, sub_id: i32) {
        self.integer(SUB_ID, sub_id);
    }

    /// Says how many octets of payload are used.
    pub fn set_payload_length(&mut self, length: u32) {
        self.put(PAYLOAD_LENGTH, &length.to_be_bytes());
    }

    /// Says how many octets of trace data there are. Moving what follows them is the caller's.
    pub fn set_trace_length(&mut self, length: u32) {
        self.put(TRACE_LENGTH, &length.to_be_bytes());
    }

    /// Sets the [`flags`].
    pub fn set_flags(&mut self, flags: i32) {
        self.put(FLAGS, &flags.to_ne_bytes());
    }

    /// Sets the call identifier. Does nothing, and says so by `false`, when the message has no
    /// room for one.
    pub fn set_call_id(&mut self, call_id: u8) -> bool {
        let length = |at| u64::from(u32::from_be_bytes(array(self.octets, at)));
        let at = length(HEADER_LENGTH) + length(TRACE_LENGTH);
        let room = length(D1_LENGTH) > 0;
        match usize::try_from(at)
            .ok()
            .and_then(|at| self.octets.get_mut(at))
        {
            Some(octet) if room => {
                *octet = call_id;
                true
            }
            _ => false,
        }
    }

    /// Sets whom a reply goes to; what is longer than 63 octets is cut.
    pub fn set_source(&mut self, source: &[u8]) {
        self.name::<SOURCE_OCTETS>(SOURCE, source);
    }

    /// Sets the address that a reply goes to when the name is of no use; cut as the name is.
    pub fn set_source_ip(&mut self, source: &[u8]) {
        self.name::<SOURCE_OCTETS>(SOURCE_IP, source);
    }

    /// Sets the managed element's identifier; what is longer than 31 octets is cut.
    pub fn set_meid(&mut self, meid: &[u8]) {
        self.name::<MEID_OCTETS>(MEID, meid);
    }

    /// The transaction's identifier.
    pub fn xaction_mut(&mut self) -> &mut [u8] {
        &mut self.octets[XACTION..XACTION + XACTION_OCTETS]
    }

    fn integer(&mut self, at: usize, value: i32) {
        self.put(at, &value.to_be_bytes());
    }

    fn put(&mut self, at: usize, octets: &[u8]) {
        self.octets[at..at + octets.len()].copy_from_slice(octets);
    }

    /// Always leaves a NUL at the end, and nothing of what stood there before.
    fn name<const N: usize>(&mut self, at: usize, name: &[u8]) {
        let mut field = [0; N];
        let length = name.len().min(N - 1);
        field[..length].copy_from_slice(&name[..length]);
        self.put(at, &field);
    }
}

impl fmt::Debug for HeaderMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderMut")
            .field("octets", &self.octets.len())
            .finish()
    }
}

fn array<const N: usize>(octets: &[u8], at: usize) -> [u8; N] {
    *field(octets, at)
}

/// A field of the fixed part; whoever calls has made sure that it is there.
fn field<const N: usize>(octets: &[u8], at: usize) -> &[u8; N] {
    octets[at..]
        .first_chunk()
        .expect("the header's length was checked")
}

fn until_nul(field: &[u8]) -> &[u8] {
    let end = field
        .iter()
        .position(|octet| *octet == 0)
        .unwrap_or(field.len());
    &field[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(trace: usize, payload: &[u8]) -> Vec<u8> {
        let mut octets = vec![0xaa; HEADER_OCTETS + trace + D1_OCTETS];
        let mut header = HeaderMut::init(&mut octets, trace).unwrap();
        header.set_payload_length(payload.len() as u32);
        octets.extend_from_slice(payload);
        octets
    }

    #[test]
    fn what_is_written_is_read() {
        let mut octets = message(3, b"hello");
        let mut header = HeaderMut::over(&mut octets).unwrap();
        header.set_message_type(12010);
        header.set_sub_id(7);
        header.set_flags(flags::CALL | flags::TRACE);
        header.set_source(b"xapp:4560");
        header.set_source_ip(b"10.0.0.1:4560");
        header.set_meid(b"gnb_1");
        assert!(header.set_call_id(9));
        header.xaction_mut().fill(5);
        let header = Header::parse(&octets).unwrap();
        assert_eq!(header.message_type(), 12010);
        assert_eq!(header.sub_id(), 7);
        assert_eq!(header.version(), 3);
        assert_eq!(header.flags(), 5);
        assert_eq!(header.source(), b"xapp:4560");
        assert_eq!(header.source_ip(), b"10.0.0.1:4560");
        assert_eq!(header.meid(), b"gnb_1");
        assert_eq!(header.call_id(), 9);
        assert_eq!(header.xaction(), &[5; 32]);
        assert_eq!(header.trace(), [0; 3]);
        assert_eq!(header.d1(), [9, 0, 0, 0]);
        assert!(header.d2().is_empty());
        assert_eq!(header.payload(), b"hello");
        assert_eq!(header.octets().len(), 280 + 3 + 4 + 5);
    }

    #[test]
    fn flags_of_the_other_order_of_octets_are_told_by_those_that_are_known() {
        for flags in [flags::TRACE, flags::SUB_ID | flags::CALL] {
            assert_eq!(flags::read(flags.to_ne_bytes()), flags);
            assert_eq!(flags::read(flags.swap_bytes().to_ne_bytes()), flags);
        }
        for unknown in [0, 0x1000, 0x10_0000] {
            assert_eq!(flags::read(i32::to_ne_bytes(unknown)), unknown);
        }
    }

    #[test]
    fn what_is_carried_and_not_written_here_is_read_too() {
        let mut octets = message(2, b"");
        octets[SENDER_ID..SENDER_ID + SENDER_ID_OCTETS].fill(8);
        octets[D2_LENGTH..D2_LENGTH + 4].copy_from_slice(&3_u32.to_be_bytes());
        octets[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&4_u32.to_be_bytes());
        octets.extend_from_slice(b"d-2load");
        let mut writer = HeaderMut::over(&mut octets).unwrap();
        writer.set_trace_length(3);
        assert!(Header::parse(&octets).is_err(), "one more than there is");
        let mut writer = HeaderMut::over(&mut octets).unwrap();
        writer.set_trace_length(2);
        let header = Header::parse(&octets).unwrap();
        assert_eq!(header.sender_id(), &[8; SENDER_ID_OCTETS]);
        assert_eq!((header.d2(), header.payload()), (&b"d-2"[..], &b"load"[..]));
    }

    #[test]
    fn fields_stand_where_the_c_struct_has_them() {
        let mut octets = message(0, b"");
        let mut header = HeaderMut::over(&mut octets).unwrap();
        header.set_message_type(0x01020304);
        header.set_sub_id(0x05060708);
        header.set_source(b"s");
        header.set_source_ip(b"i");
        header.set_meid(b"m");
        assert_eq!(octets[0..4], [1, 2, 3, 4]);
        assert_eq!(octets[8..12], [0, 0, 0, 3]);
        assert_eq!(octets[76..78], *b"s\0");
        assert_eq!(octets[140..142], *b"m\0");
        assert_eq!(octets[196..200], 280_u32.to_be_bytes());
        assert_eq!(octets[204..208], [0, 0, 0, 4]);
        assert_eq!(octets[212..216], [5, 6, 7, 8]);
        assert_eq!(octets[216..218], *b"i\0");
    }

    #[test]
    fn a_new_message_carries_nothing_of_the_buffer_it_is_made_in() {
        let octets = message(10, b"");
        assert!(!octets.contains(&0xaa));
    }

    #[test]
    fn long_names_are_cut_and_short_ones_leave_nothing_behind() {
        let mut octets = message(0, b"");
        let mut header = HeaderMut::over(&mut octets).unwrap();
        header.set_meid(&[b'x'; 100]);
        header.set_source(b"a.long.name:4560");
        header.set_source(b"b:1");
        let header = Header::parse(&octets).unwrap();
        assert_eq!(header.meid(), [b'x'; 31]);
        assert_eq!(header.source(), b"b:1");
    }

    #[test]
    fn lengths_that_lie_are_faults() {
        let whole = message(0, b"12345678");
        assert_eq!(
            Header::parse(&whole[..279]).unwrap_err(),
            HeaderFault::Truncated { octets: 279 }
        );
        // CVE-2023-40997: header and payload beyond the message.
        for at in [PAYLOAD_LENGTH, TRACE_LENGTH, D1_LENGTH, D2_LENGTH] {
            for lie in [0x100_u32, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                let mut octets = whole.clone();
                octets[at..at + 4].copy_from_slice(&lie.to_be_bytes());
                let fault = Header::parse(&octets).unwrap_err();
                assert!(matches!(fault, HeaderFault::BeyondEnd { .. }), "{fault}");
            }
        }
        for lie in [0_u32, 144, 279] {
            let mut octets = whole.clone();
            octets[HEADER_LENGTH..HEADER_LENGTH + 4].copy_from_slice(&lie.to_be_bytes());
            assert_eq!(
                Header::parse(&octets).unwrap_err(),
                HeaderFault::HeaderTooShort { length: lie }
            );
        }
    }

    #[test]
    fn a_longer_header_of_a_later_version_is_stepped_over() {
        let mut octets = message(0, b"");
        octets.splice(280..280, [9; 20]);
        octets[HEADER_LENGTH..HEADER_LENGTH + 4].copy_from_slice(&300_u32.to_be_bytes());
        octets.extend_from_slice(b"end");
        octets[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&3_u32.to_be_bytes());
        let header = Header::parse(&octets).unwrap();
        assert_eq!(header.payload(), b"end");
        assert_eq!(header.call_id(), 0);
    }

    #[test]
    fn a_message_without_an_extra_area_takes_no_call_id() {
        let mut octets = message(0, b"");
        octets[D1_LENGTH..D1_LENGTH + 4].fill(0);
        let least = Header::parse(&octets[..HEADER_OCTETS]).unwrap();
        assert_eq!((least.call_id(), least.payload()), (0, &b""[..]));
        assert!(!HeaderMut::over(&mut octets).unwrap().set_call_id(3));
        assert!(HeaderMut::init(&mut octets[..281], 0).is_none());
        assert!(HeaderMut::init(&mut octets, usize::MAX).is_none());
        assert!(HeaderMut::over(&mut octets[..279]).is_none());
    }
}
