//! One port, every protocol: told apart by the first octets of a connection, whatever comes.

use bytes::BytesMut;
use corewire_message::blocking::Caller;
use corewire_message::{CallError, Code, Request};
use corewire_testkit::clock::RealClock;
use corewire_testkit::conformance::{Probe, SuiteService, operations as op, watched};
use corewire_transport::{
    Address, ClientOptions, Endpoint, Protocol, Server, ServerOptions, blocking, http2, native,
};
use corewire_wire::{Core, Input, Outbox, Output};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long something that happens at once may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

struct Port {
    server: Server,
    probe: Arc<Probe>,
}

impl Port {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(set: impl FnOnce(&mut ServerOptions)) -> Self {
        let mut options = ServerOptions::default();
        options.loops = 2;
        set(&mut options);
        let probe = Arc::new(Probe::default());
        let service = Arc::new(SuiteService::new(Arc::new(RealClock), Arc::clone(&probe)));
        let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let server = Server::start(&[address], service, options).unwrap();
        Self { server, probe }
    }

    fn connect(&self) -> TcpStream {
        let Address::Tcp(address) = &self.server.addresses()[0] else {
            panic!("a TCP port");
        };
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        socket
    }

    fn client(&self, protocol: Protocol) -> blocking::Client {
        let endpoint = Endpoint::new(protocol, self.server.addresses()[0].clone());
        blocking::Client::new(endpoint, ClientOptions::default())
    }

    /// Counters are written by another thread.
    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < give_up, "not so in {PATIENCE:?}: {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The server lives and serves every protocol.
    fn works(&self) {
        for protocol in Protocol::ALL {
            assert_eq!(
                echo(&self.client(protocol), "still here").unwrap(),
                "still here"
            );
        }
    }
}

fn echo(client: &blocking::Client, body: &str) -> Result<String, CallError> {
    let response = client.call(Request::new(op::ECHO).with_body(body.to_owned()))?;
    Ok(String::from_utf8(response.body.into_bytes().to_vec()).unwrap())
}

/// Everything that the server says until it closes.
fn read_to_close(socket: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match socket.read(&mut buffer) {
            Ok(0) => return all,
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return all,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("the server neither speaks nor closes: {error}"),
        }
    }
}

#[test]
fn every_protocol_is_spoken_on_one_port_at_the_same_time() {
    watched(|| {
        let port = Port::new();
        std::thread::scope(|scope| {
            for thread in 0..9 {
                let port = &port;
                scope.spawn(move || {
                    let protocol = Protocol::ALL[thread % 3];
                    let client = port.client(protocol);
                    for round in 0..50 {
                        let body = format!("{protocol} {thread} {round}");
                        assert_eq!(echo(&client, &body).unwrap(), body);
                    }
                });
            }
        });
        assert_eq!(port.server.counters().accepted(), 9);
        let counters = port.server.counters();
        assert_eq!(
            (counters.http1(), counters.unknown(), counters.faults()),
            (0, 0, 0)
        );
    });
}

#[test]
fn http1_gets_one_426_and_is_closed_and_counted() {
    watched(|| {
        let port = Port::new();
        let upgrade = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n\
            Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
        let twice = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2);
        let post = format!(
            "POST / HTTP/1.1\r\nContent-Length: 3000\r\n\r\n{}",
            "x".repeat(3000)
        );
        let requests = [
            upgrade,
            &twice,
            &post,
            "GET / HTTP/1.0\r\n\r\n",
            "PUT / HTTP/1.1\r\n\r\n",
        ];
        for (number, request) in requests.iter().enumerate() {
            let mut socket = port.connect();
            socket.write_all(request.as_bytes()).unwrap();
            let answer = String::from_utf8(read_to_close(&mut socket)).unwrap();
            assert!(
                answer.starts_with("HTTP/1.1 426 "),
                "{request:?}: {answer:?}"
            );
            assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer:?}");
            assert!(answer.contains("connection: close\r\n"), "{answer:?}");
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(
                head.contains(&format!("content-length: {}", body.len())),
                "{answer:?}"
            );
            port.until("it is counted", |port| {
                port.server.counters().http1() == number as u64 + 1
            });
        }
        assert_eq!(port.server.counters().unknown(), 0);
        port.works();
    });
}

#[test]
fn a_tls_hello_and_rubbish_are_closed_and_counted() {
    watched(|| {
        let port = Port::new();
        let tls = [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0];
        let mut almost_native = native::MAGIC.to_vec();
        almost_native[3] ^= 0xff;
        let rubbish: [&[u8]; 6] = [
            &tls,
            &[0; 100],
            &[0xff; 10_000],
            b"\r\n\r\n",
            b"hello, is this a mail server?\n",
            &almost_native,
        ];
        for (number, octets) in rubbish.iter().enumerate() {
            let mut socket = port.connect();
            socket.write_all(octets).unwrap();
            assert_eq!(read_to_close(&mut socket), b"", "{octets:?}");
            port.until("it is counted", |port| {
                port.server.counters().unknown() == number as u64 + 1
            });
        }
        assert_eq!(port.server.counters().http1(), 0);
        port.works();
    });
}

#[test]
fn every_first_octet_is_told_apart_without_harm() {
    watched(|| {
        // What is known by its first octet is answered; with the rest nobody can tell until the time is
        // up, which may be before the octet came.
        let patient = Port::new();
        let hasty = Port::with(|options| {
            options.first_octets_timeout = Duration::from_millis(50);
        });
        // P may begin HTTP/2 as well.
        let is_http = |first: u8| first.is_ascii_uppercase() && first != b'P';
        let sockets: Vec<_> = (0..=255u8)
            .map(|first| {
                let port = if is_http(first) { &patient } else { &hasty };
                let mut socket = port.connect();
                let _closed_already = socket.write_all(&[first]);
                (first, socket)
            })
            .collect();
        for (first, mut socket) in sockets {
            let answer = read_to_close(&mut socket);
            let is_answered = answer.starts_with(b"HTTP/1.1 426 ");
            assert_eq!(is_answered, is_http(first), "first octet {first:#04x}");
        }
        for (port, counted) in [(&patient, 25), (&hasty, 231)] {
            port.until("each is counted once", |port| {
                let counters = port.server.counters();
                counters.http1() + counters.unknown() == counted
            });
        }
        patient.works();
    });
}

#[test]
fn who_says_nothing_is_closed_in_time_and_counted() {
    watched(|| {
        let timeout = Duration::from_millis(200);
        let port = Port::with(|options| options.first_octets_timeout = timeout);
        let start = Instant::now();
        let (mut silent, mut faltering) = (port.connect(), port.connect());
        faltering.write_all(b"PRI * HTT").unwrap();
        assert_eq!(read_to_close(&mut silent), b"");
        let took = start.elapsed();
        assert!(
            took >= timeout && took < timeout + PATIENCE,
            "closed after {took:?}"
        );
        assert_eq!(read_to_close(&mut faltering), b"");
        port.until("both are counted", |port| {
            port.server.counters().unknown() == 2
        });
        port.works();
    });
}

#[test]
fn who_has_said_what_it_speaks_may_be_silent_afterwards() {
    watched(|| {
        let timeout = Duration::from_millis(100);
        let port = Port::with(|options| options.first_octets_timeout = timeout);
        for protocol in Protocol::ALL {
            let client = port.client(protocol);
            // The time may be up before the first octets are there: then another connection is made.
            port.until("it has said what it speaks", |_| {
                echo(&client, "before").is_ok()
            });
            let counts = || {
                let counters = port.server.counters();
                (counters.accepted(), counters.unknown())
            };
            let before = counts();
            std::thread::sleep(timeout * 2);
            echo(&client, "after").unwrap();
            assert_eq!(counts(), before, "it is the same connection");
        }
    });
}

/// Makes one call by hand, octet by octet, and gives its answer.
fn call_slowly(port: &Port, mut core: impl Core) -> Vec<u8> {
    let (mut socket, mut outbox) = (port.connect(), Outbox::new());
    let request = Request::new(op::ECHO)
        .with_body("slowly".to_owned())
        .with_deadline(Instant::now() + PATIENCE);
    core.call(Instant::now(), request).unwrap();
    while core.poll_transmit(Instant::now(), &mut outbox) {}
    let mut octets = BytesMut::new();
    while !outbox.is_empty() {
        socket.write_all(&outbox.first()[..1]).unwrap();
        outbox.advance(1);
        std::thread::sleep(Duration::from_micros(300));
    }
    loop {
        let mut buffer = [0; 4096];
        let count = socket.read(&mut buffer).unwrap();
        assert!(count > 0, "the server closed");
        octets.extend_from_slice(&buffer[..count]);
        core.handle_event(Instant::now(), Input::Octets(&mut octets))
            .unwrap();
        while let Some(output) = core.poll() {
            if let Output::Response { response, .. } = output {
                return response.body.into_bytes().to_vec();
            }
        }
        while core.poll_transmit(Instant::now(), &mut outbox) {}
        socket.write_all(outbox.first()).unwrap();
        outbox.advance(outbox.len());
    }
}

#[test]
fn slow_first_octets_are_waited_for() {
    watched(|| {
        let port = Port::new();
        let now = Instant::now();
        let native = native::Connection::client(native::Config::default(), now);
        assert_eq!(call_slowly(&port, native), b"slowly");
        for flavour in [http2::Flavour::Grpc, http2::Flavour::Rest] {
            let config = http2::Config::default();
            let core = http2::Connection::client(config, flavour, "localhost", now);
            assert_eq!(call_slowly(&port, core), b"slowly");
        }
        assert_eq!(port.server.counters().unknown(), 0);
    });
}

#[test]
fn only_the_protocols_that_are_set_are_spoken() {
    watched(|| {
        let sets: [&[Protocol]; 6] = [
            &[Protocol::Native],
            &[Protocol::Grpc],
            &[Protocol::Rest],
            &[Protocol::Native, Protocol::Rest],
            &[Protocol::Grpc, Protocol::Rest],
            &[],
        ];
        for spoken in sets {
            let port = Port::with(|options| options.protocols = spoken.to_vec());
            for protocol in Protocol::ALL {
                let answer = port.client(protocol).call(Request::new(op::COUNT));
                let is_spoken = spoken.contains(&protocol);
                let what = format!("{protocol} where {spoken:?} are spoken: {answer:?}");
                assert_eq!(answer.is_ok(), is_spoken, "{what}");
                if let Err(error) = answer {
                    let codes = [Code::Unavailable, Code::Unimplemented];
                    assert!(codes.contains(&error.code()), "{what}");
                }
            }
            assert_eq!(port.probe.counted(), spoken.len() as u64, "{spoken:?}");
        }
    });
}

#[test]
fn more_connections_than_the_limit_are_closed_at_once_and_counted() {
    watched(|| {
        let port = Port::with(|options| {
            options.loops = 1;
            options.max_connections = 2;
        });
        let clients: Vec<_> = (0..2).map(|_| port.client(Protocol::Native)).collect();
        for client in &clients {
            echo(client, "in time").unwrap();
        }
        let mut late = port.connect();
        assert_eq!(read_to_close(&mut late), b"");
        port.until("it is counted", |port| {
            port.server.counters().refused() == 1
        });
        for client in clients {
            echo(&client, "still in").unwrap();
        }
        // There is room again once they are gone.
        port.until("there is room", |port| {
            echo(&port.client(Protocol::Native), "now").is_ok()
        });
    });
}

#[test]
fn who_breaks_the_protocol_is_closed_and_counted_alone() {
    watched(|| {
        let port = Port::new();
        let client = port.client(Protocol::Native);
        echo(&client, "before").unwrap();
        let mut native = port.connect();
        native.write_all(&native::MAGIC).unwrap();
        native.write_all(&[0xff; 64]).unwrap();
        read_to_close(&mut native);
        let mut http2 = port.connect();
        http2
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        http2.write_all(&[0xff; 64]).unwrap();
        read_to_close(&mut http2);
        port.until("both are counted", |port| {
            port.server.counters().faults() == 2
        });
        echo(&client, "after").unwrap();
        assert_eq!(port.server.counters().accepted(), 3);
    });
}

#[test]
fn who_says_goodbye_may_go_on_talking_and_is_not_reset() {
    watched(|| {
        let port = Port::new();
        let mut socket = port.connect();
        socket
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        socket.write_all(&settings).unwrap();
        // GOAWAY (RFC 9113, 6.8): last stream 0, NO_ERROR.
        let goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        socket.write_all(&goaway).unwrap();
        // With no stream left the server has nothing more to say.
        read_to_close(&mut socket);
        let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        let closed = Instant::now();
        for _ in 0..3 {
            let written = socket.write_all(&ping);
            // It is listened to for a second after the goodbye.
            assert!(written.is_ok() || closed.elapsed() > Duration::from_millis(900));
            // A reset would be here by then.
            std::thread::sleep(Duration::from_millis(10));
        }
        port.works();
        assert_eq!(port.server.counters().faults(), 0);
    });
}
