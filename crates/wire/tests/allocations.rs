//! A unary call allocates nothing once the connection has grown to its working size, nor does a header block.

#![expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; only distances matter"
)]
#![expect(unsafe_code, reason = "counting allocations takes a global allocator")]

use bytes::BytesMut;
use corewire_message::{Body, CallKind, Operation, Request, Response};
use corewire_wire::hpack::{Decoder, Encoder, Indexing};
use corewire_wire::native::{Config, Connection};
use corewire_wire::{Core, Input, Outbox, Output};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");

struct Wire {
    outbox: Outbox,
    buffer: BytesMut,
}

impl Wire {
    fn new() -> Self {
        Self {
            outbox: Outbox::new(),
            buffer: BytesMut::with_capacity(256 * 1024),
        }
    }

    fn carry(&mut self, from: &mut Connection, to: &mut Connection, now: Instant) {
        while from.poll_transmit(now, &mut self.outbox) {
            while !self.outbox.is_empty() {
                let piece = self.outbox.first();
                let count = piece.len();
                self.buffer.extend_from_slice(piece);
                self.outbox.advance(count);
            }
            to.handle_event(now, Input::Octets(&mut self.buffer))
                .unwrap();
            assert!(!to.has_more(), "a turn takes it");
        }
    }
}

fn allocations(body: usize, in_flight: u64, rounds: u64) -> u64 {
    let now = Instant::now();
    let mut client = Connection::client(Config::default(), now);
    let kind_of = Arc::new(|_: &Operation| Some(CallKind::Unary));
    let mut server = Connection::server(Config::default(), kind_of, now);
    let (mut up, mut down) = (Wire::new(), Wire::new());
    let body = Body::from(vec![7; body]);
    let mut before = 0;
    let mut done = 0;
    for round in 0..2 * rounds {
        if round == rounds {
            before = COUNT.with(Cell::get);
        }
        for _ in 0..in_flight {
            let request = Request::new(ECHO)
                .with_body(body.clone())
                .with_deadline(now + Duration::from_millis(round));
            // A deadline of 0 ms is never sent.
            let request = Request {
                deadline: request.deadline.filter(|at| *at > now),
                ..request
            };
            client.call(now, request).unwrap();
        }
        up.carry(&mut client, &mut server, now);
        while let Some(Output::Request { call, request }) = server.poll() {
            server.respond(call, Response::ok(request.body));
        }
        down.carry(&mut server, &mut client, now);
        while let Some(Output::Response { .. }) = client.poll() {
            done += 1;
        }
    }
    assert_eq!(done, 2 * rounds * in_flight);
    COUNT.with(Cell::get) - before
}

#[test]
fn a_unary_call_allocates_nothing_on_either_side() {
    for body in [0, 10, 1000, 10_000] {
        assert_eq!(allocations(body, 16, 2000), 0, "{body} octets");
    }
}

#[test]
fn one_call_at_a_time_allocates_nothing_either() {
    assert_eq!(allocations(0, 1, 20_000), 0);
    assert_eq!(allocations(100, 1, 20_000), 0);
}

#[test]
fn a_header_block_allocates_nothing() {
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
    let (mut block, mut out) = (Vec::new(), Vec::new());
    let mut value = *b"/service/Method-00000";
    let mut before = 0;
    for round in 0..20_000_u32 {
        if round == 10_000 {
            before = COUNT.with(Cell::get);
        }
        for (octet, shift) in value.iter_mut().rev().zip([0, 4, 8, 12]) {
            *octet = b'a' + (round >> shift & 15) as u8;
        }
        let user = [&b"one"[..], b"two"][round as usize & 1];
        block.clear();
        let fields = [
            (&b":method"[..], &b"POST"[..], Indexing::Yes),
            (b"user", user, Indexing::Yes),
            // Entries come and go, at times.
            (
                b":path",
                if round & 64 == 0 { &value } else { b"/" },
                Indexing::Yes,
            ),
            (b"te", b"trailers", Indexing::Yes),
            (b"x-id", &value[10..], Indexing::No),
            (b"authorization", &value, Indexing::Never),
        ];
        encoder.block(fields.into_iter(), &mut block);
        out.clear();
        let decoded = decoder.decode(&block, 1000, &mut out).unwrap();
        assert!(!decoded.oversized && out.len() > 100);
    }
    assert_eq!(COUNT.with(Cell::get) - before, 0);
}

#[test]
fn the_count_counts() {
    let in_fragments = Config::default().max_frame as usize + 1;
    assert!(allocations(in_fragments, 1, 10) >= 20);
}
