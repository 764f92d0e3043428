//! Octets as they come off a wire: in any pieces, and wrong in any way.

use crate::conversation::{commands, config, conversation};
use crate::pair::{Pair, feed, outputs, transmitted};
use bytes::BytesMut;
use corewire_wire::{CallId, Core};

/// Long enough for fragments.
const UNIT: usize = 1000;

#[test]
fn any_pieces_of_the_input_give_the_same_outputs() {
    let (up, down) = conversation(UNIT);
    let told = |chunk| {
        let mut pair = Pair::with(config(), config());
        for turn in 0..4 {
            commands(&mut pair, turn, UNIT);
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
    let (_, down) = conversation(UNIT);
    let mut pair = Pair::with(config(), config());
    for turn in 0..4 {
        commands(&mut pair, turn, UNIT);
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
