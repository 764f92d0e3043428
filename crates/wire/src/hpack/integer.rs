//! Numbers (RFC 7541, 5.1): the low bits of an octet that also holds flags, then seven bits an octet.

use super::DecodeError;

/// Octets after the first that a number of 32 bits may take. RFC 7541, 5.1 and 7.4: what is longer or
/// larger is an error.
const MAX_MORE: u32 = 5;

/// Reads a number whose first octet, `first`, is taken already; `mask` says which of its bits count.
#[inline]
pub(super) fn read(first: u8, mask: u8, rest: &mut &[u8]) -> Result<u32, DecodeError> {
    let low = first & mask;
    if low < mask {
        return Ok(u32::from(low));
    }
    read_more(mask, rest)
}

#[cold]
fn read_more(mask: u8, rest: &mut &[u8]) -> Result<u32, DecodeError> {
    let mut number = u64::from(mask);
    for place in 0..MAX_MORE {
        let (octet, behind) = rest.split_first().ok_or(DecodeError::Truncated)?;
        *rest = behind;
        number += u64::from(octet & 0x7f) << (7 * place);
        if octet & 0x80 == 0 {
            return u32::try_from(number).map_err(|_| DecodeError::Number);
        }
    }
    Err(DecodeError::Number)
}

/// Writes a number; the first octet has these flags above the bits of `mask`.
#[inline]
pub(super) fn write(flags: u8, mask: u8, number: u32, out: &mut Vec<u8>) {
    match number.checked_sub(u32::from(mask)) {
        // Smaller than the mask, which is an octet.
        None => out.push(flags | number as u8),
        Some(rest) => write_more(flags | mask, rest, out),
    }
}

fn write_more(first: u8, mut rest: u32, out: &mut Vec<u8>) {
    out.push(first);
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(octets: &[u8], mask: u8) -> Result<(u32, usize), DecodeError> {
        let (first, mut rest) = octets.split_first().unwrap();
        let number = read(*first, mask, &mut rest)?;
        Ok((number, rest.len()))
    }

    #[test]
    fn the_examples_of_the_specification() {
        // RFC 7541, C.1.
        for (number, flags, mask, octets) in [
            (10, 0xe0, 0x1f, &[0xea_u8][..]),
            (1337, 0, 0x1f, &[0x1f, 0x9a, 0x0a]),
            (42, 0, 0xff, &[0x2a]),
        ] {
            let mut out = Vec::new();
            write(flags, mask, number, &mut out);
            assert_eq!(out, octets);
            assert_eq!(read_all(octets, mask), Ok((number, 0)));
        }
    }

    #[test]
    fn every_length_there_and_back() {
        for mask in [0x0f, 0x1f, 0x3f, 0x7f] {
            for number in (0..32)
                .flat_map(|bits| [(1_u32 << bits) - 1, 1 << bits, (1 << bits) + 1])
                .chain([u32::MAX])
            {
                let mut out = Vec::new();
                write(0, mask, number, &mut out);
                assert_eq!(read_all(&out, mask), Ok((number, 0)), "{number} {mask}");
                for length in 1..out.len() {
                    let short = read_all(&out[..length], mask);
                    assert_eq!(short, Err(DecodeError::Truncated));
                }
            }
        }
    }

    #[test]
    fn numbers_that_are_too_large_or_have_no_end() {
        for octets in [
            &[0x7f, 0xff, 0xff, 0xff, 0xff, 0x7f][..],
            &[0x7f, 0x80, 0x80, 0x80, 0x80, 0x10],
            &[0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
            &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert_eq!(read_all(octets, 0x7f), Err(DecodeError::Number));
        }
        // A number may be written longer than it need be.
        assert_eq!(
            read_all(&[0x7f, 0x80, 0x80, 0x00, 0x55], 0x7f),
            Ok((127, 1))
        );
        assert_eq!(read_all(&[0x7f, 0x80], 0x7f), Err(DecodeError::Truncated));
    }
}
