//! Corewire's own balancing under restarts: `corewire nf guti`, twice, and one balanced channel.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corewire::blocking::Caller as _;
use corewire::mesh::{MeshOptions, blocking::MeshChannel};
use corewire::{Operation, Request};

use crate::guti::Tried;
use crate::process::{CpuPlan, Output, Process};
use crate::record::Failure;
use crate::scenario::NoResult;
use crate::stop::Stop;

const ALLOCATE: Operation = Operation::from_static("guti.v1.GutiService/Allocate");

const CALLERS: usize = 4;

/// Calls of some threads while each of two servers is restarted.
pub(super) fn corewire(cpus: &CpuPlan, patience: Duration, stop: &Stop) -> Result<Tried, NoResult> {
    let mut servers = [
        serve("127.0.0.1:0", cpus, patience)?,
        serve("127.0.0.1:0", cpus, patience)?,
    ];
    let endpoints = [0, 1].map(|at: usize| format!("native://{}", servers[at].1));
    let channel = MeshChannel::balanced(&endpoints, MeshOptions::default())
        .map_err(|error| failure(&error.to_string(), "a balanced channel"))?;
    let (requests, errors) = (AtomicU64::new(0), AtomicU64::new(0));
    let sample = Mutex::new(String::new());
    let over = AtomicBool::new(false);
    let restarted = std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let deadline = Instant::now() + patience;
                    match channel.call(Request::new(ALLOCATE).with_deadline(deadline)) {
                        Ok(_) => requests.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            let mut sample = sample.lock().unwrap_or_else(PoisonError::into_inner);
                            *sample = error.to_string();
                            errors.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
        let restarted = restart(&mut servers, cpus, patience, stop);
        over.store(true, Ordering::Relaxed);
        restarted
    });
    restarted?;
    Ok(Tried {
        requests: requests.into_inner(),
        errors: errors.into_inner(),
        sample: sample.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
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
