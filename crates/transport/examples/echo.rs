//! An echo server and a client that measures it: the smallest use of both drivers.
//!
//! ```text
//! taskset -c 0 cargo run --release --example echo -- serve 127.0.0.1:7001 &
//! taskset -c 1 cargo run --release --example echo -- call native://127.0.0.1:7001 10000 100000
//! ```

use corewire_message::blocking::Caller;
use corewire_message::{Body, CallContext, Operation, Request, Response, Service};
use corewire_transport::{ClientOptions, Server, ServerOptions, blocking, parse_address};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("example.v1.Echo/Say");

struct Echo;

impl Service for Echo {
    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        Response::ok(request.body)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", address] => serve(address, 0),
        ["serve", address, spin] => serve(address, spin.parse()?),
        ["call", endpoint, octets, calls] => call(
            endpoint,
            octets.parse()?,
            calls.parse()?,
            ClientOptions::default(),
        ),
        ["call", endpoint, octets, calls, patience] => {
            let mut options = ClientOptions::default();
            options.patience = Duration::from_micros(patience.parse()?);
            call(endpoint, octets.parse()?, calls.parse()?, options)
        }
        _ => Err(
            "usage: echo serve ADDRESS [SPIN_US] | echo call ENDPOINT OCTETS CALLS [PATIENCE_US]"
                .into(),
        ),
    }
}

fn serve(address: &str, spin: u64) -> Result<(), Box<dyn Error>> {
    let mut options = ServerOptions::default();
    options.busy_poll = Duration::from_micros(spin);
    Server::start(&[parse_address(address)?], Arc::new(Echo), options)?.join()?;
    Ok(())
}

fn call(
    endpoint: &str,
    octets: usize,
    calls: u32,
    options: ClientOptions,
) -> Result<(), Box<dyn Error>> {
    let client = blocking::Client::connect(endpoint.parse()?, options)?;
    let body = Body::from(vec![7; octets]);
    let mut times = Vec::with_capacity(calls as usize);
    let start = Instant::now();
    let mut before = start;
    for _ in 0..calls {
        let response = client.call(Request::new(ECHO).with_body(body.clone()))?;
        assert_eq!(response.body.len(), octets);
        let after = Instant::now();
        times.push(after - before);
        before = after;
    }
    let rate = f64::from(calls) / start.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{rate:.0} calls/s, p50 {:?}, p99 {:?}", at(0.5), at(0.99));
    Ok(())
}
