//! A unary call over HTTP/2 allocates nothing once the connection has grown to its working size.

#![expect(unsafe_code, reason = "counting allocations takes a global allocator")]

use bytes::BytesMut;
use corewire_message::{Body, CallKind, Headers, Operation, Request, Response};
use corewire_transport::http2::{Config, Connection, Flavour};
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
            buffer: BytesMut::with_capacity(1 << 20),
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

fn allocations(flavour: Flavour, body: usize, in_flight: u64, rounds: u64) -> u64 {
    let now = Instant::now();
    let mut client = Connection::client(Config::default(), flavour, "smf.example", now);
    let kind_of = Arc::new(|_: &Operation| Some(CallKind::Unary));
    let mut server = Connection::server(Config::default(), kind_of, now);
    let (mut up, mut down) = (Wire::new(), Wire::new());
    let body = Body::from(vec![7; body]);
    let mut headers = Headers::new();
    headers
        .append("x-correlation", "imsi-001010000000001")
        .unwrap();
    headers.append("content-type", "application/json").unwrap();
    let block = bytes::Bytes::copy_from_slice(headers.as_block());
    let headers = Headers::from_block(block).unwrap();
    let mut before = 0;
    let mut done = 0;
    for round in 0..2 * rounds {
        if round == rounds {
            before = COUNT.with(Cell::get);
        }
        for _ in 0..in_flight {
            let request = Request::new(ECHO)
                .with_body(body.clone())
                .with_headers(headers.clone())
                .with_deadline(now + Duration::from_millis(1 + round));
            client.call(now, request).unwrap();
        }
        up.carry(&mut client, &mut server, now);
        while let Some(Output::Request { call, request }) = server.poll() {
            let response = Response::ok(request.body).with_headers(request.headers);
            server.respond(call, response);
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
    for flavour in [Flavour::Rest, Flavour::Grpc] {
        for body in [0, 10, 1000, 4000] {
            for in_flight in [1, 16] {
                let count = allocations(flavour, body, in_flight, 1000);
                assert_eq!(
                    count, 0,
                    "{flavour:?}, {body} octets, {in_flight} in flight"
                );
            }
        }
    }
}

#[test]
fn a_long_body_is_shared_and_not_allocated_for() {
    for flavour in [Flavour::Rest, Flavour::Grpc] {
        for body in [10_000, 100_000] {
            // The buffer it is received in is used again once it is gone.
            let count = allocations(flavour, body, 1, 100);
            assert!(count <= 5, "{flavour:?}, {body} octets: {count}");
        }
        // Longer than a frame: put together in memory of its own, once a side.
        let count = allocations(flavour, 400_000, 1, 100);
        assert!((200..=1000).contains(&count), "{flavour:?}: {count}");
    }
}
