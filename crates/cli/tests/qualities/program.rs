//! `corewire nf guti` in a process of its own: started, told to end, stopped in its tracks.

use corewire::{CallError, Caller, ClientOptions, Endpoint, Operation, Request};
use rustix::process::{Pid, Signal};
use std::error::Error as _;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

pub(crate) const ALLOCATE: Operation = Operation::from_static("guti.v1.GutiService/Allocate");
pub(crate) const ALLOCATE_STREAM: Operation =
    Operation::from_static("guti.v1.GutiService/AllocateStream");

pub(crate) const PROTOCOLS: [&str; 3] = ["native", "grpc", "rest"];

/// How long something that happens at once may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// How much later than stated something may be noticed on a machine that stands still for a while.
pub(crate) const SLACK: Duration = Duration::from_secs(8);

/// The program; ends with the test.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: SocketAddr,
    complaints: Receiver<String>,
}

impl Program {
    /// At any free port of the loopback.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", arguments)
    }

    /// At any port of an address that no other test has: started again, it finds its port free, and
    /// nobody else answers there meanwhile.
    pub(crate) fn start_alone() -> Self {
        Self::start_at(&own_address().to_string(), &[])
    }

    pub(crate) fn start_at(listen: &str, arguments: &[&str]) -> Self {
        Self::start_in(&[], listen, arguments)
    }

    /// The same by a command that runs another one.
    pub(crate) fn start_in(by: &[String], listen: &str, arguments: &[&str]) -> Self {
        let program = env!("CARGO_BIN_EXE_corewire").to_owned();
        let line: Vec<_> = by.iter().chain([&program]).collect();
        let mut child = Command::new(line[0])
            .args(&line[1..])
            .args(["nf", "guti", "--loops", "1", "--listen", listen])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (tell, complaints) = channel();
        let errors = BufReader::new(child.stderr.take().expect("it was asked for"));
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                // Nobody listens when the test is over.
                let _over = tell.send(line);
            }
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it was asked for"))
            .read_line(&mut line)
            .expect("a line");
        let address = line
            .split_once("listening at ")
            .and_then(|(_, rest)| rest.split(' ').next())
            .and_then(|word| word.parse().ok());
        let Some(address) = address else {
            panic!("it does not listen: {line:?}, {:?}", complaints.try_recv());
        };
        Self {
            child,
            address,
            complaints,
        }
    }

    pub(crate) fn endpoint(&self, protocol: &str) -> Endpoint {
        let text = format!("{protocol}://{}", self.address);
        text.parse().expect("an endpoint")
    }

    pub(crate) fn client(&self, protocol: &str) -> corewire::blocking::Client {
        corewire::blocking::Client::new(self.endpoint(protocol), ClientOptions::default())
    }

    /// Waits until it says a line with these words on its error stream.
    pub(crate) fn says(&self, words: &str) -> String {
        let give_up = Instant::now() + PATIENCE;
        let mut said = Vec::new();
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            match self.complaints.recv_timeout(left) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => said.push(line),
                Err(_) => panic!("it never said {words:?}, only {said:?}"),
            }
        }
    }

    /// Stops it in its tracks; when it returns, none of its threads runs any more.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        let give_up = Instant::now() + PATIENCE;
        // The state comes behind the name in parentheses (proc(5)).
        let is_stopped = |stat: String| {
            stat.rsplit(')')
                .next()
                .is_some_and(|rest| rest.trim_start().starts_with('T'))
        };
        loop {
            let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
            let mut threads = threads.expect("it lives").flatten();
            if threads.all(|thread| {
                std::fs::read_to_string(thread.path().join("stat")).is_ok_and(is_stopped)
            }) {
                return;
            }
            assert!(Instant::now() < give_up, "it is not stopped");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    /// Waits until it has ended by itself, and well.
    pub(crate) fn ends_well(&mut self) {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                let said: Vec<_> = self.complaints.try_iter().collect();
                assert!(status.success(), "{status}: {said:?}");
                return;
            }
            assert!(Instant::now() < give_up, "it does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Descriptors that it holds.
    pub(crate) fn descriptors(&self) -> usize {
        let listing = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        listing.expect("it lives").count()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has seen.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

pub(crate) fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process"), signal).expect("it lives");
}

/// Any port of an address that no other test has, nor its neighbour.
pub(crate) fn own_address() -> SocketAddr {
    static NUMBER: AtomicU8 = AtomicU8::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    SocketAddr::from(([127, 80, number, 1], 0))
}

/// Asks again until it is answered, as who calls with short limits must on a busy machine.
pub(crate) async fn served(client: &impl Caller, what: &str) {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let request = Request::new(ALLOCATE).with_deadline(give_up);
        match client.call(request).await {
            Ok(_) => return,
            Err(error) => assert!(Instant::now() < give_up, "{what}: {}", story(&error)),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The error and all its causes in a line.
pub(crate) fn story(error: &CallError) -> String {
    let mut story = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        story = format!("{story}: {error}");
        cause = error.source();
    }
    story
}
