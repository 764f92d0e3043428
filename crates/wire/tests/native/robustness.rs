//! Octets as they come off a wire: in any pieces, and wrong in any way.

use crate::pair::{CHAT, ECHO, Pair, feed, outputs, transmitted};
use bytes::BytesMut;
use corewire_message::{Body, Priority, Request, Response};
use corewire_wire::native::Config;
use corewire_wire::{CallId, Core};

fn config() -> Config {
    Config::with(|config| {
        config.max_frame = 8192;
        config.max_header_block = 2048;
    })
}

/// A conversation with a bit of everything; gives what each end sent.
fn conversation() -> (Vec<u8>, Vec<u8>) {
    let mut pair = Pair::with(config(), config());
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for turn in 0..4u8 {
        commands(&mut pair, turn);
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
            answer(&mut pair, turn);
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

fn commands(pair: &mut Pair, turn: u8) {
    let size = usize::from(turn) * 5000;
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

fn answer(pair: &mut Pair, turn: u8) {
    let size = usize::from(turn) * 3000;
    for output in outputs(&mut pair.server) {
        match output {
            corewire_wire::Output::Request { call, .. } => {
                pair.server.respond(call, Response::ok(vec![turn; size]));
            }
            corewire_wire::Output::Finished { call } => {
                pair.server.send(call, Body::from_static(b"m")).unwrap();
                pair.server.respond(call, Response::ok(Body::new()));
            }
            _ => {}
        }
    }
}

#[test]
fn any_pieces_of_the_input_give_the_same_outputs() {
    let (up, down) = conversation();
    let told = |chunk| {
        let mut pair = Pair::with(config(), config());
        for turn in 0..4 {
            commands(&mut pair, turn);
        }
        transmitted(&mut pair.client, pair.now);
        let mut all = Vec::new();
        for (core, octets) in [(&mut pair.server, &up), (&mut pair.client, &down)] {
            feed(core, &mut BytesMut::new(), octets, chunk, pair.now).unwrap();
            all.push(format!("{:?}", outputs(core)));
        }
        all
    };
    let whole = told(usize::MAX);
    assert!(whole.iter().all(|outputs| outputs.len() > 100));
    for chunk in [1, 2, 11, 12, 13, 1000] {
        assert_eq!(told(chunk), whole, "in pieces of {chunk}");
    }
}

#[test]
fn frames_for_calls_that_have_ended_are_ignored() {
    let (_, down) = conversation();
    let mut pair = Pair::with(config(), config());
    for turn in 0..4 {
        commands(&mut pair, turn);
    }
    transmitted(&mut pair.client, pair.now);
    for number in (1..20).step_by(2) {
        pair.client
            .cancel(CallId::new(number), corewire_message::Code::Cancelled);
    }
    feed(
        &mut pair.client,
        &mut BytesMut::new(),
        &down,
        usize::MAX,
        pair.now,
    )
    .unwrap();
    assert!(pair.client.poll().is_none());
}
