//! Shared memory between processes: found by itself, noticed when the other end dies, and idle when
//! there is nothing to do.

use corewire_message::blocking::Caller as _;
use corewire_message::{
    Body, CallContext, Caller as _, ErrorKind, Operation, Request, Response, Service,
};
use corewire_transport::{
    Client, ClientOptions, Endpoint, EventLoop, Server, ServerOptions, blocking, parse_address,
};
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("tests.v1.Memory/Echo");
const NEVER: Operation = Operation::from_static("tests.v1.Memory/Never");
const WAY: Operation = Operation::from_static("tests.v1.Memory/Way");

/// What the other process of a test finds its address in.
const OTHER: &str = "SHARED_MEMORY_TEST_ADDRESS";

/// Long enough that only a hanging test meets it.
const PATIENCE: Duration = Duration::from_secs(20);

struct Answers;

impl Service for Answers {
    async fn call(&self, context: &CallContext, request: Request) -> Response {
        if request.operation == NEVER {
            if std::env::var_os(OTHER).is_some() {
                println!("\nbegun");
            }
            std::future::pending::<()>().await;
        }
        if request.operation == WAY {
            return Response::ok(Body::from(context.peer().address.clone().into_bytes()));
        }
        Response::ok(request.body)
    }
}

fn server(change: impl FnOnce(&mut ServerOptions)) -> Server {
    let mut options = ServerOptions::default();
    options.loops = 1;
    change(&mut options);
    let address = parse_address("127.0.0.1:0").unwrap();
    Server::start(&[address], Arc::new(Answers), options).unwrap()
}

fn endpoint(scheme: &str, server: &Server) -> Endpoint {
    let address = &server.addresses()[0];
    format!("{scheme}://{address}").parse().unwrap()
}

/// Prefers shared memory.
fn preferring() -> ClientOptions {
    let mut options = ClientOptions::default();
    options.shared_memory = true;
    options
}

/// How a call reaches the server, by each driver.
fn ways(endpoint: &Endpoint, options: &ClientOptions) -> [String; 2] {
    let waiting = blocking::Client::new(endpoint.clone(), options.clone());
    let by_thread = waiting.call(Request::new(WAY)).unwrap();
    let mut event_loop = EventLoop::new().unwrap();
    let futures: Client = event_loop
        .handle()
        .connect(endpoint.clone(), options.clone());
    let call = async { futures.call(Request::new(WAY)).await };
    let by_loop = event_loop.block_on(call).unwrap().unwrap();
    [by_thread, by_loop]
        .map(|response| String::from_utf8(response.body.into_bytes().to_vec()).unwrap())
}

#[test]
fn it_is_found_beside_the_port_where_both_ends_allow_it() {
    let offering = server(|_| {});
    let native = endpoint("native", &offering);
    assert_eq!(ways(&native, &preferring()), ["shm", "shm"]);
    assert_eq!(
        ways(&endpoint("shm", &offering), &ClientOptions::default()),
        ["shm", "shm"]
    );
    for way in ways(&native, &ClientOptions::default()) {
        assert!(way.starts_with("127.0.0.1:"), "{way}");
    }
    let keeping = server(|options| options.shared_memory = false);
    for way in ways(&endpoint("native", &keeping), &preferring()) {
        assert!(way.starts_with("127.0.0.1:"), "{way}");
    }
}

#[test]
fn asking_for_it_by_name_fails_where_it_is_not_offered() {
    let keeping = server(|options| options.shared_memory = false);
    let client = blocking::Client::new(endpoint("shm", &keeping), ClientOptions::default());
    let error = client.call(Request::new(ECHO)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSent);
    assert!(error.to_string().contains("shm://127.0.0.1:"), "{error}");
}

#[test]
fn what_is_larger_than_the_memory_goes_through_it_in_pieces() {
    let server = server(|_| {});
    let client = blocking::Client::new(endpoint("shm", &server), ClientOptions::default());
    let large: Vec<u8> = (0..3_000_000).map(|index| (index % 251) as u8).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let request = Request::new(ECHO).with_body(Body::from(large.clone()));
                let response = client.call(request).unwrap();
                assert!(response.body.into_bytes() == large);
            });
        }
    });
}

/// The other process of the tests below: this test, called by them.
#[test]
fn process() {
    let Ok(address) = std::env::var(OTHER) else {
        return;
    };
    if let Some(endpoint) = address.strip_prefix("call ") {
        let client = blocking::Client::new(endpoint.parse().unwrap(), ClientOptions::default());
        client.call(Request::new(ECHO)).unwrap();
        println!("\nready");
        // Ended by the test that started it.
        let _never = client.call(Request::new(NEVER).with_deadline(Instant::now() + PATIENCE));
        return;
    }
    let address = parse_address(&address).unwrap();
    let mut options = ServerOptions::default();
    options.loops = 1;
    let mut server = Server::start(&[address], Arc::new(Answers), options).unwrap();
    println!("\nready {}", server.addresses()[0]);
    server.join().unwrap();
}

/// A process that is killed with the test.
struct Other {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn start(address: &str) -> (Self, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["process", "--exact", "--nocapture"])
            .env(OTHER, address)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut other = Self { child, output };
        let found = other.says("ready");
        (other, found)
    }

    /// Waits for a line that begins like this; gives the rest of it.
    fn says(&mut self, word: &str) -> String {
        let mut lines = self.output.by_ref().map_while(Result::ok);
        let found = lines.find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()));
        found.unwrap_or_else(|| panic!("the process ends before it is {word}"))
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // Killed already is as good.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

#[test]
fn a_server_that_is_killed_in_mid_call_is_noticed_at_once() {
    let (mut other, address) = Other::start("127.0.0.1:0");
    let endpoint: Endpoint = format!("shm://{address}").parse().unwrap();
    let client = blocking::Client::new(endpoint.clone(), ClientOptions::default());
    client.call(Request::new(ECHO)).unwrap();
    let mut event_loop = EventLoop::new().unwrap();
    let futures = event_loop
        .handle()
        .connect(endpoint, ClientOptions::default());
    let request = || Request::new(NEVER).with_deadline(Instant::now() + PATIENCE);

    let (tell, told) = channel();
    let waiting = std::thread::spawn({
        let tell = tell.clone();
        move || {
            let result = client.call(request());
            tell.send((result, Instant::now())).unwrap();
        }
    });
    let calling = futures.call(request());
    let killer = std::thread::spawn(move || {
        for _ in 0..2 {
            other.says("begun");
        }
        other.kill();
        Instant::now()
    });
    let result = event_loop.block_on(calling).unwrap();
    tell.send((result, Instant::now())).unwrap();
    let killed = killer.join().unwrap();
    waiting.join().unwrap();
    for _ in 0..2 {
        let (result, noticed) = told.recv_timeout(PATIENCE).unwrap();
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FateUnknown, "{error:?}");
        let late = noticed.saturating_duration_since(killed);
        // Not when the next sign of life is missed, after ten to fifteen seconds.
        assert!(late < Duration::from_secs(5), "{late:?}");
    }
}

#[test]
fn clients_that_are_killed_leave_nothing_behind() {
    let server = server(|_| {});
    let address = server.addresses()[0].to_string();
    let mappings = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.matches("memfd:corewire").count()
    };
    // Other tests of this process have mappings of their own.
    let lasting = blocking::Client::new(endpoint("shm", &server), ClientOptions::default());
    lasting.call(Request::new(ECHO)).unwrap();
    let (mut other, _) = Other::start(&format!("call shm://{address}"));
    other.kill();
    let until = Instant::now() + PATIENCE;
    // One client has gone; the others are at most those of the tests beside this one.
    let before = mappings();
    let mut others: Vec<_> = (0..4)
        .map(|_| Other::start(&format!("call shm://{address}")).0)
        .collect();
    others.iter_mut().for_each(Other::kill);
    while mappings() > before.max(2) {
        assert!(Instant::now() < until, "{} mappings", mappings());
        std::thread::yield_now();
    }
    // Nobody else notices.
    lasting.call(Request::new(ECHO)).unwrap();
}

#[test]
fn a_server_without_calls_sleeps() {
    let (other, address) = Other::start("127.0.0.1:0");
    let client = blocking::Client::new(
        format!("shm://{address}").parse().unwrap(),
        ClientOptions::default(),
    );
    for _ in 0..1000 {
        client.call(Request::new(ECHO)).unwrap();
    }
    // Ticks of CPU time (1/100 s) of the server: user and system (proc(5)).
    let used = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", other.child.id())).unwrap();
        let fields: Vec<_> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let before = used();
    std::thread::park_timeout(Duration::from_millis(500));
    let ticks = used() - before;
    assert!(ticks <= 2, "{ticks} ticks in half a second without a call");
    client.call(Request::new(ECHO)).unwrap();
}
