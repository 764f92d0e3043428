//! What two sessions make of each other.

use super::*;

#[test]
fn a_request_and_its_answer_with_trailers() {
    let mut pair = Pair::new();
    let value = vec![b'v'; 300];
    let own = Field::named("x-own", &value);
    let fields = [
        &REQUEST[..],
        &[own.unindexed(), Field::new(b"x-empty", b"")],
    ]
    .concat();
    let stream = pair.client.request(None, &fields, true).unwrap();
    drop(fields);
    assert_eq!(stream, 1);
    assert_eq!(pair.client.last_request_sent(), 0);
    pair.client
        .push(stream, &[7; 3], Bytes::from_static(&[7; 4]));
    pair.client.finish(stream);
    pair.client.push(stream, &[9], Bytes::new());
    let value = String::from_utf8(value).unwrap();
    let expected = pairs(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "x"),
        (":path", "/a/b"),
        ("x-own", &value),
        ("x-empty", ""),
    ]);
    assert_eq!(
        pair.up(),
        [
            Told::Headers(1, HeadersKind::Leading, expected, false),
            Told::Data(1, 7),
            Told::End(1)
        ]
    );
    assert_eq!(pair.client.last_request_sent(), 1);
    assert!(pair.client.is_finished(1));

    pair.server
        .answer(1, None, &[Field::fixed(":status", "200")], true)
        .unwrap();
    assert_eq!(
        pair.down(),
        [Told::Headers(
            1,
            HeadersKind::Leading,
            pairs(&[(":status", "200")]),
            false
        )]
    );
    pair.server.push(1, &[7; 60], Bytes::from_static(&[7]));
    assert_eq!(pair.down(), [Told::Data(1, 61)]);
    let trailers = [Field::fixed("x-end", "yes")];
    pair.server.finish_with_trailers(1, &trailers).unwrap();
    assert_eq!(
        pair.down(),
        [
            Told::Headers(1, HeadersKind::Later, pairs(&[("x-end", "yes")]), false),
            Told::End(1),
            Told::Closed(1, ErrorCode::NO_ERROR)
        ]
    );
}

#[test]
fn large_bodies_keep_to_windows_and_budget() {
    let mut pair = Pair::new();
    pair.budget = 100_000;
    let length = 40 << 20;
    let stream = pair.client.request(None, &REQUEST, true).unwrap();
    pair.client.push(stream, &[], Bytes::from(vec![7; length]));
    pair.client.finish(stream);
    let mut got = 0;
    for _ in 0..10_000 {
        for told in pair.up() {
            if let Told::Data(_, count) = told {
                got += count;
            }
        }
        assert_eq!(pair.client.queued_total(), pair.client.queued(stream));
        pair.down();
        if got == length {
            break;
        }
    }
    assert_eq!(got, length);
    assert_eq!(pair.client.queued_total(), 0);
}

#[test]
fn what_is_not_consumed_stops_the_sender() {
    let mut pair = Pair::new();
    let stream = pair.client.request(None, &REQUEST, true).unwrap();
    pair.client.push(stream, &[], Bytes::from(vec![7; 2 << 20]));
    let mut sink = Written {
        octets: Vec::new(),
        shared: 0,
        budget: usize::MAX,
    };
    assert!(pair.client.send(&mut sink));
    assert!(sink.octets.len() < (1 << 20) + 1000);
    assert!(sink.shared > 0);
    assert_eq!(pair.client.credit(stream), 0);
    assert!(!pair.client.wants_write());
    let before = sink.octets.len();
    assert!(!pair.client.send(&mut sink));
    assert_eq!(sink.octets.len(), before);
}

#[test]
fn credit_is_given_back_when_half_a_window_is_used() {
    for (window, octets, given) in [
        (1000, 499, None),
        (1000, 500, Some(500)),
        (1000, 700, Some(700)),
        (1, 0, None),
        (1, 1, Some(1)),
    ] {
        let limits = Limits {
            stream_window: window,
            connection_window: window,
            ..Limits::default()
        };
        let mut server = greeted(&limits);
        tell(&mut server, &post(1, 0));
        let update = |stream: u32| {
            let octets: u32 = given?;
            Some(frame(WINDOW_UPDATE, 0, stream, &octets.to_be_bytes()))
        };
        server.consume_stream(1, octets);
        assert_eq!(sent(&mut server), update(1).unwrap_or_default());
        server.consume_connection(octets);
        assert_eq!(sent(&mut server), update(0).unwrap_or_default());
    }
}

#[test]
fn of_a_stream_that_is_given_up_nothing_waits() {
    let mut pair = Pair::new();
    let streams = [5, 7].map(|octets| {
        let stream = pair.client.request(None, &REQUEST, true).unwrap();
        pair.client.push(stream, &[], vec![7; octets].into());
        stream
    });
    assert_eq!(pair.client.queued_total(), 12);
    pair.client.reset(streams[0], ErrorCode::CANCEL);
    assert_eq!(pair.client.queued_total(), 7);
    assert_eq!(pair.client.queued(streams[1]), 7);
}

#[test]
fn a_stream_is_finished_when_its_end_was_given_to_the_sink() {
    let mut pair = Pair::new();
    // The second says nothing new: it is made at once, and waits for the sink.
    for _ in 0..2 {
        let stream = pair.client.request(None, &REQUEST, true).unwrap();
        assert!(!pair.client.is_finished(stream), "not written");
        pair.up();
        assert!(!pair.client.is_finished(stream), "not ended");
        pair.client.finish(stream);
        assert!(!pair.client.is_finished(stream), "its end waits");
        pair.up();
        assert!(pair.client.is_finished(stream));
    }
    assert!(pair.client.is_finished(99), "there is none");
}

#[test]
fn bodies_wait_when_the_connection_has_no_credit_left() {
    let limits = Limits {
        connection_window: 65_535,
        ..Limits::default()
    };
    for (octets, waits) in [(65_535, 0), (65_536, 1)] {
        let mut pair = Pair::with(&limits);
        let stream = pair.client.request(None, &REQUEST, true).unwrap();
        pair.client.push(stream, &[], vec![7; octets].into());
        sent(&mut pair.client);
        assert_eq!(pair.client.credit(stream), 0);
        assert_eq!(pair.client.queued(stream), waits);
        assert!(!pair.client.wants_write());
    }
}

#[test]
fn a_sink_without_room_is_given_nothing() {
    let mut client = Session::new(Role::Client, &Limits::default()).unwrap();
    let mut sink = Written {
        octets: Vec::new(),
        shared: 0,
        budget: 0,
    };
    assert!(client.wants_write() && !client.send(&mut sink));
    assert!(sink.octets.is_empty());
    sink.budget = 1;
    assert!(client.send(&mut sink));
}

#[test]
fn a_short_body_follows_its_headers_and_a_longer_one_those_of_others() {
    let own = [
        Field::fixed(":status", "200"),
        Field::fixed("x-own", "not said before"),
    ];
    for (octets, window, is_whole, follows) in [
        (16_384, 16_384, true, true),
        (16_385, 16_385, true, false),
        (100, 99, true, false),
        (100, 100, true, true),
        (100, 100, false, true),
        (0, 100, true, true),
        (0, 100, false, false),
    ] {
        let mut server = greeted(&Limits::default());
        let window: u32 = window;
        let settings = [&[0, 4][..], &window.to_be_bytes()].concat();
        tell(&mut server, &frame(SETTINGS, 0, 0, &settings));
        sent(&mut server);
        tell(&mut server, &[post(1, 1), post(3, 1)].concat());
        server.answer(1, None, &own, true).unwrap();
        server.push(1, &[], vec![7; octets].into());
        if is_whole {
            server.finish(1);
        }
        server.answer(3, None, &own, true).unwrap();
        let heads = heads(&sent(&mut server));
        let second = (heads[1].kind, heads[1].stream);
        let expected = if follows { (DATA, 1) } else { (HEADERS, 3) };
        assert_eq!(second, expected, "{octets} of {window}");
    }
}

#[test]
fn trailers_behind_a_body_that_is_sent_go_alone() {
    let mut pair = Pair::new();
    let stream = pair.client.request(None, &REQUEST, true).unwrap();
    pair.client.push(stream, &[7], Bytes::new());
    pair.up();
    let trailers = [Field::fixed("x-end", "not said before")];
    pair.client.finish_with_trailers(stream, &trailers).unwrap();
    let heads = heads(&sent(&mut pair.client));
    let kinds: Vec<_> = heads.iter().map(|head| (head.kind, head.flags)).collect();
    assert_eq!(kinds, [(HEADERS, END_HEADERS | END_STREAM)]);
}

#[test]
fn streams_end_early_from_either_side() {
    let mut pair = Pair::new();
    let first = pair.client.request(None, &REQUEST, true).unwrap();
    let second = pair.client.request(None, &REQUEST, true).unwrap();
    pair.up();
    pair.client.reset(first, ErrorCode::CANCEL);
    assert_eq!(pair.up(), [Told::Closed(first, ErrorCode::CANCEL)]);
    pair.server.reset(second, ErrorCode::REFUSED_STREAM);
    assert_eq!(
        pair.down(),
        [Told::Closed(second, ErrorCode::REFUSED_STREAM)]
    );
    // One that never left.
    let third = pair.client.request(None, &REQUEST, true).unwrap();
    pair.client.push(third, &[7], Bytes::new());
    pair.client.reset(third, ErrorCode::CANCEL);
    assert_eq!(pair.up(), []);
    assert_eq!(pair.client.queued_total(), 0);
}

#[test]
fn a_farewell_names_the_last_stream() {
    let mut pair = Pair::new();
    let first = pair.client.request(None, &REQUEST, false).unwrap();
    pair.up();
    pair.server.shutdown_notice();
    assert_eq!(
        pair.down(),
        [Told::GoAway(0x7fff_ffff, ErrorCode::NO_ERROR)]
    );
    pair.server.go_away(ErrorCode::NO_ERROR);
    assert_eq!(pair.down(), [Told::GoAway(first, ErrorCode::NO_ERROR)]);
    assert_eq!(pair.server.terminated(), None);
    assert!(pair.server.wants_read());
    pair.server
        .answer(first, None, &[Field::fixed(":status", "204")], false)
        .unwrap();
    pair.down();
    assert!(!pair.server.wants_read() && !pair.server.wants_write());
}

#[test]
fn too_many_fields_are_dropped_and_reported() {
    let limits = Limits {
        max_header_list: 1000,
        ..Limits::default()
    };
    let mut pair = Pair::with(&limits);
    let long = "n".repeat(256);
    let fields = [&REQUEST[..], &[Field::new(long.as_bytes(), b"v")]].concat();
    pair.client.request(None, &fields, false).unwrap();
    let told = pair.up();
    let Told::Headers(_, _, fields, true) = &told[0] else {
        panic!("{told:?}")
    };
    assert_eq!(fields.len(), 4);
    let many: Vec<_> = std::iter::repeat_n(Field::fixed("x", "y"), 100).collect();
    pair.client
        .request(None, &[&REQUEST[..], &many].concat(), false)
        .unwrap();
    let told = pair.up();
    let Told::Headers(_, _, fields, true) = &told[0] else {
        panic!("{told:?}")
    };
    assert!(fields.len() < 30, "{}", fields.len());
}

#[test]
fn limits_that_http2_cannot_say_are_errors() {
    for limits in [
        Limits {
            stream_window: u32::MAX,
            ..Limits::default()
        },
        Limits {
            connection_window: u32::MAX,
            ..Limits::default()
        },
        Limits {
            max_frame: 1,
            ..Limits::default()
        },
    ] {
        assert!(Session::new(Role::Client, &limits).is_err(), "{limits:?}");
    }
}

#[test]
fn a_session_may_move_between_threads() {
    fn moves<T: Send>(_: &T) {}
    moves(&Pair::new().client);
}

#[test]
fn streams_take_turns() {
    let mut pair = Pair::new();
    pair.budget = 100_000;
    let streams: Vec<_> = (0..3)
        .map(|_| {
            let stream = pair.client.request(None, &REQUEST, true).unwrap();
            pair.client.push(stream, &[], Bytes::from(vec![7; 1 << 20]));
            stream
        })
        .collect();
    let mut order = Vec::new();
    while order.len() < 9 {
        for told in pair.up() {
            if let Told::Data(stream, _) = told {
                order.push(stream);
            }
        }
    }
    for turn in order[..9].chunks(3) {
        let mut turn = turn.to_vec();
        turn.sort_unstable();
        assert_eq!(turn, streams, "{order:?}");
    }
}

#[test]
fn requests_beyond_the_peers_limit_wait_and_keep_their_order() {
    let limits = Limits {
        max_streams: 2,
        ..Limits::default()
    };
    let mut pair = Pair::with(&limits);
    let streams: Vec<_> = (0..5)
        .map(|_| pair.client.request(None, &REQUEST, false).unwrap())
        .collect();
    let opened = |told: Vec<Told>| {
        let headers = told.into_iter().filter_map(|told| match told {
            Told::Headers(stream, ..) => Some(stream),
            _ => None,
        });
        headers.collect::<Vec<_>>()
    };
    assert_eq!(opened(pair.up()), streams[..2]);
    assert!(!pair.client.wants_write());
    pair.client.reset(streams[2], ErrorCode::CANCEL);
    assert!(opened(pair.up()).is_empty());
    pair.server
        .answer(streams[0], None, &[Field::fixed(":status", "204")], false)
        .unwrap();
    pair.down();
    assert_eq!(opened(pair.up()), streams[3..4]);
    pair.client.reset(streams[1], ErrorCode::CANCEL);
    assert_eq!(opened(pair.up()), streams[4..]);
}

#[test]
fn octets_for_a_stream_that_is_gone_do_not_cost_the_others_their_credit() {
    let mut pair = Pair::new();
    let first = pair.client.request(None, &REQUEST, true).unwrap();
    pair.up();
    let window = pair.client.credit(0).min(pair.client.credit(first));
    for _ in 0..100 {
        let stream = pair.client.request(None, &REQUEST, true).unwrap();
        pair.up();
        pair.client.push(stream, &[], Bytes::from(vec![7; window]));
        pair.server.reset(stream, ErrorCode::CANCEL);
        while pair.server.next_event().is_some() {}
        // The body is on its way when the stream is gone.
        assert_eq!(pair.up(), []);
        pair.down();
    }
    pair.client.push(first, &[], Bytes::from(vec![7; window]));
    assert!(matches!(pair.up()[..], [Told::Data(..), ..]));
}

#[test]
fn header_compression_survives_streams_that_nobody_wants() {
    let limits = Limits {
        max_streams: 1,
        ..Limits::default()
    };
    let mut pair = Pair::with(&limits);
    // Sent before the limit was heard: a client of its own.
    let mut client = Session::new(Role::Client, &Limits::default()).unwrap();
    let mut server = Session::new(Role::Server, &limits).unwrap();
    let own = Field::fixed("x-own", "comes again");
    for _ in 0..3 {
        let fields = [&REQUEST[..], &[own]].concat();
        client.request(None, &fields, false).unwrap();
    }
    let told = tell(&mut server, &sent(&mut client));
    assert_eq!(told.len(), 3, "{told:?}");
    server.reset(1, ErrorCode::CANCEL);
    while server.next_event().is_some() {}
    tell(&mut client, &sent(&mut server));
    client
        .request(None, &[&REQUEST[..], &[own]].concat(), false)
        .unwrap();
    let told = tell(&mut server, &sent(&mut client));
    let Event::Headers { fields, .. } = &told[0] else {
        panic!("{told:?}")
    };
    let own = server.fields(fields.clone()).last();
    assert_eq!(own, Some((&b"x-own"[..], &b"comes again"[..])));
    assert!(pair.up().is_empty());
}

#[test]
fn header_sections_longer_than_a_frame_are_continued() {
    let mut pair = Pair::new();
    let value = vec![b'v'; 30_000];
    // Without indexing, and as Huffman codes: six bits for each.
    let fields: Vec<_> = REQUEST
        .into_iter()
        .chain([
            Field::named("x-long", &value),
            Field::named("x-more", &value),
        ])
        .collect();
    // Before the peer's SETTINGS were heard frames are 16 KiB long.
    let mut client = Session::new(Role::Client, &Limits::default()).unwrap();
    client.request(None, &fields, false).unwrap();
    let octets = sent(&mut client);
    let kinds: Vec<_> = heads(&octets[PREFACE.len()..])
        .iter()
        .map(|head| (head.kind, head.flags))
        .filter(|(kind, _)| matches!(*kind, HEADERS | CONTINUATION))
        .collect();
    let expected = [(HEADERS, END_STREAM), (CONTINUATION, 0)];
    assert!(kinds.len() > 2 && kinds[..1] == expected[..1], "{kinds:?}");
    assert_eq!(kinds.last(), Some(&(CONTINUATION, END_HEADERS)));
    let mut server = Session::new(Role::Server, &Limits::default()).unwrap();
    let told = tell(&mut server, &octets);
    let count = told.iter().find_map(|event| match event {
        Event::Headers { fields, .. } => Some(server.fields(fields.clone()).count()),
        _ => None,
    });
    assert_eq!(count, Some(6));
    assert!(pair.up().is_empty());
}

/// RFC 9113, 5.1.1.
#[test]
fn a_client_whose_stream_numbers_are_used_up_opens_no_more() {
    let mut pair = Pair::new();
    pair.client.requests.next_stream = 0x7fff_ffff;
    let last = pair.client.request(None, &REQUEST, true);
    assert_eq!(last, Ok(0x7fff_ffff));
    let next = pair.client.request(None, &REQUEST, true);
    assert_eq!(next, Err(Error::NoStreamsLeft));
}

#[test]
fn a_stream_is_answered_once_and_by_the_server() {
    let ok = [Field::fixed(":status", "200")];
    let gone = Err(Error::NoSuchStream);
    let mut pair = Pair::new();
    let stream = pair.client.request(None, &REQUEST, true).unwrap();
    assert_eq!(pair.client.answer(stream, None, &ok, true), gone);
    pair.up();
    assert_eq!(pair.client.answer(stream, None, &ok, true), gone);
    assert_eq!(pair.server.answer(stream, None, &ok, true), Ok(()));
    assert_eq!(pair.server.answer(stream, None, &ok, true), gone);
}

#[test]
fn that_a_stream_ends_next_is_seen_before_it_is_told() {
    let mut server = greeted(&Limits::default());
    server
        .receive(Instant::now(), &post(1, END_STREAM))
        .unwrap();
    assert!(!server.ends_next(1), "first come the headers");
    assert!(matches!(server.next_event(), Some(Event::Headers { .. })));
    assert!(server.ends_next(1) && !server.ends_next(3));
    assert_eq!(server.next_event(), Some(Event::End { stream: 1 }));
    assert!(!server.ends_next(1));
}

#[test]
fn secrets_are_never_in_a_table() {
    let mut client = Session::new(Role::Client, &Limits::default()).unwrap();
    let token = Field::named("authorization", b"Bearer x").secret();
    let fields = [&REQUEST[..], &[token]].concat();
    let section = |client: &mut Session| {
        client.request(None, &fields, false).unwrap();
        let octets = sent(client);
        octets[octets.len() - 20..].to_vec()
    };
    section(&mut client);
    let second = section(&mut client);
    // A literal that is never indexed, with an indexed name (RFC 7541, 6.2.3): 23 is authorization's.
    assert!(
        second.windows(2).any(|pair| pair == [0x1f, 8]),
        "{second:?}"
    );
}
