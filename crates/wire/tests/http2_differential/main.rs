//! Our sessions and nghttp2's, in both roles: random conversations over a link that carries a few octets
//! at a time. Every message that nobody cut short arrives as it was sent, and nothing is left hanging.

mod ours;
mod told;

#[path = "../nghttp2/session.rs"]
mod nghttp2;

use nghttp2::Settings;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;
use std::time::Instant;
use told::{Field, Message, Told};

/// What happens, in order; between two steps the link carries octets.
#[derive(Clone, Debug)]
enum Step {
    Request(Message),
    /// The client or the server gives one of its streams up.
    Reset {
        by_client: bool,
        which: usize,
        code: u32,
    },
    Ping,
    /// Our end gives the credit back that it owes.
    Consume,
    /// nghttp2's end has other SETTINGS.
    Settings(Settings),
    /// The link carries so many octets each way, so many times.
    Carry(usize, usize),
}

fn settings() -> impl Strategy<Value = Settings> {
    (
        prop_oneof![1..300_u32, 60_000..70_000_u32, Just(1_000_000)],
        1..6_u32,
        prop_oneof![Just(16_384), Just(20_000), Just(1 << 18)],
        prop_oneof![Just(4096_u32), 0..300_u32, Just(100_000)],
    )
        .prop_map(|(window, max_streams, max_frame, table)| Settings {
            window,
            max_streams,
            max_frame,
            table,
        })
}

fn fields() -> impl Strategy<Value = Vec<Field>> {
    let name = (0..9_u8).prop_map(|which| format!("x-field-{which}").into_bytes());
    let value = prop_oneof![
        3 => select(&["", "a", "some value", "application/json"][..])
            .prop_map(|value| value.as_bytes().to_vec()),
        2 => vec(b'!'..=b'~', 0..80),
        1 => (100..5000_usize).prop_map(|length| vec![b'v'; length]),
    ];
    vec((name, value), 0..8)
}

fn message() -> impl Strategy<Value = Message> {
    let length = prop_oneof![
        2 => Just(0_usize),
        3 => 1..200_usize,
        2 => 1000..40_000_usize,
        1 => 40_000..200_000_usize,
    ];
    let piece = prop_oneof![1..100_usize, 1000..300_000_usize];
    let trailers = prop_oneof![2 => Just(Vec::new()), 1 => fields()];
    (fields(), length, piece, trailers).prop_map(|(fields, length, piece, trailers)| Message {
        fields,
        body: (0..length).map(|at| (at * 7 + at / 251) as u8).collect(),
        // Not too many.
        piece: piece.max(length / 50 + 1),
        trailers,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => message().prop_map(Step::Request),
        1 => (any::<bool>(), 0..8_usize, 0..14_u32).prop_map(|(by_client, which, code)| Step::Reset {
            by_client,
            which,
            code,
        }),
        1 => Just(Step::Ping),
        2 => Just(Step::Consume),
        1 => settings().prop_map(Step::Settings),
        4 => (prop_oneof![1..100_usize, 1000..100_000_usize], 1..20_usize)
            .prop_map(|(octets, times)| Step::Carry(octets, times)),
    ]
}

/// One of either kind.
enum End {
    Ours(Box<ours::Session>),
    Theirs(nghttp2::Session),
}

macro_rules! either {
    ($end:expr, $session:ident => $result:expr) => {
        match $end {
            End::Ours($session) => $result,
            End::Theirs($session) => $result,
        }
    };
}

/// What an end has heard of a stream.
#[derive(Debug, Default)]
struct Heard {
    sections: Vec<Vec<Field>>,
    body: Vec<u8>,
    ended: bool,
    closed: Option<u32>,
}

struct Conversation {
    client: End,
    server: End,
    at_client: BTreeMap<u32, Heard>,
    at_server: BTreeMap<u32, Heard>,
    requests: BTreeMap<u32, Message>,
    responses: BTreeMap<u32, Message>,
    /// Streams that somebody gave up.
    reset: Vec<u32>,
    pings: usize,
    /// What the server answers, one after another.
    answers: Vec<Message>,
}

impl Conversation {
    /// Carries octets both ways; says whether there were any.
    fn carry(&mut self, most: usize) -> bool {
        let up = either!(&mut self.client, end => end.send(most));
        either!(&mut self.server, end => end.receive(&up));
        let told = either!(&mut self.server, end => end.told());
        for told in told {
            if let Some(stream) = hear(&mut self.at_server, told, &mut 0) {
                // Half of the requests are answered before they are whole.
                let answer = self.answers[stream as usize / 2 % self.answers.len()].clone();
                either!(&mut self.server, end => end.answer(stream, &answer));
                self.responses.insert(stream, answer);
            }
        }
        let down = either!(&mut self.server, end => end.send(most));
        either!(&mut self.client, end => end.receive(&down));
        let told = either!(&mut self.client, end => end.told());
        for told in told {
            hear(&mut self.at_client, told, &mut self.pings);
        }
        !up.is_empty() || !down.is_empty()
    }

    fn reset(&mut self, by_client: bool, which: usize, code: u32) {
        let known = if by_client {
            self.requests.keys().rev().nth(which)
        } else {
            self.at_server.keys().rev().nth(which)
        };
        let Some(&stream) = known else {
            return;
        };
        let heard = if by_client {
            &self.at_client
        } else {
            &self.at_server
        };
        if heard
            .get(&stream)
            .is_some_and(|heard| heard.closed.is_some())
        {
            return;
        }
        self.reset.push(stream);
        if by_client {
            either!(&mut self.client, end => end.reset(stream, code));
        } else {
            either!(&mut self.server, end => end.reset(stream, code));
        }
    }

    /// Until nobody has anything to say.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            let carried = self.carry(1 << 20);
            for end in [&mut self.client, &mut self.server] {
                if let End::Ours(session) = end {
                    session.consume();
                }
            }
            if !carried && !self.carry(1 << 20) && !self.carry(1 << 20) {
                return;
            }
        }
        panic!("they never come to an end");
    }

    fn check(&self) {
        for (stream, request) in &self.requests {
            if self.reset.contains(stream) {
                let left = self.at_server.get(stream);
                assert!(
                    left.is_none_or(|heard| heard.closed.is_some()),
                    "{stream} hangs"
                );
                continue;
            }
            let arrived = self.at_server.get(stream);
            check(*stream, "request", request, arrived);
            let arrived = self.at_client.get(stream);
            check(*stream, "response", &self.responses[stream], arrived);
        }
    }
}

fn check(stream: u32, what: &str, sent: &Message, heard: Option<&Heard>) {
    let heard = heard.unwrap_or_else(|| panic!("the {what} of {stream} never came"));
    assert!(
        heard.body == sent.body,
        "the body of the {what} of {stream}: {} octets of {}",
        heard.body.len(),
        sent.body.len()
    );
    let mut sections = vec![sent.fields.clone()];
    if !sent.trailers.is_empty() {
        sections.push(sent.trailers.clone());
    }
    assert_eq!(heard.sections, sections, "the {what} of {stream}");
    assert!(heard.ended, "the {what} of {stream} did not end");
    assert_eq!(heard.closed, Some(0), "the {what} of {stream}");
}

/// Notes what was told; gives the stream of a request that begins, or ends, whichever it is answered at.
fn hear(heard: &mut BTreeMap<u32, Heard>, told: Told, pings: &mut usize) -> Option<u32> {
    match told {
        Told::Fields(stream, fields) => {
            let heard = heard.entry(stream).or_default();
            assert!(heard.closed.is_none());
            heard.sections.push(fields);
            (heard.sections.len() == 1 && stream % 4 == 1).then_some(stream)
        }
        Told::Data(stream, octets) => {
            let heard = heard.entry(stream).or_default();
            assert!(heard.closed.is_none() && !heard.ended);
            heard.body.extend(octets);
            None
        }
        Told::End(stream) => {
            let heard = heard.entry(stream).or_default();
            assert!(heard.closed.is_none() && !heard.ended);
            heard.ended = true;
            (stream % 4 == 3).then_some(stream)
        }
        Told::Closed(stream, code) => {
            let heard = heard.entry(stream).or_default();
            assert!(heard.closed.is_none());
            heard.closed = Some(code);
            None
        }
        Told::GoAway(code) => panic!("somebody goes away: {code}"),
        Told::Pong => {
            *pings += 1;
            None
        }
    }
}

/// A message that is not too long, with the fields that it must begin with in front of those drawn.
fn with(mut message: Message, longest: usize, head: &[(&str, &str)]) -> Message {
    message.body.truncate(longest);
    let head = head
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    message.fields = head.chain(message.fields).collect();
    message
}

fn converse(
    is_client: bool,
    (ours, theirs): (Settings, Settings),
    steps: Vec<Step>,
    answers: Vec<Message>,
    is_slow: bool,
) {
    let now = test_now();
    let max_streams = theirs.max_streams;
    // Through a window of an octet a long body would take all day.
    let windows = steps.iter().filter_map(|step| match step {
        Step::Settings(settings) => Some(settings.window),
        _ => None,
    });
    let window = windows.chain([ours.window, theirs.window]).min();
    let longest = window.map_or(0, |window| window as usize * 200);
    let ours = End::Ours(Box::new(ours::Session::new(is_client, &ours, now, is_slow)));
    let theirs = End::Theirs(nghttp2::Session::new(!is_client, &theirs));
    let (client, server) = if is_client {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let answers = answers
        .into_iter()
        .map(|answer| with(answer, longest, &[(":status", "200")]));
    let mut conversation = Conversation {
        client,
        server,
        at_client: BTreeMap::new(),
        at_server: BTreeMap::new(),
        requests: BTreeMap::new(),
        responses: BTreeMap::new(),
        reset: Vec::new(),
        pings: 0,
        answers: answers.collect(),
    };
    // A request that overtakes the word of how many are taken may be refused.
    conversation.settle();
    let mut pings = 0;
    for step in steps {
        match step {
            Step::Request(message) => {
                let head = [
                    (":method", "POST"),
                    (":scheme", "http"),
                    (":path", "/service/Method"),
                    (":authority", "server.example:80"),
                ];
                let message = with(message, longest, &head);
                let stream = either!(&mut conversation.client, end => end.request(&message));
                conversation.requests.insert(stream, message);
            }
            Step::Reset {
                by_client,
                which,
                code,
            } => conversation.reset(by_client, which, code),
            Step::Ping => {
                either!(&mut conversation.client, end => end.ping());
                pings += 1;
            }
            Step::Consume => {
                for end in [&mut conversation.client, &mut conversation.server] {
                    if let End::Ours(session) = end {
                        session.consume();
                    }
                }
            }
            Step::Settings(settings) => {
                let settings = Settings {
                    max_streams,
                    ..settings
                };
                for end in [&conversation.client, &conversation.server] {
                    if let End::Theirs(session) = end {
                        session.set(&settings);
                    }
                }
            }
            Step::Carry(octets, times) => {
                for _ in 0..times {
                    conversation.carry(octets);
                }
            }
        }
    }
    conversation.settle();
    conversation.check();
    assert_eq!(conversation.pings, pings);
}

#[expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; time stands still"
)]
fn test_now() -> Instant {
    Instant::now()
}

/// The same conversations each time, unless PROPTEST_RNG_SEED says otherwise: nghttp2 has faults of its own,
/// and a random one must not be ours. A quarter of PROPTEST_CASES: they are long.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases / 4,
        rng_seed: match default.rng_seed {
            RngSeed::Random => RngSeed::Fixed(9113),
            fixed => fixed,
        },
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn our_client_and_their_server(
        settings in (settings(), settings()),
        steps in vec(step(), 1..25),
        answers in vec(message(), 1..4),
        is_slow in any::<bool>(),
    ) {
        converse(true, settings, steps, answers, is_slow);
    }

    #[test]
    fn their_client_and_our_server(
        settings in (settings(), settings()),
        steps in vec(step(), 1..25),
        answers in vec(message(), 1..4),
        is_slow in any::<bool>(),
    ) {
        converse(false, settings, steps, answers, is_slow);
    }
}
