//! Any sequence of commands on both ends, octets coming in pieces: nothing is lost, and every
//! call ends exactly once.

use crate::pair::{CHAT, ECHO, Pair};
use corewire_message::{Body, Code, ErrorKind, Event, Priority, Request, Response};
use corewire_wire::native::Config;
use corewire_wire::{CallId, Core, Output};
use proptest::prelude::*;
use std::collections::HashMap;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Step {
    Call {
        size: usize,
        priority: u8,
        micros: Option<u64>,
    },
    Open {
        priority: u8,
    },
    Event {
        size: usize,
        priority: u8,
    },
    Send {
        which: usize,
        size: usize,
        server: bool,
    },
    Finish {
        which: usize,
    },
    Respond {
        which: usize,
        size: usize,
    },
    Cancel {
        which: usize,
        server: bool,
    },
    Consume {
        server: bool,
    },
    Up,
    Down,
    Pass {
        micros: u64,
    },
    Drain,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = || prop_oneof![Just(0usize), 1usize..100, 5_000usize..40_000];
    let which = any::<usize>;
    let step = prop_oneof![
        60 => (size(), 0u8..32, proptest::option::of(0u64..2000))
            .prop_map(|(size, priority, micros)| Step::Call { size, priority, micros }),
        30 => (0u8..32).prop_map(|priority| Step::Open { priority }),
        20 => (size(), 0u8..4).prop_map(|(size, priority)| Step::Event { size, priority }),
        120 => (which(), size(), any::<bool>())
            .prop_map(|(which, size, server)| Step::Send { which, size, server }),
        15 => which().prop_map(|which| Step::Finish { which }),
        60 => (which(), size()).prop_map(|(which, size)| Step::Respond { which, size }),
        15 => (which(), any::<bool>()).prop_map(|(which, server)| Step::Cancel { which, server }),
        60 => any::<bool>().prop_map(|server| Step::Consume { server }),
        80 => Just(Step::Up),
        80 => Just(Step::Down),
        20 => (0u64..500).prop_map(|micros| Step::Pass { micros }),
        1 => Just(Step::Drain),
    ];
    proptest::collection::vec(step, 1..150)
}

/// One end's view of the streams: what it sent, got and has not consumed.
#[derive(Default)]
struct End {
    /// Messages sent and received on each stream, told by their first octets.
    sent: HashMap<CallId, u32>,
    received: HashMap<CallId, u32>,
    held: Vec<(CallId, usize)>,
}

impl End {
    fn got(&mut self, call: CallId, message: &Body) {
        let octets = message.clone().into_bytes();
        let count = self.received.entry(call).or_default();
        // Empty ones cannot be told apart, but they count.
        if let Some(number) = octets.first_chunk::<4>() {
            assert_eq!(u32::from_le_bytes(*number), *count, "messages out of order");
        }
        *count += 1;
        self.held.push((call, octets.len()));
    }
}

#[derive(Default)]
struct Model {
    /// Calls that have not ended, in the client's eyes: whether a stream.
    calls: Vec<(CallId, bool)>,
    /// Calls that the application at the server works on.
    tasks: Vec<(CallId, bool)>,
    client: End,
    server: End,
    events_sent: [u32; 4],
    events_seen: [u32; 4],
}

fn numbered(number: u32, size: usize) -> Body {
    let mut octets = vec![0; if size == 0 { 0 } else { size.max(4) }];
    if let Some(first) = octets.first_chunk_mut::<4>() {
        *first = number.to_le_bytes();
    }
    Body::from(octets)
}

impl Model {
    fn ended_at_client(&mut self, call: CallId) {
        let at = self.calls.iter().position(|entry| entry.0 == call);
        self.calls.swap_remove(at.expect("a call ends once"));
    }

    fn collect(&mut self, pair: &mut Pair) {
        while let Some(output) = pair.client.poll() {
            match output {
                Output::Response { call, .. } => self.ended_at_client(call),
                Output::Failed { call, error } => {
                    assert_ne!(error.kind(), ErrorKind::Unsendable);
                    self.ended_at_client(call);
                }
                Output::Message { call, message } => {
                    assert!(self.calls.contains(&(call, true)));
                    self.client.got(call, &message);
                }
                Output::Writable { call } => assert!(self.calls.contains(&(call, true))),
                Output::Draining => {}
                other => panic!("not for a client: {other:?}"),
            }
        }
        while let Some(output) = pair.server.poll() {
            match output {
                Output::Request { call, .. } => self.tasks.push((call, false)),
                Output::Opened { call, .. } => self.tasks.push((call, true)),
                Output::Message { call, message } => {
                    assert!(self.tasks.contains(&(call, true)));
                    self.server.got(call, &message);
                }
                Output::Finished { call } => {
                    assert!(self.tasks.contains(&(call, true)));
                    let sent = self.client.sent.get(&call).copied().unwrap_or(0);
                    let received = self.server.received.get(&call).copied().unwrap_or(0);
                    assert_eq!(sent, received, "a message is lost");
                }
                Output::Cancelled { call, .. } => {
                    let at = self.tasks.iter().position(|entry| entry.0 == call);
                    self.tasks.swap_remove(at.expect("a call ends once"));
                }
                Output::Event(event) => {
                    let seen = &mut self.events_seen[usize::from(event.priority.value())];
                    if let Some(number) = event.body.into_bytes().first_chunk::<4>() {
                        assert_eq!(u32::from_le_bytes(*number), *seen, "events out of order");
                    }
                    *seen += 1;
                }
                Output::Writable { call } => assert!(self.tasks.contains(&(call, true))),
                other => panic!("not for a server: {other:?}"),
            }
        }
    }

    fn step(&mut self, pair: &mut Pair, step: Step) {
        let now = pair.now;
        let pick = |list: &[(CallId, bool)], which: usize| {
            (!list.is_empty()).then(|| list[which % list.len()])
        };
        match step {
            Step::Call {
                size,
                priority,
                micros,
            } => {
                let request = Request {
                    deadline: micros.map(|micros| now + Duration::from_micros(micros)),
                    ..Request::new(ECHO)
                        .with_body(numbered(0, size))
                        .with_priority(Priority::try_from(priority).unwrap())
                };
                if let Ok(call) = pair.client.call(now, request) {
                    self.calls.push((call, false));
                }
            }
            Step::Open { priority } => {
                let request =
                    Request::new(CHAT).with_priority(Priority::try_from(priority).unwrap());
                if let Ok(call) = pair.client.open(now, request) {
                    self.calls.push((call, true));
                }
            }
            Step::Event { size, priority } => {
                let number = &mut self.events_sent[usize::from(priority)];
                let mut event = Event::new(ECHO, numbered(*number, size));
                event.priority = Priority::try_from(priority).unwrap();
                if pair.client.send_event(now, event).is_ok() {
                    *number += 1;
                }
            }
            Step::Send {
                which,
                size,
                server,
            } => {
                let (list, core, end) = if server {
                    (&self.tasks, &mut pair.server, &mut self.server)
                } else {
                    (&self.calls, &mut pair.client, &mut self.client)
                };
                if let Some((call, true)) = pick(list, which) {
                    let number = end.sent.entry(call).or_default();
                    if core.send(call, numbered(*number, size)).is_ok() {
                        *number += 1;
                    }
                }
            }
            Step::Finish { which } => {
                if let Some((call, _)) = pick(&self.calls, which) {
                    pair.client.finish(call);
                }
            }
            Step::Respond { which, size } => {
                if let Some((call, stream)) = pick(&self.tasks, which) {
                    let size = if stream { 0 } else { size };
                    pair.server.respond(call, Response::ok(numbered(0, size)));
                    self.tasks.retain(|entry| entry.0 != call);
                }
            }
            Step::Cancel { which, server } => {
                let (list, core) = if server {
                    (&mut self.tasks, &mut pair.server)
                } else {
                    (&mut self.calls, &mut pair.client)
                };
                if let Some((call, _)) = pick(list, which) {
                    core.cancel(call, Code::Aborted);
                    list.retain(|entry| entry.0 != call);
                }
            }
            Step::Consume { server } => self.consume(pair, server),
            Step::Up => drop(pair.up().expect("the client breaks nothing")),
            Step::Down => drop(pair.down().expect("the server breaks nothing")),
            Step::Pass { micros } => pair.pass(Duration::from_micros(micros)),
            Step::Drain => pair.server.drain(),
        }
        self.collect(pair);
    }

    fn consume(&mut self, pair: &mut Pair, server: bool) {
        let (core, end) = if server {
            (&mut pair.server, &mut self.server)
        } else {
            (&mut pair.client, &mut self.client)
        };
        for (call, octets) in end.held.drain(..) {
            core.consumed(call, octets);
        }
    }

    /// Answers and consumes everything; then nothing may be left anywhere.
    fn settle(&mut self, pair: &mut Pair) {
        for _ in 0..100 {
            pair.run();
            self.collect(pair);
            self.consume(pair, true);
            self.consume(pair, false);
            for (call, _) in std::mem::take(&mut self.tasks) {
                pair.server.respond(call, Response::ok(Body::new()));
            }
            // Requests that were late before they were sent.
            pair.pass(Duration::ZERO);
            self.collect(pair);
            if self.calls.is_empty() && pair.client.in_flight() == 0 {
                break;
            }
        }
        pair.run();
        self.collect(pair);
        assert!(self.calls.is_empty(), "not ended: {:?}", self.calls);
        assert_eq!((pair.client.in_flight(), pair.server.in_flight()), (0, 0));
        assert_eq!((pair.client.backlog(), pair.server.backlog()), (0, 0));
        assert_eq!(self.events_sent, self.events_seen);
        // Both ends agree on what is left, and nothing is held by what has ended.
        assert_eq!((pair.client.held(), pair.server.held()), (0, 0));
        assert_eq!(pair.client.send_credit(), pair.server.receive_credit());
        assert_eq!(pair.server.send_credit(), pair.client.receive_credit());
    }
}

fn config() -> Config {
    Config::with(|config| {
        config.max_frame = 8192;
        config.max_header_block = 1024;
        config.stream_credit = 20_000;
        config.connection_credit = 60_000;
        config.max_concurrent_calls = 20;
        config.max_backlog = 1_000_000;
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        // More by PROPTEST_CASES.
        cases: ProptestConfig::default().cases.max(400),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_call_ends_once_and_nothing_is_lost(
        steps in steps(),
        chunk in prop_oneof![Just(usize::MAX), 1usize..5000],
        greeted: bool,
    ) {
        let mut pair = Pair::with(config(), config());
        pair.chunk = chunk;
        if greeted {
            pair.run();
        }
        let mut model = Model::default();
        for step in steps {
            model.step(&mut pair, step);
        }
        model.settle(&mut pair);
    }

    #[test]
    fn a_lost_connection_ends_every_call_once(steps in steps()) {
        let mut pair = Pair::with(config(), config());
        let mut model = Model::default();
        for step in steps {
            model.step(&mut pair, step);
        }
        pair.close_both();
        model.collect(&mut pair);
        prop_assert!(model.calls.is_empty() && model.tasks.is_empty());
        prop_assert_eq!((pair.client.in_flight(), pair.server.in_flight()), (0, 0));
    }
}
