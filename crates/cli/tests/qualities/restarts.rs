//! Servers are restarted one by one while calls and streams are under way: none of them fails.

use super::program::{ALLOCATE, ALLOCATE_STREAM, PATIENCE, PROTOCOLS, Program};
use corewire::blocking::Caller;
use corewire::mesh::{MeshOptions, blocking::MeshChannel};
use corewire::{Body, Request};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Messages of a stream, one each two milliseconds: it lives through a good part of a restart.
const MESSAGES: usize = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// A stream whose messages are all answered, to its orderly end.
fn stream_through(caller: &impl Caller, messages: usize) -> Result<(), String> {
    let request = Request::new(ALLOCATE_STREAM).with_deadline(Instant::now() + PATIENCE);
    let mut stream = caller
        .open(request)
        .map_err(|error| format!("opening: {error}"))?;
    for number in 0..messages {
        let at = |what: &str| format!("message {number} of {messages}: {what}");
        let sent = stream.send(Body::new());
        sent.map_err(|error| at(&error.to_string()))?;
        match stream.receive() {
            Ok(Some(answer)) if !answer.is_empty() => {}
            Ok(answer) => return Err(at(&format!("{answer:?}"))),
            Err(error) => return Err(at(&error.to_string())),
        }
        std::thread::sleep(PAUSE);
    }
    stream
        .finish()
        .map_err(|error| format!("its end: {error}"))?;
    match stream.receive() {
        Ok(None) => Ok(()),
        other => Err(format!("its end: {other:?}")),
    }
}

/// What several threads have brought to its end, and what failed.
#[derive(Default)]
struct Tally {
    calls: AtomicU64,
    streams: AtomicU64,
    over: AtomicBool,
}

impl Tally {
    /// Calls, or streams, until the test is over; the first failure ends it.
    fn keep(&self, count: &AtomicU64, mut once: impl FnMut() -> Result<(), String>) {
        while !self.over.load(Ordering::Relaxed) {
            if let Err(error) = once() {
                self.over.store(true, Ordering::Relaxed);
                let (calls, streams) = self.done();
                panic!("after {calls} calls and {streams} streams: {error}");
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn done(&self) -> (u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.calls), load(&self.streams))
    }

    /// Waits until some more of both came to their end.
    fn goes_on(&self) {
        let (calls, streams) = self.done();
        let give_up = Instant::now() + PATIENCE;
        loop {
            let now = self.done();
            if now.0 >= calls + 100 && now.1 >= streams + 4 {
                return;
            }
            // Its own message says what failed.
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            assert!(Instant::now() < give_up, "nothing goes on: {now:?}");
            std::thread::sleep(PAUSE);
        }
    }
}

fn restarted_under_load(protocol: &str) {
    let mut servers = [Program::start_alone(), Program::start_alone()];
    let idle = servers[0].descriptors();
    let endpoints = [0, 1].map(|at: usize| format!("{protocol}://{}", servers[at].address));
    let channel = MeshChannel::balanced(&endpoints, MeshOptions::default()).expect("a channel");
    let tally = Tally::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                tally.keep(&tally.calls, || {
                    let request = Request::new(ALLOCATE).with_deadline(Instant::now() + PATIENCE);
                    let called = channel.call(request);
                    called.map(drop).map_err(|error| format!("a call: {error}"))
                });
            });
            scope.spawn(|| {
                tally.keep(&tally.streams, || {
                    stream_through(&channel, MESSAGES).map_err(|error| format!("a stream: {error}"))
                });
            });
        }
        for turn in 0..4 {
            tally.goes_on();
            let server = &mut servers[turn % 2];
            server.signal(Signal::TERM);
            server.ends_well();
            tally.goes_on();
            *server = Program::start_at(&server.address.to_string(), &[]);
            // The next only when callers have come back to this one, as whoever rolls servers over
            // waits until one is ready again.
            let give_up = Instant::now() + PATIENCE;
            while server.descriptors() <= idle && !tally.over.load(Ordering::Relaxed) {
                assert!(Instant::now() < give_up, "nobody comes back");
                std::thread::sleep(PAUSE);
            }
        }
        tally.goes_on();
        tally.over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn no_call_and_no_stream_fails_while_servers_restart_native() {
    restarted_under_load("native");
}

#[test]
fn no_call_and_no_stream_fails_while_servers_restart_grpc() {
    restarted_under_load("grpc");
}

#[test]
fn no_call_and_no_stream_fails_while_servers_restart_rest() {
    restarted_under_load("rest");
}

/// The other half of a drain: who has a stream open may use it to its end.
#[test]
fn a_stream_goes_on_while_its_server_drains() {
    for protocol in PROTOCOLS {
        let mut server = Program::start(&[]);
        let client = server.client(protocol);
        let request = Request::new(ALLOCATE_STREAM).with_deadline(Instant::now() + PATIENCE);
        let mut stream = client.open(request).expect("it serves");
        let mut exchange = |what: &str| {
            stream
                .send(Body::new())
                .unwrap_or_else(|error| panic!("{protocol}, {what}: {error}"));
            let answer = stream
                .receive()
                .unwrap_or_else(|error| panic!("{protocol}, {what}: {error}"));
            assert!(answer.is_some(), "{protocol}, {what}: it ended");
        };
        exchange("before");
        server.signal(Signal::TERM);
        server.says("draining");
        for _ in 0..20 {
            exchange("while it drains");
            std::thread::sleep(PAUSE);
        }
        stream.finish().expect("it is open");
        assert!(stream.receive().expect("a good end").is_none());
        drop(stream);
        server.ends_well();
    }
}
