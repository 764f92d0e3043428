//! Who may be at N2, and for how long: an AMF by itself, and whoever connects to it.

#![cfg(target_os = "linux")]

#[path = "core_faults/radio.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod radio;

use corewire_core5g_ngap::{NgapMessage, PPID};
use corewire_transport::sctp::{Association, Carrier, Driver, Ended};
use radio::Gnb;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// An AMF that nobody else is with.
struct Amf {
    process: Child,
    n2: String,
}

impl Amf {
    fn start(options: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["nf", "amf", "--listen", "127.0.0.1:0"])
            .args(["--n2-listen", "127.0.0.1:0"])
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut said = BufReader::new(process.stderr.take().expect("its words")).lines();
        let n2 = loop {
            let line = said.next().expect("it says where").expect("words");
            if let Some((_, place)) = line.split_once("N2 at ") {
                break place.split(": ").next().expect("a place").to_owned();
            }
        };
        // What it says later is read, so that it never waits for that.
        std::thread::spawn(move || said.for_each(drop));
        Self { process, n2 }
    }
}

impl Drop for Amf {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

/// Connects and says nothing.
fn silent(driver: &Driver, amf: &Amf) -> Association {
    let address = amf.n2.parse().expect("an address");
    driver.connect(address, PATIENCE).expect("it listens")
}

/// Waits until the association has ended.
fn ended(association: &mut Association) -> Ended {
    let next = association.receive_until(Instant::now() + PATIENCE);
    next.expect("in time").expect_err("nothing is said")
}

#[test]
fn an_amf_takes_so_many_associations_and_not_one_more() {
    let amf = Amf::start(&["--gnbs", "3"]);
    let driver = Driver::start(Carrier::Tcp).expect("a carrier");
    let one = Gnb::connect(&amf.n2, 1);
    let _two = Gnb::connect(&amf.n2, 2);
    // One that is not set up yet counts too. It is there when the AMF does not take the next.
    let mut third = silent(&driver, &amf);
    ended(&mut silent(&driver, &amf));
    assert!(third.try_receive().is_none());
    // There is room when one goes, which the AMF has to notice first.
    drop(one);
    let until = Instant::now() + PATIENCE;
    let request = NgapMessage::from(radio::set_up_request(4));
    let request = request.encode().expect("it can be written");
    loop {
        let mut next = silent(&driver, &amf);
        // Whether it is taken shows in the answer.
        let _refused_already = next.send(0, PPID, &request);
        let answer = next.receive_until(Instant::now() + PATIENCE);
        if answer.expect("an answer or the end").is_ok() {
            break;
        }
        assert!(Instant::now() < until, "there is no room");
    }
}

#[test]
fn who_does_not_set_n2_up_is_let_go_of_and_who_has_stays() {
    let amf = Amf::start(&[]);
    let mut gnb = Gnb::connect(&amf.n2, 1);
    let driver = Driver::start(Carrier::Tcp).expect("a carrier");
    // One that shuts down in order, and one that never answers anything.
    let mut polite = silent(&driver, &amf);
    let mut stubborn = TcpStream::connect(&amf.n2).expect("it listens");
    stubborn.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let began = Instant::now();
    ended(&mut polite);
    assert_eq!(stubborn.read(&mut [0; 8]).unwrap_or(0), 0);
    // Not at once either.
    assert!(began.elapsed() > Duration::from_secs(5));
    gnb.set_up(1);
}
