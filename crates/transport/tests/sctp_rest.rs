//! N2 over TCP when there is nothing to do but wait: the thread that receives rests. A program of its
//! own, because it measures the CPU time of the whole process.

#![cfg(target_os = "linux")]

use corewire_transport::sctp::{Association, Carrier, Driver, Ended, SendError};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const NGAP: u32 = 60;
/// How long nothing is done, and how much of it may be spent on that.
const REST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_millis(100);

/// One test at a time: what the process spends is one's.
static ALONE: Mutex<()> = Mutex::new(());

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// CPU time that this process has used.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a process");
    let (_, fields) = stat.rsplit_once(") ").expect("fields");
    let ticks = |at: usize| {
        let field = fields.split(' ').nth(at).expect("a field");
        field.parse::<u64>().expect("ticks")
    };
    // Ticks are of 10 ms on every Linux.
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

/// What a rest costs.
fn rest() -> Duration {
    let before = cpu();
    std::thread::sleep(REST);
    cpu() - before
}

/// Sends until the other side's queue is full and it is not read any more; gives how many.
fn fill(sender: &Association) -> usize {
    let payload = vec![7; 64 * 1024];
    let mut sent = 0;
    loop {
        match sender.send(0, NGAP, &payload) {
            Ok(()) => sent += 1,
            Err(SendError::Full) => return sent,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_thread_that_can_do_nothing_rests() {
    if std::env::var("COREWIRE_N2_FEW").is_ok() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let driver = Driver::start(Carrier::Tcp).expect("a carrier");
    let mut acceptor = driver
        .listen(([127, 0, 0, 1], 0).into())
        .expect("a listener");
    // Both sides do not read, and one of them goes: the other's queue is full, and its socket ended.
    let mut near = TcpStream::connect(acceptor.address()).expect("connected");
    let mut far = acceptor
        .accept_until(soon())
        .expect("in time")
        .expect("one");
    let record = {
        let mut record = vec![0, 0, 0, 1, 0, 0, 0, 60, 0, 0, 0, 0];
        record.push(9);
        record
    };
    // As many as a queue takes, and some that wait behind it.
    use std::io::Write as _;
    near.write_all(&record.repeat(3000)).expect("written");
    near.shutdown(std::net::Shutdown::Both).expect("ended");
    drop(near);
    std::thread::sleep(Duration::from_millis(100));
    let _ended_or_not = far.send(0, NGAP, b"anybody?");
    let spent = rest();
    assert!(spent <= MOST, "{spent:?} for nothing");
    // Nothing of what came before the end is lost by it.
    for _ in 0..1024 {
        let message = far.receive_until(soon()).expect("in time").expect("one");
        assert_eq!(message.bytes[..], [9]);
    }
    while far.receive_until(soon()).expect("in time").is_ok() {}
}

#[test]
fn an_orderly_end_waits_for_what_the_other_side_has_to_write() {
    if std::env::var("COREWIRE_N2_FEW").is_ok() {
        return;
    }
    let driver = Driver::start(Carrier::Tcp).expect("a carrier");
    let mut acceptor = driver
        .listen(([127, 0, 0, 1], 0).into())
        .expect("a listener");
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let near = driver
        .connect(acceptor.address(), Duration::from_secs(5))
        .expect("connected");
    let mut far = acceptor
        .accept_until(soon())
        .expect("in time")
        .expect("one");
    let sent = fill(&near);
    far.sender().shutdown();
    for number in 0..sent {
        let message = far.receive_until(soon()).expect("in time");
        assert!(message.is_ok(), "{number} of {sent}: {message:?}");
    }
    assert_eq!(far.receive_until(soon()), Some(Err(Ended::Shutdown)));
}

/// Not a test of its own: the process with few descriptors of the one below.
#[test]
fn child_that_has_few_descriptors() {
    if std::env::var("COREWIRE_N2_FEW").is_err() {
        return;
    }
    let driver = Driver::start(Carrier::Tcp).expect("a carrier");
    let mut acceptor = driver
        .listen(([127, 0, 0, 1], 0).into())
        .expect("a listener");
    println!("\nN2 at {}", acceptor.address());
    let mut held = Vec::new();
    // Until no descriptor is left, and some who wait.
    let give_up = soon();
    while std::fs::File::open("/proc/self/stat").is_ok() {
        assert!(Instant::now() < give_up, "there are descriptors");
        let moment = Instant::now() + Duration::from_millis(20);
        if let Some(association) = acceptor.accept_until(moment) {
            held.push(association.expect("one"));
        }
    }
    println!("\nN2 full {}", held.len());
    // The other process has looked at what this one spends.
    std::io::stdin()
        .read_line(&mut String::new())
        .expect("a line");
    held.clear();
    let mut come = 0;
    while let Some(association) = acceptor.accept_until(soon()) {
        held.push(association.expect("one"));
        come += 1;
        if come == 2 {
            break;
        }
    }
    println!("\nN2 come {come}");
}

#[test]
fn who_waits_for_a_descriptor_is_accepted_when_there_is_one() {
    if std::env::var("COREWIRE_N2_FEW").is_ok() {
        return;
    }
    let test = std::env::current_exe().expect("this program");
    let script = "ulimit -n 24; exec \"$0\" --exact child_that_has_few_descriptors --nocapture --test-threads 1";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .arg(test)
        .env("COREWIRE_N2_FEW", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let pid = child.id();
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut said = |what: &str| {
        let prefix = format!("N2 {what} ");
        let mut lines = lines.by_ref().map(|line| line.expect("text"));
        let said = lines.find_map(|line| line.strip_prefix(&prefix).map(str::to_owned));
        said.expect("the child says it")
    };
    let address = said("at");
    let mut waiting: Vec<TcpStream> = (0..40)
        .map(|_| TcpStream::connect(&address).expect("the kernel takes it"))
        .collect();
    // While the child waits for one more that it has no descriptor for.
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        let fields: Vec<String> = stat.split(' ').map(str::to_owned).collect();
        fields[13].parse::<u64>().expect("ticks") + fields[14].parse::<u64>().expect("ticks")
    };
    said("full");
    let before = ticks();
    std::thread::sleep(Duration::from_millis(600));
    let spent = ticks() - before;
    assert!(spent <= 6, "{spent} ticks of 10 ms for nothing");
    // Those that it has go, and leave room for the others.
    waiting.drain(..20);
    let mut input = child.stdin.take().expect("its input");
    writeln!(input, "looked at").expect("it reads");
    assert_eq!(said("come"), "2");
    assert!(child.wait().expect("it ends").success());
    drop(waiting);
}
