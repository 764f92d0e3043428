//! The inline mesh beside the sidecar it replaces: the experiment of "Toward 6G Core Architecture
//! Using an Inline Service Mesh" (SK Telecom and Intel), figures 5, 11 and 12, over every path that
//! a message can take here.

mod args;
mod bench;
mod case;
mod control;
mod figures;
mod network;
mod path;
mod plan;
mod profile;
mod programs;
mod refusals;
mod run;
mod scratch;
mod talk;
mod topology;
mod update;
mod usage;

use std::path::Path as FilePath;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

pub(crate) use self::args::{EXAMPLES, Http2Args, MeshArgs, Mtls};
pub(crate) use self::case::NAME;
pub(crate) use self::path::PATHS;
pub(crate) use self::programs::Programs;

use self::bench::Bench;
use self::case::Case;
use self::plan::{Request, Subject};
use self::profile::Spec;
use crate::certificates::{Certificates, Host};
use crate::probe;
use crate::process::CpuPlan;
use crate::record::{Baseline, Failure, Record};
use crate::scenario::{Figures, NoResult, Outcome, Plan, Scenario, Step};
use crate::stop::Stop;

/// Where a record keeps what `--resume` needs.
const REQUEST: &str = "request";

/// The experiment, ready to run.
#[derive(Debug)]
pub(crate) struct Mesh {
    request: Request,
    subjects: Vec<Subject>,
    bench: Bench,
    baseline_window: Duration,
}

impl Mesh {
    /// Of a command line that does not resume.
    pub(crate) fn new(args: &MeshArgs) -> anyhow::Result<Self> {
        let request = Request {
            profile: args.common.profile,
            paths: args.path.clone(),
            named: !args.path.is_empty(),
            rates: Request::rates_of(&args.rate),
            replicas: args.replicas.clone(),
            replica_mode: args.replica_mode,
            envoy_per_replica: args.envoy_per_replica,
            hops: args.hops.clone(),
            gateways: args.gateways.clone(),
            mtls: args.mtls,
            measure: args.measure.clone(),
            in_flight: args.in_flight,
            repeat: args.common.repeat,
            server_cpu: args.common.server_cpu,
        };
        Self::of(request, args)
    }

    /// With the options of the records of `dir`.
    pub(crate) fn resumed(
        records: &[Record],
        dir: &FilePath,
        args: &MeshArgs,
    ) -> anyhow::Result<Self> {
        let Some(last) = records.iter().rfind(|record| record.cell.scenario == NAME) else {
            bail!(
                "{} holds no run of {NAME}; start anew without --resume",
                dir.display()
            );
        };
        let request = last.options.get(REQUEST).cloned().unwrap_or(Value::Null);
        let request = serde_json::from_value(request)
            .with_context(|| format!("{} does not say how it was started", dir.display()))?;
        Self::of(request, args)
    }

    fn of(mut request: Request, args: &MeshArgs) -> anyhow::Result<Self> {
        request.check()?;
        let programs = Programs::find(args.envoy.as_deref(), args.peers.peers_dir.as_deref())?;
        let subjects: Vec<Subject> = path::chosen(&request.paths)?
            .into_iter()
            .map(|path| Subject {
                path,
                hole: match request.mtls {
                    Mtls::On => path.lacks_tls().or_else(|| programs.hole(path)),
                    Mtls::Off => programs.hole(path),
                },
            })
            .collect();
        if subjects.iter().all(|subject| subject.hole.is_some()) {
            let holes: Vec<String> = subjects
                .iter()
                .filter_map(|subject| subject.hole.as_ref().map(ToString::to_string))
                .collect();
            bail!("nothing can be run: {}", holes.join("; "));
        }
        // By name from now on: a resumed session must have the same subjects.
        request.paths = subjects
            .iter()
            .map(|subject| subject.path.name.to_owned())
            .collect();
        let spec = Spec::of(request.profile);
        Ok(Self {
            bench: Bench {
                programs,
                cpus: CpuPlan::choose(request.server_cpu)?,
                in_flight: request.in_flight,
                certificates: None,
                warmup: spec.warmup,
                patience: Duration::from_secs(args.common.patience),
            },
            baseline_window: spec.baseline,
            request,
            subjects,
        })
    }

    /// What the user should know about the choice of cores.
    pub(crate) fn caveat(&self) -> Option<&str> {
        self.bench.cpus.caveat.as_deref()
    }
}

impl Scenario for Mesh {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self, dir: &FilePath) -> anyhow::Result<()> {
        if self.request.mtls == Mtls::On {
            let name = Host::Name(control::CERTIFIED.to_owned());
            self.bench.certificates = Some(Certificates::make(dir, Some(name))?);
        }
        Ok(())
    }

    fn plan(&self) -> Plan {
        plan::make(&self.request, &self.subjects)
    }

    fn holes_are_failures(&self) -> bool {
        self.request.named
    }

    fn cpus(&mut self) -> Option<&mut CpuPlan> {
        Some(&mut self.bench.cpus)
    }

    fn options(&self) -> Map<String, Value> {
        let mut options = Map::new();
        // Plain data, so this cannot fail; null would be refused by --resume.
        let request = serde_json::to_value(&self.request).unwrap_or(Value::Null);
        options.insert(REQUEST.into(), request);
        let cpus = &self.bench.cpus;
        options.insert("server_cpus".into(), cpus.server.to_string().into());
        options.insert("client_cpus".into(), cpus.client.to_string().into());
        options.insert("warmup_s".into(), self.bench.warmup.as_secs_f64().into());
        options.insert(
            "baseline_s".into(),
            self.baseline_window.as_secs_f64().into(),
        );
        options
    }

    fn probe(&self) -> Option<f64> {
        probe::line_ns(&self.bench.cpus)
    }

    fn baseline(&mut self, _stop: &Stop) -> Result<Baseline, Failure> {
        network::baseline(&self.bench.cpus, self.baseline_window)
    }

    fn run(&mut self, step: &Step, stop: &Stop) -> Outcome {
        let Some(case) = Case::of(&step.cell) else {
            unreachable!("a plan is made of cases");
        };
        match self.bench.run(&case, step.length, stop) {
            Ok(raw) => {
                let measured = Box::new(raw.measured);
                let figures = if !raw.partial {
                    Figures::Complete(measured)
                } else if measured.requests == 0 {
                    Figures::Nothing
                } else {
                    Figures::Partial(measured)
                };
                Outcome {
                    result: Ok(figures),
                    machine_load: Some(raw.load),
                    extra: raw.extra,
                    versions: raw.versions,
                }
            }
            Err(NoResult::Failed(failure)) => Outcome::failed(failure),
            Err(NoResult::Stopped) => Outcome::of(Ok(Figures::Nothing)),
        }
    }
}
