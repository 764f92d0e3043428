//! One name, two servers behind it: calls take turns, and go to the other alone while one is away.

use super::program::{ALLOCATE, PATIENCE, PROTOCOLS, Program};
use corewire::blocking::Caller as _;
use corewire::mesh::{MeshOptions, blocking::MeshChannel};
use corewire::{ErrorKind, Operation, Request, Resolver, Response};
use corewire_guti::Guti;
use corewire_guti::message::{AllocateResponse, GUTI_MESSAGE_MAX, encode_deallocate_request, json};
use rustix::process::Signal;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const NAME: &str = "guti.test";
const DEALLOCATE: Operation = Operation::from_static("guti.v1.GutiService/Deallocate");
/// With turns, none of two servers is left out.
const CALLS: usize = 50;

/// Two servers at the same port of two addresses of the loopback.
fn two_servers() -> [Program; 2] {
    let first = Program::start_alone();
    let IpAddr::V4(address) = first.address.ip() else {
        panic!("{}", first.address);
    };
    let [a, b, c, _] = address.octets();
    // Nobody else has this one either.
    let second = SocketAddr::from(([a, b, c, 2], first.address.port()));
    [first, Program::start_at(&second.to_string(), &[])]
}

/// Waits until this many connections of others are open at the server.
fn is_called(server: &Program, idle: usize) {
    let give_up = Instant::now() + PATIENCE;
    while server.descriptors() <= idle {
        assert!(
            Instant::now() < give_up,
            "nobody connects to {}",
            server.address
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn guti(response: Response) -> Guti {
    let body = response.body.into_bytes();
    match AllocateResponse::decode(&body) {
        Ok(response) => response.guti,
        // Over REST.
        Err(_) => json::parse_allocate_response_json(&body).expect("a GUTI").0,
    }
}

/// How many of these the server has allocated: those that it takes back.
fn count_of(server: &Program, gutis: &[Guti]) -> usize {
    let client = server.client("native");
    let takes_back = |guti: &&Guti| {
        let mut message = [0; GUTI_MESSAGE_MAX];
        let length = encode_deallocate_request(guti, &mut message);
        let request = Request::new(DEALLOCATE).with_body(message[..length].to_vec());
        match client.call(request.with_deadline(Instant::now() + PATIENCE)) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Answered, "{error}");
                false
            }
        }
    };
    gutis.iter().filter(takes_back).count()
}

#[test]
fn a_name_with_two_addresses_is_balanced_over_both() {
    for protocol in PROTOCOLS {
        let mut servers = two_servers();
        let idle = servers[0].descriptors();
        let addresses = [0, 1].map(|at: usize| servers[at].address);
        let lookups = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&lookups);
        let mut options = MeshOptions::default();
        options.client.resolver = Resolver::new(move |name| {
            counted.fetch_add(1, Ordering::Relaxed);
            assert!(name.starts_with(NAME), "{name}");
            Ok(addresses.to_vec())
        });
        let port = addresses[0].port();
        let endpoint = format!("{protocol}://{NAME}:{port}");
        let channel = MeshChannel::balanced([endpoint], options).expect("a channel");
        let calls = |what: &str| {
            let allocate = |number: usize| {
                let request = Request::new(ALLOCATE).with_deadline(Instant::now() + PATIENCE);
                let called = channel.call(request);
                let response =
                    called.unwrap_or_else(|error| panic!("{protocol}, {what}, {number}: {error}"));
                guti(response)
            };
            (0..CALLS).map(allocate).collect::<Vec<_>>()
        };
        for server in &servers {
            is_called(server, idle);
        }
        let shares = servers.each_ref().map({
            let allocated = calls("both are there");
            move |server| count_of(server, &allocated)
        });
        assert!(shares[0] > 0 && shares[1] > 0, "{protocol}: {shares:?}");
        assert_eq!(shares[0] + shares[1], CALLS, "{protocol}");
        for away in [0, 1] {
            servers[away].signal(Signal::TERM);
            servers[away].ends_well();
            let allocated = calls("one is away");
            assert_eq!(
                count_of(&servers[1 - away], &allocated),
                CALLS,
                "{protocol}"
            );
            servers[away] = Program::start_at(&addresses[away].to_string(), &[]);
            is_called(&servers[away], idle);
        }
        calls("both are back");
        assert_eq!(lookups.load(Ordering::Relaxed), 1, "{protocol}");
    }
}
