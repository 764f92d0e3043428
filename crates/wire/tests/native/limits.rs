//! Every rule that a peer can break, and the name of the fault.

use crate::pair::{CHAT, ECHO};
use crate::raw::{self, Lone, define, frame, hello, preface};
use corewire_message::{ErrorKind, Event, Request};
use corewire_wire::Core;
use corewire_wire::native::{Config, MAGIC};

fn server() -> Lone {
    Lone::server(small()).greeted()
}

fn small() -> Config {
    Config::with(|config| {
        config.max_message = 100_000;
        config.max_frame = 8192;
        config.max_header_block = 1000;
        config.max_operations = 3;
        config.stream_credit = 1000;
        config.connection_credit = 10_000;
        config.max_concurrent_calls = 10;
        config.max_pending_pings = 3;
        config.max_control_backlog = 1000;
    })
}

/// A server with `Echo` as operation 0 and `Chat` as operation 1, and `Chat` open as call 1.
fn with_stream() -> Lone {
    let mut lone = server();
    let echo = define(ECHO.as_str(), b"");
    let chat = define(CHAT.as_str(), b"");
    lone.feed(&frame(raw::EVENT, raw::DEFINE, 0, 0, &echo))
        .unwrap();
    let flags = raw::DEFINE | raw::STREAM;
    lone.feed(&frame(raw::REQUEST, flags, 1, 1, &chat)).unwrap();
    assert_eq!(std::iter::from_fn(|| lone.core.poll()).count(), 2);
    lone
}

/// A client whose `Echo` is call 1 and whose `Chat` is call 3, both sent.
fn client() -> Lone {
    let mut lone = Lone::client(small()).greeted();
    lone.core.call(lone.now, Request::new(ECHO)).unwrap();
    lone.core.open(lone.now, Request::new(CHAT)).unwrap();
    assert!(!lone.transmitted().is_empty());
    lone
}

fn more(total: u32, first: usize) -> Vec<u8> {
    [&total.to_le_bytes()[..], &vec![0; first]].concat()
}

#[test]
fn the_preface() {
    let fresh = || Lone::server(small());
    assert_eq!(
        fresh().fault(b"GET / HTTP/1.1"),
        "the first octets are not the native protocol's"
    );
    assert_eq!(
        fresh().fault(&[0xC3, b'X']),
        "the first octets are not the native protocol's"
    );
    let ping_first = [&MAGIC[..], &frame(raw::PING, 0, 0, 0, &[0; 8])].concat();
    assert_eq!(fresh().fault(&ping_first), "the first frame is not HELLO");
    let greet = |payload: &[u8]| {
        let octets = [&MAGIC[..], &frame(raw::HELLO, 0, 0, 0, payload)].concat();
        fresh().fault(&octets)
    };
    let greeting = |rest: usize| {
        let payload = hello((1, 1), &[(0x8001, &vec![0; rest])]);
        [&MAGIC[..], &frame(raw::HELLO, 0, 0, 0, &payload)].concat()
    };
    assert!(fresh().feed(&greeting(4096 - 12)).is_ok());
    assert_eq!(fresh().fault(&greeting(4096 - 11)), "HELLO is too long");
    assert_eq!(greet(&[1, 0, 1, 0]), "HELLO ends inside a field");
    for (setting, value) in [
        (1u16, &[0u8; 3][..]),
        (2, &[0; 4]),
        (4, &[0; 4]),
        (7, &[255; 4]),
    ] {
        assert_eq!(
            greet(&hello((1, 1), &[(setting, value)])),
            "HELLO holds a setting that is out of range"
        );
    }
    assert_eq!(server().fault(&preface()[4..]), "a second HELLO");
    let settled = frame(raw::HELLO, 1, 0, 0, &[]);
    assert_eq!(
        client().fault(&settled),
        "HELLO is acknowledged by an end that must not"
    );
    let early = [&MAGIC[..], &settled].concat();
    assert_eq!(
        fresh().fault(&early),
        "HELLO is acknowledged by an end that must not"
    );
}

#[test]
fn the_frame() {
    let flagged = frame(raw::PING, 1, 0, 0, &[0; 8]);
    assert_eq!(
        server().fault(&flagged),
        "a flag that is unknown for its frame type"
    );
    // Told from the header alone.
    let long = &frame(raw::EVENT, 0, 0, 0, &[0; 8193])[..12];
    assert_eq!(server().fault(long), "frame too long");
    for kind in [raw::CREDIT, raw::PING, raw::PONG, raw::FINISH, raw::CANCEL] {
        assert_eq!(
            with_stream().fault(&frame(kind, 0, 0, 1, &[0; 5])),
            "a frame of fixed length has another length"
        );
    }
    assert_eq!(
        client().fault(&frame(raw::DRAIN, 0, 0, 1, &[0; 5])),
        "a frame of fixed length has another length"
    );
    let cut = frame(raw::REQUEST, raw::DEFINE, 0, 1, &[200, 0, b'a']);
    assert_eq!(server().fault(&cut), "a frame ends inside a field");
}

#[test]
fn lengths() {
    let long = frame(raw::REQUEST, raw::MORE, 0, 3, &more(100_001, 2000));
    assert_eq!(with_stream().fault(&long), "message too long");
    let block = [&1001u32.to_le_bytes()[..], &[0; 1001]].concat();
    let long = frame(raw::REQUEST, raw::HEADERS, 0, 3, &block);
    assert_eq!(with_stream().fault(&long), "header block too long");
    let bad = [&5u32.to_le_bytes()[..], b"12345"].concat();
    let bad = frame(raw::REQUEST, raw::HEADERS, 0, 3, &bad);
    assert_eq!(with_stream().fault(&bad), "a header block that is not one");
    let text = [&[1, 4][..], &[b'a'; 1025]].concat();
    let long = frame(raw::RESPONSE, raw::TEXT, 0, 1, &text);
    assert_eq!(
        client().fault(&long),
        "a status text that is too long or not UTF-8"
    );
}

#[test]
fn a_header_block_as_long_as_it_may_be_is_taken() {
    for (value, taken) in [(995usize, true), (996, false)] {
        let length = u32::try_from(value).unwrap().to_le_bytes();
        let block = [&[1], &length[..3], b"x", &vec![b'y'; value]].concat();
        let length = u32::try_from(block.len()).unwrap().to_le_bytes();
        let payload = [&length[..], &block].concat();
        let request = frame(raw::REQUEST, raw::HEADERS, 0, 3, &payload);
        assert_eq!(block.len() <= 1000, taken);
        assert_eq!(with_stream().feed(&request).is_ok(), taken);
    }
}

#[test]
fn call_numbers() {
    for number in [0, 2] {
        assert_eq!(
            with_stream().fault(&frame(raw::REQUEST, 0, 0, number, &[])),
            "a call number that this end may not use"
        );
    }
    assert_eq!(
        with_stream().fault(&frame(raw::REQUEST, 0, 0, 1, &[])),
        "a call number that is in use"
    );
    assert_eq!(
        with_stream().fault(&frame(raw::EVENT, 0, 0, 1, &[])),
        "a call number that this end may not use"
    );
    for kind in [raw::MESSAGE, raw::FINISH, raw::CANCEL, raw::FRAGMENT] {
        for number in [2, 3] {
            assert_eq!(
                with_stream().fault(&frame(kind, 0, 0, number, &[])),
                "a frame for a call that was never made"
            );
        }
    }
    assert_eq!(
        client().fault(&frame(raw::RESPONSE, 0, 0, 5, &[])),
        "a frame for a call that was never made"
    );
    let mut early = client();
    early.core.call(early.now, Request::new(ECHO)).unwrap();
    assert_eq!(
        early.fault(&frame(raw::RESPONSE, 0, 0, 5, &[])),
        "an answer before the whole request"
    );
}

#[test]
fn directions() {
    for kind in [raw::RESPONSE, raw::DRAIN] {
        assert_eq!(
            with_stream().fault(&frame(kind, 0, 0, 1, &[])),
            "a frame that this end does not send"
        );
    }
    for kind in [raw::REQUEST, raw::EVENT, raw::FINISH] {
        assert_eq!(
            client().fault(&frame(kind, 0, 0, 3, &[])),
            "a frame that this end does not send"
        );
    }
    let mut drained = client();
    drained.feed(&frame(raw::DRAIN, 0, 0, 3, &[])).unwrap();
    assert_eq!(
        drained.fault(&frame(raw::DRAIN, 0, 0, 1, &[])),
        "a second DRAIN"
    );
}

#[test]
fn operations() {
    let request = |flags, aux, payload: &[u8]| frame(raw::REQUEST, flags, aux, 3, payload);
    assert_eq!(
        with_stream().fault(&request(0, 2, &[])),
        "an operation number that was not defined"
    );
    let named = |aux, name| request(raw::DEFINE, aux, &define(name, b""));
    assert_eq!(
        with_stream().fault(&named(3, "a/b")),
        "an operation number defined out of order"
    );
    assert_eq!(
        with_stream().fault(&named(2, "no slash")),
        "an operation name that is not one"
    );
    let mut full = with_stream();
    full.feed(&named(2, "a/b")).unwrap();
    let next = frame(raw::REQUEST, raw::DEFINE, 3, 5, &define("a/c", b""));
    assert_eq!(full.fault(&next), "too many operations");
    assert_eq!(
        with_stream().fault(&request(raw::PRIORITY, 0, &[32])),
        "a priority above 31"
    );
}

#[test]
fn streams() {
    let mut unary = with_stream();
    unary.feed(&frame(raw::REQUEST, 0, 0, 3, &[])).unwrap();
    assert_eq!(
        unary.fault(&frame(raw::MESSAGE, 0, 0, 3, &[])),
        "a stream frame for a unary call"
    );
    assert_eq!(
        with_stream().fault(&frame(raw::REQUEST, raw::STREAM, 1, 3, b"body")),
        "a stream request with a body"
    );
    for again in [raw::MESSAGE, raw::FINISH] {
        let mut finished = with_stream();
        finished.feed(&frame(raw::FINISH, 0, 0, 1, &[])).unwrap();
        assert_eq!(
            finished.fault(&frame(again, 0, 0, 1, &[])),
            "a message after the end of its side"
        );
    }
}

#[test]
fn fragments() {
    let begin = frame(raw::MESSAGE, raw::MORE, 0, 1, &more(3000, 1024));
    let begun = || {
        let mut lone = with_stream();
        lone.feed(&begin).unwrap();
        lone
    };
    for inside in [raw::MESSAGE, raw::FINISH] {
        assert_eq!(
            begun().fault(&frame(inside, 0, 0, 1, &[])),
            "a frame inside a message in fragments"
        );
    }
    let fragment = |flags, length| frame(raw::FRAGMENT, flags, 0, 1, &vec![0; length]);
    assert_eq!(
        begun().fault(&fragment(raw::MORE, 1023)),
        "fragment too short"
    );
    assert_eq!(
        begun().fault(&fragment(0, 1977)),
        "fragments longer than their message"
    );
    assert_eq!(
        begun().fault(&fragment(0, 1975)),
        "fragments shorter than their message"
    );
    assert_eq!(
        with_stream().fault(&fragment(0, 5)),
        "a fragment of nothing"
    );
    assert_eq!(
        with_stream().fault(&frame(raw::FRAGMENT, 0, 7, 0, b"x")),
        "a fragment of nothing"
    );
    let short = frame(raw::MESSAGE, raw::MORE, 0, 1, &more(3000, 1023));
    assert_eq!(with_stream().fault(&short), "fragment too short");
    let event = frame(raw::EVENT, raw::MORE, 0, 0, &more(3000, 1024));
    let mut twice = with_stream();
    twice.feed(&event).unwrap();
    assert_eq!(twice.fault(&event), "a frame inside a message in fragments");
    let response = frame(raw::RESPONSE, raw::MORE, 0, 1, &more(3000, 1024));
    let mut twice = client();
    twice.feed(&response).unwrap();
    assert_eq!(
        twice.fault(&response),
        "a frame inside a message in fragments"
    );
}

#[test]
fn what_comes_in_fragments_is_dropped_once_the_answer_waits() {
    let mut lone = with_stream();
    let held = lone.core.held();
    lone.feed(&frame(raw::MESSAGE, raw::MORE, 0, 1, &more(3000, 1024)))
        .unwrap();
    assert_eq!(lone.core.held(), held + 3016);
    let answer = corewire_message::Response::ok(corewire_message::Body::new());
    lone.core.respond(corewire_wire::CallId::new(1), answer);
    lone.feed(&frame(raw::FRAGMENT, 0, 0, 1, &[0; 1976]))
        .unwrap();
    assert!(lone.core.poll().is_none());
    assert_eq!(lone.core.held(), held);
}

#[test]
fn a_call_is_answered_once_and_not_before_its_whole_request_came() {
    let answer = |octets| corewire_message::Response::ok(vec![0; octets]);
    let mut lone = with_stream();
    lone.feed(&frame(raw::REQUEST, raw::MORE, 0, 3, &more(3000, 1024)))
        .unwrap();
    let call = corewire_wire::CallId::new(3);
    lone.core.respond(call, answer(10));
    assert!(lone.transmitted().is_empty());
    lone.feed(&frame(raw::FRAGMENT, 0, 0, 3, &[0; 1976]))
        .unwrap();
    assert!(lone.core.poll().is_some());
    lone.core.respond(call, answer(10));
    let queued = lone.core.queued();
    lone.core.respond(call, answer(20));
    assert_eq!(lone.core.queued(), queued);
    assert_eq!(lone.transmitted(), frame(raw::RESPONSE, 0, 0, 3, &[0; 10]));
}

#[test]
fn credit() {
    // 1000 octets of stream credit: one message may overshoot, the next may not begin.
    let message = frame(raw::MESSAGE, 0, 0, 1, &[0; 990]);
    let mut lone = with_stream();
    lone.feed(&message).unwrap();
    assert_eq!(lone.fault(&message), "stream credit overrun");
    // 10,000 of the connection's; the stream of empty messages is bounded too.
    let event = frame(raw::EVENT, 0, 0, 0, &[0; 5000]);
    let mut lone = with_stream();
    lone.feed(&event).unwrap();
    lone.feed(&event).unwrap();
    assert_eq!(lone.fault(&event), "connection credit overrun");
    let mut lone = with_stream();
    let empty = frame(raw::MESSAGE, 0, 0, 1, &[]);
    let fits = (0..10_000)
        .take_while(|_| lone.feed(&empty).is_ok())
        .count();
    assert_eq!(fits, 1000usize.div_ceil(16));
    for call in [0, 3] {
        let grant = frame(raw::CREDIT, 0, 0, call, &u32::MAX.to_le_bytes());
        assert_eq!(client().fault(&grant), "credit overflow");
    }
    assert_eq!(
        client().fault(&frame(raw::CREDIT, 0, 0, 1, &[0; 4])),
        "a stream frame for a unary call"
    );
}

#[test]
fn the_word_of_a_fault_is_the_last() {
    let mut lone = with_stream();
    // More than half of the connection's credit: taking it would give that back.
    let event = frame(raw::EVENT, 0, 0, 0, &[0; 6000]);
    lone.feed(&event).unwrap();
    lone.fault(&[0xff; 12]);
    assert!(lone.core.poll().is_some());
    let told = lone.transmitted();
    let length = u32::from_le_bytes(told[..4].try_into().unwrap());
    assert_eq!((told[4], told.len()), (raw::CLOSE, 12 + length as usize));
}

#[test]
fn floods() {
    let ping = frame(raw::PING, 0, 0, 0, b"8 octets");
    let mut lone = server();
    for _ in 0..5 {
        lone.feed(&ping.repeat(3)).unwrap();
        assert_eq!(
            lone.transmitted(),
            frame(raw::PONG, 0, 0, 0, b"8 octets").repeat(3)
        );
    }
    assert_eq!(lone.fault(&ping.repeat(4)), "too many pings");
    // Refusals that nobody reads.
    let mut lone = with_stream();
    let refused = |number: u32| frame(raw::REQUEST, raw::STREAM, 0, number, &[]);
    let took = (1..1000)
        .take_while(|n| lone.feed(&refused(n * 2 + 1)).is_ok())
        .count();
    assert!((5..30).contains(&took), "{took}");
    assert_eq!(
        lone.core.fault().unwrap().what,
        "too many control frames wait for a peer that does not read"
    );
    // Requests that are cancelled at once leave nothing behind.
    let mut lone = with_stream();
    for n in 1..10_000 {
        let number = n * 2 + 1;
        lone.feed(&frame(raw::REQUEST, 0, 0, number, &[])).unwrap();
        lone.feed(&frame(raw::CANCEL, 0, 1, number, &[])).unwrap();
        assert_eq!(std::iter::from_fn(|| lone.core.poll()).count(), 2);
    }
    assert_eq!(lone.core.in_flight(), 1);
    // The cost of what was taken came back now and then.
    let credit = frame(raw::CREDIT, 0, 0, 0, &[0; 4]).len();
    assert!(lone.transmitted().len() <= 10_000 * 16 / 5000 * credit + 100);
    let closed = frame(raw::CLOSE, 0, 0, 0, b"because");
    assert!(server().fault(&closed).starts_with("the peer closed"));
}

#[test]
fn the_callers_own() {
    let mut lone = Lone::client(Config::with(|config| {
        config.max_concurrent_calls = 2;
        config.max_backlog = 10_000;
    }));
    let kind = |result: Result<(), corewire_message::CallError>| {
        let error = result.unwrap_err();
        assert!(!error.may_have_executed());
        error.kind()
    };
    let now = lone.now;
    let long = Request::new(ECHO).with_body(vec![0; (16 << 20) + 1]);
    let result = lone.core.call(now, long).map(drop);
    assert_eq!(kind(result), ErrorKind::Unsendable);
    let mut headers = corewire_message::Headers::new();
    headers.append("x", vec![b'y'; (64 << 10) - 4]).unwrap();
    assert_eq!(headers.as_block().len(), (64 << 10) + 1);
    let result = lone
        .core
        .call(now, Request::new(ECHO).with_headers(headers));
    assert_eq!(kind(result.map(drop)), ErrorKind::Unsendable);
    let mut headers = corewire_message::Headers::new();
    headers.append("x", vec![b'y'; (64 << 10) - 5]).unwrap();
    let longest = Request::new(ECHO).with_headers(headers);
    let call = lone.core.call(now, longest).unwrap();
    lone.core.cancel(call, corewire_message::Code::Cancelled);
    lone.core.call(now, Request::new(ECHO)).unwrap();
    lone.core.open(now, Request::new(CHAT)).unwrap();
    let result = lone.core.call(now, Request::new(ECHO)).map(drop);
    assert_eq!(kind(result), ErrorKind::Overloaded);
    let mut sent = 0;
    let error = loop {
        match lone.core.send_event(now, Event::new(ECHO, vec![0; 1000])) {
            Ok(()) => sent += 1,
            Err(error) => break Err(error),
        }
        assert!(sent < 100);
    };
    assert_eq!(kind(error), ErrorKind::Overloaded);
    let mut server = server();
    let result = server.core.call(now, Request::new(ECHO)).map(drop);
    assert_eq!(kind(result), ErrorKind::Unsendable);
}
