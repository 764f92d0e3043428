//! The talk with gateways and those they depend on: each wait is bounded, and whatever goes wrong
//! becomes a sentence.

use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Event, PeerResult, Ready};
use crate::process::{Output, Process};
use crate::record::Failure;
use crate::scenario::NoResult;
use crate::stop::Stop;
use crate::talk::{gone, late, parse};

/// Between two looks at Ctrl-C and at the health of the others.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// Between two looks at gateways that run at the same time.
const TURN: Duration = Duration::from_millis(5);
/// Between two attempts to reach a port.
const AGAIN: Duration = Duration::from_millis(5);
/// For what a stopped gateway has.
const TO_STOP: Duration = Duration::from_secs(5);

/// Waits until a line of `process` is understood by `read`.
fn await_line<T>(
    process: &Process,
    what: &str,
    patience: Duration,
    stop: &Stop,
    mut read: impl FnMut(&str) -> Result<Option<T>, Failure>,
) -> Result<T, NoResult> {
    let deadline = Instant::now() + patience;
    loop {
        if stop.asked() {
            return Err(NoResult::Stopped);
        }
        // Also when it talks without end, but not to the point.
        if Instant::now() >= deadline {
            return Err(late(process, what, patience).into());
        }
        match process.output(LOOK) {
            Output::Line(line) => {
                if let Some(found) = read(&line)? {
                    return Ok(found);
                }
            }
            Output::End => return Err(gone(process, "before it was ready").into()),
            Output::Silence => {}
        }
    }
}

/// Waits until a replica listens.
pub(super) fn await_ready(
    replica: &Process,
    patience: Duration,
    stop: &Stop,
) -> Result<Ready, NoResult> {
    await_line(
        replica,
        "did not listen",
        patience,
        stop,
        |line| match parse(replica, line)? {
            Event::Ready(ready) => Ok(Some(ready)),
            Event::Error(error) => Err(Failure {
                what: error.what,
                place: format!("{}, {}", replica.name(), error.place),
                next: String::new(),
            }),
            _ => Ok(None),
        },
    )
}

/// Waits until the control plane listens.
pub(super) fn await_control(
    control: &Process,
    patience: Duration,
    stop: &Stop,
) -> Result<(), NoResult> {
    await_line(control, "did not listen", patience, stop, |line| {
        Ok(line.contains("listening at").then_some(()))
    })
}

/// Waits until somebody accepts connections at each of these ports of this machine.
pub(super) fn await_ports(
    process: &Process,
    ports: &[u16],
    patience: Duration,
    stop: &Stop,
) -> Result<(), NoResult> {
    let deadline = Instant::now() + patience;
    for port in ports {
        let address = SocketAddr::from(([127, 0, 0, 1], *port));
        while TcpStream::connect_timeout(&address, LOOK).is_err() {
            if stop.asked() {
                return Err(NoResult::Stopped);
            }
            if process.ended().is_some() {
                return Err(gone(process, "before it listened").into());
            }
            if Instant::now() >= deadline {
                let what = format!("did not listen at port {port}");
                return Err(late(process, &what, patience).into());
            }
            thread::sleep(AGAIN);
        }
    }
    Ok(())
}

/// How long gateways may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) warmup: Duration,
    pub(super) window: Duration,
    pub(super) patience: Duration,
}

/// The results of gateways that run at the same time. `begins` is called when the first of them
/// begins its window, `ends` when the first gives its result.
pub(super) fn results(
    gateways: &[Process],
    others: &[&Process],
    terms: Terms,
    stop: &Stop,
    mut begins: impl FnMut(),
    mut ends: impl FnMut(),
) -> Result<Vec<PeerResult>, NoResult> {
    // To connect, to warm up, to measure, to answer the last requests: each gets its patience.
    let mut deadline = Instant::now() + terms.patience * 3 + terms.warmup + terms.window;
    let mut results: Vec<Option<PeerResult>> = gateways.iter().map(|_| None).collect();
    let mut interrupted = false;
    let (mut begun, mut ended) = (false, false);
    let mut looked = Instant::now();
    while results.iter().any(Option::is_none) {
        if stop.asked() && !interrupted {
            interrupted = true;
            gateways.iter().for_each(Process::interrupt);
            deadline = Instant::now() + TO_STOP;
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if let Some(other) = others.iter().find(|other| other.ended().is_some()) {
                return Err(gone(other, "while a gateway was at work").into());
            }
        }
        for (gateway, result) in gateways.iter().zip(&mut results) {
            if result.is_some() {
                continue;
            }
            if Instant::now() >= deadline {
                return Err(if interrupted {
                    NoResult::Stopped
                } else {
                    late(gateway, "gave no result", terms.warmup + terms.window).into()
                });
            }
            let wait = if gateways.len() == 1 { LOOK } else { TURN };
            match gateway.output(wait) {
                Output::Silence => {}
                Output::End if interrupted => return Err(NoResult::Stopped),
                Output::End => return Err(gone(gateway, "before its result").into()),
                Output::Line(line) => match parse(gateway, &line)? {
                    Event::Measuring if !begun => {
                        begun = true;
                        begins();
                    }
                    Event::Result(found) => {
                        if !ended {
                            ended = true;
                            ends();
                        }
                        *result = Some(judged(gateway, *found, interrupted)?);
                    }
                    Event::Error(error) => {
                        return Err(Failure {
                            what: error.what,
                            place: format!("{}, {}", gateway.name(), error.place),
                            next: String::new(),
                        }
                        .into());
                    }
                    _ => {}
                },
            }
        }
    }
    Ok(results.into_iter().flatten().collect())
}

/// A result may say that something went wrong.
fn judged(
    gateway: &Process,
    result: PeerResult,
    interrupted: bool,
) -> Result<PeerResult, NoResult> {
    if result.requests == 0 && result.partial {
        // Ctrl-C reaches a gateway as soon as ourselves.
        return Err(NoResult::Stopped);
    }
    if result.requests == 0 && !interrupted {
        return Err(Failure {
            what: format!("no request was answered: {}", result.error_sample),
            place: format!("{}, while measuring", gateway.name()),
            next: String::new(),
        }
        .into());
    }
    Ok(result)
}
