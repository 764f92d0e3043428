//! Percent-encoding (RFC 3986, 2.1).

use std::borrow::Cow;

/// The text that a part of a path or query means; `None` when it is not UTF-8 or an escape is cut.
pub(super) fn decode(text: &str) -> Option<Cow<'_, str>> {
    decode_with(text, false)
}

/// The same in a form (`application/x-www-form-urlencoded`), where `+` is a space.
pub(super) fn decode_form(text: &str) -> Option<Cow<'_, str>> {
    decode_with(text, true)
}

fn decode_with(text: &str, plus_is_space: bool) -> Option<Cow<'_, str>> {
    if !(text.contains('%') || plus_is_space && text.contains('+')) {
        return Some(Cow::Borrowed(text));
    }
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((octet, after)) = rest.split_first() {
        rest = after;
        match octet {
            b'%' => {
                let (high, after) = rest.split_first()?;
                let (low, after) = after.split_first()?;
                octets.push(digit(*high)? << 4 | digit(*low)?);
                rest = after;
            }
            b'+' if plus_is_space => octets.push(b' '),
            other => octets.push(*other),
        }
    }
    String::from_utf8(octets).ok().map(Cow::Owned)
}

const fn digit(octet: u8) -> Option<u8> {
    match octet {
        b'0'..=b'9' => Some(octet - b'0'),
        b'a'..=b'f' => Some(octet - b'a' + 10),
        b'A'..=b'F' => Some(octet - b'A' + 10),
        _ => None,
    }
}

/// A text as one segment of a path or value of a query.
pub fn encode(text: &str) -> Cow<'_, str> {
    let plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-._~".contains(&octet);
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() + 16);
    for octet in text.bytes() {
        if plain(octet) {
            encoded.push(char::from(octet));
        } else {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            encoded.push('%');
            encoded.push(char::from(DIGITS[usize::from(octet >> 4)]));
            encoded.push(char::from(DIGITS[usize::from(octet & 15)]));
        }
    }
    Cow::Owned(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in ".{0,40}") {
            let encoded = encode(&text).into_owned();
            prop_assert!(encoded.bytes().all(|octet| octet.is_ascii_graphic()));
            prop_assert_eq!(&*decode(&encoded).unwrap(), &text);
            prop_assert_eq!(&*decode_form(&encoded).unwrap(), &text);
        }
    }

    #[test]
    fn cut_escapes_and_other_encodings_are_no_text() {
        for bad in ["%", "%2", "%zz", "%ff", "a%c3"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
        assert_eq!(decode("a+b%2B").unwrap(), "a+b+");
        assert_eq!(decode_form("a+b%2B").unwrap(), "a b+");
    }
}
