//! One NF as a process: started, watched until it is ready, asked how it does, ended.
#![expect(clippy::disallowed_methods, reason = "a program: waits for processes")]

use super::plan::Program;
use super::state::Nf;
use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Lines of a log that are shown when its process did not come up.
const LAST_LINES: usize = 8;
/// Between two looks at whether processes have ended.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How long the kernel may take to end what was killed.
const KILLED_PATIENCE: Duration = Duration::from_secs(2);

/// A process that was started and is not known to be ready yet.
pub(super) struct Starting {
    name: String,
    child: Child,
    events: mpsc::Receiver<String>,
    log: PathBuf,
    command: Vec<String>,
}

impl Starting {
    /// Starts `program`, its log in `folder`.
    pub(super) fn new(program: &Program, folder: &Path) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("the path of this program is not known")?;
        let log = folder.join(format!("{}.log", program.name));
        // Behind what an earlier process of this name has said.
        let stderr = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("{}", log.display()))?;
        let mut child = Command::new(&own)
            .args(&program.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            // What ends this command from the keyboard shall not end the core.
            .process_group(0)
            .spawn()
            .with_context(|| format!("{}: cannot be started", program.name))?;
        let (tell, events) = mpsc::channel();
        let stdout = child
            .stdout
            .take()
            .context("its standard output is a pipe")?;
        std::thread::spawn(move || {
            let mut line = String::new();
            // One line: ready, or why not.
            if BufReader::new(stdout).read_line(&mut line).is_ok() {
                let _gone = tell.send(line);
            }
        });
        let command = std::iter::once(own.display().to_string())
            .chain(program.arguments.iter().cloned())
            .collect();
        Ok(Self {
            name: program.name.clone(),
            child,
            events,
            log,
            command,
        })
    }

    /// Waits until it is ready; ends it when it is not in time.
    pub(super) fn ready(mut self, until: Instant) -> anyhow::Result<Nf> {
        let left = until.saturating_duration_since(Instant::now());
        let line = self.events.recv_timeout(left).unwrap_or_default();
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        if event["event"] != "ready" {
            let what = event["what"].as_str().map(str::to_owned);
            let _ended_already = self.child.kill();
            let _reaped = self.child.wait();
            let why = what.unwrap_or_else(|| {
                if line.is_empty() && left.is_zero() {
                    "it was not ready in time".to_owned()
                } else {
                    last_lines(&self.log)
                }
            });
            bail!(
                "{} did not come up: {why} (log: {})",
                self.name,
                self.log.display()
            );
        }
        let pid = self.child.id();
        Ok(Nf {
            name: self.name,
            pid,
            started: started(pid).unwrap_or_default(),
            address: event["address"].as_str().unwrap_or_default().to_owned(),
            instance: event["instance"].as_str().unwrap_or_default().to_owned(),
            log: self.log,
            command: self.command,
        })
    }

    /// Ends it: the core does not come up.
    pub(super) fn abandon(mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(LAST_LINES).collect();
    if lines.is_empty() {
        return "it said nothing".to_owned();
    }
    lines.into_iter().rev().collect::<Vec<_>>().join("; ")
}

impl Nf {
    /// Whether it still runs: the same process, not another one with its pid.
    pub(super) fn is_alive(&self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// Asks it to end.
    pub(super) fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends it.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.is_alive()) {
            // It may have ended just now.
            let _ended = kill_process(pid, signal);
        }
    }

    /// CPU time it has used, all threads.
    pub(super) fn cpu(&self) -> Option<Duration> {
        let fields = stat(self.pid)?;
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        // utime and stime: fields 14 and 15 of proc(5), two before which are taken off.
        let ticks = ticks(11)? + ticks(12)?;
        let a_second = rustix::param::clock_ticks_per_second();
        Some(Duration::from_millis(ticks * 1000 / a_second.max(1)))
    }

    /// Memory that is resident, in octets.
    pub(super) fn resident(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kib * 1024)
    }
}

/// Ends all of them: asked first, made to when they have not ended within `patience`.
pub(super) fn end_all(nfs: &[Nf], patience: Duration) {
    nfs.iter().for_each(Nf::ask_to_end);
    let until = Instant::now() + patience;
    while nfs.iter().any(Nf::is_alive) {
        if Instant::now() >= until {
            nfs.iter().for_each(Nf::kill);
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    // Their addresses are free only when they are gone.
    let until = Instant::now() + KILLED_PATIENCE;
    while nfs.iter().any(Nf::is_alive) && Instant::now() < until {
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// When a process began; `None` when there is none, or only what its parent has not reaped. A process
/// whose first thread has ended is one as long as others have not: they hold its sockets.
fn started(pid: u32) -> Option<u64> {
    let fields = stat(pid)?;
    if fields.first()? == "Z" && fields.get(17)? == "1" {
        return None;
    }
    fields.get(19)?.parse().ok()
}

/// The fields of `/proc/PID/stat` behind the program's name.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some(rest.split(' ').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_and_another_with_its_pid_is_not() {
        let pid = std::process::id();
        let mut nf = Nf {
            name: "self".into(),
            pid,
            started: started(pid).expect("it runs"),
            address: String::new(),
            instance: String::new(),
            log: PathBuf::new(),
            command: Vec::new(),
        };
        assert!(nf.is_alive());
        assert!(nf.cpu().is_some());
        assert!(nf.resident().expect("it has memory") > 0);
        nf.started += 1;
        assert!(!nf.is_alive());
    }
}
