//! A conversation with a bit of everything, to be cut up and broken.

use crate::pair::{CHAT, ECHO, Pair, feed, outputs, transmitted};
use bytes::BytesMut;
use corewire_message::{Body, Priority, Request, Response};
use corewire_wire::native::Config;
use corewire_wire::{Core, Output};

pub(crate) fn config() -> Config {
    Config::with(|config| {
        config.max_frame = 8192;
        config.max_header_block = 2048;
    })
}

/// What each end sends in all four.
pub(crate) fn conversation(unit: usize) -> (Vec<u8>, Vec<u8>) {
    let mut pair = Pair::with(config(), config());
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for turn in 0..4u8 {
        commands(&mut pair, turn, unit);
        for _ in 0..3 {
            let octets = transmitted(&mut pair.client, pair.now);
            feed(
                &mut pair.server,
                &mut BytesMut::new(),
                &octets,
                usize::MAX,
                pair.now,
            )
            .unwrap();
            up.extend(octets);
            answer(&mut pair, turn, unit);
            let octets = transmitted(&mut pair.server, pair.now);
            feed(
                &mut pair.client,
                &mut BytesMut::new(),
                &octets,
                usize::MAX,
                pair.now,
            )
            .unwrap();
            down.extend(octets);
        }
    }
    (up, down)
}

/// What the client does in each of four turns; `unit` scales the messages.
pub(crate) fn commands(pair: &mut Pair, turn: u8, unit: usize) {
    let size = usize::from(turn) * 5 * unit;
    let urgent = Priority::try_from(turn).unwrap();
    let request = Request::new(ECHO).with_body(vec![turn; size]);
    pair.call(request.with_priority(urgent));
    let stream = pair.open();
    pair.client
        .send(stream, Body::from(vec![turn; size]))
        .unwrap();
    pair.client.finish(stream);
    let event = corewire_message::Event::new(CHAT, vec![turn; 100]);
    pair.client.send_event(pair.now, event).unwrap();
}

fn answer(pair: &mut Pair, turn: u8, unit: usize) {
    let size = usize::from(turn) * 3 * unit;
    for output in outputs(&mut pair.server) {
        match output {
            Output::Request { call, .. } => {
                pair.server.respond(call, Response::ok(vec![turn; size]));
            }
            Output::Finished { call } => {
                pair.server.send(call, Body::from_static(b"m")).unwrap();
                pair.server.respond(call, Response::ok(Body::new()));
            }
            _ => {}
        }
    }
}
