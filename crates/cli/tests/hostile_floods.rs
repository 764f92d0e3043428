//! Floods that are allowed frame by frame, against the program in a process of its own: what they make it
//! hold, what stays of it, and how long another caller waits meanwhile.
//!
//! `make hostile` runs them at length, in a release build, and holds them to the times as well.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the other tests need more of it")]
mod hostile {
    pub(crate) mod octets;
    pub(crate) mod program;
}

use corewire::Request;
use corewire::blocking::Caller as _;
use hostile::octets::{http2, http2_field, http2_hello, native, native_hello, native_name};
use hostile::program::{ALLOCATE, PATIENCE, Program};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MIB: u64 = 1024 * 1024;
/// Connections that attack at a time.
const ATTACKERS: usize = 5;
/// What they may make the program hold, all of them together.
const MOST_HELD: u64 = 64 * MIB;
/// What may be left of it 30 s later: a fifth of what was there before, and what the allocator of a small
/// process does with its first megabytes.
const MOST_LEFT: (u64, u64) = (5, 3 * MIB);
/// How long another caller may wait, half of the time.
const MOST_WAITED: Duration = Duration::from_millis(2);

/// Seconds that a flood lasts, and whether another caller's times are looked at: `make hostile` says so.
fn seconds() -> (f64, bool) {
    match std::env::var("COREWIRE_FLOOD_SECONDS") {
        Ok(text) => (text.parse().expect("seconds"), true),
        Err(_) => (1.5, false),
    }
}

/// POST to Allocate; behind it more of the header block.
fn post(stream: u32, flags: u8, more: &[u8]) -> Vec<u8> {
    const PATH: &[u8] = b"/guti.v1.GutiService/Allocate";
    let length = u8::try_from(PATH.len()).expect("short");
    let block = [&[0x83, 0x86, 1, 1, b'a', 4, length][..], PATH, more].concat();
    http2(1, 4 | flags, stream, &block)
}

/// What a client says first, with credit for two gigabytes of answers.
fn greeting() -> Vec<u8> {
    let mut octets = http2_hello();
    octets.extend(http2(4, 1, 0, &[]));
    octets.extend(http2(8, 0, 0, &[0x7f, 0, 0, 0]));
    octets
}

/// A field of 4 KB for HPACK's table (RFC 7541, 6.2.1), that is named by one octet from then on.
fn to_be_copied() -> Vec<u8> {
    let mut field = http2_field("x", &[b'y'; 4000]);
    field[0] = 0x40;
    field
}

/// 60 KB of headers in a native request of which a part of the body comes.
fn native_open(call: u32) -> Vec<u8> {
    let mut block = vec![1, 0x60, 0xea, 0, b'x'];
    block.extend([b'y'; 60_000]);
    let (defines, name) = match call {
        1 => (0x10, native_name()),
        _ => (0, Vec::new()),
    };
    let length = u32::try_from(block.len()).expect("short").to_le_bytes();
    let payload = [
        &name[..],
        &2000_u32.to_le_bytes(),
        &length,
        &block,
        &[0; 1024],
    ]
    .concat();
    native(2, 0x05 | defines, 0, call, &payload)
}

/// What one attacker says: its greeting, then a call after the other, by number.
struct Attack {
    name: &'static str,
    limit: &'static str,
    greeting: fn() -> Vec<u8>,
    call: fn(u32) -> Vec<u8>,
    /// It sends so many and stays, or goes on as long as the flood lasts.
    calls: Option<u32>,
}

const ATTACKS: [Attack; 6] = [
    Attack {
        name: "HPACK references, calls left open",
        limit: "headers: 8 MiB a connection",
        greeting,
        call: |number| match number {
            0 => post(1, 0, &to_be_copied()),
            _ => post(2 * number + 1, 0, &[0x80 | 62; 15]),
        },
        calls: Some(4000),
    },
    Attack {
        name: "native headers, calls left open",
        limit: "headers: 8 MiB a connection",
        greeting: native_hello,
        call: |number| native_open(2 * number + 1),
        calls: Some(600),
    },
    Attack {
        name: "bodies left open",
        limit: "16 MiB a message",
        greeting,
        call: |number| match number % 65 {
            0 => post(2 * (number / 65) + 1, 0, &[]),
            _ => http2(0, 0, 2 * (number / 65) + 1, &[0; 16_000]),
        },
        calls: Some(650),
    },
    Attack {
        name: "60 KB of headers, answered",
        limit: "128 KiB decoded a turn",
        greeting,
        call: |number| post(2 * number + 1, 1, &http2_field("x", &[b'y'; 60_000])),
        calls: None,
    },
    Attack {
        name: "HPACK references, answered",
        limit: "128 KiB decoded a turn",
        greeting,
        call: |number| match number {
            0 => post(1, 1, &to_be_copied()),
            _ => post(2 * number + 1, 1, &[0x80 | 62; 15]),
        },
        calls: None,
    },
    Attack {
        name: "oversized headers",
        limit: "100, then 10/s; GOAWAY",
        greeting,
        call: |number| match number {
            0 => post(1, 1, &to_be_copied()),
            _ => post(2 * number + 1, 1, &[0x80 | 62; 200]),
        },
        calls: None,
    },
];

impl Attack {
    /// One attacker, until it has sent all, or the flood is over, or it is cut off; then it stays until the
    /// flood is over.
    fn run(&self, socket: &TcpStream, until: Instant, sent: &AtomicU64) {
        let hears = socket.try_clone().expect("a descriptor");
        // It is no use to an attacker to be stopped because it does not read.
        let hearing = thread::spawn(move || {
            let mut chunk = vec![0; 1 << 16];
            while let Ok(1..) = (&hears).read(&mut chunk) {}
        });
        let mut octets = (self.greeting)();
        for number in 0.. {
            if Instant::now() >= until || self.calls.is_some_and(|calls| number >= calls) {
                break;
            }
            octets.extend((self.call)(number));
            if octets.len() >= 1 << 14 {
                if (&mut &*socket).write_all(&octets).is_err() {
                    break;
                }
                sent.fetch_add(octets.len() as u64, Ordering::Relaxed);
                octets.clear();
            }
        }
        if (&mut &*socket).write_all(&octets).is_ok() {
            sent.fetch_add(octets.len() as u64, Ordering::Relaxed);
        }
        thread::sleep(until.saturating_duration_since(Instant::now()));
        let _closed_already = socket.shutdown(Shutdown::Both);
        hearing.join().expect("it only reads");
    }
}

/// How long calls of somebody else take until it is told to stop, the shortest first.
fn waits(program: &Program, stop: &AtomicBool) -> Vec<Duration> {
    let clients = ["native", "grpc", "rest"].map(|name| program.client(name));
    let mut waits = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        for client in &clients {
            let began = Instant::now();
            let request = Request::new(ALLOCATE).with_deadline(began + PATIENCE);
            client.call(request).expect("it is served all the while");
            waits.push(began.elapsed());
        }
        thread::sleep(Duration::from_millis(2));
    }
    waits.sort_unstable();
    waits
}

#[test]
fn floods_hold_little_and_leave_less_and_others_are_served() {
    let (length, looks_at_times) = seconds();
    eprintln!(
        "{:<36} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}  limit",
        "five connections of", "sent MB", "before MB", "held MB", "left MB", "p50 ms", "p99 ms"
    );
    let mut faults = Vec::new();
    for attack in &ATTACKS {
        let program = Program::start();
        let (warm, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            // Its buffers and its clients' connections are there before.
            let warming = scope.spawn(|| waits(&program, &warm));
            thread::sleep(Duration::from_millis(500));
            warm.store(true, Ordering::Relaxed);
            warming.join().expect("no call failed");
            let before = program.memory();
            let other = scope.spawn(|| waits(&program, &stop));
            let until = Instant::now() + Duration::from_secs_f64(length);
            let sent = AtomicU64::new(0);
            let mut peak = 0;
            thread::scope(|scope| {
                for _ in 0..ATTACKERS {
                    let socket = program.connect();
                    let sent = &sent;
                    scope.spawn(move || attack.run(&socket, until, sent));
                }
                while Instant::now() < until {
                    peak = peak.max(program.memory());
                    thread::sleep(Duration::from_millis(5));
                }
            });
            stop.store(true, Ordering::Relaxed);
            let waits = other.join().expect("no call failed");
            let (p50, p99) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
            let most = before + before / MOST_LEFT.0 + MOST_LEFT.1;
            let give_up = Instant::now() + Duration::from_secs(30);
            while program.memory() > most && Instant::now() < give_up {
                thread::sleep(Duration::from_millis(100));
            }
            let left = program.memory();
            let (mb, ms) = (
                |octets: u64| octets as f64 / 1e6,
                |time: Duration| time.as_secs_f64() * 1e3,
            );
            let held = peak.saturating_sub(before);
            eprintln!(
                "{:<36} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>8.2} {:>8.2}  {}",
                attack.name,
                mb(sent.load(Ordering::Relaxed)),
                mb(before),
                mb(held),
                mb(left.saturating_sub(before)),
                ms(p50),
                ms(p99),
                attack.limit
            );
            if held > MOST_HELD {
                faults.push(format!("{}: {held} octets were held", attack.name));
            }
            if left > most {
                faults.push(format!("{}: {before} octets became {left}", attack.name));
            }
            if looks_at_times && p50 > MOST_WAITED {
                faults.push(format!("{}: others waited {p50:?}", attack.name));
            }
        });
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
