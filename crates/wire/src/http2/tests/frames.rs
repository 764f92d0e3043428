//! Frame by frame.

use super::*;

#[test]
fn a_frame_is_taken_when_it_is_whole() {
    let mut server = greeted(&Limits::default());
    let octets = [post(1, 0), frame(DATA, END_STREAM, 1, b"body")].concat();
    let (mut given, mut told) = (0, Vec::new());
    for end in 1..=octets.len() {
        let taken = server.receive(Instant::now(), &octets[given..end]).unwrap();
        told.extend(std::iter::from_fn(|| server.next_event()));
        given += taken;
        let behind = end - given;
        assert!(taken == 0 || behind == 0, "{end}");
        if behind >= HEAD {
            let head = Head::read(*octets[given..].first_chunk().unwrap());
            assert_eq!(server.wants(), HEAD + head.length - behind);
        }
    }
    let [
        Event::Headers { .. },
        Event::Data { octets, .. },
        Event::End { stream: 1 },
    ] = &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(*octets, HEAD..HEAD + 4);
}

#[test]
fn a_preface_may_come_in_pieces() {
    let mut server = Session::new(Role::Server, &Limits::default()).unwrap();
    let greeting = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    for end in 0..PREFACE.len() {
        assert_eq!(server.receive(Instant::now(), &greeting[..end]), Ok(0));
    }
    assert_eq!(tell(&mut server, &greeting), [Event::Credit]);
}

/// RFC 9113, 4.1 and 5.5.
#[test]
fn unknown_frames_mean_nothing_on_whatever_stream() {
    let mut server = greeted(&Limits::default());
    for (kind, stream) in [(10, 0), (10, 1), (11, 2), (255, 0)] {
        assert_eq!(tell(&mut server, &frame(kind, 0xff, stream, &[9; 9])), []);
    }
    assert_eq!(server.terminated(), None);
}

#[test]
fn octets_of_unknown_frames_are_passed_over_as_they_come() {
    let mut server = greeted(&Limits::default());
    let unknown = frame(77, 0xff, 5, &[9; 100_000]);
    for piece in unknown.chunks(HEAD + 5) {
        assert_eq!(tell(&mut server, piece), []);
    }
    assert_eq!(tell(&mut server, &post(1, END_STREAM)).len(), 2);
}

#[test]
fn settings_change_the_windows_of_streams_that_are_open() {
    let mut server = greeted(&Limits::default());
    let ok = [Field::fixed(":status", "200")];
    tell(&mut server, &[post(1, 1), post(3, 1)].concat());
    for stream in [1, 3] {
        server.answer(stream, None, &ok, true).unwrap();
        server.push(stream, &[], Bytes::from(vec![7; 50_000]));
    }
    // Both together are more than the connection's 65,535.
    let lengths = |octets: &[u8]| {
        let heads = heads(octets);
        let data = heads.iter().filter(|head| head.kind == DATA);
        data.map(|head| head.length).sum::<usize>()
    };
    assert_eq!(lengths(&sent(&mut server)), 65_535);
    let window = |value: u32| {
        let value = value.to_be_bytes();
        frame(SETTINGS, 0, 0, &[&[0, 4][..], &value].concat())
    };
    let credit = |stream, octets: u32| frame(WINDOW_UPDATE, 0, stream, &octets.to_be_bytes());
    // What is taken back may be more than was left: below 0.
    tell(&mut server, &[window(10), credit(0, 100_000)].concat());
    assert_eq!((server.credit(1), server.credit(3)), (0, 0));
    assert_eq!(lengths(&sent(&mut server)), 0);
    assert!(!server.wants_write());
    tell(&mut server, &credit(1, 10));
    assert!(!server.wants_write());
    tell(&mut server, &window(65_535));
    assert_eq!(lengths(&sent(&mut server)), 100_000 - 65_535);
    // A window that grows too wide by SETTINGS ends the connection (RFC 9113, 6.9.2).
    let widest = credit(1, 0x7fff_0000 - 10_000);
    tell(&mut server, &widest);
    assert_eq!(server.terminated(), None);
    tell(&mut server, &window(0x7fff_ffff));
    assert_eq!(server.terminated(), Some(ErrorCode::FLOW_CONTROL_ERROR));
}

#[test]
fn a_body_waits_whose_stream_has_no_credit_left_and_others_go_on() {
    let mut server = greeted(&Limits::default());
    let ok = [Field::fixed(":status", "200")];
    tell(&mut server, &[post(1, 1), post(3, 1)].concat());
    for stream in [1, 3] {
        server.answer(stream, None, &ok, true).unwrap();
    }
    server.push(1, &[], Bytes::from(vec![7; 100]));
    sent(&mut server);
    for stream in [1, 3] {
        server.push(stream, &[], Bytes::from(vec![7; 5000]));
    }
    let window = |octets: u8| frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, octets]);
    tell(&mut server, &window(100));
    assert_eq!((server.credit(1), server.credit(3)), (0, 100));
    let heads = heads(&sent(&mut server));
    let data = heads.iter().filter(|head| head.kind == DATA);
    let data: Vec<_> = data.map(|head| (head.stream, head.length)).collect();
    assert_eq!(data, [(3, 100)]);
    // Nothing goes on that has none.
    tell(&mut server, &window(200));
    tell(&mut server, &window(100));
    sent(&mut server);
    assert!(!server.wants_write());
}

#[test]
fn a_request_that_waits_for_its_turn_does_so_whatever_the_window() {
    let mut client = Session::new(Role::Client, &Limits::default()).unwrap();
    tell(&mut client, &frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]));
    let streams = [(); 2].map(|()| client.request(None, &REQUEST, true).unwrap());
    sent(&mut client);
    tell(&mut client, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]));
    client.reset(streams[1], ErrorCode::CANCEL);
    let third = client.request(None, &REQUEST, false).unwrap();
    let headers = |client: &mut Session| {
        let heads = heads(&sent(client));
        let headers = heads.iter().filter(|head| head.kind == HEADERS);
        headers.map(|head| head.stream).collect::<Vec<_>>()
    };
    assert!(headers(&mut client).is_empty());
    client.reset(streams[0], ErrorCode::CANCEL);
    assert_eq!(headers(&mut client), [third]);
}

/// RFC 9113, 6.9.1: a window is at most 2^31 - 1.
#[test]
fn windows_may_be_as_wide_as_http2_can_say() {
    const WIDEST: u32 = 0x7fff_ffff;
    let grant = |stream, more: u32| frame(WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
    let mut server = greeted(&Limits::default());
    tell(&mut server, &post(1, 0));
    let settings = [&[0, 4][..], &WIDEST.to_be_bytes()].concat();
    tell(&mut server, &frame(SETTINGS, 0, 0, &settings));
    tell(&mut server, &grant(0, WIDEST - 65_535));
    assert_eq!(server.terminated(), None);
    assert_eq!(server.credit(1), WIDEST as usize);
    let code = ErrorCode::FLOW_CONTROL_ERROR;
    let told = tell(&mut server, &grant(1, 1));
    assert_eq!(told, [Event::Closed { stream: 1, code }]);
    assert_eq!(server.terminated(), None);
    tell(&mut server, &grant(0, 1));
    assert_eq!(server.terminated(), Some(code));
    // The stream's own, by WINDOW_UPDATE alone.
    let mut server = greeted(&Limits::default());
    tell(&mut server, &post(1, 0));
    let told = tell(&mut server, &grant(1, WIDEST - 65_535));
    assert_eq!(told, [Event::Credit]);
}

/// RFC 9113, 6.5.2: without a word of it there is no limit; 100 is what a server should take.
#[test]
fn a_client_opens_a_hundred_streams_until_it_has_heard_how_many_are_taken() {
    let mut client = Session::new(Role::Client, &Limits::default()).unwrap();
    for _ in 0..150 {
        client.request(None, &REQUEST, true).unwrap();
    }
    let opened = |client: &mut Session| {
        let octets = sent(client);
        let octets = octets.strip_prefix(PREFACE).unwrap_or(&octets);
        let opened = heads(octets);
        opened.iter().filter(|head| head.kind == HEADERS).count()
    };
    assert_eq!(opened(&mut client), 100);
    tell(&mut client, &frame(SETTINGS, 0, 0, &[]));
    assert_eq!(opened(&mut client), 50);
    // What is not named later stays.
    tell(&mut client, &frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 151]));
    tell(&mut client, &frame(SETTINGS, 0, 0, &[]));
    for _ in 0..2 {
        client.request(None, &REQUEST, true).unwrap();
    }
    assert_eq!(opened(&mut client), 1);
}

#[test]
fn padding_is_credited_and_is_not_told() {
    let limits = Limits {
        stream_window: 1000,
        connection_window: 70_000,
        ..Limits::default()
    };
    let mut server = greeted(&limits);
    tell(&mut server, &frame(SETTINGS, ACK, 0, &[]));
    tell(&mut server, &post(1, 0));
    let padded = [&[200][..], b"body", &[0; 200]].concat();
    for _ in 0..100 {
        let told = tell(&mut server, &frame(DATA, PADDED, 1, &padded));
        let octets = HEAD + 1..HEAD + 5;
        assert_eq!(told, [Event::Data { stream: 1, octets }]);
        server.consume_stream(1, 4);
        server.consume_connection(4);
    }
    assert_eq!(server.terminated(), None);
    let mut short = padded.clone();
    short[0] = 205;
    tell(&mut server, &frame(DATA, PADDED, 1, &short));
    assert_eq!(server.terminated(), Some(ErrorCode::PROTOCOL_ERROR));
}

#[test]
fn a_client_is_told_of_interim_and_final_answers() {
    let mut pair = Pair::new();
    let stream = pair.client.request(None, &REQUEST, false).unwrap();
    pair.up();
    let section = |status, flags| {
        let block = block(&[(":status", status)]);
        frame(HEADERS, END_HEADERS | flags, stream, &block)
    };
    let leading = HeadersKind::Leading;
    for (status, flags, ends) in [("103", 0, false), ("200", END_STREAM, true)] {
        let told = tell(&mut pair.client, &section(status, flags));
        assert!(
            matches!(told[0], Event::Headers { kind, .. } if kind == leading),
            "{told:?}"
        );
        assert_eq!(told.len(), if ends { 3 } else { 1 });
    }
    // An interim answer cannot be the end, and nothing comes before the final one.
    for bad in [section("103", END_STREAM), frame(DATA, 0, 3, b"x")] {
        let mut client = Session::new(Role::Client, &Limits::default()).unwrap();
        tell(&mut client, &frame(SETTINGS, 0, 0, &[]));
        for _ in 0..2 {
            client.request(None, &REQUEST, false).unwrap();
        }
        sent(&mut client);
        let told = tell(&mut client, &bad);
        assert!(
            matches!(
                told.last(),
                Some(Event::Closed { code, .. }) if *code == ErrorCode::PROTOCOL_ERROR
            ),
            "{told:?}"
        );
        assert_eq!(client.terminated(), None);
    }
}

#[test]
fn a_goaway_refuses_what_is_above_it_and_what_was_not_sent() {
    let mut pair = Pair::new();
    let sent: Vec<_> = (0..3)
        .map(|_| pair.client.request(None, &REQUEST, true).unwrap())
        .collect();
    pair.up();
    let waiting = pair.client.request(None, &REQUEST, true).unwrap();
    let goaway = |last: u32| {
        let payload = [&last.to_be_bytes()[..], &[0; 4]].concat();
        frame(GOAWAY, 0, 0, &payload)
    };
    let told = tell(&mut pair.client, &goaway(sent[1]));
    let closed = |stream| Event::Closed {
        stream,
        code: ErrorCode::REFUSED_STREAM,
    };
    assert_eq!(told[1..], [closed(sent[2]), closed(waiting)]);
    assert_eq!(
        pair.client.request(None, &REQUEST, true),
        Err(Error::GoingAway)
    );
    assert!(pair.client.wants_read());
    // It may name the same again, and a lower one later, never a higher.
    assert_eq!(tell(&mut pair.client, &goaway(sent[1])).len(), 1);
    let told = tell(&mut pair.client, &goaway(sent[0]));
    assert_eq!(told[1..], [closed(sent[1])]);
    tell(&mut pair.client, &goaway(sent[2]));
    assert_eq!(pair.client.terminated(), Some(ErrorCode::PROTOCOL_ERROR));
}

#[test]
fn a_server_that_has_said_its_last_word_takes_no_more_streams() {
    let mut server = greeted(&Limits::default());
    tell(&mut server, &post(1, 1));
    server.go_away(ErrorCode::NO_ERROR);
    assert_eq!(tell(&mut server, &post(3, 1)), []);
    server
        .answer(1, None, &[Field::fixed(":status", "200")], false)
        .unwrap();
    let kinds: Vec<_> = heads(&sent(&mut server)).iter().map(|h| h.kind).collect();
    assert_eq!(kinds, [GOAWAY, HEADERS]);
    assert!(!server.wants_read());
}
