//! Links that delay, lose, cut and cut to pieces, under many seeds.

use crate::common::{Pair, text};
use corewire_message::{CallError, Caller, Code, ErrorKind, Request, Response};
use corewire_testkit::conformance::operations as op;
use corewire_testkit::sim::{Chunks, Link, OnLoss, Random, seeds};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn rough(seed: u64, on_loss: OnLoss) -> Link {
    let mut random = Random::new(seed);
    Link {
        latency: random.up_to(5 * MS),
        jitter: random.up_to(10 * MS),
        bandwidth: random.happens(0.3).then_some(2_000_000),
        loss: 0.02,
        on_loss,
        segment: 1 + random.below(3000),
        chunks: match random.below(3) {
            0 => Chunks::Whole,
            1 => Chunks::Exactly(1 + random.below(7)),
            _ => Chunks::UpTo(100),
        },
        buffer: 3000 + random.below(100_000),
    }
}

/// Many calls of every kind over one rough link: each ends exactly once, and rightly.
fn many_calls(seed: u64, on_loss: OnLoss) -> Vec<(usize, Result<Response, CallError>)> {
    let mut pair = Pair::new(seed);
    pair.sim.set_link(pair.smf, pair.amf, rough(seed, on_loss));
    let mut random = Random::new(seed ^ 1);
    let mut calls = Vec::new();
    for number in 0..60 {
        let request = match number % 3 {
            0 => pair
                .request(op::ECHO, 60_000 * MS)
                .with_body(vec![7; number * number]),
            1 => pair.request(op::COUNT, 60_000 * MS),
            _ => pair.request(op::WAIT, random.up_to(100 * MS)),
        };
        calls.push((number, pair.start(request)));
        pair.sim.run_for(random.up_to(3 * MS));
    }
    pair.sim.run_for(Duration::from_secs(120));
    assert_eq!(pair.sim.faults(), Vec::<String>::new(), "seed {seed}");
    assert_eq!(pair.sim.in_flight(pair.smf), 0, "seed {seed}");
    assert_eq!(pair.sim.in_flight(pair.amf), 0, "seed {seed}");
    assert_eq!(pair.probe.started(), pair.probe.dropped(), "seed {seed}");
    calls
        .into_iter()
        .map(|(number, call)| (number, call.end().1))
        .collect()
}

#[test]
fn on_a_lossy_link_every_call_ends_once_and_rightly() {
    seeds(0..50, |seed| {
        let mut counts = Vec::new();
        for (number, result) in many_calls(seed, OnLoss::Retransmit(20 * MS)) {
            match number % 3 {
                0 => assert_eq!(result.unwrap().body.len(), number * number),
                1 => counts.push(text(result.unwrap()).parse::<u64>().unwrap()),
                _ => assert_eq!(result.unwrap_err().code(), Code::DeadlineExceeded),
            }
        }
        counts.sort_unstable();
        assert!(counts.iter().copied().eq(1..=20), "seed {seed}: {counts:?}");
    });
}

#[test]
fn on_a_link_that_cuts_every_call_ends_once_and_says_whether_it_may_have_executed() {
    let cut = std::cell::Cell::new(0);
    seeds(0..50, |seed| {
        for (number, result) in many_calls(seed, OnLoss::Cut) {
            match result {
                Ok(response) if number % 3 == 0 => {
                    assert_eq!(response.body.len(), number * number);
                }
                Ok(_) => assert_eq!(number % 3, 1),
                Err(error) => {
                    let expected = match error.kind() {
                        ErrorKind::FateUnknown => Some(true),
                        ErrorKind::NotSent | ErrorKind::Refused => Some(false),
                        ErrorKind::DeadlineExceeded if number % 3 == 2 => None,
                        _ => panic!("seed {seed}: {error:?}"),
                    };
                    cut.set(cut.get() + u32::from(expected.is_some()));
                    if let Some(expected) = expected {
                        assert_eq!(error.may_have_executed(), expected);
                    }
                }
            }
        }
    });
    assert!(cut.get() > 0, "no link was cut: nothing was tested");
}

#[test]
fn a_cut_in_the_middle_of_an_answer_leaves_the_fate_unknown() {
    let mut pair = Pair::new(1);
    pair.sim.set_link(
        pair.smf,
        pair.amf,
        Link {
            bandwidth: Some(1_000_000),
            ..Link::default()
        },
    );
    let call = pair.start(Request::new(op::LARGE).with_body("1000000".to_owned()));
    pair.sim.run_for(500 * MS);
    assert!(!call.is_over());
    pair.sim.cut(pair.smf, pair.amf);
    pair.sim.run_for(MS);
    let error = call.error();
    assert_eq!(error.kind(), ErrorKind::FateUnknown);
    assert!(error.may_have_executed());
    // The same client connects again.
    assert_eq!(
        text(
            pair.sim
                .run(pair.client.call(Request::new(op::COUNT)))
                .unwrap()
        ),
        "1"
    );
    assert_eq!(pair.sim.connections(), (1, 2));
}

#[test]
fn a_cut_before_the_request_left_is_not_sent() {
    let mut pair = Pair::new(1);
    pair.sim.hold(pair.smf, pair.amf);
    let call = pair.start(Request::new(op::COUNT));
    pair.sim.run_for(MS);
    pair.sim.cut(pair.smf, pair.amf);
    pair.sim.run_for(MS);
    let error = call.error();
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::NotSent, false)
    );
}

#[test]
fn events_arrive_once_and_in_order_over_a_lossy_link() {
    seeds(0..20, |seed| {
        let mut pair = Pair::new(seed);
        pair.sim
            .set_link(pair.smf, pair.amf, rough(seed, OnLoss::Retransmit(20 * MS)));
        let client = pair.client.clone();
        pair.sim.run(async move {
            for number in 0..200 {
                let event = corewire_message::Event::new(op::SINK, number.to_string());
                client.send(event).await.unwrap();
            }
        });
        pair.sim.run_for(Duration::from_secs(60));
        let bodies: Vec<String> = pair
            .probe
            .events()
            .into_iter()
            .map(|event| event.body)
            .collect();
        let expected: Vec<String> = (0..200).map(|number: u32| number.to_string()).collect();
        assert_eq!(bodies, expected, "seed {seed}");
    });
}

#[test]
fn streams_keep_their_order_and_lose_nothing_on_a_lossy_link() {
    seeds(0..20, |seed| {
        let mut pair = Pair::new(seed);
        pair.sim
            .set_link(pair.smf, pair.amf, rough(seed, OnLoss::Retransmit(20 * MS)));
        let request = pair.request(op::STREAM_ECHO, 600_000 * MS);
        let client = pair.client.clone();
        pair.sim.run(async move {
            let mut stream = client.open(request).await.unwrap();
            let mut random = Random::new(seed);
            for round in 0..50u8 {
                let sent = vec![round; random.below(5000)];
                stream.outbound.send(sent.clone()).await.unwrap();
                let received = stream.inbound.message().await.unwrap().unwrap();
                assert_eq!(received.into_bytes(), sent, "seed {seed}, round {round}");
            }
            stream.outbound.finish();
            assert!(stream.inbound.message().await.unwrap().is_none());
            assert_eq!(stream.inbound.trailers().get_str("x-count"), Some("50"));
        });
        assert_eq!(pair.sim.faults(), Vec::<String>::new());
    });
}
