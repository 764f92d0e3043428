use super::*;
use crate::carrier::native::OPERATION;
use crate::shared::Conduct;
use corewire_message::Event;
use corewire_sys::Address;
use corewire_wire::native::{Config, Connection as Native};
use corewire_wire::rmr::si95::{TRANSPORT_OCTETS, write_transport};
use corewire_wire::rmr::{D1_OCTETS, HEADER_OCTETS, HeaderMut};
use corewire_wire::{Core, Outbox};
use std::io::{Read, Write};
use std::net::TcpStream;

const LONGEST: usize = 1 << 20;
const PARTIAL: usize = 8 << 20;

#[derive(Default)]
struct Told {
    crowded: u32,
    ended: u32,
}

impl Observer for Told {
    fn ended(&mut self, _: &Arc<Link>, _: &Arc<Socket>) {
        self.ended += 1;
    }

    fn refused(&mut self, kind: LossKind) {
        assert_eq!(kind, LossKind::Crowded);
        self.crowded += 1;
    }

    fn arrived(&mut self, _: i32, _: &Arc<Link>) {}

    fn departed(&mut self, _: i32) {}
}

/// How long something that should happen soon may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Bench {
    driver: Driver,
    at: std::net::SocketAddr,
    told: Told,
    /// Peers that have connected.
    peers: usize,
}

impl Bench {
    fn new() -> Self {
        let any = Address::Tcp("127.0.0.1:0".parse().unwrap());
        let listener = Listener::bind(&any, false).unwrap();
        let Address::Tcp(at) = listener.address().unwrap() else {
            panic!("TCP was asked for");
        };
        let limits = Limits {
            message: LONGEST,
            partial: PARTIAL,
            holds_bursts: true,
        };
        let shared = Arc::new(Shared::new(Conduct {
            gathers: false,
            holds_unread: None,
        }));
        Self {
            driver: Driver::new(listener, None, shared, limits, false).unwrap(),
            at,
            told: Told::default(),
            peers: 0,
        }
    }

    /// A peer that sends `octets`, all of which are read here.
    fn peer(&mut self, octets: &[u8]) -> TcpStream {
        let mut peer = TcpStream::connect(self.at).unwrap();
        peer.set_nonblocking(true).unwrap();
        self.peers += 1;
        let give_up = Instant::now() + PATIENCE;
        while self.driver.connections.iter().count() + (self.told.ended as usize) < self.peers {
            assert!(Instant::now() < give_up, "it is not accepted");
            self.drive();
        }
        let mut at = 0;
        while at < octets.len() {
            match peer.write(&octets[at..]) {
                Ok(count) => at += count,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            self.drive();
        }
        // What is acknowledged is there to be read.
        while corewire_sys::unsent(peer.as_fd()) > 0 {
            assert!(Instant::now() < give_up, "it does not arrive");
            self.drive();
        }
        self.drive();
        peer
    }

    /// Drives until nothing comes for a moment; how many messages came.
    fn drive(&mut self) -> usize {
        let mut messages = 0;
        for _ in 0..3 {
            let wait = Some(Duration::from_millis(2));
            self.driver.wait(wait, &mut self.told).unwrap();
            let take = |_: Arrival<'_>| {
                messages += 1;
                Verdict::<()>::Next
            };
            self.driver.next(&mut self.told, take);
        }
        messages
    }
}

/// The beginning of an SI95 message of the greatest length.
fn half_a_frame() -> Vec<u8> {
    let mut octets = vec![0; LONGEST / 2];
    let transport: &mut [u8; TRANSPORT_OCTETS] = octets.first_chunk_mut().unwrap();
    write_transport(transport, LONGEST as u32);
    octets
}

/// The beginning of an event of the native protocol, of the greatest length.
fn half_an_event() -> Vec<u8> {
    let now = Instant::now();
    let config = Config::with(|config| config.max_message = 2 * LONGEST as u32);
    let mut native = Native::client(config, now);
    let body = vec![0; LONGEST];
    native.send_event(now, Event::new(OPERATION, body)).unwrap();
    let mut outbox = Outbox::new();
    let mut octets = Vec::new();
    while native.poll_transmit(now, &mut outbox) || !outbox.is_empty() {
        octets.extend_from_slice(outbox.first());
        let count = outbox.first().len();
        outbox.advance(count);
    }
    octets.truncate(LONGEST / 2);
    octets
}

#[test]
fn who_was_silent_longest_makes_room() {
    for part in [half_a_frame(), half_an_event()] {
        let mut bench = Bench::new();
        let mut peers = Vec::new();
        for _ in 0..40 {
            peers.push(bench.peer(&part));
            assert!(
                bench.driver.connections.held() <= PARTIAL,
                "{}",
                bench.driver.connections.held()
            );
        }
        let closed = bench.told.crowded;
        assert!((20..40).contains(&closed), "{closed} were closed");
        assert_eq!(bench.told.ended, closed);
        // Those that came last are there; when they go, so does what they held.
        drop(peers);
        bench.drive();
        assert_eq!((bench.told.ended, bench.driver.connections.held()), (40, 0));
    }
}

#[test]
fn a_message_of_the_greatest_length_gets_in() {
    let mut bench = Bench::new();
    bench.driver.connections.set_limits(Limits {
        message: LONGEST,
        partial: 0,
        holds_bursts: true,
    });
    let mut octets = half_a_frame();
    octets.resize(LONGEST, 0);
    // Malformed, perhaps; but it was waited for.
    let header = &mut octets[TRANSPORT_OCTETS..];
    header[196..200].copy_from_slice(&280_u32.to_be_bytes());
    let _peer = bench.peer(&octets);
    assert_eq!(
        (bench.told.crowded, bench.driver.connections.held()),
        (0, 0)
    );
}

/// An SI95 message that says nothing.
fn frame() -> Vec<u8> {
    let mut octets = vec![0; TRANSPORT_OCTETS + HEADER_OCTETS + D1_OCTETS];
    let total = octets.len() as u32;
    write_transport(octets.first_chunk_mut().unwrap(), total);
    HeaderMut::init(&mut octets[TRANSPORT_OCTETS..], 0).unwrap();
    octets
}

#[test]
fn a_peer_that_sends_gets_all_that_was_sent_to_it_before_the_end() {
    let mut bench = Bench::new();
    let mut peer = bench.peer(&frame());
    let socket = Arc::clone(&bench.driver.connections.get(0).unwrap().socket);
    let mut sent = 0;
    while let Ok(count) = socket.send_now(&[io::IoSlice::new(&[7; 65_536])]) {
        sent += count;
    }
    // What is not read when a socket is closed makes the kernel forget what it has for the peer.
    peer.write_all(&frame()).unwrap();
    peer.set_nonblocking(false).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    let (leave, leaves) = std::sync::mpsc::sync_channel(1);
    let reader = std::thread::spawn(move || {
        // Before the leave it might have read everything, and nothing be left to wait for.
        leaves.recv().unwrap();
        let mut read = 0;
        let mut octets = vec![0; 65_536];
        while let Ok(count @ 1..) = peer.read(&mut octets) {
            read += count;
            // It goes on to send, as long as anybody takes it.
            let _gone = peer.write_all(&frame());
        }
        read
    });
    let deadline = Instant::now() + PATIENCE;
    let mut unread = 0;
    bench.driver.take_leave(deadline, &mut bench.told, || {
        unread += 1;
        let _begun_already = leave.try_send(());
    });
    bench.driver.close();
    drop((bench, socket));
    assert_eq!(reader.join().unwrap(), sent);
    assert!(unread > 0);
}

#[test]
fn who_never_sent_is_not_waited_for_and_who_does_not_read_not_for_ever() {
    for sends in [false, true] {
        let mut bench = Bench::new();
        let _peer = bench.peer(if sends { &[0, 0, 1] } else { &[] });
        let socket = Arc::clone(&bench.driver.connections.get(0).unwrap().socket);
        while socket.send_now(&[io::IoSlice::new(&[7; 65_536])]).is_ok() {}
        let wait = Duration::from_millis(if sends { 50 } else { 60_000 });
        let begun = Instant::now();
        bench
            .driver
            .take_leave(begun + wait, &mut bench.told, || ());
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(30), "{took:?}");
        assert_eq!(took >= wait, sends, "{took:?}");
    }
}
