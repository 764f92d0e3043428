//! One record, and how large records and their names may be.

use bytes::Bytes;

/// Octets of one record.
pub(super) const MAX_RECORD: usize = 1 << 20;
/// Octets of a record's whole name: realm, storage and record.
pub(super) const MAX_NAME: usize = 512;
/// Records that one listing gives.
pub(super) const MAX_LISTED: usize = 1000;
/// Octets of records that one listing gives, if more than one record does.
pub(super) const MAX_LISTED_OCTETS: usize = 4 << 20;

/// A record as it was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Its media type.
    pub(super) media_type: String,
    /// What it is.
    pub(super) content: Bytes,
}

impl Record {
    /// As one value of a store: the type's length, the type, the content.
    pub(super) fn to_value(&self) -> Bytes {
        let media_type = &self.media_type.as_bytes()[..self.media_type.len().min(255)];
        let mut value = Vec::with_capacity(1 + media_type.len() + self.content.len());
        // Cut to 255 above.
        value.push(media_type.len() as u8);
        value.extend_from_slice(media_type);
        value.extend_from_slice(&self.content);
        value.into()
    }

    /// A record of such a value; `None` when it is none.
    pub(super) fn of_value(value: &Bytes) -> Option<Self> {
        let length = usize::from(*value.first()?);
        let media_type = std::str::from_utf8(value.get(1..1 + length)?).ok()?;
        Some(Self {
            media_type: media_type.to_owned(),
            content: value.slice(1 + length..),
        })
    }
}
