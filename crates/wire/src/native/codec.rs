//! The fields in front of a body.

use super::control::{MAX_TEXT, cut};
use super::fault::Violation;
use super::frame::{Header, flag};
use corewire_message::Priority;

/// What stands before the header block and the body of a REQUEST, EVENT, MESSAGE or RESPONSE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields<'a> {
    /// REQUEST, EVENT: the operation's name, if it is new.
    pub(super) name: Option<&'a [u8]>,
    /// REQUEST: microseconds left.
    pub(super) timeout: Option<u64>,
    /// REQUEST, EVENT: if it is not normal.
    pub(super) priority: Option<Priority>,
    /// RESPONSE: a sentence for people.
    pub(super) text: Option<&'a str>,
    /// The body's whole length, if it goes on in fragments.
    pub(super) total: Option<u32>,
    /// Octets of the header block.
    pub(super) headers: usize,
}

impl<'a> Fields<'a> {
    /// Reads the fields that the header's flags announce; also gives how many octets they take
    /// before the header block. Header block and body lie within the payload.
    pub(super) fn decode(header: Header, payload: &'a [u8]) -> Result<(Self, usize), Violation> {
        let mut fields = Self::default();
        // What most requests are: no fields at all.
        if header.flags & !(flag::STREAM | flag::NOT_EXECUTED) == 0 {
            return Ok((fields, 0));
        }
        let mut reader = Reader(payload);
        if header.has(flag::DEFINE) {
            let length = usize::from(u16::from_le_bytes(reader.array()?));
            fields.name = Some(reader.slice(length)?);
        }
        if header.has(flag::TIMEOUT) {
            fields.timeout = Some(u64::from_le_bytes(reader.array()?));
        }
        if header.has(flag::PRIORITY) {
            let [value] = reader.array()?;
            fields.priority = Some(Priority::try_from(value).map_err(|_| Violation::Priority)?);
        }
        if header.has(flag::TEXT) {
            let length = usize::from(u16::from_le_bytes(reader.array()?));
            if length > MAX_TEXT {
                return Err(Violation::Text);
            }
            let text = std::str::from_utf8(reader.slice(length)?).map_err(|_| Violation::Text)?;
            fields.text = Some(text);
        }
        if header.has(flag::MORE) {
            fields.total = Some(u32::from_le_bytes(reader.array()?));
        }
        if header.has(flag::HEADERS) {
            fields.headers = u32::from_le_bytes(reader.array()?) as usize;
        }
        let taken = payload.len() - reader.0.len();
        if reader.0.len() < fields.headers {
            return Err(Violation::FrameTruncated);
        }
        Ok((fields, taken))
    }

    /// Appends the fields to `out` and gives the flags that announce them.
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> u8 {
        let mut flags = 0;
        if let Some(name) = self.name {
            flags |= flag::DEFINE;
            let length = u16::try_from(name.len()).unwrap_or(0);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(name);
        }
        if let Some(timeout) = self.timeout {
            flags |= flag::TIMEOUT;
            out.extend_from_slice(&timeout.to_le_bytes());
        }
        if let Some(priority) = self.priority {
            flags |= flag::PRIORITY;
            out.extend_from_slice(&[priority.value()]);
        }
        if let Some(text) = self.text {
            flags |= flag::TEXT;
            let text = cut(text, MAX_TEXT);
            let length = u16::try_from(text.len()).unwrap_or(0);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        if let Some(total) = self.total {
            flags |= flag::MORE;
            out.extend_from_slice(&total.to_le_bytes());
        }
        if self.headers > 0 {
            flags |= flag::HEADERS;
            let length = u32::try_from(self.headers).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
        }
        flags
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Violation> {
        let (array, rest) = self
            .0
            .split_first_chunk::<N>()
            .ok_or(Violation::FrameTruncated)?;
        self.0 = rest;
        Ok(*array)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], Violation> {
        let (slice, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(Violation::FrameTruncated)?;
        self.0 = rest;
        Ok(slice)
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::Kind;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_round_trip(
            name: Option<Vec<u8>>,
            timeout: Option<u64>,
            priority in proptest::option::of(0u8..32),
            text in proptest::option::of(".{0,100}"),
            total: Option<u32>,
            headers in 0usize..50,
        ) {
            let fields = Fields {
                name: name.as_deref(),
                timeout,
                priority: priority.map(|value| Priority::try_from(value).unwrap()),
                text: text.as_deref(),
                total,
                headers,
            };
            let mut octets = Vec::new();
            let flags = fields.encode(&mut octets);
            let taken = octets.len();
            octets.extend(vec![0; headers]);
            let header = Header::new(Kind::Request).with_flags(flags);
            prop_assert_eq!(Fields::decode(header, &octets), Ok((fields, taken)));
            for cut in 0..octets.len() {
                prop_assert_eq!(
                    Fields::decode(header, &octets[..cut]),
                    Err(Violation::FrameTruncated)
                );
            }
        }
    }

    #[test]
    fn priorities_and_texts_out_of_range_are_refused() {
        let with = |flags| Header::new(Kind::Request).with_flags(flags);
        assert_eq!(
            Fields::decode(with(flag::PRIORITY), &[32]),
            Err(Violation::Priority)
        );
        assert_eq!(
            Fields::decode(with(flag::TEXT), &[1, 0, 0xff]),
            Err(Violation::Text)
        );
        let longest = [&[0, 4][..], &[b'a'; MAX_TEXT]].concat();
        assert!(Fields::decode(with(flag::TEXT), &longest).is_ok());
        let long = [&[1, 4][..], &[b'a'; MAX_TEXT + 1]].concat();
        assert_eq!(
            Fields::decode(with(flag::TEXT), &long),
            Err(Violation::Text)
        );
    }
}
