//! Header fields on their way out: a list on the stack, and text that lives as long as it.

use corewire_message::Headers;
use corewire_wire::grpc;
use corewire_wire::http2::Field;

const INLINE: usize = 16;

/// Fields of one header section, in order.
pub(super) struct FieldList<'a> {
    inline: [Field<'a>; INLINE],
    len: usize,
    /// Everything, once there are more than fit inline.
    spilled: Vec<Field<'a>>,
}

impl<'a> FieldList<'a> {
    pub(super) const fn new() -> Self {
        Self {
            inline: [Field::fixed("", ""); INLINE],
            len: 0,
            spilled: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, field: Field<'a>) {
        if let Some(place) = self.inline.get_mut(self.len) {
            *place = field;
            self.len += 1;
            return;
        }
        if self.spilled.is_empty() {
            self.spilled.extend_from_slice(&self.inline);
        }
        self.spilled.push(field);
    }

    pub(super) fn as_slice(&self) -> &[Field<'a>] {
        if self.spilled.is_empty() {
            &self.inline[..self.len]
        } else {
            &self.spilled
        }
    }
}

/// Base64 of the binary values of some headers, in order.
#[derive(Debug, Default)]
pub(super) struct BinaryValues {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl BinaryValues {
    pub(super) fn encode(&mut self, headers: &Headers) {
        self.text.clear();
        self.ends.clear();
        for (name, value) in headers.entries() {
            if grpc::is_binary(name) {
                grpc::write_binary(value, &mut self.text);
                self.ends.push(self.text.len());
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let value = &self.text[start..*end];
            start = *end;
            value
        })
    }
}
