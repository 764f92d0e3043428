//! N2's carriers through their public face: what every one must do, over TCP and, where the kernel has
//! it (`make sctp` boots one that has), over SCTP.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corewire_transport::sctp::{
    Acceptor, Association, Carrier, Driver, Ended, MAX_MESSAGE, MAX_QUEUED_OCTETS, SendError,
};

const NGAP: u32 = 60;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Those that both ends of can be in one process.
fn carriers() -> Vec<Carrier> {
    match corewire_sys::sctp::KernelSctp::open() {
        Ok(_) => vec![Carrier::Tcp, Carrier::Raw],
        Err(_) => vec![Carrier::Tcp],
    }
}

fn each(test: impl Fn(Driver)) {
    for carrier in carriers() {
        test(Driver::start(carrier).unwrap());
    }
}

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn listening(driver: &Driver) -> Acceptor {
    driver.listen(loopback()).unwrap()
}

fn pair(driver: &Driver, acceptor: &mut Acceptor) -> (Association, Association) {
    let near = driver
        .connect(acceptor.address(), Duration::from_secs(5))
        .unwrap();
    let far = acceptor.accept_until(soon()).unwrap().unwrap();
    (near, far)
}

#[test]
fn messages_keep_their_stream_their_kind_and_their_order() {
    each(|driver| {
        let (mut near, mut far) = pair(&driver, &mut listening(&driver));
        for number in 0..2000_u32 {
            near.send(number as u16 % 7, NGAP, &number.to_be_bytes())
                .unwrap();
            if number % 100 == 0 {
                far.send(0, NGAP, b"back").unwrap();
            }
        }
        for number in 0..2000_u32 {
            let message = far.receive_until(soon()).unwrap().unwrap();
            assert_eq!((message.stream, message.ppid), (number as u16 % 7, NGAP));
            assert_eq!(message.bytes[..], number.to_be_bytes());
        }
        for _ in 0..20 {
            let message = near.receive_until(soon()).unwrap().unwrap();
            assert_eq!(message.bytes[..], b"back"[..]);
        }
    });
}

#[test]
fn both_ends_know_the_streams_that_they_may_send_by() {
    each(|driver| {
        let (near, mut far) = pair(&driver, &mut listening(&driver));
        for (from, streams) in [
            (&near, near.sender().streams()),
            (&far, far.sender().streams()),
        ] {
            assert!(streams >= 16, "{streams} of {from:?}");
        }
        let last = near.sender().streams() - 1;
        near.send(last, NGAP, b"by the last").unwrap();
        let message = far.receive_until(soon()).unwrap().unwrap();
        assert_eq!(
            (message.stream, &message.bytes[..]),
            (last, &b"by the last"[..])
        );
    });
}

#[test]
fn large_messages_arrive_whole_and_larger_ones_are_refused() {
    each(|driver| {
        let (near, mut far) = pair(&driver, &mut listening(&driver));
        for size in [1, 1500, 65_536, MAX_MESSAGE] {
            let payload: Vec<u8> = (0..size).map(|at| at as u8).collect();
            near.send(1, NGAP, &payload).unwrap();
            let message = far.receive_until(soon()).unwrap().unwrap();
            assert_eq!(message.bytes[..], payload);
        }
        let refused = near.send(1, NGAP, &vec![0; MAX_MESSAGE + 1]);
        assert_eq!(refused, Err(SendError::TooLong));
    });
}

#[test]
fn shutdown_delivers_what_was_sent_before() {
    each(|driver| {
        let (mut near, mut far) = pair(&driver, &mut listening(&driver));
        near.send(0, NGAP, b"last").unwrap();
        near.sender().shutdown();
        assert_eq!(near.send(0, NGAP, b"later"), Err(SendError::Ended));
        let message = far.receive_until(soon()).unwrap().unwrap();
        assert_eq!(message.bytes[..], b"last"[..]);
        assert_eq!(far.receive_until(soon()).unwrap(), Err(Ended::Shutdown));
        assert_eq!(near.receive_until(soon()).unwrap(), Err(Ended::Shutdown));
    });
}

#[test]
fn a_peer_that_does_not_read_costs_bounded_memory_and_goes_on_when_it_reads() {
    each(|driver| {
        let (near, mut far) = pair(&driver, &mut listening(&driver));
        let payload = vec![7; 64 * 1024];
        let mut sent = 0;
        while near.send(0, NGAP, &payload).is_ok() {
            sent += 1;
            assert!(sent * payload.len() < 16 * MAX_QUEUED_OCTETS, "never full");
        }
        assert_eq!(near.send(0, NGAP, &payload), Err(SendError::Full));
        for _ in 0..sent {
            let message = far.receive_until(soon()).unwrap().unwrap();
            assert_eq!(message.bytes.len(), payload.len());
        }
        let end = soon();
        while near.send(0, NGAP, b"on it goes").is_err() {
            assert!(Instant::now() < end);
            std::thread::yield_now();
        }
        let message = far.receive_until(soon()).unwrap().unwrap();
        assert_eq!(message.bytes[..], b"on it goes"[..]);
    });
}

#[test]
fn who_aborts_waits_for_nobody() {
    use std::io::Read;
    each(|driver| {
        let (mut near, mut far) = pair(&driver, &mut listening(&driver));
        far.sender().abort();
        assert_eq!(far.receive_until(soon()).unwrap(), Err(Ended::Shutdown));
        assert_eq!(far.send(0, NGAP, b"later"), Err(SendError::Ended));
        near.receive_until(soon()).unwrap().unwrap_err();
    });
    // Also of one who never answers a shutdown.
    let driver = Driver::start(Carrier::Tcp).unwrap();
    let mut acceptor = listening(&driver);
    let mut silent = std::net::TcpStream::connect(acceptor.address()).unwrap();
    let association = acceptor.accept_until(soon()).unwrap().unwrap();
    association.sender().abort();
    silent
        .set_read_timeout(Some(Duration::from_secs(8)))
        .unwrap();
    assert_eq!(silent.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_stranger_is_cut_off() {
    use std::io::{Read, Write};
    let driver = Driver::start(Carrier::Tcp).unwrap();
    let mut acceptor = listening(&driver);
    let mut stranger = std::net::TcpStream::connect(acceptor.address()).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut association = acceptor.accept_until(soon()).unwrap().unwrap();
    let ended = association.receive_until(soon()).unwrap();
    assert!(matches!(ended, Err(Ended::Lost(_))), "{ended:?}");
    stranger
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    assert_eq!(stranger.read(&mut [0; 8]).unwrap_or(0), 0);
}

#[test]
fn a_thousand_associations_on_one_driver() {
    each(|driver| {
        let mut acceptor = listening(&driver);
        let mut pairs: Vec<_> = (0..1000).map(|_| pair(&driver, &mut acceptor)).collect();
        for (number, (near, _)) in pairs.iter().enumerate() {
            near.send(0, NGAP, &number.to_be_bytes()).unwrap();
        }
        for (number, (_, far)) in pairs.iter_mut().enumerate() {
            let message = far.receive_until(soon()).unwrap().unwrap();
            assert_eq!(message.bytes[..], number.to_be_bytes());
            far.send(1, NGAP, &message.bytes).unwrap();
        }
        for (number, (near, _)) in pairs.iter_mut().enumerate() {
            let message = near.receive_until(soon()).unwrap().unwrap();
            assert_eq!(message.bytes[..], number.to_be_bytes());
        }
    });
}

#[test]
fn futures_are_woken_on_an_event_loop() {
    each(|driver| {
        let mut acceptor = listening(&driver);
        let mut near = driver
            .connect(acceptor.address(), Duration::from_secs(5))
            .unwrap();
        let mut event_loop = corewire_transport::EventLoop::new().unwrap();
        let answered = event_loop
            .block_on(async {
                let mut far = acceptor.accept().await.unwrap();
                near.send(0, NGAP, b"ping").unwrap();
                let message = far.receive().await.unwrap();
                far.send(0, NGAP, &message.bytes).unwrap();
                near.receive().await.unwrap()
            })
            .unwrap();
        assert_eq!(answered.bytes[..], b"ping"[..]);
    });
}

/// Not a test of its own: the process that [`a_killed_peer_is_noticed`] kills.
#[test]
fn child_that_connects_and_waits() {
    let Ok(address) = std::env::var("COREWIRE_N2_CHILD") else {
        return;
    };
    let carrier = match std::env::var("COREWIRE_N2_CHILD_SCTP") {
        Ok(_) => Carrier::Raw,
        Err(_) => Carrier::Tcp,
    };
    let driver = Driver::start(carrier).unwrap();
    let mut association = driver
        .connect(address.parse().unwrap(), Duration::from_secs(5))
        .unwrap();
    association.send(0, NGAP, b"here").unwrap();
    let _ = association.receive_until(soon());
}

#[test]
fn a_killed_peer_is_noticed() {
    for carrier in carriers() {
        let driver = Driver::start(carrier).unwrap();
        let mut acceptor = listening(&driver);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "child_that_connects_and_waits"])
            .env("COREWIRE_N2_CHILD", acceptor.address().to_string())
            .stdout(Stdio::null());
        if carrier == Carrier::Raw {
            command.env("COREWIRE_N2_CHILD_SCTP", "1");
        }
        let mut child = command.spawn().unwrap();
        let mut association = acceptor.accept_until(soon()).unwrap().unwrap();
        let message = association.receive_until(soon()).unwrap().unwrap();
        assert_eq!(message.bytes[..], b"here"[..]);
        child.kill().unwrap();
        child.wait().unwrap();
        let ended = association.receive_until(soon()).unwrap();
        // A kernel says goodbye for a process that it ends.
        let lost = matches!(ended, Err(Ended::Lost(_)));
        assert!(
            lost || (carrier == Carrier::Raw && ended.is_err()),
            "{ended:?}"
        );
        let refused = association.send(0, NGAP, b"anybody?");
        assert_eq!(refused, Err(SendError::Ended));
    }
}

/// Real SCTP has one library a process, so each end is one.
mod two_processes {
    use super::*;
    use std::collections::BTreeSet;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, ChildStdout};
    use std::sync::Mutex;

    /// What a child says to its parent begins with this.
    const SAYS: &str = "N2 ";
    const ROUNDS: u32 = 200;

    fn carrier() -> Option<Carrier> {
        let text = std::env::var("COREWIRE_SCTP_CARRIER").ok()?;
        let Some((local, remote)) = text.split_once('/') else {
            return Some(Carrier::Raw);
        };
        Some(Carrier::Udp {
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
        })
    }

    fn sizes() -> [usize; 4] {
        [1, 200, 40_000, 200_000]
    }

    #[test]
    fn sctp_child_that_listens() {
        let (Some(carrier), Err(_)) = (carrier(), std::env::var("COREWIRE_SCTP_PEER")) else {
            return;
        };
        let driver = match Driver::start(carrier) {
            Ok(driver) => driver,
            Err(error) => return println!("\n{SAYS}absent {error}"),
        };
        let host = std::env::var("COREWIRE_SCTP_HOST").unwrap_or_else(|_| "127.0.0.1".into());
        let address = SocketAddr::new(host.parse().unwrap(), 0);
        let mut acceptor = match driver.listen(address) {
            Ok(acceptor) => acceptor,
            // A machine may have no IPv6.
            Err(error) if address.is_ipv6() => return println!("\n{SAYS}absent {error}"),
            Err(error) => panic!("{error}"),
        };
        println!("\n{SAYS}at {}", acceptor.address());
        let mut association = acceptor.accept_until(soon()).unwrap().unwrap();
        let peer = association.sender().peer().expect("an address");
        assert_eq!(peer.ip(), address.ip());
        loop {
            match association.receive_until(soon()) {
                Some(Ok(message)) => {
                    let sent = association.send(message.stream, message.ppid, &message.bytes);
                    assert_eq!(sent, Ok(()));
                }
                Some(Err(Ended::Shutdown)) => return println!("\n{SAYS}shutdown"),
                Some(Err(Ended::Lost(_))) => return println!("\n{SAYS}lost"),
                None => return println!("\n{SAYS}silence"),
            }
        }
    }

    #[test]
    fn sctp_child_that_connects() {
        let (Some(carrier), Ok(peer)) = (carrier(), std::env::var("COREWIRE_SCTP_PEER")) else {
            return;
        };
        let driver = Driver::start(carrier).unwrap();
        let mut association = driver
            .connect(peer.parse().unwrap(), Duration::from_secs(5))
            .unwrap();
        assert_eq!(association.sender().streams(), 16);
        for size in sizes() {
            let payload: Vec<u8> = (0..size).map(|at| at as u8).collect();
            association.send(3, NGAP, &payload).unwrap();
            let message = association.receive_until(soon()).unwrap().unwrap();
            assert_eq!((message.stream, message.ppid), (3, NGAP));
            assert_eq!(message.bytes[..], payload);
        }
        for round in 0..ROUNDS {
            association.send(1, NGAP, &round.to_be_bytes()).unwrap();
        }
        for round in 0..ROUNDS {
            let message = association.receive_until(soon()).unwrap().unwrap();
            assert_eq!(message.bytes[..], round.to_be_bytes());
        }
        println!("\n{SAYS}echoed");
        if std::env::var("COREWIRE_SCTP_STAY").is_ok() {
            let _ = association.receive_until(soon());
            return;
        }
        drop(association);
        // The library says goodbye on threads of its own.
        std::thread::sleep(Duration::from_secs(2));
    }

    fn child(test: &str, variables: &[(&str, &str)]) -> (Child, BufReader<ChildStdout>) {
        let name = format!("two_processes::{test}");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name, "--nocapture"])
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        (child, output)
    }

    fn said(output: &mut BufReader<ChildStdout>) -> String {
        let lines = output.lines().map(|line| line.unwrap());
        let mut said = lines.filter_map(|line| line.strip_prefix(SAYS).map(str::to_owned));
        said.next().expect("the child says something")
    }

    /// `local/remote` of each end for UDP; `ip` for both else. With `kill`, the client is killed.
    fn echo(server: &str, client: &str, kill: bool) {
        echo_at("127.0.0.1", server, client, kill);
    }

    fn echo_at(host: &str, server: &str, client: &str, kill: bool) {
        let carrier = "COREWIRE_SCTP_CARRIER";
        let own = [(carrier, server), ("COREWIRE_SCTP_HOST", host)];
        let (mut listening, mut output) = child("sctp_child_that_listens", &own);
        let first = said(&mut output);
        let Some(address) = first.strip_prefix("at ") else {
            eprintln!("SKIPPED, nothing was tested: {first}");
            listening.wait().unwrap();
            return;
        };
        let mut variables = vec![(carrier, client), ("COREWIRE_SCTP_PEER", address)];
        if kill {
            variables.push(("COREWIRE_SCTP_STAY", "1"));
        }
        let (mut connecting, mut answers) = child("sctp_child_that_connects", &variables);
        assert_eq!(said(&mut answers), "echoed");
        if kill {
            connecting.kill().unwrap();
        }
        let expected = if kill { "lost" } else { "shutdown" };
        assert_eq!(said(&mut output), expected);
        connecting.wait().unwrap();
        assert!(listening.wait().unwrap().success());
    }

    /// Two that are free, which no other test of this process is given.
    fn free_udp_ports() -> (u16, u16) {
        static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
        let port = || {
            loop {
                let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
                let port = socket.local_addr().unwrap().port();
                if GIVEN.lock().unwrap().insert(port) {
                    return port;
                }
            }
        };
        (port(), port())
    }

    #[test]
    fn sctp_over_ip() {
        echo("ip", "ip", false);
    }

    #[test]
    fn sctp_in_udp() {
        let (one, other) = free_udp_ports();
        echo(&format!("{one}/{other}"), &format!("{other}/{one}"), false);
    }

    #[test]
    fn sctp_over_ipv6() {
        echo_at("::1", "ip", "ip", false);
    }

    #[test]
    fn sctp_in_udp_over_ipv6() {
        let (one, other) = free_udp_ports();
        let (server, client) = (format!("{one}/{other}"), format!("{other}/{one}"));
        echo_at("::1", &server, &client, false);
    }

    #[test]
    fn a_killed_peer_is_noticed_by_heartbeats() {
        let (one, other) = free_udp_ports();
        echo(&format!("{one}/{other}"), &format!("{other}/{one}"), true);
    }
}
