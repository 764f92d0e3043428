//! The program under attack, and what it costs: memory, descriptors.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use corewire::blocking::Caller as _;
use corewire::{ClientOptions, Operation, Request, blocking};

pub(crate) const ALLOCATE: Operation = Operation::from_static("guti.v1.GutiService/Allocate");

/// How long something that happens at once may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// `corewire nf guti` in a process of its own; ends with the test.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Program {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["nf", "guti", "--listen", "127.0.0.1:0", "--loops", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // It tells of each connection that it ends.
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it was asked for"))
            .read_line(&mut line)
            .expect("a line");
        let (_, rest) = line.split_once("listening at ").expect("it listens");
        let address = rest.split(' ').next().expect("a word");
        Self {
            child,
            address: address.parse().expect("an address"),
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).expect("it listens");
        socket.set_nodelay(true).expect("a TCP socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        socket.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        socket
    }

    pub(crate) fn client(&self, protocol: &str) -> blocking::Client {
        client(self.address, protocol)
    }

    /// Octets of memory that it holds.
    pub(crate) fn memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it lives");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .expect("its memory");
        let kib = line.split_whitespace().next().expect("a number");
        kib.parse::<u64>().expect("a number") * 1024
    }

    /// Descriptors that it holds.
    pub(crate) fn descriptors(&self) -> usize {
        let listing = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        listing.expect("it lives").count()
    }

    /// Waits until it holds no more descriptors than so many.
    pub(crate) fn until_descriptors(&self, most: usize) {
        let give_up = Instant::now() + PATIENCE;
        while self.descriptors() > most {
            assert!(
                Instant::now() < give_up,
                "{} descriptors are still open, {most} were",
                self.descriptors()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has seen.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn client(address: SocketAddr, protocol: &str) -> blocking::Client {
    let endpoint = format!("{protocol}://{address}").parse().expect("one");
    blocking::Client::new(endpoint, ClientOptions::default())
}

/// Somebody who wants nothing but service, over every protocol, all the time.
pub(crate) struct Bystander {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl Bystander {
    pub(crate) fn beside(program: &Program) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (address, until) = (program.address, Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let clients = ["native", "grpc", "rest"].map(|name| (name, client(address, name)));
            let mut served = 0;
            while !until.load(Ordering::Relaxed) || served == 0 {
                for (protocol, client) in &clients {
                    let request = Request::new(ALLOCATE).with_deadline(Instant::now() + PATIENCE);
                    if let Err(error) = client.call(request) {
                        panic!("{protocol}: {error}, after {served} calls");
                    }
                    served += 1;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            served
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// Every call was answered.
    pub(crate) fn was_served(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it runs");
        let served = thread.join().expect("no call failed");
        assert!(served > 0);
    }
}

/// Closes it with a reset instead of a goodbye.
pub(crate) fn reset(socket: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).expect("a TCP socket");
    drop(socket);
}

/// Sends what the peer still takes, and gives what it says until it closes.
pub(crate) fn say(mut socket: TcpStream, octets: &[u8]) -> Vec<u8> {
    // It may close in the middle, and say why.
    let _closed = socket.write_all(octets);
    hear_out(socket)
}

/// What the peer says until it closes.
pub(crate) fn hear_out(mut socket: TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match socket.read(&mut chunk) {
            Ok(0) => return said,
            Ok(count) => said.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return said,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => panic!("{error}: it neither answers nor closes; it said {said:?}"),
        }
    }
}
