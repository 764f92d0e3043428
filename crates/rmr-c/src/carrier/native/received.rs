//! Records as messages: what a receiver makes of them.

use crate::message::{Message, OVERHEAD};
use corewire_wire::rmr::flags;
use corewire_wire::rmr::record::Record;
use corewire_wire::rmr::{D1_OCTETS, HEADER_OCTETS, HeaderMut};

/// The caller that waits for it; `None` for everything but replies to calls.
pub(crate) fn reply_to(record: &Record<'_>) -> Option<u8> {
    (!record.is_call && record.call_id != 0).then_some(record.call_id)
}

/// Octets that it takes in a message's buffer.
pub(crate) fn room(record: &Record<'_>) -> usize {
    OVERHEAD + record.trace.len() + record.payload.len()
}

/// Copies a record into a message; `false` when there is no memory.
pub(crate) fn fill(record: &Record<'_>, message: &mut Message, standard: usize) -> bool {
    if !message.fit(room(record).max(standard)) {
        return false;
    }
    message.set_usable(message.capacity());
    let octets = message.rmr_octets_mut();
    let Some(mut header) = HeaderMut::init(octets, record.trace.len()) else {
        return false;
    };
    header.set_message_type(record.message_type);
    header.set_sub_id(record.sub_id);
    header.set_payload_length(record.payload.len() as u32);
    header.set_source(record.name);
    header.set_source_ip(record.address);
    // What is not announced stands there as the header begins.
    if !record.meid.is_empty() {
        header.set_meid(record.meid);
    }
    header.xaction_mut().copy_from_slice(record.xaction);
    if record.call_id != 0 {
        header.set_call_id(record.call_id);
    }
    if record.is_call {
        header.set_flags(flags::CALL);
    }
    let trace_at = HEADER_OCTETS;
    octets[trace_at..][..record.trace.len()].copy_from_slice(record.trace);
    let payload_at = trace_at + record.trace.len() + D1_OCTETS;
    octets[payload_at..][..record.payload.len()].copy_from_slice(record.payload);
    message.received(record.message_type, record.sub_id, record.payload.len());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::native::record::{XACTION, write};
    use crate::message::Names;
    use corewire_wire::rmr::record::RecordReader;
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
        let parts = message.parts();
        let ready = message.ready(parts);
        write(&ready, &mut source, &mut out);
        write(&ready, &mut source, &mut out);

        let mut reader = RecordReader::default();
        let (record, end) = reader.peek(&out).unwrap().unwrap();
        assert_eq!(reply_to(&record), None);
        reader.advance(end);
        let (record, end) = reader.peek(&out).unwrap().unwrap();
        assert_eq!(end, out.len());
        let mut received = Owned::new();
        assert!(fill(&record, received.get(), 0));
        let (sent, received) = (sent.get(), received.get());
        assert_eq!(received.used_payload(), b"payload");
        assert_eq!((received.mtype, received.sub_id), (12010, 7));
        let whole = received.payload_at() + received.used_payload().len();
        let copy = |message: &Message| {
            let mut octets = message.rmr_octets()[..whole].to_vec();
            // Sending writes type, subscription and length here; that was not done.
            octets[..8].fill(0);
            octets[212..216].fill(0);
            octets
        };
        assert_eq!(copy(sent), copy(received));
    }
}
