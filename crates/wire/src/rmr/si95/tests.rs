use super::super::{D1_OCTETS, HEADER_OCTETS, HeaderMut};
use super::*;
use proptest::prelude::*;

fn frame(payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; TRANSPORT_OCTETS + HEADER_OCTETS + D1_OCTETS];
    let total = (octets.len() + payload.len()) as u32;
    write_transport(octets.first_chunk_mut().unwrap(), total);
    let mut header = HeaderMut::init(&mut octets[TRANSPORT_OCTETS..], 0).unwrap();
    header.set_payload_length(payload.len() as u32);
    octets.extend_from_slice(payload);
    octets
}

fn with_length(mut frame: Vec<u8>, length: u32) -> Vec<u8> {
    write_transport(frame.first_chunk_mut().unwrap(), length);
    frame
}

/// Everything that a decoder makes of a stream: payloads, refusals, and how it ended.
fn decode(max: usize, stream: &[u8], piece: usize) -> (Vec<Vec<u8>>, usize, bool) {
    let mut decoder = Decoder::new(max);
    let (mut payloads, mut refused) = (Vec::new(), 0);
    let mut buffer = Vec::new();
    for piece in stream.chunks(piece.max(1)) {
        buffer.extend_from_slice(piece);
        loop {
            let consumed = match decoder.next(&buffer) {
                Ok(Next::Message {
                    consumed, header, ..
                }) => {
                    payloads.push(header.payload().to_vec());
                    consumed
                }
                Ok(Next::Refused { consumed, .. }) => {
                    refused += 1;
                    consumed
                }
                Ok(Next::Skipped { consumed }) => consumed,
                Ok(Next::Need { octets }) => {
                    assert!(octets > buffer.len());
                    assert!(octets <= max.max(LENGTH_OCTETS));
                    break;
                }
                Err(_) => return (payloads, refused, false),
            };
            assert!(consumed > 0);
            buffer.drain(..consumed);
        }
    }
    (payloads, refused, true)
}

#[test]
fn a_message_has_the_overhead_that_was_captured_from_the_c_library() {
    assert_eq!(frame(b"sixsix").len(), 340);
}

#[test]
fn the_lengths_stand_as_both_generations_expect() {
    let mut octets = [0xaa; TRANSPORT_OCTETS];
    write_transport(&mut octets, 340);
    assert_eq!(octets[..4], 340_u32.to_ne_bytes());
    assert_eq!(octets[4..8], [0, 0, 1, 0x54]);
    assert_eq!(octets[8], b'$');
    assert_eq!(octets[9..], [0; 41]);
}

#[test]
fn a_stream_may_not_end_within_a_message_that_was_refused() {
    let mut decoder = Decoder::new(100);
    assert!(decoder.is_between_messages());
    let long = with_length(vec![0; 200], 200);
    let next = decoder.next(&long[..60]);
    assert!(matches!(next, Ok(Next::Refused { consumed: 60, .. })));
    assert!(!decoder.is_between_messages());
    let next = decoder.next(&long[60..]);
    assert!(matches!(next, Ok(Next::Skipped { consumed: 140 })));
    assert!(decoder.is_between_messages());
}

#[test]
fn messages_of_64_mib_are_taken_where_nothing_else_is_said() {
    let mut decoder = Decoder::new(DEFAULT_MAX_MESSAGE);
    let head = |length| with_length(vec![0; TRANSPORT_OCTETS], length);
    let next = decoder.next(&head(67_108_864)).map(|next| match next {
        Next::Need { octets } => octets,
        other => panic!("{other:?}"),
    });
    assert_eq!(next, Ok(67_108_864));
    let longer = head(67_108_865);
    assert!(matches!(decoder.next(&longer), Ok(Next::Refused { .. })));
}

#[test]
fn a_refusal_says_what_is_wrong_with_the_header() {
    use std::error::Error;
    let fault = HeaderFault::Truncated { octets: 3 };
    let source = Refusal::Malformed(fault).source().map(ToString::to_string);
    assert_eq!(source, Some(fault.to_string()));
    assert!(Refusal::TooLong { length: 2, max: 1 }.source().is_none());
}

#[test]
fn the_first_length_wins_as_in_the_c_library() {
    // An old sender writes only the first, and whatever was there behind it.
    let mut old = frame(b"old");
    old[4..50].fill(0x77);
    // One that returns a message updates only the first.
    let mut returned = frame(b"returned");
    returned[4..8].copy_from_slice(&999_u32.to_be_bytes());
    let stream = [old, returned, frame(b"new")].concat();
    let (payloads, refused, fine) = decode(DEFAULT_MAX_MESSAGE, &stream, 7);
    assert_eq!(
        payloads,
        [&b"old"[..], &b"returned"[..], &b"new"[..]].map(<[u8]>::to_vec)
    );
    assert!(fine && refused == 0);
}

#[test]
fn a_sender_of_the_other_order_of_octets_is_understood() {
    let mut octets = frame(b"from afar");
    octets[..4].reverse();
    let (payloads, ..) = decode(DEFAULT_MAX_MESSAGE, &octets, 1000);
    assert_eq!(payloads, [b"from afar"]);
}

#[test]
fn a_negative_length_ends_the_connection() {
    for length in [0x8000_0000_u32, u32::MAX, -330_i32 as u32] {
        let fault = Decoder::new(1000)
            .next(&with_length(frame(b""), length))
            .unwrap_err();
        assert_eq!(fault, StreamFault::Negative { length });
    }
}

#[test]
fn a_length_within_the_transport_ends_the_connection() {
    for length in [0, 1, 9, 49] {
        let fault = Decoder::new(1000)
            .next(&with_length(frame(b""), length))
            .unwrap_err();
        assert_eq!(fault, StreamFault::TooShort { length });
    }
}

#[test]
fn a_message_too_long_costs_only_itself() {
    let stream = [frame(b"before"), frame(&[1; 5000]), frame(b"after")].concat();
    for piece in [1, 10, 333, 100_000] {
        let (payloads, refused, fine) = decode(1000, &stream, piece);
        assert_eq!(payloads, [b"before".to_vec(), b"after".to_vec()]);
        assert!(fine && refused == 1);
    }
}

#[test]
fn a_claim_of_two_gigabytes_takes_no_memory() {
    let mut decoder = Decoder::new(usize::MAX);
    let octets = with_length(frame(b""), i32::MAX as u32);
    assert!(matches!(
        decoder.next(&octets),
        Ok(Next::Need { octets }) if octets == i32::MAX as usize
    ));
    let mut decoder = Decoder::new(DEFAULT_MAX_MESSAGE);
    assert!(matches!(decoder.next(&octets), Ok(Next::Refused { .. })));
    assert!(!decoder.is_between_messages());
}

#[test]
fn a_malformed_message_costs_only_itself() {
    let mut lying = frame(b"12345678");
    lying[TRANSPORT_OCTETS + 4..TRANSPORT_OCTETS + 8].copy_from_slice(&9_u32.to_be_bytes());
    let short = with_length(frame(b"")[..200].to_vec(), 200);
    let empty = with_length(frame(b"")[..50].to_vec(), 50);
    let stream = [lying, short, empty, frame(b"fine")].concat();
    let (payloads, refused, fine) = decode(1000, &stream, 100);
    assert_eq!(payloads, [b"fine"]);
    assert!(fine && refused == 3);
}

proptest! {
    #[test]
    fn however_it_is_cut_the_same_comes_out(
        payloads in proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 0..900), 0..8),
        piece in 1..2000_usize,
    ) {
        let stream: Vec<u8> = payloads.iter().flat_map(|payload| frame(payload)).collect();
        let fits = |payload: &&Vec<u8>| payload.len() + 334 <= 1000;
        let (got, refused, fine) = decode(1000, &stream, piece);
        prop_assert!(fine);
        prop_assert_eq!(refused, payloads.iter().filter(|payload| !fits(payload)).count());
        prop_assert_eq!(got, payloads.iter().filter(fits).cloned().collect::<Vec<_>>());
    }

    #[test]
    fn anything_is_borne(stream in proptest::collection::vec(any::<u8>(), 0..2000), piece in 1..500_usize) {
        decode(1000, &stream, piece);
    }
}
