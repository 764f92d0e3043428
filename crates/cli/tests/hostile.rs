//! Peers that mean no good, against the program in a process of its own: what they cost in memory
//! and descriptors, and that somebody else's calls are answered all the while.

#![cfg(target_os = "linux")]

mod hostile {
    pub(crate) mod octets;
    pub(crate) mod program;
}

use corewire::blocking::Caller as _;
use corewire::{ClientOptions, Headers, Request, blocking};
use hostile::octets::{
    http2, http2_claiming, http2_conversation, http2_field, http2_hello, http2_request, native,
    native_claiming, native_conversation, native_hello, native_name,
};
use hostile::program::{ALLOCATE, Bystander, PATIENCE, Program, hear_out, reset, say};
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MIB: u64 = 1024 * 1024;

/// What a process may grow by that is nobody's fault: its allocator's, its buffers'.
const SLACK: u64 = 8 * MIB;

#[test]
fn lengths_of_4_gib_are_refused_and_nothing_is_reserved_for_them() {
    let program = Program::start();
    let bystander = Bystander::beside(&program);
    let before = program.memory();
    let most = u32::MAX;
    let with = |mut octets: Vec<u8>, more: &[u8]| {
        octets.extend(more);
        octets
    };
    let mut whole_body = native_name();
    whole_body.extend(most.to_le_bytes());
    whole_body.extend([0; 2048]);
    let mut block = native_name();
    block.extend(most.to_le_bytes());
    let grpc = http2(1, 4, 1, &http2_request("application/grpc"));
    let attacks = [
        (
            "a frame",
            with(
                native_hello(),
                &native_claiming(most, 2, 0x10, 0, 1, &native_name()),
            ),
        ),
        (
            "a HELLO",
            with(
                vec![0xc3, 0x57, 0x52, 0x01],
                &native_claiming(most, 1, 0, 0, 0, &[1, 0, 1, 0]),
            ),
        ),
        (
            "a body in fragments",
            with(native_hello(), &native(2, 0x11, 0, 1, &whole_body)),
        ),
        (
            "a header block",
            with(native_hello(), &native(2, 0x14, 0, 1, &block)),
        ),
        (
            "an HTTP/2 frame",
            with(http2_hello(), &http2_claiming(0xff_ffff, 0, 0, 1, &[])),
        ),
        (
            "a gRPC message",
            [
                http2_hello(),
                grpc,
                http2(0, 0, 1, &[0, 255, 255, 255, 255]),
            ]
            .concat(),
        ),
    ];
    for (what, octets) in attacks {
        // A gRPC message is one stream's fault: the others of its connection go on.
        if what == "a gRPC message" {
            let mut socket = program.connect();
            socket.write_all(&octets).expect("it listens");
            let mut said = Vec::new();
            let give_up = Instant::now() + PATIENCE;
            // The answer's trailers: RESOURCE_EXHAUSTED, or the stream's reset.
            while !said.windows(2).any(|pair| pair[0] == 1 || pair[0] == 3) {
                assert!(Instant::now() < give_up, "{what}: it only said {said:?}");
                let mut chunk = [0; 1024];
                let count = socket.read(&mut chunk).expect("an answer");
                assert!(count > 0, "{what}: it closed the connection");
                said.extend_from_slice(&chunk[..count]);
            }
            continue;
        }
        let said = say(program.connect(), &octets);
        assert!(!said.is_empty(), "{what}: it says why");
    }
    let grown = program.memory().saturating_sub(before);
    assert!(grown < SLACK, "it has grown by {grown} octets");
    bystander.was_served();
}

#[test]
fn a_megabyte_of_headers_is_refused_by_both_ends() {
    let program = Program::start();
    let bystander = Bystander::beside(&program);
    let before = program.memory();
    // Ours is not sent at all.
    for protocol in ["native", "grpc", "rest"] {
        let client = program.client(protocol);
        let mut headers = Headers::new();
        for number in 0..16 {
            let name = format!("x-long-{number}");
            headers.append(&name, "x".repeat(65_000)).expect("a header");
        }
        let error = client
            .call(Request::new(ALLOCATE).with_headers(headers))
            .expect_err("too long");
        assert!(!error.may_have_executed(), "{protocol}: {error}");
        client.call(Request::new(ALLOCATE)).expect("the next goes");
    }
    // A stranger's is: in frames that are allowed.
    let mut block = http2_request("application/grpc");
    for number in 0..16 {
        block.extend(http2_field(&format!("x-long-{number}"), &[b'x'; 65_000]));
    }
    let mut octets = http2_hello();
    let mut chunks = block.chunks(16_384).peekable();
    let mut kind = 1;
    while let Some(chunk) = chunks.next() {
        let ends = if chunks.peek().is_none() { 4 } else { 0 };
        octets.extend(http2(kind, ends, 1, chunk));
        kind = 9;
    }
    let said = say(program.connect(), &octets);
    // GOAWAY: too many CONTINUATIONs.
    assert!(said.windows(5).any(|frame| frame[3] == 7), "{said:?}");
    let mut long = native_name();
    long.extend(200_000_u32.to_le_bytes());
    long.extend(vec![b'x'; 200_000]);
    let said = say(
        program.connect(),
        &[native_hello(), native(2, 0x14, 0, 1, &long)].concat(),
    );
    assert!(said.windows(6).any(|text| text == b"header"), "{said:?}");
    let grown = program.memory().saturating_sub(before);
    assert!(grown < SLACK, "it has grown by {grown} octets");
    bystander.was_served();
}

#[test]
fn who_sends_an_octet_now_and_then_harms_nobody() {
    const PEERS: usize = 300;
    let program = Program::start();
    let bystander = Bystander::beside(&program);
    let before = program.memory();
    let conversations = [
        native_conversation().concat(),
        http2_conversation().concat(),
    ];
    let began = Instant::now();
    let mut peers: Vec<_> = (0..PEERS)
        .map(|number| (program.connect(), &conversations[number % 2]))
        .collect();
    // As much of each as can be said in three seconds, one octet a turn.
    let until = Instant::now() + Duration::from_secs(3);
    for octet in 0.. {
        for (socket, conversation) in &mut peers {
            if let Some(octet) = conversation.get(octet..=octet) {
                // A peer whose first octets take too long is closed, and one that is silent: where
                // the machine stood still for as long.
                let written = socket.write_all(octet);
                let late = began.elapsed() > Duration::from_secs(9);
                assert!(written.is_ok() || late, "nothing is wrong with it");
            }
        }
        if Instant::now() > until {
            break;
        }
    }
    let grown = program.memory().saturating_sub(before);
    assert!(grown < SLACK, "{PEERS} peers cost {grown} octets");
    bystander.was_served();
}

#[test]
fn resets_in_every_state_leave_nothing_behind() {
    let program = Program::start();
    let client = program.client("native");
    client.call(Request::new(ALLOCATE)).expect("it serves");
    let (memory, descriptors) = (program.memory(), program.descriptors());
    let bystander = Bystander::beside(&program);
    let mut resets = 0;
    for conversation in [native_conversation(), http2_conversation()] {
        let whole = conversation.concat();
        // Within long bodies every place is alike.
        let places = (0..whole.len()).filter(|place| {
            whole[place.saturating_sub(8)..(place + 8).min(whole.len())]
                .iter()
                .any(|&octet| octet != 0)
        });
        for place in places {
            let mut socket = program.connect();
            socket
                .write_all(&whole[..place])
                .expect("all of it is right");
            reset(socket);
            resets += 1;
        }
    }
    assert!(resets > 300, "{resets} states");
    bystander.was_served();
    program.until_descriptors(descriptors);
    let grown = program.memory().saturating_sub(memory);
    assert!(grown < SLACK, "{resets} resets cost {grown} octets");
    client
        .call(Request::new(ALLOCATE))
        .expect("it still serves");
}

/// How many frames are spoilt; `make hostile` asks for a million.
fn mutations() -> usize {
    std::env::var("COREWIRE_MUTATIONS").map_or(100_000, |text| text.parse().expect("a number"))
}

#[test]
fn spoilt_frames_are_answered_or_refused() {
    let program = Program::start();
    let client = program.client("native");
    client.call(Request::new(ALLOCATE)).expect("it serves");
    let (memory, descriptors) = (program.memory(), program.descriptors());
    let bystander = Bystander::beside(&program);
    let conversations = [native_conversation(), http2_conversation()];
    // xorshift; the seed is in the message of whatever fails.
    let seed = u64::from(std::process::id()) << 32 | 0x9e37_79b9;
    let mut state = seed;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("it is below")
    };
    let (mut sent, wanted) = (0, mutations());
    let started = Instant::now();
    while sent < wanted {
        let conversation = &conversations[draw(2)];
        let mut octets = Vec::new();
        for (number, frame) in conversation.iter().enumerate() {
            let start = octets.len();
            octets.extend_from_slice(frame);
            // Most stay, the greeting above all, or nothing behind them would be looked at.
            if draw(3) > 0 || number == 0 && draw(4) > 0 {
                continue;
            }
            sent += 1;
            match draw(4) {
                0 => octets.truncate(start + draw(frame.len())),
                1 => octets.extend_from_within(start..),
                _ => {}
            }
            for _ in 0..=draw(3) {
                if octets.len() > start {
                    let place = start + draw(octets.len() - start);
                    octets[place] = match draw(3) {
                        0 => 0,
                        1 => 0xff,
                        _ => u8::try_from(draw(256)).expect("an octet"),
                    };
                }
            }
        }
        let mut socket = program.connect();
        // It may refuse in the middle.
        let _closed = socket.write_all(&octets);
        if draw(8) == 0 {
            reset(socket);
        } else {
            // Everything is read and answered before it sees the end.
            let _closed = socket.shutdown(Shutdown::Write);
            hear_out(socket);
        }
    }
    bystander.was_served();
    program.until_descriptors(descriptors);
    let grown = program.memory().saturating_sub(memory);
    eprintln!(
        "{sent} frames (seed {seed:#x}) in {:.1} s: {grown} octets more than before",
        started.elapsed().as_secs_f64()
    );
    assert!(grown < 4 * SLACK, "seed {seed:#x}: {grown} octets more");
    client
        .call(Request::new(ALLOCATE))
        .expect("it still serves");
}

const MANY: usize = 10_000;

#[test]
fn ten_thousand_connections_are_served() {
    let program = Program::start();
    let client = program.client("native");
    client.call(Request::new(ALLOCATE)).expect("it serves");
    let (before, descriptors) = (program.memory(), program.descriptors());
    // The other end in a process of its own: each has its own limit of descriptors.
    let this = std::env::current_exe().expect("a test");
    let mut crowd = Command::new("/bin/sh")
        .args(["-c", r#"ulimit -n "$(ulimit -Hn)" && exec "$0" "$@""#])
        .arg(this)
        .args(["--exact", "the_crowd", "--ignored", "--nocapture"])
        .env("COREWIRE_CROWD_OF", program.address.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test, again");
    let mut said = crowd.stdout.take().expect("it was asked for");
    let mut text = String::new();
    let mut chunk = [0; 256];
    while !text.contains("all are served") && !text.contains("descriptors are allowed") {
        let count = said.read(&mut chunk).expect("its words");
        assert!(count > 0, "the crowd ended: {text}");
        text.push_str(&String::from_utf8_lossy(&chunk[..count]));
    }
    if text.contains("descriptors are allowed") {
        eprintln!("skipped: {text}");
        let _ended = crowd.wait();
        return;
    }
    assert!(program.descriptors() >= MANY, "all are connected");
    let each = program.memory().saturating_sub(before) / MANY as u64;
    assert!(each < 24 * 1024, "{each} octets a connection");
    let started = Instant::now();
    client.call(Request::new(ALLOCATE)).expect("among them all");
    eprintln!(
        "{MANY} connections: {each} octets each; one more call took {:?}",
        started.elapsed()
    );
    drop(crowd.stdin.take());
    assert!(crowd.wait().expect("it ends").success());
    program.until_descriptors(descriptors);
}

#[test]
#[ignore = "run by ten_thousand_connections_are_served, in a process of its own"]
fn the_crowd() {
    let Ok(address) = std::env::var("COREWIRE_CROWD_OF") else {
        return;
    };
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    if limit.is_some_and(|limit| limit < MANY as u64 + 100) {
        println!("only {limit:?} descriptors are allowed here");
        return;
    }
    let clients: Vec<_> = (0..MANY)
        .map(|number| {
            let protocol = ["native", "grpc", "rest"][number % 3];
            let endpoint = format!("{protocol}://{address}").parse().expect("one");
            blocking::Client::new(endpoint, ClientOptions::default())
        })
        .collect();
    let began = Instant::now();
    let mut called = vec![began; clients.len()];
    for _ in 0..2 {
        for (number, client) in clients.iter().enumerate() {
            let request = || Request::new(ALLOCATE).with_deadline(Instant::now() + PATIENCE);
            let mut answer = client.call(request());
            // The server lets go of who has been silent for 10 s, as it may be on a slow machine: nobody
            // reads for a client that makes no call.
            if answer.is_err() && called[number].elapsed() > Duration::from_secs(9) {
                answer = client.call(request());
            }
            answer.unwrap_or_else(|error| panic!("connection {number}: {error}"));
            called[number] = Instant::now();
        }
    }
    println!("all are served");
    let mut nothing = Vec::new();
    std::io::stdin()
        .read_to_end(&mut nothing)
        .expect("the test");
}
