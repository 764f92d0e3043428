//! What a unary call costs in system calls, on both sides: one send, one receive and one wait. A request
//! that is sent at a time of its own costs its caller one wait more, and the setting of a timer.

use corewire_message::{Body, CallContext, Caller, Operation, Request, Response, Service};
use corewire_sys::{Calls, calls_of_this_thread};
use corewire_transport::{
    Address, Client, ClientOptions, Endpoint, EventLoop, Protocol, Server, ServerOptions,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

const COUNT: Operation = Operation::from_static("test.v1.Test/Count");
const CALLS: u64 = 100;
/// Of a hundred calls: a timer of the connection that is looked at, octets that come in two pieces.
const SLACK: u64 = 5;

/// Answers with the system calls that its loop has made.
struct Counts;

impl Service for Counts {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        let made = calls_of_this_thread();
        let text = format!(
            "{} {} {} {} {} {}",
            made.waits, made.receives, made.sends, made.changes, made.timers, made.bells
        );
        Response::ok(Body::from(text.into_bytes()))
    }
}

fn read(response: Response) -> Calls {
    let text = String::from_utf8(response.body.into_bytes().to_vec()).unwrap();
    let numbers: Vec<u64> = text.split(' ').map(|word| word.parse().unwrap()).collect();
    let mut made = Calls::default();
    [
        made.waits,
        made.receives,
        made.sends,
        made.changes,
        made.timers,
        made.bells,
    ] = numbers.try_into().unwrap();
    made
}

fn between(before: Calls, after: Calls) -> Calls {
    let mut made = Calls::default();
    made.waits = after.waits - before.waits;
    made.receives = after.receives - before.receives;
    made.sends = after.sends - before.sends;
    made.changes = after.changes - before.changes;
    made.timers = after.timers - before.timers;
    made.bells = after.bells - before.bells;
    made
}

/// What the caller's loop and the service's made for [`CALLS`] calls, one after another; each after a
/// sleep if `paced`.
fn count(protocol: Protocol, octets: usize, paced: bool) -> (Calls, Calls) {
    let anywhere = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let mut options = ServerOptions::default();
    options.loops = 1;
    // How often a patient loop asks depends on how fast the machine is.
    options.patience = Duration::ZERO;
    let server = Server::start(&[anywhere], Arc::new(Counts), options).unwrap();
    let endpoint = Endpoint::new(protocol, server.addresses()[0].clone());
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let client = handle.connect(endpoint, ClientOptions::default());
    let body = Body::from(vec![7; octets]);
    let ask = async |client: &Client| {
        let request = Request::new(COUNT).with_body(body.clone());
        read(client.call(request).await.unwrap())
    };
    let calls = async {
        for _ in 0..3 {
            ask(&client).await;
        }
        let (there, here) = (ask(&client).await, calls_of_this_thread());
        let mut last = there;
        for _ in 0..CALLS {
            if paced {
                let soon = Instant::now() + Duration::from_micros(200);
                handle.sleep_until(soon).await;
            }
            last = ask(&client).await;
        }
        (between(here, calls_of_this_thread()), between(there, last))
    };
    event_loop.block_on(calls).unwrap()
}

fn assert_at_most(made: u64, expected: u64, what: &str) {
    assert!(
        made <= expected + SLACK,
        "{what}: {made} for {CALLS} calls, where {expected} are enough"
    );
}

#[test]
fn a_call_costs_a_wait_a_send_and_a_receive_on_each_side() {
    for protocol in Protocol::ALL {
        for octets in [0, 1000, 10_000] {
            let (here, there) = count(protocol, octets, false);
            for (side, made) in [("caller", here), ("service", there)] {
                let what = format!("{protocol}, {octets} octets, {side}");
                assert_at_most(made.waits, CALLS, &format!("{what}, waits"));
                assert_at_most(made.receives, CALLS, &format!("{what}, receives"));
                assert_at_most(made.sends, CALLS, &format!("{what}, sends"));
                assert_at_most(made.changes, 0, &format!("{what}, changes"));
                assert_at_most(made.timers, 0, &format!("{what}, timers"));
                assert_at_most(made.bells, 0, &format!("{what}, bells"));
                assert!(made.sends >= CALLS, "{what}: nothing was counted");
            }
        }
    }
}

#[test]
fn a_paced_call_costs_its_caller_one_wait_and_one_timer_more() {
    for protocol in Protocol::ALL {
        let (here, _) = count(protocol, 1000, true);
        assert_at_most(here.waits, 2 * CALLS, &format!("{protocol}, waits"));
        assert_at_most(here.timers, CALLS, &format!("{protocol}, timers"));
        assert_at_most(here.receives, CALLS, &format!("{protocol}, receives"));
        assert_at_most(here.sends, CALLS, &format!("{protocol}, sends"));
        assert_at_most(here.bells, 0, &format!("{protocol}, bells"));
    }
}
