//! Corewire's own balancing under restarts: `corewire nf guti`, twice, and one balanced channel.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corewire::blocking::Caller as _;
use corewire::mesh::{MeshOptions, blocking::MeshChannel};
use corewire::{Body, CallError, Operation, Request};

use crate::guti::Tried;
use crate::process::{CpuPlan, Output, Process};
use crate::record::Failure;
use crate::scenario::NoResult;
use crate::stop::Stop;

const ALLOCATE: Operation = Operation::from_static("guti.v1.GutiService/Allocate");

const ALLOCATE_STREAM: Operation = Operation::from_static("guti.v1.GutiService/AllocateStream");

/// Threads that call, and threads that keep a stream open.
const CALLERS: usize = 4;
const STREAMERS: usize = 2;
/// Messages of a stream, and the pause behind each: many streams live through a restart.
const MESSAGES: usize = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// What some threads have brought to its end, and what failed.
#[derive(Default)]
struct Tally {
    ended: AtomicU64,
    failed: AtomicU64,
    sample: Mutex<String>,
}

impl Tally {
    fn count(&self, ended: Result<(), String>) {
        match ended {
            Ok(()) => self.ended.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                let mut sample = self.sample.lock().unwrap_or_else(PoisonError::into_inner);
                *sample = error;
                self.failed.fetch_add(1, Ordering::Relaxed)
            }
        };
    }

    fn tried(self) -> Tried {
        let sample = self.sample.into_inner();
        Tried {
            requests: self.ended.into_inner(),
            errors: self.failed.into_inner(),
            sample: sample.unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// What became of calls and of streams.
pub(super) struct Restarted {
    pub(super) calls: Tried,
    pub(super) streams: Tried,
}

/// Calls and streams of some threads while each of two servers is restarted.
pub(super) fn corewire(
    cpus: &CpuPlan,
    patience: Duration,
    stop: &Stop,
) -> Result<Restarted, NoResult> {
    let mut servers = [
        serve("127.0.0.1:0", cpus, patience)?,
        serve("127.0.0.1:0", cpus, patience)?,
    ];
    let endpoints = [0, 1].map(|at: usize| format!("native://{}", servers[at].1));
    let channel = MeshChannel::balanced(&endpoints, MeshOptions::default())
        .map_err(|error| failure(&error.to_string(), "a balanced channel"))?;
    let (calls, streams) = (Tally::default(), Tally::default());
    let over = AtomicBool::new(false);
    let goes_on = || !over.load(Ordering::Relaxed);
    let until = || Instant::now() + patience;
    let restarted = std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                while goes_on() {
                    let called = channel.call(Request::new(ALLOCATE).with_deadline(until()));
                    calls.count(called.map(drop).map_err(text));
                }
            });
        }
        for _ in 0..STREAMERS {
            scope.spawn(|| {
                while goes_on() {
                    streams.count(stream(&channel, until()));
                }
            });
        }
        let restarted = restart(&mut servers, cpus, patience, stop);
        over.store(true, Ordering::Relaxed);
        restarted
    });
    restarted?;
    Ok(Restarted {
        calls: calls.tried(),
        streams: streams.tried(),
    })
}

/// A stream whose messages are all answered, to its orderly end.
fn stream(channel: &MeshChannel, until: Instant) -> Result<(), String> {
    let request = Request::new(ALLOCATE_STREAM).with_deadline(until);
    let mut stream = channel.open(request).map_err(text)?;
    for number in 0..MESSAGES {
        stream.send(Body::new()).map_err(text)?;
        if stream.receive().map_err(text)?.is_none() {
            return Err(format!("a stream ended before its message {number}"));
        }
        std::thread::sleep(PAUSE);
    }
    stream.finish().map_err(text)?;
    match stream.receive().map_err(text)? {
        None => Ok(()),
        Some(_) => Err("a message too many".to_owned()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn text(error: CallError) -> String {
    error.to_string()
}

/// One after the other, with a while between for calls.
fn restart(
    servers: &mut [(Process, String); 2],
    cpus: &CpuPlan,
    patience: Duration,
    stop: &Stop,
) -> Result<(), NoResult> {
    const BETWEEN: Duration = Duration::from_secs(1);
    for (process, address) in servers {
        std::thread::sleep(BETWEEN);
        if stop.asked() {
            return Err(NoResult::Stopped);
        }
        process.end();
        *process = serve(address, cpus, patience)?.0;
    }
    std::thread::sleep(BETWEEN);
    Ok(())
}

/// This program's GUTI service in a process of its own, and where it listens.
pub(super) fn serve(
    listen: &str,
    cpus: &CpuPlan,
    patience: Duration,
) -> Result<(Process, String), NoResult> {
    const PLACE: &str = "corewire nf guti";
    let program =
        std::env::current_exe().map_err(|error| failure(&error.to_string(), "this program"))?;
    let nothing: [(&'static str, String); 0] = [];
    let arguments = ["nf", "guti", "--listen", listen, "--drain", "1"];
    let process = Process::spawn(&program, arguments, nothing, &cpus.server)
        .map_err(|error| failure(&format!("{error:#}"), PLACE))?;
    match process.output(patience) {
        Output::Line(line) => {
            let (_, rest) = line
                .split_once("listening at ")
                .ok_or_else(|| failure(&line, PLACE))?;
            let address = rest.split(' ').next().unwrap_or_default().to_owned();
            Ok((process, address))
        }
        Output::Silence | Output::End => {
            let words = process.last_words();
            Err(failure(&format!("it did not listen: {words}"), PLACE))
        }
    }
}

fn failure(what: &str, place: &str) -> NoResult {
    Failure {
        what: what.to_owned(),
        place: place.to_owned(),
        next: String::new(),
    }
    .into()
}
