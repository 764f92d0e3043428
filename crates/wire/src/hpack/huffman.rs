//! Strings in the code of RFC 7541, appendix B.
//!
//! The code is canonical: codes of one length follow each other in the order of their symbols, and those of
//! the next length follow them. So the lengths say everything, and the tables are made from them when
//! this is compiled.

use super::DecodeError;

/// Octets and EOS.
const SYMBOLS: usize = 257;
const EOS: usize = 256;
/// Bits of the longest code, that of EOS among others.
const LONGEST: usize = 30;
/// Codes up to this length are decoded by one look into a table.
const SHORT: u32 = 8;

/// How many bits each symbol's code has.
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// Symbols in the order of their codes, and for each length the first code and its place in that order.
struct Canonical {
    order: [u16; SYMBOLS],
    first: [u32; LONGEST + 1],
    place: [u16; LONGEST + 1],
    /// The first code behind those of this length, as if codes had 32 bits.
    limit: [u64; LONGEST + 1],
}

static CANONICAL: Canonical = CODE;
const CODE: Canonical = {
    let mut code = Canonical {
        order: [0; SYMBOLS],
        first: [0; LONGEST + 1],
        place: [0; LONGEST + 1],
        limit: [0; LONGEST + 1],
    };
    let (mut next, mut place, mut length) = (0_u32, 0, 1);
    while length <= LONGEST {
        next <<= 1;
        code.first[length] = next;
        code.place[length] = place as u16;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                code.order[place] = symbol as u16;
                place += 1;
                next += 1;
            }
            symbol += 1;
        }
        code.limit[length] = (next as u64) << (32 - length);
        length += 1;
    }
    code
};

/// An octet's code: its bits, and how many they are.
#[derive(Clone, Copy)]
struct Code {
    bits: u32,
    length: u32,
}

static CODES: [Code; EOS] = {
    let mut codes = [Code { bits: 0, length: 0 }; EOS];
    let mut place = 0;
    while place < SYMBOLS {
        let symbol = CODE.order[place] as usize;
        if symbol != EOS {
            let length = LENGTHS[symbol] as usize;
            codes[symbol] = Code {
                bits: CODE.first[length] + (place as u32 - CODE.place[length] as u32),
                length: length as u32,
            };
        }
        place += 1;
    }
    codes
};

/// For the next bits of a string the symbol whose code they begin with, and its length; 0 when the code
/// is longer.
static SHORT_CODES: [[u8; 2]; 1 << SHORT] = {
    let mut table = [[0; 2]; 1 << SHORT];
    let mut symbol = 0;
    while symbol < EOS {
        let length = LENGTHS[symbol] as u32;
        if length <= SHORT {
            let place = symbol_place(symbol);
            let code = CODE.first[length as usize] + (place - CODE.place[length as usize]) as u32;
            let mut at = code << (SHORT - length);
            let end = (code + 1) << (SHORT - length);
            while at < end {
                table[at as usize] = [symbol as u8, length as u8];
                at += 1;
            }
        }
        symbol += 1;
    }
    table
};

const fn symbol_place(symbol: usize) -> u16 {
    let mut place = 0;
    while CODE.order[place] as usize != symbol {
        place += 1;
    }
    place as u16
}

/// How many octets a string takes in this code.
pub(super) fn encoded_length(octets: &[u8]) -> usize {
    let bits: usize = octets
        .iter()
        .map(|octet| usize::from(LENGTHS[usize::from(*octet)]))
        .sum();
    bits.div_ceil(8)
}

/// Appends a string in this code.
pub(super) fn encode(octets: &[u8], out: &mut Vec<u8>) {
    // The last `count` bits of `bits` are not written yet: fewer than 32 between two octets.
    let (mut bits, mut count) = (0_u64, 0);
    for octet in octets {
        let code = CODES[usize::from(*octet)];
        bits = bits << code.length | u64::from(code.bits);
        count += code.length;
        if count >= 32 {
            count -= 32;
            out.extend_from_slice(&((bits >> count) as u32).to_be_bytes());
        }
    }
    // The last octet is filled up with the beginning of EOS, which is ones (RFC 7541, 5.2).
    let octets = count.div_ceil(8);
    let missing = octets * 8 - count;
    let last = (bits << missing | ((1 << missing) - 1)) as u32;
    out.extend_from_slice(&last.to_be_bytes()[4 - octets as usize..]);
}

/// How many octets a string of this length says at most: no code has fewer than five bits.
pub(super) const fn decoded_length(string: usize) -> usize {
    string * 8 / 5
}

/// Writes what a string in this code says, which must have room; says how much that is.
pub(super) fn decode(string: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    let mut rest = string;
    // The first `count` bits of `bits` come next, the others are zeros or what comes behind them.
    let (mut bits, mut count) = (0_u64, 0_u32);
    let mut length = 0;
    loop {
        if let Some(eight) = rest.first_chunk::<8>() {
            bits |= u64::from_be_bytes(*eight) >> count;
            let taken = (63 - count) / 8;
            rest = &rest[taken as usize..];
            count += taken * 8;
        } else {
            while count <= 56
                && let Some((octet, behind)) = rest.split_first()
            {
                bits &= !(u64::MAX >> count);
                bits |= u64::from(*octet) << (56 - count);
                count += 8;
                rest = behind;
            }
            if rest.is_empty() {
                bits &= !(u64::MAX.checked_shr(count).unwrap_or_default());
                break;
            }
        }
        while count >= LONGEST as u32 {
            let (symbol, taken) = next_symbol(bits)?;
            out[length] = symbol;
            length += 1;
            bits <<= taken;
            count -= taken;
        }
    }
    loop {
        // Padding is seven bits at most, all of them ones (RFC 7541, 5.2).
        if count < 8 && bits == !(u64::MAX.checked_shr(count).unwrap_or_default()) {
            return Ok(length);
        }
        let (symbol, taken) = next_symbol(bits)?;
        if taken > count {
            return Err(DecodeError::Padding);
        }
        out[length] = symbol;
        length += 1;
        bits <<= taken;
        count -= taken;
    }
}

/// The symbol that these bits begin with, and the length of its code.
#[inline(always)]
fn next_symbol(bits: u64) -> Result<(u8, u32), DecodeError> {
    let [symbol, length] = SHORT_CODES[(bits >> (64 - SHORT)) as usize];
    if length != 0 {
        return Ok((symbol, u32::from(length)));
    }
    next_long_symbol((bits >> 32) as u32)
}

#[cold]
fn next_long_symbol(bits: u32) -> Result<(u8, u32), DecodeError> {
    let mut length = SHORT as usize + 1;
    while length < LONGEST && u64::from(bits) >= CANONICAL.limit[length] {
        length += 1;
    }
    let code = bits >> (32 - length);
    let place = usize::from(CANONICAL.place[length]) + (code - CANONICAL.first[length]) as usize;
    let symbol = CANONICAL.order.get(place).copied();
    // None is EOS, which is in no string (RFC 7541, 5.2).
    symbol
        .and_then(|symbol| u8::try_from(symbol).ok())
        .map(|symbol| (symbol, length as u32))
        .ok_or(DecodeError::EndOfString)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(string: &[u8]) -> Result<Vec<u8>, DecodeError> {
        let mut out = vec![0; decoded_length(string.len())];
        let length = decode(string, &mut out)?;
        out.truncate(length);
        Ok(out)
    }

    #[test]
    fn codes_of_the_specification() {
        for (octet, bits, length) in [
            (b'0', 0, 5),
            (b' ', 0x14, 6),
            (b':', 0x5c, 7),
            (b'X', 0xfc, 8),
            (b'!', 0x3f8, 10),
            (b'\\', 0x7fff0, 19),
            (0, 0x1ff8, 13),
            (10, 0x3fff_fffc, 30),
            (22, 0x3fff_fffe, 30),
            (255, 0x03ff_ffee, 26),
        ] {
            let code = CODES[usize::from(octet)];
            assert_eq!((code.bits, code.length), (bits, length), "{octet}");
        }
    }

    #[test]
    fn every_pair_of_octets_there_and_back() {
        for first in 0..=255 {
            for second in 0..=255 {
                let octets = [first, second, b'a', first];
                for length in 0..=octets.len() {
                    let octets = &octets[..length];
                    let mut string = Vec::new();
                    encode(octets, &mut string);
                    assert_eq!(string.len(), encoded_length(octets));
                    assert_eq!(decoded(&string).as_deref(), Ok(octets));
                }
            }
        }
    }

    #[test]
    fn every_octet_in_one_string() {
        let octets: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let mut string = Vec::new();
        encode(&octets, &mut string);
        assert_eq!(decoded(&string), Ok(octets));
    }

    #[test]
    fn padding_is_short_and_ones() {
        // "0" and "a" are 00000 and 00011.
        assert_eq!(decoded(&[0b0000_0111]).as_deref(), Ok(&b"0"[..]));
        assert_eq!(decoded(&[0b0000_0110]), Err(DecodeError::Padding));
        assert_eq!(decoded(&[0b0000_0000]), Err(DecodeError::Padding));
        assert_eq!(decoded(&[0b0000_0111, 0xff]), Err(DecodeError::Padding));
        assert_eq!(decoded(&[0xff]), Err(DecodeError::Padding));
        for ones in 2..4 {
            assert_eq!(decoded(&vec![0xff; ones]), Err(DecodeError::Padding));
        }
        // "0" eight times needs none.
        assert_eq!(decoded(&[0; 5]).as_deref(), Ok(&b"00000000"[..]));
        assert_eq!(decoded(&[0, 0, 0, 0, 0, 0xff]), Err(DecodeError::Padding));
        assert_eq!(decoded(&[]).as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn the_end_of_string_is_no_octet() {
        for before in 0..20 {
            for after in 0..20 {
                let mut string = Vec::new();
                encode(&vec![b'X'; before], &mut string);
                string.extend([0xff; 4]);
                encode(&vec![b'X'; after], &mut string);
                assert_eq!(decoded(&string), Err(DecodeError::EndOfString));
            }
        }
    }
}
