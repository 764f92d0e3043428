//! What the C library writes, octet by octet, as it was recorded from its sockets: version 4.9.4 over SI95
//! and 3.8.2 over NNG, both on a little-endian machine.
//!
//! The SI95 stream holds a message of type 12010, subscription 77, with trace data, and a call of type
//! 12011 with number 9. The NNG stream holds the first of these, behind the handshake.

use corewire_wire::rmr::si95::{Decoder, Next, TRANSPORT_OCTETS, write_transport};
use corewire_wire::rmr::{Header, HeaderMut, flags};

const SI95: &[u8] = include_bytes!("rmr/si95-4.9.4");
const NNG: &[u8] = include_bytes!("rmr/nng-3.8.2");

/// Where fields stand that hold numbers, from the header on.
const NUMBERS: [usize; 9] = [0, 4, 8, 192, 196, 200, 204, 208, 212];

fn is_the_first(header: &Header<'_>) {
    assert_eq!((header.message_type(), header.sub_id()), (12010, 77));
    assert_eq!(&header.xaction()[..7], b"xact-1\0");
    assert_eq!(header.meid(), b"gnb-1");
    assert_eq!(header.source(), b"127.0.0.1:38101");
    assert_eq!(header.source_ip(), b"127.0.0.1:38101");
    assert_eq!(header.trace(), b"trace");
    assert_eq!(header.payload(), b"recorded\0");
    // With trace data and a subscription: the C library marks neither.
    assert_eq!((header.flags(), header.call_id()), (0, 0));
}

fn is_the_call(header: &Header<'_>) {
    assert_eq!((header.message_type(), header.sub_id()), (12011, -1));
    assert_eq!((header.flags(), header.call_id()), (flags::CALL, 9));
    assert_eq!(&header.xaction()[..7], b"call-1\0");
    assert_eq!(
        (header.trace(), header.payload()),
        (&b""[..], &b"call\0"[..])
    );
}

/// The messages of a stream, each checked.
fn read(mut stream: &[u8]) {
    let mut decoder = Decoder::new(4096);
    for check in [is_the_first, is_the_call] {
        let Ok(Next::Message {
            consumed, header, ..
        }) = decoder.next(stream)
        else {
            panic!("a message was recorded");
        };
        check(&header);
        stream = &stream[consumed..];
    }
    assert!(stream.is_empty());
}

#[test]
fn what_the_c_library_sends_over_si95_is_read() {
    read(SI95);
}

/// A big-endian host writes the first length and the flags as it holds them; all else is in network
/// order there as well.
#[test]
fn so_is_what_it_would_send_from_a_big_endian_host() {
    let mut stream = SI95.to_vec();
    let second = 348;
    for at in [0, second] {
        stream[at..at + 4].reverse();
        let at = at + TRANSPORT_OCTETS + 192;
        stream[at..at + 4].reverse();
    }
    assert_ne!(stream, SI95);
    read(&stream);
}

#[test]
fn what_is_written_here_is_what_the_c_library_writes() {
    let theirs = &SI95[..348];
    let mut ours = vec![0; theirs.len()];
    write_transport(ours.first_chunk_mut().unwrap(), 348);
    let mut header = HeaderMut::init(&mut ours[TRANSPORT_OCTETS..], 5).unwrap();
    header.set_message_type(12010);
    header.set_sub_id(77);
    header.set_payload_length(9);
    header.set_source(b"127.0.0.1:38101");
    header.set_source_ip(b"127.0.0.1:38101");
    header.set_meid(b"gnb-1");
    header.xaction_mut()[..6].copy_from_slice(b"xact-1");
    ours[330..335].copy_from_slice(b"trace");
    ours[339..].copy_from_slice(b"recorded\0");
    assert_eq!(ours[..9], theirs[..9], "lengths and mark");
    let (ours, theirs) = (&ours[TRANSPORT_OCTETS..], &theirs[TRANSPORT_OCTETS..]);
    for at in NUMBERS {
        assert_eq!(ours[at..at + 4], theirs[at..at + 4], "the number at {at}");
    }
    assert_eq!(ours, theirs);
}

#[test]
fn nng_carries_the_same_behind_its_handshake() {
    let (handshake, rest) = NNG.split_at(8);
    assert_eq!(handshake, [0, b'S', b'P', 0, 0, 0x50, 0, 0]);
    let (length, message) = rest.split_first_chunk().unwrap();
    assert_eq!(u64::from_be_bytes(*length), message.len() as u64);
    let header = Header::parse(message).unwrap();
    is_the_first(&header);
    // That version sends the whole buffer, of which the payload is a part.
    assert!(header.layout().total() < message.len());
}
