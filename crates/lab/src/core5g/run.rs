//! One run: a core is started, UEs come and go in rounds, the core is ended.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Deserialize;

use super::core::{Core, failure};
use super::plan::Case;
use crate::machine::LoadWatch;
use crate::record::{Failure, MachineLoad};
use crate::scenario::NoResult;
use crate::stop::Stop;

/// What is the same for every run of a session.
#[derive(Debug)]
pub(super) struct Bench {
    program: PathBuf,
    patience: Duration,
}

/// What a run gave.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) rounds: Vec<Round>,
    pub(super) wall: Duration,
    /// By NF: CPU time over all rounds.
    pub(super) cpu: Vec<(String, Duration)>,
    pub(super) load: MachineLoad,
    pub(super) partial: bool,
}

/// What `corewire ran attach --json` says at its end.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Round {
    pub(super) ues: u64,
    pub(super) failed: u64,
    pub(super) registration_us: Times,
    pub(super) session_us: Times,
    pub(super) detach_us: Times,
    #[serde(default)]
    pub(super) errors: Vec<String>,
}

/// The times of one procedure.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Times {
    /// One a UE.
    #[serde(default)]
    pub(super) values: Vec<f64>,
}

impl Bench {
    pub(super) fn new(patience: u64) -> anyhow::Result<Self> {
        Ok(Self {
            program: std::env::current_exe().context("the path of this program is not known")?,
            patience: Duration::from_secs(patience),
        })
    }

    /// Runs one case.
    pub(super) fn run(&self, case: &Case, rounds: u64, stop: &Stop) -> Result<Raw, NoResult> {
        let folder = Folder::new()?;
        let core = Core::up(&self.program, &folder.0, case)?;
        // Connections are made, services found, pages touched.
        self.round(&core, case)?;
        let (mut all, before) = (Vec::new(), core.cpu());
        let (begun, load) = (Instant::now(), LoadWatch::begin());
        while all.len() < usize::try_from(rounds).unwrap_or(usize::MAX) && !stop.asked() {
            all.push(self.round(&core, case)?);
        }
        let wall = begun.elapsed();
        let cpu: Vec<(String, Duration)> = core
            .nfs
            .iter()
            .zip(core.cpu().into_iter().zip(before))
            .map(|(nf, (after, before))| (nf.name.clone(), after.saturating_sub(before)))
            .collect();
        if all.is_empty() {
            return Err(NoResult::Stopped);
        }
        let ours = cpu.iter().map(|(_, cpu)| *cpu).sum();
        Ok(Raw {
            partial: all.len() < usize::try_from(rounds).unwrap_or(usize::MAX),
            rounds: all,
            wall,
            cpu,
            load: load.end(ours),
        })
    }

    /// All UEs register, open a session, and detach.
    fn round(&self, core: &Core, case: &Case) -> Result<Round, Failure> {
        let place = "ran attach";
        let patience = self.patience + Duration::from_millis(50) * case.ues;
        let mut child = Command::new(&self.program)
            .args(["ran", "attach", "--json", "--detach", "--n2", "tcp"])
            .args(["--ues", &case.ues.to_string(), "--amf", &core.n2])
            .args(["--at-once", &case.ues.to_string()])
            .arg("--subscribers")
            .arg(core.subscribers())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failure(error.to_string(), place))?;
        let pid = child.id();
        let (done, ended) = std::sync::mpsc::channel();
        let watch = std::thread::spawn(move || {
            let in_time = ended.recv_timeout(patience).is_ok();
            if !in_time
                && let Some(pid) = i32::try_from(pid)
                    .ok()
                    .and_then(rustix::process::Pid::from_raw)
            {
                // It is not waited for before this thread has ended: the number is still its own.
                let _ended = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            in_time
        });
        let (mut out, mut words) = (String::new(), String::new());
        let read = read_both(&mut child, &mut out, &mut words);
        let _watcher_gone = done.send(());
        let in_time = watch.join().unwrap_or(false);
        let _status = child.wait();
        read.map_err(|error| failure(error.to_string(), place))?;
        if !in_time {
            return Err(failure(format!("not done within {patience:?}"), place));
        }
        let last = out
            .lines()
            .rfind(|line| line.contains("\"result\""))
            .unwrap_or_default();
        let round: Round = serde_json::from_str(last)
            .map_err(|_| failure(format!("no result: {}", words.trim()), place))?;
        if round.failed > 0 {
            let why = round.errors.first().cloned().unwrap_or_default();
            return Err(failure(
                format!("{} of {} UEs failed: {why}", round.failed, round.ues),
                place,
            ));
        }
        Ok(round)
    }
}

fn read_both(
    child: &mut std::process::Child,
    out: &mut String,
    words: &mut String,
) -> std::io::Result<()> {
    use std::io::Read as _;
    let stderr = child.stderr.take();
    let other = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut stderr) = stderr {
            // What is no text is not shown.
            let _unreadable = stderr.read_to_string(&mut text);
        }
        text
    });
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(out)?;
    }
    *words = other.join().unwrap_or_default();
    Ok(())
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("corewire-lab-core-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)
            .map_err(|error| failure(error.to_string(), "a folder for the core"))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}
