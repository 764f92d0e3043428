//! One round: all UEs register and open a session; when the last has, they are looked at; then they
//! detach.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::core::{Core, failure};
use super::plan::Case;
use super::usage::{self, Cpu};
use crate::machine::process_cpu;
use crate::record::Failure;

/// UEs in the middle of their steps at a time, at most: a gNB that lets thousands come in one moment
/// measures its own queue.
pub(super) const AT_ONCE: u32 = 100;
const PLACE: &str = "ran attach";

/// What `corewire ran attach --json` says at its end.
#[derive(Debug, Clone, Deserialize)]
struct Said {
    ues: u64,
    failed: u64,
    before_pause_ms: Option<f64>,
    registration_us: Option<Times>,
    session_us: Option<Times>,
    detach_us: Option<Times>,
    #[serde(default)]
    errors: Vec<serde_json::Value>,
    #[serde(default)]
    faults: Vec<String>,
}

/// The times of one procedure.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Times {
    /// One a UE.
    #[serde(default)]
    pub(super) values: Vec<f64>,
}

/// What a round gave.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) ues: u64,
    pub(super) registration_us: Times,
    pub(super) session_us: Times,
    pub(super) detach_us: Times,
    /// From the first UE's coming until the last had its session.
    pub(super) attaching: Duration,
    /// By NF, for registrations and sessions.
    pub(super) cpu: Cpu,
    /// By NF, for detaching.
    pub(super) detach_cpu: Cpu,
    /// Of the gNB and the UEs, in steps of a clock tick.
    pub(super) ran_cpu: Duration,
    /// By NF, resident while all UEs are attached.
    pub(super) memory: Vec<u64>,
}

/// Runs a round; `trace` is where the RAN writes down its hops.
pub(super) fn run(
    program: &Path,
    core: &Core,
    case: &Case,
    patience: Duration,
    trace: Option<&Path>,
) -> Result<Round, Failure> {
    let deadline = Instant::now() + patience;
    let before = usage::cpu(&core.nfs);
    let mut ran = Ran::start(program, core, case, trace)?;
    let first = ran.line(deadline, patience)?;
    let attached = usage::cpu(&core.nfs);
    let memory = usage::memory(&core.nfs);
    let last = if first.contains("\"paused\"") {
        ran.go_on()?;
        ran.line(deadline, patience)?
    } else {
        first
    };
    let detached = usage::cpu(&core.nfs);
    let ran_cpu = process_cpu(ran.child.id());
    let said: Said = serde_json::from_str(&last)
        .map_err(|_| failure(format!("no result: {}", ran.words()), PLACE))?;
    if let Some(fault) = said.faults.first() {
        return Err(failure(fault.clone(), PLACE));
    }
    if said.failed > 0 {
        let why = said.errors.first().map(ToString::to_string);
        let why = why.unwrap_or_default();
        return Err(failure(
            format!("{} of {} UEs failed: {why}", said.failed, said.ues),
            PLACE,
        ));
    }
    Ok(Round {
        ues: said.ues,
        registration_us: said.registration_us.unwrap_or_default(),
        session_us: said.session_us.unwrap_or_default(),
        detach_us: said.detach_us.unwrap_or_default(),
        attaching: Duration::from_secs_f64(said.before_pause_ms.unwrap_or(0.0) / 1e3),
        cpu: usage::between(&core.nfs, &before, &attached),
        detach_cpu: usage::between(&core.nfs, &attached, &detached),
        ran_cpu,
        memory,
    })
}

/// The simulated RAN. Dropping it ends it.
struct Ran {
    child: Child,
    lines: Receiver<String>,
}

impl Ran {
    fn start(
        program: &Path,
        core: &Core,
        case: &Case,
        trace: Option<&Path>,
    ) -> Result<Self, Failure> {
        let at_once = case.ues.min(AT_ONCE).to_string();
        let mut command = Command::new(program);
        command
            .args(["ran", "attach", "--json", "--detach", "--n2", "tcp"])
            .args(["--pause-before", "detach"])
            .args(["--ues", &case.ues.to_string(), "--amf", &core.n2])
            .args(["--at-once", &at_once])
            .arg("--subscribers")
            .arg(core.subscribers());
        if let Some(trace) = trace {
            command.arg("--trace").arg(trace);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failure(error.to_string(), PLACE))?;
        let (tell, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if tell.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { child, lines })
    }

    fn line(&mut self, deadline: Instant, patience: Duration) -> Result<String, Failure> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => Ok(line),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                Err(failure(format!("not done within {patience:?}"), PLACE))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Err(failure(format!("no result: {}", self.words()), PLACE))
            }
        }
    }

    fn go_on(&mut self) -> Result<(), Failure> {
        let Some(stdin) = &mut self.child.stdin else {
            return Ok(());
        };
        writeln!(stdin).map_err(|error| failure(error.to_string(), PLACE))
    }

    /// What it said of errors; it has ended, or is ended now.
    fn words(&mut self) -> String {
        // It may have ended already.
        let _ = self.child.kill();
        let mut text = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            // What is no text is not shown.
            let _ = stderr.read_to_string(&mut text);
        }
        text.trim().to_owned()
    }
}

impl Drop for Ran {
    fn drop(&mut self) {
        // Its result is its last line; what is left to do is to close its sockets and files.
        drop(self.child.stdin.take());
        let until = Instant::now() + Duration::from_secs(1);
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // It may have ended already.
        let _ = self.child.kill();
        // Its status does not matter.
        let _ = self.child.wait();
    }
}
