use super::*;
use proptest::prelude::*;

#[test]
fn prefixes_go_both_ways() {
    for length in [0usize, 1, 255, 65_536, 16 << 20] {
        let prefix = prefix(length).unwrap();
        assert_eq!(message_length(prefix, 16 << 20), Ok(length));
    }
    assert_eq!(prefix(usize::MAX), None);
}

#[test]
fn prefixes_that_are_not_taken_say_why() {
    let long = prefix(101).unwrap();
    assert_eq!(message_length(long, 100), Err(FramingFault::TooLong));
    assert_eq!(
        message_length([1, 0, 0, 0, 1], 100),
        Err(FramingFault::Compressed)
    );
    assert_eq!(
        message_length([2, 0, 0, 0, 1], 100),
        Err(FramingFault::UnknownFlag)
    );
}

#[test]
fn a_message_that_is_not_whole_is_held_and_is_no_end() {
    let mut deframer = Deframer::new(100);
    assert_eq!((deframer.missing(), deframer.held()), (0, 0));
    deframer.put(&[0, 0, 0, 0]);
    assert_eq!(deframer.next_message(), Ok(None));
    assert_eq!((deframer.missing(), deframer.held()), (0, 4));
    assert_eq!(deframer.finish(), Err(FramingFault::Truncated));
    deframer.put(&[7]);
    assert_eq!(deframer.next_message(), Ok(None));
    assert_eq!((deframer.missing(), deframer.held()), (7, 0));
    assert_eq!(deframer.finish(), Err(FramingFault::Truncated));
    deframer.put(&[1; 6]);
    assert_eq!((deframer.missing(), deframer.held()), (1, 6));
    deframer.put(&[1; 3]);
    assert_eq!((deframer.missing(), deframer.held()), (0, 9));
    assert_eq!(deframer.next_message().unwrap().unwrap(), [1; 7][..]);
    assert_eq!(deframer.held(), 2);
    assert_eq!(deframer.finish(), Err(FramingFault::Truncated));
}

#[test]
fn a_message_may_be_as_long_as_is_taken() {
    let message = |length| message_length(prefix(length).unwrap(), 100);
    assert_eq!(message(100), Ok(100));
    assert_eq!(message(101), Err(FramingFault::TooLong));
}

#[test]
fn binary_headers_are_told_by_the_end_of_their_names() {
    for (name, is) in [
        ("x-bin", true),
        ("-bin", true),
        ("x-bin-x", false),
        ("bin", false),
        ("", false),
    ] {
        assert_eq!(is_binary(name.as_bytes()), is, "{name}");
    }
}

#[test]
fn timeouts_are_written_in_the_finest_unit_that_fits() {
    let text = |span| {
        let mut out = [0; TIMEOUT_OCTETS];
        let length = write_timeout(span, &mut out);
        String::from_utf8(out[..length].to_vec()).unwrap()
    };
    assert_eq!(text(Duration::ZERO), "0u");
    assert_eq!(text(Duration::from_nanos(1)), "1u");
    assert_eq!(text(Duration::from_millis(50)), "50000u");
    assert_eq!(text(Duration::from_secs(99)), "99000000u");
    assert_eq!(text(Duration::from_secs(100)), "100000m");
    assert_eq!(text(Duration::from_secs(200_000)), "200000S");
    assert_eq!(text(Duration::from_secs(200_000_000)), "3333334M");
    assert_eq!(text(Duration::from_secs(7_200_000_001)), "2000001H");
    assert_eq!(text(Duration::MAX), "99999999H");
}

#[test]
fn timeouts_of_every_unit_are_read_and_others_are_not() {
    for (text, span) in [
        ("7n", Duration::from_nanos(7)),
        ("7u", Duration::from_micros(7)),
        ("7m", Duration::from_millis(7)),
        ("7S", Duration::from_secs(7)),
        ("7M", Duration::from_secs(420)),
        ("99999999H", Duration::from_secs(99_999_999 * 3600)),
    ] {
        assert_eq!(read_timeout(text.as_bytes()), Some(span), "{text}");
    }
    for bad in ["", "S", "7", "7s", "-7S", "123456789m", "7 S", "7.5S"] {
        assert_eq!(read_timeout(bad.as_bytes()), None, "{bad:?}");
    }
}

#[test]
fn messages_are_percent_encoded_as_the_specification_says() {
    let mut out = Vec::new();
    write_message("100% \u{fc}\n", &mut out);
    assert_eq!(out, b"100%25 %C3%BC%0A");
    assert_eq!(read_message(&out), "100% \u{fc}\n");
    assert_eq!(read_message(b"50% off %zz %4"), "50% off %zz %4");
    assert_eq!(read_message(b"%ff"), "\u{fffd}");
}

#[test]
fn binary_values_are_read_with_and_without_padding() {
    let mut out = Vec::new();
    write_binary(&[1, 2, 3, 4], &mut out);
    assert_eq!(out, b"AQIDBA");
    for text in ["AQIDBA", "AQIDBA=="] {
        let mut read = Vec::new();
        assert!(read_binary(text.as_bytes(), &mut read));
        assert_eq!(read, [1, 2, 3, 4]);
    }
    let mut kept = b"kept".to_vec();
    assert!(!read_binary(b"*", &mut kept));
    assert_eq!(kept, b"kept");
}

proptest! {
    #[test]
    fn any_text_survives(message: String) {
        let mut out = Vec::new();
        write_message(&message, &mut out);
        prop_assert!(out.iter().all(|octet| (b' '..=b'~').contains(octet)));
        prop_assert_eq!(read_message(&out), message);
    }

    #[test]
    fn any_octets_survive_base64(octets: Vec<u8>) {
        let mut out = Vec::new();
        write_binary(&octets, &mut out);
        let mut read = Vec::new();
        prop_assert!(read_binary(&out, &mut read));
        prop_assert_eq!(read, octets);
    }

    #[test]
    fn a_timeout_never_becomes_shorter(micros in 0u64..1 << 50) {
        let span = Duration::from_micros(micros);
        let mut out = [0; TIMEOUT_OCTETS];
        let length = write_timeout(span, &mut out);
        let read = read_timeout(&out[..length]).unwrap();
        prop_assert!(read >= span);
        prop_assert!(read <= span * 2 || micros < 2);
    }

    #[test]
    fn messages_come_out_as_they_went_in_however_they_are_cut(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..10),
        piece in 1usize..40,
    ) {
        let mut body = Vec::new();
        for message in &messages {
            body.extend(prefix(message.len()).unwrap());
            body.extend(message);
        }
        let mut deframer = Deframer::new(50);
        let mut read = Vec::new();
        for octets in body.chunks(piece) {
            deframer.put(octets);
            while let Some(message) = deframer.next_message().unwrap() {
                read.push(message.to_vec());
            }
            prop_assert!(deframer.held() <= 55);
        }
        prop_assert_eq!(deframer.finish(), Ok(()));
        prop_assert_eq!(read, messages);
    }

    #[test]
    fn no_octets_break_the_deframer(octets: Vec<u8>, piece in 1usize..9) {
        let mut deframer = Deframer::new(64);
        for octets in octets.chunks(piece) {
            deframer.put(octets);
            loop {
                match deframer.next_message() {
                    Ok(Some(message)) => prop_assert!(message.len() <= 64),
                    Ok(None) => break,
                    Err(_) => return Ok(()),
                }
            }
        }
    }
}
