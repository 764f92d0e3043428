//! Messages as records.

use crate::ready::Ready;
use corewire_wire::rmr::flags;
use corewire_wire::rmr::record::Record;
use corewire_wire::rmr::{HEADER_OCTETS, MEID_OCTETS, SOURCE_OCTETS};

pub(super) const XACTION: usize = 12;
const SOURCE: usize = 76;
const MEID: usize = 140;
const FLAGS: usize = 192;
const SOURCE_IP: usize = 216;

/// Whom the last record came from.
pub(crate) struct Source {
    /// Name and address, as they stand in the header.
    name: [u8; SOURCE_OCTETS],
    address: [u8; SOURCE_OCTETS],
    /// Whose they are, if that is known: a message begun with the same names need not be compared.
    begun: usize,
}

impl Source {
    fn is_of(&self, begun: usize, header: &[u8; HEADER_OCTETS]) -> bool {
        begun != 0 && self.begun == begun
            || self.name == *field(header, SOURCE) && self.address == *field(header, SOURCE_IP)
    }
}

/// Appends a message. `source` is that of the record before; it becomes this one's.
pub(crate) fn write(ready: &Ready<'_>, source: &mut Option<Source>, out: &mut Vec<u8>) {
    let octets = ready.rmr_octets();
    let Some(header) = octets.first_chunk::<HEADER_OCTETS>() else {
        return;
    };
    let begun = ready.begun;
    let with_source = !matches!(source, Some(before) if before.is_of(begun, header));
    let mut record = Record {
        message_type: ready.message_type,
        sub_id: ready.sub_id,
        is_call: flags::read(*field(header, FLAGS)) & flags::CALL != 0,
        call_id: octets.get(ready.parts.call.start).copied().unwrap_or(0),
        xaction: field(header, XACTION),
        meid: until_nul(field::<MEID_OCTETS>(header, MEID)),
        name: b"",
        address: b"",
        trace: octets.get(ready.parts.trace.clone()).unwrap_or_default(),
        payload: ready.payload(),
    };
    if ready.parts.call.is_empty() {
        record.call_id = 0;
    }
    if with_source {
        let name: &[u8; SOURCE_OCTETS] = field(header, SOURCE);
        let address: &[u8; SOURCE_OCTETS] = field(header, SOURCE_IP);
        (record.name, record.address) = (until_nul(name), until_nul(address));
        *source = Some(Source {
            name: *name,
            address: *address,
            begun,
        });
    }
    record.write(with_source, out);
}

fn field<const N: usize>(header: &[u8; HEADER_OCTETS], at: usize) -> &[u8; N] {
    // The places are constants of the header's.
    header[at..].first_chunk().expect("a field of the header")
}

fn until_nul(field: &[u8]) -> &[u8] {
    field.split(|octet| *octet == 0).next().unwrap_or_default()
}
