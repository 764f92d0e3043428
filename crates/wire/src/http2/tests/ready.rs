//! Frames that are made at once and wait for the sink.

use super::*;

/// Two ends that have said all that is to be remembered of these fields.
fn warm() -> Pair {
    let mut pair = Pair::new();
    for _ in 0..2 {
        let stream = pair.client.request(None, &REQUEST, true).unwrap();
        pair.client.finish(stream);
        pair.up();
        pair.server.answer(stream, None, &OK, false).unwrap();
        pair.down();
    }
    pair
}

const END: [Field<'static>; 1] = [Field::fixed("x-end", "yes")];
const OK: [Field<'static>; 1] = [Field::fixed(":status", "200")];

#[test]
fn a_request_that_is_given_up_before_it_is_written_is_never_heard_of() {
    let mut pair = warm();
    let before = pair.client.credit;
    let first = pair.client.request(None, &REQUEST, true).unwrap();
    let second = pair.client.request(None, &REQUEST, true).unwrap();
    for stream in [first, second] {
        pair.client
            .push(stream, &[7; 5], Bytes::from_static(&[7; 95]));
        pair.client.finish(stream);
    }
    assert!(pair.client.credit != before && pair.client.queued_total() == 0);
    pair.client.reset(first, ErrorCode::CANCEL);
    assert_eq!(pair.client.next_event(), None);
    assert!(pair.client.last_request_sent() < first);
    let told = pair.up();
    let [Told::Headers(stream, ..), Told::Data(_, 100), Told::End(_)] = told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(stream, second);
    assert_eq!(pair.client.last_request_sent(), second);
    pair.server.answer(second, None, &OK, false).unwrap();
    pair.down();
    let mut less = before;
    less.spend(100);
    assert_eq!(pair.client.credit, less);
    // The next goes on as if nothing had been.
    let third = pair.client.request(None, &REQUEST, false).unwrap();
    assert!(matches!(pair.up()[..], [Told::Headers(stream, ..), Told::End(_)] if stream == third));
}

#[test]
fn a_body_that_waits_ends_in_its_last_frame_and_others_in_one_of_their_own() {
    let mut pair = warm();
    let streams = [0, 1].map(|_| pair.client.request(None, &REQUEST, true).unwrap());
    for stream in streams {
        pair.client.push(stream, &[7; 5], Bytes::new());
    }
    let mut more = Vec::new();
    for stream in [streams[1], streams[0]] {
        let before = pair.client.ready.octets.len();
        pair.client.finish(stream);
        more.push(pair.client.ready.octets.len() - before);
    }
    // The second body is the last thing that waits; behind the first there is something.
    assert_eq!(more, [0, 9]);
    let ends = pair.up();
    let ends = ends.iter().filter(|told| matches!(told, Told::End(_)));
    assert_eq!(ends.count(), 2);
}

#[test]
fn sections_are_made_at_once_while_they_are_short_and_not_much_waits() {
    let value = vec![0xfe; 17_000];
    let length = |octets: usize| {
        let mut pair = warm();
        let long = Field::named("x", &value[..octets]).unindexed();
        let fields = [&REQUEST[..], &[long]].concat();
        pair.client.request(None, &fields, true).unwrap();
        pair.client.ready.octets.len().checked_sub(HEAD)
    };
    let beside = length(16_000).unwrap() - 16_000;
    let longest = 16_384 - beside;
    assert_eq!(length(longest), Some(16_384));
    assert_eq!(length(longest + 1), None, "it waits for its turn");
    for (waits, is_made) in [((32 << 10) - 1, true), (32 << 10, false)] {
        let mut pair = warm();
        pair.client.ready.octets = vec![0; waits];
        pair.client.request(None, &REQUEST, true).unwrap();
        assert_eq!(pair.client.ready.octets.len() > waits, is_made);
    }
}

#[test]
fn a_body_is_made_at_once_when_there_is_credit_for_all_of_it() {
    for (octets, waits) in [(99, 0), (100, 0), (101, 101)] {
        let limits = Limits {
            stream_window: 100,
            ..Limits::default()
        };
        let mut pair = Pair::with(&limits);
        let mut stream = 0;
        for _ in 0..3 {
            stream = pair.client.request(None, &REQUEST, true).unwrap();
            pair.up();
        }
        assert_eq!(pair.client.credit(stream), 100);
        pair.client
            .push(stream, &[7; 9], vec![7; octets - 9].into());
        assert_eq!(pair.client.queued(stream), waits);
        let left = 100 - (octets - waits);
        assert_eq!(pair.client.credit(stream), left);
    }
}

#[test]
fn an_answer_that_nobody_wants_any_more_is_not_sent() {
    let mut pair = warm();
    let streams: Vec<_> = (0..2)
        .map(|_| pair.client.request(None, &REQUEST, true).unwrap())
        .collect();
    pair.up();
    for stream in &streams {
        pair.server.answer(*stream, None, &OK, true).unwrap();
        pair.server.push(*stream, &[7], Bytes::new());
    }
    pair.client.reset(streams[0], ErrorCode::CANCEL);
    let code = ErrorCode::CANCEL;
    assert_eq!(pair.up(), [Told::Closed(streams[0], code)]);
    let told = pair.down();
    assert!(
        matches!(told[..], [Told::Headers(stream, ..), Told::Data(_, 1)] if stream == streams[1]),
        "{told:?}"
    );
    // Given up by this side: the reset goes out alone.
    pair.server.push(streams[1], &[7; 9], Bytes::new());
    pair.server.reset(streams[1], ErrorCode::INTERNAL_ERROR);
    assert_eq!(
        pair.down(),
        [Told::Closed(streams[1], ErrorCode::INTERNAL_ERROR)]
    );
}

#[test]
fn what_was_made_by_old_settings_is_sent_before_they_are_given_up() {
    let mut server = greeted(&Limits::default());
    let mut decoder = crate::hpack::Decoder::new(4096);
    let own = [OK[0], Field::fixed("x-own", "comes again")];
    let settings = |entries: &[(u16, u32)]| {
        let mut payload = Vec::new();
        for (name, value) in entries {
            payload.extend(name.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        frame(SETTINGS, 0, 0, &payload)
    };
    for (number, table) in [4096, 4096, 0, 0, 4096].into_iter().enumerate() {
        let stream = 2 * number as u32 + 1;
        tell(&mut server, &post(stream, 1));
        server.answer(stream, None, &own, true).unwrap();
        server.push(stream, &[7; 40], Bytes::new());
        tell(&mut server, &settings(&[(1, table), (4, 10)]));
        tell(&mut server, &settings(&[(4, 65_535)]));
        server.finish(stream);
        let sent = sent(&mut server);
        let mut rest = &sent[..];
        let mut body = 0;
        let mut sections = 0;
        while let Some((head, behind)) = rest.split_first_chunk() {
            let head = Head::read(*head);
            let (payload, behind) = behind.split_at(head.length);
            rest = behind;
            match head.kind {
                HEADERS => {
                    let mut fields = Vec::new();
                    decoder.decode(payload, 1 << 16, &mut fields).unwrap();
                    assert!(fields.ends_with(b"comes again"));
                    sections += 1;
                }
                // The smaller table counts from here on.
                SETTINGS if head.has(ACK) => decoder.set_max_table_size(table),
                DATA => body += head.length,
                _ => {}
            }
        }
        assert_eq!((sections, body), (1, 40), "{number}");
    }
}

#[test]
fn no_more_waits_than_is_held_and_the_order_stays() {
    let mut pair = warm();
    let stream = pair.client.request(None, &REQUEST, true).unwrap();
    // Ready, then queued, and one that would be ready again.
    for _ in 0..100 {
        pair.client
            .push(stream, &[], Bytes::from_static(&[7; 1000]));
    }
    assert!(pair.client.queued(stream) > 0);
    pair.client.push(stream, &[7], Bytes::new());
    pair.client.finish_with_fixed_trailers(stream, &END);
    let told = pair.up();
    let octets = |told: &Told| match told {
        Told::Data(_, octets) => *octets,
        _ => 0,
    };
    assert_eq!(told.iter().map(octets).sum::<usize>(), 100_001);
    assert!(matches!(
        told[told.len() - 2..],
        [Told::Headers(..), Told::End(_)]
    ));
    assert!(pair.client.is_finished(stream));
}
