//! What a thread that never comes back, or panics, does to the others.

use super::*;
use corewire_message::Operation;
use corewire_sys::Address;
use corewire_wire::native::{Config, Connection};
use std::io::Read;
use std::net::{TcpListener, TcpStream};

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");

/// A link, and its peer's socket.
fn link() -> (Link, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let socket = Socket::connect(&address, Duration::from_secs(5)).unwrap();
    let (peer, _) = listener.accept().unwrap();
    let now = clock();
    let core = Box::new(Connection::client(Config::default(), now));
    (
        Link::new(socket, core, &ClientOptions::default(), now),
        peer,
    )
}

fn call(link: &Link, millis: u64) -> Result<Response, CallError> {
    let now = clock();
    link.call(
        now,
        Request::new(ECHO).with_deadline(now + Duration::from_millis(millis)),
    )
}

/// The octets that have come to the peer.
fn came(peer: &mut TcpStream) -> usize {
    peer.set_nonblocking(true).unwrap();
    let mut octets = Vec::new();
    let _nothing_more = peer.read_to_end(&mut octets);
    octets.len()
}

fn length_of_preface(mut core: Connection) -> usize {
    let mut outbox = Outbox::new();
    core.poll_transmit(clock(), &mut outbox);
    outbox.len()
}

#[test]
fn a_deadline_that_passes_while_a_request_is_left_to_others_ends_the_call_unsent() {
    let (link, mut peer) = link();
    let others = [(), ()].map(|()| std::thread::spawn(std::thread::park));
    // Two threads whose answers have come, and who do not come themselves.
    {
        let mut state = link.lock();
        for (name, other) in [7, 9].into_iter().zip(&others) {
            let asleep = Asleep::Parked(other.thread().clone());
            state.threads.sleep(Some(CallId::new(name)), asleep, false);
            state.threads.wake(CallId::new(name));
        }
        // Not late for as long as the test takes.
        state.threads.delivered(clock() + Duration::from_secs(60));
    }
    let error = call(&link, 50).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert!(!error.may_have_executed(), "{error:?}");
    for other in others {
        other.join().unwrap();
    }
    // The preface may go; the request, which is over, does not.
    let preface = Connection::client(Config::default(), clock());
    assert!(came(&mut peer) <= length_of_preface(preface));
}

#[test]
fn who_panics_with_the_lock_or_the_lead_ends_the_connection_for_all() {
    for leads in [false, true] {
        let (link, _peer) = link();
        let outcomes = std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| call(&link, 8000))).collect();
            // One leads, two sleep.
            while link.lock().threads.asleep() == 0 {
                std::thread::yield_now();
            }
            let dies = scope.spawn(|| {
                if leads {
                    let _leading = Leading(Some(&link));
                    panic!("on purpose");
                }
                let _state = link.lock();
                panic!("on purpose");
            });
            dies.join().unwrap_err();
            waiting
                .into_iter()
                .map(|caller| caller.join().unwrap())
                .collect::<Vec<_>>()
        });
        for outcome in outcomes {
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::FateUnknown, "{error:?}");
        }
        assert!(!link.is_usable(clock(), Duration::ZERO));
    }
}
