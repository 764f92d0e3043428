//! A link that goes down under open connections: neither end is told, and nothing that is sent arrives.
//! Two network namespaces of the test's own with a pair of virtual interfaces between them; where
//! these are not permitted the test says so and is skipped.

use super::program::{ALLOCATE, PATIENCE, PROTOCOLS, Program, SLACK, served, story};
use corewire::{Caller as _, ClientOptions, EventLoop, Request};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(400);
const TIMEOUT: Duration = Duration::from_millis(300);

/// Run in a namespace of its own by the test above it.
const INSIDE: &str = "qualities::link::inside";

#[test]
fn a_link_that_goes_down_is_noticed_by_both_ends() {
    let own = ["--user", "--map-root-user", "--net"];
    let permitted = Command::new("unshare")
        .args(own)
        .args(["ip", "link", "add", "name", "near", "type", "veth"])
        .args(["peer", "name", "far"])
        .output();
    match permitted {
        Ok(output) if output.status.success() => {}
        other => {
            eprintln!("skipped: no network namespaces of its own: {other:?}");
            return;
        }
    }
    let this = std::env::current_exe().expect("a test");
    let ran = Command::new("unshare")
        .args(own)
        .arg(this)
        .args(["--exact", INSIDE, "--ignored", "--nocapture"])
        .output()
        .expect("it was there");
    let said = String::from_utf8_lossy(&ran.stdout);
    let complained = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}\n{complained}");
    assert!(said.contains("1 passed"), "{said}");
}

fn succeeds(program: &str, arguments: &[&str]) {
    let ran = Command::new(program).args(arguments).output();
    let ran = ran.unwrap_or_else(|error| panic!("{program}: {error}"));
    let complained = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success(),
        "{program} {arguments:?}: {complained}"
    );
}

/// The other namespace: a process that waits in it, as long as the test.
struct Far(Child);

impl Far {
    /// With a link to this one.
    fn new() -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "cat"]);
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it was permitted");
        let far = Self(child);
        far.is_there();
        succeeds("ip", &["link", "set", "lo", "up"]);
        let link = [
            "link", "add", "name", "near", "type", "veth", "peer", "name", "far",
        ];
        succeeds("ip", &link);
        succeeds(
            "ip",
            &["link", "set", "far", "netns", &far.0.id().to_string()],
        );
        succeeds("ip", &["address", "add", "10.77.0.1/24", "dev", "near"]);
        succeeds("ip", &["link", "set", "near", "up"]);
        far.ip(&["link", "set", "lo", "up"]);
        far.ip(&["address", "add", "10.77.0.2/24", "dev", "far"]);
        far.ip(&["link", "set", "far", "up"]);
        far
    }

    /// Waits until the process has its namespace.
    fn is_there(&self) {
        let of = |id: &str| std::fs::read_link(format!("/proc/{id}/ns/net")).ok();
        let give_up = Instant::now() + PATIENCE;
        while of(&self.0.id().to_string()) == of("self") {
            assert!(Instant::now() < give_up, "no namespace");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What runs a program there.
    fn enter(&self) -> Vec<String> {
        let id = self.0.id().to_string();
        ["nsenter", "--target", &id, "--net"]
            .map(str::to_owned)
            .into()
    }

    fn ip(&self, arguments: &[&str]) {
        let enter = self.enter();
        let mut all: Vec<&str> = enter[1..].iter().map(String::as_str).collect();
        all.push("ip");
        all.extend(arguments);
        succeeds(&enter[0], &all);
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // With it go its namespace and the link.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
#[ignore = "run by a_link_that_goes_down_is_noticed_by_both_ends, in a namespace of its own"]
fn inside() {
    if std::fs::exists("/sys/class/net/near").is_ok_and(|is_there| is_there)
        || std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.contains("4294967295"))
    {
        // By hand, in somebody's own namespace: nothing is changed there.
        return;
    }
    let far = Far::new();
    let server = Program::start_in(&far.enter(), "10.77.0.2:0", &[]);
    let beside = Program::start(&[]);
    let idle = server.descriptors();
    for protocol in PROTOCOLS {
        goes_down(protocol, &far, &server, &beside, idle);
    }
}

fn goes_down(protocol: &str, far: &Far, server: &Program, beside: &Program, idle: usize) {
    let mut options = ClientOptions::default();
    options.native.keep_alive_interval = Some(INTERVAL);
    options.native.keep_alive_timeout = TIMEOUT;
    options.http2.keep_alive_interval = Some(INTERVAL);
    options.http2.keep_alive_timeout = TIMEOUT;
    let mut event_loop = EventLoop::new().expect("a loop");
    let handle = event_loop.handle();
    let client = handle.connect(server.endpoint(protocol), options);
    let other = handle.connect(beside.endpoint(protocol), ClientOptions::default());
    let request = || Request::new(ALLOCATE).with_deadline(Instant::now() + PATIENCE);
    let conversation = async {
        served(&client, "the link is up").await;
        assert!(server.descriptors() > idle, "{protocol}");
        far.ip(&["link", "set", "far", "down"]);
        let down = Instant::now();
        let error = client.call(request()).await.expect_err("the link is down");
        let noticed = down.elapsed();
        let told = story(&error);
        assert!(
            told.contains("keep-alive") || told.contains("the peer is silent"),
            "{protocol}: {told}, after {noticed:?}"
        );
        // As stated, and not as by default, in ten to fifteen seconds.
        let most = INTERVAL + TIMEOUT + SLACK;
        assert!(noticed < most, "{protocol}: only after {noticed:?}");
        other.call(request()).await.expect("it is not concerned");
        // The server's own limits: silence of 10 s, and 5 s for the answer to a ping.
        while server.descriptors() > idle {
            let held = down.elapsed();
            assert!(
                held < Duration::from_secs(15) + SLACK,
                "{protocol}: held for {held:?}"
            );
            other.call(request()).await.expect("it is not concerned");
            std::thread::sleep(Duration::from_millis(50));
        }
        far.ip(&["link", "set", "far", "up"]);
        served(&client, "the link is up again").await;
    };
    event_loop.block_on(conversation).expect("a loop");
}
