//! What every kind of run of a session needs, and what it comes to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::programs::Programs;
use super::usage::Watched;
use crate::certificates::Certificates;
use crate::machine::process_cpu;
use crate::process::CpuPlan;
use crate::record::{MachineLoad, Measured};

/// What is the same for every run of a session.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) programs: Programs,
    pub(super) cpus: CpuPlan,
    pub(super) in_flight: u32,
    /// There when connections are secured.
    pub(super) certificates: Option<Certificates>,
    pub(super) warmup: Duration,
    pub(super) patience: Duration,
}

/// A run that came to a result.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) measured: Measured,
    pub(super) partial: bool,
    pub(super) load: MachineLoad,
    pub(super) extra: Map<String, Value>,
    pub(super) versions: BTreeMap<String, String>,
}

/// Of ours and of the lab itself, for the machine's books.
pub(super) fn total_cpu(watched: &[Watched]) -> Duration {
    let of_processes: Duration = watched.iter().map(|it| process_cpu(it.pid)).sum();
    of_processes + process_cpu(std::process::id())
}
