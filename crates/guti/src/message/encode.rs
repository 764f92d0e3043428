//! From messages to octets: heads only, the payload follows them as it is.

use super::decode::GutiNumbers;
use crate::Guti;

/// Room for the head of an `AllocateRequest`: tag and length, 11 octets at most.
pub const REQUEST_HEAD_MAX: usize = 16;
/// Room for the head of an `AllocateResponse`: GUTI, tag and length, 34 octets at most.
pub const RESPONSE_HEAD_MAX: usize = 64;
/// Room for a `DeallocateRequest`: a GUTI of 23 octets at most.
pub const GUTI_MESSAGE_MAX: usize = 32;

const VARINT: u8 = 0;
const BYTES: u8 = 2;
const FIXED32: u8 = 5;

/// Writes what stands before the payload in an `AllocateRequest` and gives its length: the message
/// is that much of `out`, then the payload's octets.
pub fn encode_allocate_request_head(payload_len: usize, out: &mut [u8; REQUEST_HEAD_MAX]) -> usize {
    let mut writer = Writer { out, len: 0 };
    writer.bytes_head(1, payload_len);
    writer.len
}

/// Writes what stands before the payload in an `AllocateResponse` and gives its length: the message
/// is that much of `out`, then the payload's octets.
pub fn encode_allocate_response_head(
    guti: &Guti,
    payload_len: usize,
    out: &mut [u8; RESPONSE_HEAD_MAX],
) -> usize {
    let mut writer = Writer { out, len: 0 };
    writer.guti(1, guti);
    writer.bytes_head(2, payload_len);
    writer.len
}

/// Writes a `DeallocateRequest` and gives its length.
pub fn encode_deallocate_request(guti: &Guti, out: &mut [u8; GUTI_MESSAGE_MAX]) -> usize {
    let mut writer = Writer { out, len: 0 };
    writer.guti(1, guti);
    writer.len
}

/// Writes from the front of `out`, which must have room: the callers above see to that.
///
/// A field of value zero is left out, as proto3 wants.
struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl Writer<'_> {
    fn guti(&mut self, number: u8, guti: &Guti) {
        self.tag(number, BYTES);
        // The length is below 128 (21 at most) and thus one octet, filled in afterwards.
        let length_at = self.len;
        self.octet(0);
        let numbers = GutiNumbers::from(guti);
        self.uint32(1, numbers.mcc);
        self.uint32(2, numbers.mnc);
        self.uint32(3, numbers.mnc_digits);
        self.uint32(4, numbers.amf_region);
        self.uint32(5, numbers.amf_set);
        self.uint32(6, numbers.amf_pointer);
        if numbers.tmsi != 0 {
            self.tag(7, FIXED32);
            for octet in numbers.tmsi.to_le_bytes() {
                self.octet(octet);
            }
        }
        self.out[length_at] = (self.len - length_at - 1) as u8;
    }

    fn bytes_head(&mut self, number: u8, len: usize) {
        if len != 0 {
            self.tag(number, BYTES);
            self.varint(len as u64);
        }
    }

    fn uint32(&mut self, number: u8, value: u32) {
        if value != 0 {
            self.tag(number, VARINT);
            self.varint(value.into());
        }
    }

    fn tag(&mut self, number: u8, wire_type: u8) {
        self.octet(number << 3 | wire_type);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.octet(value as u8 | 0x80);
            value >>= 7;
        }
        self.octet(value as u8);
    }

    fn octet(&mut self, octet: u8) {
        self.out[self.len] = octet;
        self.len += 1;
    }
}
