//! One run: a core is started, UEs come and go in rounds, the core is ended.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;

use super::core::{Core, Trace, failure};
use super::plan::{Case, What};
use super::round::{self, AT_ONCE, Round};
use super::usage::{self, Cpu};
use super::{discovery, hops};
use crate::machine::LoadWatch;
use crate::record::{Failure, MachineLoad};
use crate::scenario::NoResult;
use crate::stop::Stop;

/// Traced rounds, of which the one with the median registration is shown.
const TRACED_ROUNDS: usize = 5;
/// UEs from which on memory is said: with fewer it is what a process needs anyway.
const MEMORY_UES: u32 = 1000;

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
    /// By NF, over all rounds: CPU time for registrations and sessions, and for detaching.
    pub(super) cpu: Cpu,
    pub(super) detach_cpu: Cpu,
    /// By NF: resident memory before the first of many UEs, and with all of them attached.
    pub(super) memory: Option<Vec<(String, (u64, u64))>>,
    /// Steps of one UE, hop by hop.
    pub(super) hops: Vec<Value>,
    pub(super) discovery: Option<discovery::Found>,
    pub(super) load: MachineLoad,
    pub(super) partial: bool,
}

impl Bench {
    pub(super) fn new(patience: u64) -> anyhow::Result<Self> {
        Ok(Self {
            program: std::env::current_exe().context("the path of this program is not known")?,
            patience: Duration::from_secs(patience),
        })
    }

    /// Runs one case; `traced`: with a second core that writes down every hop.
    pub(super) fn run(
        &self,
        case: &Case,
        rounds: u64,
        traced: bool,
        stop: &Stop,
    ) -> Result<Raw, NoResult> {
        if case.what == What::Discovery {
            return self.discover(case, rounds);
        }
        let folder = Folder::new()?;
        let core = Core::up(&self.program, &folder.0, case, Trace::Off)?;
        let patience = self.patience + Duration::from_millis(50) * case.ues;
        let round = || round::run(&self.program, &core, case, patience, None);
        // Connections are made, services found, pages touched: by a hundred UEs at most, so that
        // what more of them need is seen.
        let few = Case {
            ues: case.ues.min(AT_ONCE),
            ..case.clone()
        };
        round::run(&self.program, &core, &few, patience, None)?;
        let mut memory = None;
        if case.ues >= MEMORY_UES {
            let empty = usage::memory(&core.nfs);
            let full = round()?.memory;
            let each = core.nfs.iter().zip(empty.into_iter().zip(full));
            memory = Some(each.map(|(nf, held)| (nf.name.clone(), held)).collect());
        }
        let (mut all, begun) = (Vec::new(), Instant::now());
        let load = LoadWatch::begin();
        let wanted = usize::try_from(rounds).unwrap_or(usize::MAX);
        let (mut cpu, mut detach_cpu) = (Cpu::new(), Cpu::new());
        while all.len() < wanted && !stop.asked() {
            let one = round()?;
            usage::add(&mut cpu, one.cpu.clone());
            usage::add(&mut detach_cpu, one.detach_cpu.clone());
            all.push(one);
        }
        let wall = begun.elapsed();
        if all.is_empty() {
            return Err(NoResult::Stopped);
        }
        let nfs: Duration = cpu.iter().chain(&detach_cpu).map(|(_, cpu)| *cpu).sum();
        let ran: Duration = all.iter().map(|round| round.ran_cpu).sum();
        let load = load.end(nfs + ran);
        drop(core);
        Ok(Raw {
            partial: all.len() < wanted,
            rounds: all,
            wall,
            cpu,
            detach_cpu,
            memory,
            hops: if traced && !stop.asked() {
                self.hops(case, patience)?
            } else {
                Vec::new()
            },
            discovery: None,
            load,
        })
    }

    /// The hops of one UE's registration and session, of the round with the median registration.
    fn hops(&self, case: &Case, patience: Duration) -> Result<Vec<Value>, Failure> {
        let folder = Folder::new()?;
        let core = Core::up(&self.program, &folder.0, case, Trace::EveryHop)?;
        round::run(&self.program, &core, case, patience, None)?;
        let mut seen = Vec::new();
        for number in 0..TRACED_ROUNDS {
            let ran = folder.0.join(format!("ran-{number}"));
            let one = round::run(&self.program, &core, case, patience, Some(&ran))?;
            let took = one.registration_us.values.first().copied();
            seen.push((took.unwrap_or(f64::INFINITY), ran));
        }
        // The files are whole when their writers have ended.
        drop(core);
        seen.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (_, ran) = &seen[seen.len() / 2];
        let of_step = |step| {
            hops::of_step(&folder.0, ran, step)
                .ok_or_else(|| failure(format!("nothing of the step {step}"), "the trace"))
        };
        Ok(vec![of_step("registration")?, of_step("session")?])
    }

    /// What discovery costs an NRF with this many profiles that fit.
    fn discover(&self, case: &Case, rounds: u64) -> Result<Raw, NoResult> {
        let (begun, load) = (Instant::now(), LoadWatch::begin());
        let found = discovery::run(&self.program, case, rounds)?;
        Ok(Raw {
            rounds: Vec::new(),
            wall: begun.elapsed(),
            cpu: vec![("nrf".to_owned(), found.cpu)],
            detach_cpu: Cpu::new(),
            memory: None,
            hops: Vec::new(),
            load: load.end(found.cpu),
            discovery: Some(found),
            partial: false,
        })
    }
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
        // It may have gone already.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
