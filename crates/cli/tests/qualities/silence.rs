//! A peer that falls silent without a word, as one whose host has gone: it is stopped in its tracks, so
//! that its kernel keeps the connection and nobody answers. Keep-alive notices within the time that it
//! states, and nobody else is harmed.

use super::program::{ALLOCATE, PATIENCE, PROTOCOLS, Program, SLACK, send, served, story};
use corewire::blocking::Caller as _;
use corewire::{Caller as _, ClientOptions, EventLoop, Request};
use rustix::process::Signal;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(400);
const TIMEOUT: Duration = Duration::from_millis(300);

#[test]
fn a_server_that_falls_silent_is_noticed_by_its_callers() {
    let (silent, other) = (Program::start(&[]), Program::start(&[]));
    for protocol in PROTOCOLS {
        let mut options = ClientOptions::default();
        options.native.keep_alive_interval = Some(INTERVAL);
        options.native.keep_alive_timeout = TIMEOUT;
        options.http2.keep_alive_interval = Some(INTERVAL);
        options.http2.keep_alive_timeout = TIMEOUT;
        let mut event_loop = EventLoop::new().expect("a loop");
        let handle = event_loop.handle();
        let client = handle.connect(silent.endpoint(protocol), options);
        let beside = handle.connect(other.endpoint(protocol), ClientOptions::default());
        let request = || Request::new(ALLOCATE).with_deadline(Instant::now() + PATIENCE);
        let conversation = async {
            served(&client, "it serves").await;
            silent.stop();
            let since = Instant::now();
            let error = client.call(request()).await.expect_err("it is silent");
            let noticed = since.elapsed();
            let told = story(&error);
            assert!(
                told.contains("keep-alive") || told.contains("the peer is silent"),
                "{protocol}: {told}, after {noticed:?}"
            );
            // It was sent: whether it was executed is not known.
            assert!(error.may_have_executed(), "{protocol}: {error}");
            // As stated, and not as by default, in ten to fifteen seconds.
            let most = INTERVAL + TIMEOUT + SLACK;
            assert!(noticed < most, "{protocol}: only after {noticed:?}");
            // The same loop serves others, and the silent one again when it is back.
            beside.call(request()).await.expect("it is not concerned");
            silent.signal(Signal::CONT);
            served(&client, "it is back").await;
        };
        event_loop.block_on(conversation).expect("a loop");
    }
}

/// The callers of the next test, in a process of their own.
struct Callers(Child);

impl Callers {
    fn of(program: &Program) -> Self {
        let this = std::env::current_exe().expect("a test");
        let mut child = Command::new(this)
            .args(["--exact", "qualities::silence::the_callers"])
            .args(["--ignored", "--nocapture"])
            .env("COREWIRE_CALLERS_OF", program.address.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test, again");
        let said = BufReader::new(child.stdout.take().expect("it was asked for"));
        let connected = said.lines().map_while(Result::ok);
        let mut connected = connected.skip_while(|line| !line.contains("all are served"));
        assert!(connected.next().is_some(), "they are not served");
        Self(child)
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// With the program's own settings: silence of 10 s, and 5 s for the answer to a ping.
#[test]
fn callers_that_fall_silent_are_let_go_of_by_the_server() {
    let program = Program::start(&[]);
    let before = program.descriptors();
    let callers = Callers::of(&program);
    assert!(program.descriptors() >= before + PROTOCOLS.len());
    send(&callers.0, Signal::STOP);
    let since = Instant::now();
    let bystander = program.client("native");
    // Its own connection is one more.
    while program.descriptors() > before + 1 {
        let request = Request::new(ALLOCATE).with_deadline(Instant::now() + PATIENCE);
        bystander.call(request).expect("it is not concerned");
        let silent = since.elapsed();
        let most = Duration::from_secs(15) + SLACK;
        assert!(silent < most, "held for {silent:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Not before the time either: the callers might only have been slow.
    assert!(since.elapsed() > Duration::from_secs(9));
}

#[test]
#[ignore = "run by callers_that_fall_silent_are_let_go_of_by_the_server, in a process of its own"]
fn the_callers() {
    let Ok(address) = std::env::var("COREWIRE_CALLERS_OF") else {
        return;
    };
    let mut event_loop = EventLoop::new().expect("a loop");
    let handle = event_loop.handle();
    let clients = PROTOCOLS.map(|protocol| {
        let endpoint = format!("{protocol}://{address}").parse().expect("one");
        handle.connect(endpoint, ClientOptions::default())
    });
    let calls = async {
        for client in &clients {
            let request = Request::new(ALLOCATE).with_deadline(Instant::now() + PATIENCE);
            client.call(request).await.expect("it serves");
        }
    };
    event_loop.block_on(calls).expect("a loop");
    println!("all are served");
    // Until the test ends this process: never so long.
    let give_up = Instant::now() + Duration::from_secs(120);
    while Instant::now() < give_up {
        let rest = Some(Duration::from_secs(1));
        event_loop.run_once(rest).expect("a loop");
    }
}
