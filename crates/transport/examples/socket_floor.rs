//! What requests at a rate cost with nothing but sockets: no protocol, no loop. Below this no transport
//! over TCP can come on the machine, in the middle of its distribution or in its tail.
//!
//! ```text
//! taskset -c 1 cargo run --release -p corewire-transport --example socket_floor -- serve 30 > ports &
//! taskset -c 0 cargo run --release -p corewire-transport --example socket_floor -- call "$(cat ports)" 1500 5
//! ```
//!
//! The service is one process for each port; a request of 1 kB is answered with 256 octets. A request is
//! sent when a timer says so, on the next connection, and timed from when it was due.

use corewire_sys::{Epoll, Interest, TimerFd, Token};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const REQUEST: [u8; 1024] = [b'0'; 1024];
const ANSWER: [u8; 256] = [b'0'; 256];
const TIMER: Token = Token(u64::MAX);
const USAGE: &str = "serve PROCESSES, or call PORT,PORT,... RATE SECONDS";

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", processes] => serve_many(processes.parse().map_err(io::Error::other)?),
        ["answer"] => answer(),
        ["call", ports, rate, seconds] => {
            let rate: f64 = rate.parse().map_err(io::Error::other)?;
            let seconds: f64 = seconds.parse().map_err(io::Error::other)?;
            call(ports, rate, (rate * seconds) as usize)
        }
        _ => Err(io::Error::other(USAGE)),
    }
}

/// Starts the processes and prints their ports; ends with standard input.
fn serve_many(processes: usize) -> io::Result<()> {
    let own = std::env::current_exe()?;
    let mut started = Vec::new();
    let mut ports = Vec::new();
    for _ in 0..processes {
        let mut child = Command::new(&own)
            .arg("answer")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut port = String::new();
        if let Some(output) = &mut child.stdout {
            let mut octet = [0];
            while output.read(&mut octet)? == 1 && octet[0] != b'\n' {
                port.push(char::from(octet[0]));
            }
        }
        ports.push(port);
        started.push(child);
    }
    println!("{}", ports.join(","));
    io::stdin().read_to_end(&mut Vec::new())?;
    for mut child in started {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

/// One port, one connection.
fn answer() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    let (mut socket, _) = listener.accept()?;
    socket.set_nodelay(true)?;
    let mut request = REQUEST;
    while socket.read_exact(&mut request).is_ok() {
        socket.write_all(&ANSWER)?;
    }
    Ok(())
}

struct Asked {
    socket: TcpStream,
    /// When what is on the way was due.
    due: Option<Instant>,
}

fn call(ports: &str, rate: f64, requests: usize) -> io::Result<()> {
    let mut epoll = Epoll::new()?;
    let timer = TimerFd::new()?;
    epoll.add_bell(timer.as_fd(), TIMER)?;
    let mut asked = Vec::new();
    for port in ports.trim().split(',') {
        let socket = TcpStream::connect(format!("127.0.0.1:{port}"))?;
        socket.set_nodelay(true)?;
        let token = Token(asked.len() as u64);
        epoll.add(socket.as_fd(), token, Interest::Read)?;
        asked.push(Asked { socket, due: None });
    }
    let start = Instant::now();
    let due = |number: usize| start + Duration::from_secs_f64(number as f64 / rate);
    let (mut sent, mut late, mut taken) = (0, Vec::new(), Vec::new());
    let mut answer = ANSWER;
    while taken.len() < requests {
        let mut now = Instant::now();
        while sent < requests && due(sent) <= now {
            let place = sent % asked.len();
            late.push(now - due(sent));
            // One at a time on a connection: a service that stalls is waited for.
            if asked[place].due.replace(due(sent)).is_some() {
                return Err(io::Error::other("an answer took longer than a round"));
            }
            asked[place].socket.write_all(&REQUEST)?;
            sent += 1;
            now = Instant::now();
        }
        if sent < requests {
            timer.set(due(sent) - now)?;
        }
        let ready = epoll.wait(Some(Duration::from_secs(5)))?;
        if ready == 0 {
            return Err(io::Error::other("no answer in five seconds"));
        }
        for index in 0..ready {
            let Some(readiness) = epoll.readiness(index).filter(|ready| ready.token != TIMER)
            else {
                continue;
            };
            let one = &mut asked[readiness.token.0 as usize];
            one.socket.read_exact(&mut answer)?;
            taken.extend(one.due.take().map(|due| due.elapsed()));
        }
    }
    print("late to send", late);
    print("round trip", taken);
    Ok(())
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    print!("{what:>12}, us:");
    for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)] {
        let at = (times.len() as f64 * share) as usize;
        let time = times.get(at).copied().unwrap_or_default();
        print!("  {name} {:.1}", time.as_secs_f64() * 1e6);
    }
    println!();
}
