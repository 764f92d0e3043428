//! An SI95 stream bears anything: what is read is within what came, nothing is asked for beyond
//! the limit, and a message that is written again is read as the same.

use corewire_wire::rmr::si95::{Decoder, Next, TRANSPORT_OCTETS, write_transport};
use corewire_wire::rmr::table_message::TableState;
use corewire_wire::rmr::{Header, HeaderMut};

const MOST: usize = 2000;

/// One input: the first octet says how much comes at once.
pub(crate) fn run(data: &[u8]) {
    let Some((chunk, octets)) = data.split_first() else {
        return;
    };
    let mut decoder = Decoder::new(MOST);
    let mut buffer = Vec::new();
    let mut consumed_in_all = 0;
    for piece in octets.chunks(usize::from(*chunk).max(1)) {
        buffer.extend_from_slice(piece);
        loop {
            let consumed = match decoder.next(&buffer) {
                Ok(Next::Message {
                    consumed,
                    frame,
                    header,
                }) => {
                    assert!(frame.len() == consumed && consumed <= MOST);
                    message(&header);
                    consumed
                }
                Ok(Next::Refused { consumed, .. } | Next::Skipped { consumed }) => consumed,
                Ok(Next::Need { octets }) => {
                    assert!(octets > buffer.len() && octets <= MOST);
                    break;
                }
                Err(_) => return,
            };
            assert!(consumed > 0);
            buffer.drain(..consumed);
            consumed_in_all += consumed;
        }
        assert!(buffer.len() < MOST);
    }
    assert_eq!(consumed_in_all + buffer.len(), octets.len());
}

/// Writes a message with the same contents, and compares.
fn message(header: &Header<'_>) {
    let (trace, payload) = (header.trace(), header.payload());
    if let Some(state) = TableState::read(payload) {
        let mut text = Vec::new();
        state.write(&mut text);
        assert_eq!(
            TableState::read(&text).map(|again| again.taken),
            Some(state.taken)
        );
    }
    let room = header.octets().len() + TRANSPORT_OCTETS + 4;
    let mut octets = vec![0xaa; room];
    let mut again = HeaderMut::init(&mut octets[TRANSPORT_OCTETS..], trace.len()).expect("room");
    again.set_message_type(header.message_type());
    again.set_sub_id(header.sub_id());
    again.set_flags(header.flags());
    again.set_source(header.source());
    again.set_source_ip(header.source_ip());
    again.set_meid(header.meid());
    again.xaction_mut().copy_from_slice(header.xaction());
    assert!(again.set_call_id(header.call_id()));
    again.set_payload_length(payload.len() as u32);
    let layout = Header::parse(&octets[TRANSPORT_OCTETS..])
        .expect("just written")
        .layout();
    let (trace_at, payload_at) = (
        TRANSPORT_OCTETS + layout.trace_at(),
        TRANSPORT_OCTETS + layout.payload_at(),
    );
    octets[trace_at..trace_at + trace.len()].copy_from_slice(trace);
    octets[payload_at..payload_at + payload.len()].copy_from_slice(payload);
    octets.truncate(payload_at + payload.len());
    let total = octets.len() as u32;
    write_transport(octets.first_chunk_mut().expect("50 octets"), total);
    let Ok(Next::Message { header: again, .. }) = Decoder::new(MOST * 2).next(&octets) else {
        panic!("just written");
    };
    assert_eq!(again.message_type(), header.message_type());
    assert_eq!(again.sub_id(), header.sub_id());
    assert_eq!(again.flags(), header.flags());
    assert_eq!(again.xaction(), header.xaction());
    assert_eq!(again.call_id(), header.call_id());
    assert_eq!((again.trace(), again.payload()), (trace, payload));
    // A name without its NUL loses its last octet.
    assert!(header.source().starts_with(again.source()) && again.source().len() < 64);
    assert!(header.source_ip().starts_with(again.source_ip()));
    assert!(header.meid().starts_with(again.meid()) && again.meid().len() < 32);
}
