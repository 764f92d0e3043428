//! Octets that no honest peer sends, and more of them than it would.

use super::*;

#[test]
fn what_is_not_http2_is_an_error() {
    let mut server = Session::new(Role::Server, &Limits::default()).unwrap();
    let octets = b"GET / HTTP/1.1\r\n\r\n";
    assert_eq!(server.receive(Instant::now(), octets), Err(Error::NotHttp2));
}

#[test]
fn more_streams_than_were_agreed_on_are_refused_and_then_an_attack() {
    let limits = Limits {
        max_streams: 1,
        glitches: (10, 1),
        ..Limits::default()
    };
    let mut server = greeted(&limits);
    tell(&mut server, &post(1, 1));
    // The client has not heard of the limit.
    for stream in (3..103).step_by(2) {
        assert_eq!(tell(&mut server, &post(stream, 1)), []);
    }
    let refused = heads(&sent(&mut server));
    assert_eq!(refused.len(), 50);
    assert!(refused.iter().all(|head| head.kind == RST_STREAM));
    tell(&mut server, &frame(SETTINGS, ACK, 0, &[]));
    for stream in (103..131).step_by(2) {
        tell(&mut server, &post(stream, 1));
    }
    assert_eq!(server.terminated(), Some(ErrorCode::ENHANCE_YOUR_CALM));
}

#[test]
fn header_blocks_without_end_are_bounded() {
    let limits = Limits::default();
    let begun = frame(HEADERS, 0, 1, &block(&[(":method", "POST")]));
    // Many short ones, empty ones, and few long ones.
    for (piece, frames) in [(10, 8), (0, 8), (limits.max_frame as usize - 100, 1)] {
        let mut server = greeted(&limits);
        tell(&mut server, &begun);
        for _ in 0..frames {
            tell(&mut server, &frame(CONTINUATION, 0, 1, &vec![0; piece]));
            assert_eq!(server.terminated(), None, "{piece}");
        }
        tell(&mut server, &frame(CONTINUATION, 0, 1, &vec![0; piece]));
        assert_eq!(
            server.terminated(),
            Some(ErrorCode::ENHANCE_YOUR_CALM),
            "{piece}"
        );
    }
    // Nothing may come between.
    for other in [
        frame(PING, 0, 0, &[0; 8]),
        frame(CONTINUATION, END_HEADERS, 3, b""),
        frame(77, 0, 0, b""),
    ] {
        let mut server = greeted(&limits);
        tell(&mut server, &[&begun[..], &other].concat());
        assert_eq!(server.terminated(), Some(ErrorCode::PROTOCOL_ERROR));
    }
}

#[test]
fn fields_that_wait_are_bounded() {
    let mut server = greeted(&Limits::default());
    // An entry of four thousand octets, named fifteen times in each of many requests.
    let own = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "x"),
        (":path", "/"),
    ];
    let mut section = block(&own);
    section.extend([0x40, 1, b'x', 0x7f, 0xa1, 0x1e]);
    section.extend([b'y'; 4000]);
    let mut octets = frame(HEADERS, END_HEADERS, 1, &section);
    for stream in 1..500 {
        let section = [&block(&own)[..], &[0x80 | 62; 15]].concat();
        octets.extend(frame(HEADERS, END_HEADERS, 2 * stream + 1, &section));
    }
    let (mut at, mut opened, mut turns) = (0, 0, 0);
    while at < octets.len() {
        let taken = server.receive(Instant::now(), &octets[at..]).unwrap();
        assert!(taken > 0);
        assert!(server.sections.fields.len() <= (256 << 10) + (64 << 10));
        at += taken;
        turns += 1;
        opened += std::iter::from_fn(|| server.next_event()).count();
    }
    assert_eq!(opened, 500);
    assert!(turns > 50, "{turns}");
}

#[test]
fn answers_that_nobody_reads_are_bounded() {
    for asked in [
        frame(PING, 0, 0, &[1; 8]),
        frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]),
    ] {
        let mut server = greeted(&Limits::default());
        let mut asked_for = 0;
        while server.terminated().is_none() {
            tell(&mut server, &asked);
            asked_for += 1;
        }
        assert_eq!(asked_for, 1001);
        assert_eq!(server.terminated(), Some(ErrorCode::ENHANCE_YOUR_CALM));
        let mut server = greeted(&Limits::default());
        for _ in 0..3000 {
            tell(&mut server, &asked);
            sent(&mut server);
        }
        assert_eq!(server.terminated(), None);
    }
}

#[test]
fn control_frames_that_nobody_reads_are_bounded_by_their_octets_too() {
    let mut server = greeted(&Limits::default());
    for (octets, is_flooded) in [(256 << 10, false), ((256 << 10) + 1, true)] {
        server.control.octets = vec![0; octets];
        assert_eq!(server.is_flooded(), is_flooded);
    }
}

#[test]
fn empty_frames_are_a_few() {
    let mut server = greeted(&Limits::default());
    tell(&mut server, &post(1, 0));
    let mut count = 0;
    while server.terminated().is_none() {
        tell(&mut server, &frame(DATA, 0, 1, b""));
        count += 1;
    }
    assert_eq!(count, 1001);
}

#[test]
fn who_sends_more_than_was_granted_breaks_the_stream_or_the_connection() {
    let limits = Limits {
        stream_window: 1000,
        ..Limits::default()
    };
    let mut server = greeted(&limits);
    tell(&mut server, &post(1, 0));
    // Until it has heard of the window it may send as much as there is without.
    tell(&mut server, &frame(DATA, 0, 1, &[7; 2000]));
    tell(&mut server, &frame(SETTINGS, ACK, 0, &[]));
    tell(&mut server, &post(3, 0));
    assert_eq!(tell(&mut server, &frame(DATA, 0, 3, &[7; 1000])).len(), 1);
    let told = tell(&mut server, &frame(DATA, 0, 3, &[7; 1]));
    let code = ErrorCode::FLOW_CONTROL_ERROR;
    assert_eq!(told, [Event::Closed { stream: 3, code }]);
    // A stream that was open by then has as much less.
    let mut server = greeted(&limits);
    tell(&mut server, &post(1, 0));
    tell(&mut server, &frame(SETTINGS, ACK, 0, &[]));
    assert_eq!(tell(&mut server, &frame(DATA, 0, 1, &[7; 1000])).len(), 1);
    let told = tell(&mut server, &frame(DATA, 0, 1, &[7; 1]));
    assert_eq!(told, [Event::Closed { stream: 1, code }]);
    // All streams together: the connection's window is 16 MiB.
    let limits = Limits {
        connection_window: 65_535,
        ..Limits::default()
    };
    let mut server = greeted(&limits);
    tell(&mut server, &frame(SETTINGS, ACK, 0, &[]));
    tell(&mut server, &post(1, 0));
    tell(&mut server, &frame(DATA, 0, 1, &[7; 65_535]));
    assert_eq!(server.terminated(), None);
    tell(&mut server, &frame(DATA, 0, 1, &[7; 1]));
    assert_eq!(server.terminated(), Some(code));
}

#[test]
fn a_client_knows_which_streams_there_are() {
    let settings = frame(SETTINGS, 0, 0, &[]);
    for (bad, code) in [
        (frame(DATA, 0, 1, b"x"), ErrorCode::PROTOCOL_ERROR),
        (frame(DATA, 0, 2, b"x"), ErrorCode::PROTOCOL_ERROR),
        (
            frame(HEADERS, 5, 3, &block(&[(":status", "200")])),
            ErrorCode::PROTOCOL_ERROR,
        ),
        (frame(RST_STREAM, 0, 1, &[0; 4]), ErrorCode::PROTOCOL_ERROR),
        (
            frame(WINDOW_UPDATE, 0, 5, &[0, 0, 0, 1]),
            ErrorCode::PROTOCOL_ERROR,
        ),
        (frame(5, 4, 1, &[0, 0, 0, 2]), ErrorCode::PROTOCOL_ERROR),
        (frame(PING, 0, 0, &[0; 7]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(GOAWAY, 0, 0, &[0; 7]), ErrorCode::FRAME_SIZE_ERROR),
        (
            frame(SETTINGS, ACK, 0, &[0; 6]),
            ErrorCode::FRAME_SIZE_ERROR,
        ),
        (frame(SETTINGS, 0, 1, &[]), ErrorCode::PROTOCOL_ERROR),
        (frame(PING, 0, 1, &[0; 8]), ErrorCode::PROTOCOL_ERROR),
        (frame(DATA, 0, 0, b"x"), ErrorCode::PROTOCOL_ERROR),
    ] {
        let mut client = Session::new(Role::Client, &Limits::default()).unwrap();
        // It was asked for and not sent: for the peer it does not exist.
        client.request(None, &REQUEST, false).unwrap();
        let told = tell(&mut client, &[&settings[..], &bad].concat());
        assert_eq!(told, [Event::Credit]);
        assert_eq!(client.terminated(), Some(code), "{bad:?}");
        let goaway = heads(&sent(&mut client)[PREFACE.len()..]);
        assert_eq!(goaway.last().map(|head| head.kind), Some(GOAWAY));
        assert!(!client.wants_read() && !client.wants_write());
    }
    // The first frame is SETTINGS, not an answer to them.
    for first in [frame(PING, 0, 0, &[0; 8]), frame(SETTINGS, ACK, 0, &[])] {
        let mut client = Session::new(Role::Client, &Limits::default()).unwrap();
        tell(&mut client, &first);
        assert_eq!(client.terminated(), Some(ErrorCode::PROTOCOL_ERROR));
    }
}

#[test]
fn frames_of_one_length_are_refused_when_they_have_another() {
    use crate::http2::frame::PRIORITY;
    for (kind, stream, right, wrong) in [
        (PRIORITY, 1, 5, [4, 6]),
        (RST_STREAM, 1, 4, [3, 5]),
        (WINDOW_UPDATE, 1, 4, [3, 5]),
        (PING, 0, 8, [7, 9]),
        (GOAWAY, 0, 8, [0, 7]),
    ] {
        let after = |length: usize| {
            let mut server = greeted(&Limits::default());
            tell(&mut server, &post(1, 0));
            let payload: Vec<u8> = (0..length).map(|place| u8::from(place == 3) * 9).collect();
            tell(&mut server, &frame(kind, 0, stream, &payload));
            server.terminated()
        };
        assert_eq!(after(right), None, "{kind}");
        for length in wrong {
            let code = Some(ErrorCode::FRAME_SIZE_ERROR);
            assert_eq!(after(length), code, "{kind}, {length} octets");
        }
    }
}

#[test]
fn only_what_needs_an_open_stream_is_refused_on_one_that_its_client_has_ended() {
    let ended = || {
        let mut server = greeted(&Limits::default());
        tell(&mut server, &post(1, END_STREAM));
        server.reset(1, ErrorCode::CANCEL);
        server
    };
    for (kind, payload) in [
        (WINDOW_UPDATE, &[0, 0, 0, 1][..]),
        (RST_STREAM, &[0, 0, 0, 8]),
    ] {
        let mut server = ended();
        tell(&mut server, &frame(kind, 0, 1, payload));
        assert_eq!(server.terminated(), None, "{kind}");
    }
    let mut server = ended();
    tell(&mut server, &frame(DATA, 0, 1, b"x"));
    assert_eq!(server.terminated(), Some(ErrorCode::STREAM_CLOSED));
    // On one that this side has ended it may have been on its way.
    let mut server = greeted(&Limits::default());
    tell(&mut server, &post(1, 0));
    server.reset(1, ErrorCode::CANCEL);
    tell(&mut server, &frame(DATA, 0, 1, b"x"));
    assert_eq!(server.terminated(), None);
}

#[test]
fn a_request_may_depend_on_another_stream_and_not_on_itself() {
    const WITH_PRIORITY: u8 = 0x20;
    for (on, is_taken) in [(3_u32, true), (0, true), (1, false)] {
        let mut server = greeted(&Limits::default());
        let mut payload = on.to_be_bytes().to_vec();
        payload.push(15);
        payload.extend(post(1, 0).split_off(HEAD));
        let flags = END_HEADERS | END_STREAM | WITH_PRIORITY;
        let told = tell(&mut server, &frame(HEADERS, flags, 1, &payload));
        assert_eq!(!told.is_empty(), is_taken, "on {on}: {told:?}");
        let resets = heads(&sent(&mut server));
        let is_reset = resets.iter().any(|head| head.kind == RST_STREAM);
        assert_eq!(is_reset, !is_taken, "on {on}");
        assert_eq!(server.terminated(), None);
    }
}

#[test]
fn receiving_stops_when_enough_was_done_and_goes_on() {
    let limits = Limits {
        turn_work: 1000,
        ..Limits::default()
    };
    let mut server = greeted(&limits);
    let octets: Vec<u8> = (0..20)
        .flat_map(|_| frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]))
        .collect();
    let (mut at, mut times) = (0, 0);
    while at < octets.len() {
        at += server.receive(Instant::now(), &octets[at..]).unwrap();
        while server.next_event().is_some() {}
        assert_eq!(server.has_more(), at < octets.len());
        times += 1;
    }
    // Four frames of 256 each time.
    assert_eq!(times, 5);
    // The frame that goes past the limit is the last.
    for (turn_work, frames) in [(0, 1), (255, 1), (256, 2), (767, 3), (768, 4)] {
        let limits = Limits {
            turn_work,
            ..Limits::default()
        };
        let mut server = greeted(&limits);
        let taken = server.receive(Instant::now(), &octets).unwrap();
        assert_eq!(taken, frames * (HEAD + 4), "{turn_work}");
    }
}

/// RFC 9113, 5.1: a stream is idle until its client has opened it or a higher one.
#[test]
fn a_server_knows_which_streams_its_client_has_opened() {
    for (stream, was_opened) in [(1, false), (2, false), (3, true), (4, false), (5, false)] {
        for (kind, payload) in [
            (WINDOW_UPDATE, &[0, 0, 0, 1][..]),
            (RST_STREAM, &[0, 0, 0, 8]),
            (DATA, b"x"),
        ] {
            let mut server = greeted(&Limits::default());
            tell(&mut server, &post(3, 0));
            server.reset(3, ErrorCode::CANCEL);
            tell(&mut server, &frame(kind, 0, stream, payload));
            let code = (!was_opened).then_some(ErrorCode::PROTOCOL_ERROR);
            assert_eq!(server.terminated(), code, "{kind} on {stream}");
        }
    }
}

#[test]
fn a_stream_that_is_gone_does_not_open_again() {
    let mut server = greeted(&Limits::default());
    tell(&mut server, &post(1, 0));
    server.reset(1, ErrorCode::CANCEL);
    while server.next_event().is_some() {}
    assert_eq!(tell(&mut server, &post(1, 0)), []);
    assert_eq!(server.terminated(), None);
}

#[test]
fn clients_that_reset_more_streams_than_they_may_are_an_attack_and_servers_may() {
    let limits = Limits {
        stream_resets: (5, 1),
        ..Limits::default()
    };
    let mut server = greeted(&limits);
    for count in 0..6u32 {
        assert_eq!(server.terminated(), None, "{count}");
        let stream = 2 * count + 1;
        let reset = frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]);
        tell(&mut server, &[post(stream, 0), reset].concat());
    }
    assert_eq!(server.terminated(), Some(ErrorCode::ENHANCE_YOUR_CALM));
    let mut pair = Pair::with(&limits);
    for _ in 0..10 {
        let stream = pair.client.request(None, &REQUEST, true).unwrap();
        pair.up();
        pair.server.reset(stream, ErrorCode::REFUSED_STREAM);
        assert_eq!(pair.down().len(), 1);
    }
    assert_eq!(pair.client.terminated(), None);
}

/// What was published as "MadeYouReset": whole requests, each followed by a frame that makes the server reset
/// the stream while its handler works.
#[test]
fn clients_that_make_the_server_reset_streams_are_an_attack() {
    let limits = Limits {
        glitches: (5, 1),
        ..Limits::default()
    };
    // A window update of nothing, and a window that overflows (RFC 9113, 6.9 and 6.9.1).
    for update in [[0, 0, 0, 0], [0x7f, 0xff, 0xff, 0xff]] {
        let mut server = greeted(&limits);
        for count in 0..6u32 {
            assert_eq!(server.terminated(), None, "{update:?}, {count}");
            let stream = 2 * count + 1;
            let provoking = frame(WINDOW_UPDATE, 0, stream, &update);
            tell(&mut server, &[post(stream, 1), provoking].concat());
        }
        assert_eq!(server.terminated(), Some(ErrorCode::ENHANCE_YOUR_CALM));
    }
}

#[test]
fn a_malformed_section_ends_its_stream() {
    let malformed = |flags| {
        let mut server = greeted(&Limits::default());
        tell(&mut server, &post(1, 0));
        let section = frame(HEADERS, END_HEADERS | flags, 1, &block(&[(":x", "y")]));
        let code = ErrorCode::PROTOCOL_ERROR;
        let told = tell(&mut server, &section);
        assert_eq!(told, [Event::Closed { stream: 1, code }]);
        // More of it may have been on its way, unless that was its end.
        tell(&mut server, &frame(DATA, 0, 1, b"x"));
        server.terminated()
    };
    assert_eq!(malformed(0), None);
    assert_eq!(malformed(END_STREAM), Some(ErrorCode::STREAM_CLOSED));
    // RFC 9113, 8.3.1: a request says where it goes.
    let mut server = greeted(&Limits::default());
    let section = frame(HEADERS, END_HEADERS, 1, &block(&[(":method", "POST")]));
    assert_eq!(tell(&mut server, &section), []);
    assert_eq!(heads(&sent(&mut server))[0].kind, RST_STREAM);
}

#[test]
fn a_header_block_may_be_four_times_as_long_as_the_list_that_is_taken() {
    let limits = Limits {
        max_frame: 1 << 14,
        max_header_list: 1 << 14,
        ..Limits::default()
    };
    let mut server = greeted(&limits);
    let piece = vec![0; 1 << 14];
    tell(&mut server, &frame(HEADERS, 0, 1, &piece));
    for _ in 0..3 {
        tell(&mut server, &frame(CONTINUATION, 0, 1, &piece));
    }
    assert_eq!(server.terminated(), None);
    tell(&mut server, &frame(CONTINUATION, 0, 1, &[0]));
    assert_eq!(server.terminated(), Some(ErrorCode::ENHANCE_YOUR_CALM));
}

/// What is decoded counts, and what it was decoded from.
#[test]
fn header_sections_count_as_work() {
    let mut server = greeted(&Limits::default());
    let sections = [post(1, 0), post(3, 0)].concat();
    tell(&mut server, &sections);
    let blocks = sections.len() - 2 * HEAD;
    assert_eq!(
        server.reading.work,
        2 * 256 + blocks + server.sections.fields.len()
    );
}

#[test]
fn a_stream_cannot_depend_on_itself() {
    use crate::http2::frame::PRIORITY;
    for (on, code) in [(3, None), (1, Some(ErrorCode::PROTOCOL_ERROR))] {
        let mut server = greeted(&Limits::default());
        tell(&mut server, &frame(PRIORITY, 0, 1, &[0, 0, 0, on, 15]));
        assert_eq!(server.terminated(), code);
    }
}
