//! The GUTI evaluation: chapters 4 and 5 of the thesis "Evaluating RPC for Cloud-Native 5G Mobile
//! Network Applications", for its eight adapters and ours.

mod adapters;
mod args;
mod figures;
mod own;
mod peers;
mod plan;
mod profile;
mod run;
mod talk;
mod trial;

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Map, Value};

use self::adapters::{BASELINE, Subject};
use self::plan::Request;
use self::profile::Spec;
use self::run::{Bench, Raw};
use self::talk::NoResult;
use crate::args::{Between, Tls};
use crate::certificates::{self, Certificates};
use crate::network::{Network, Side};
use crate::probe;
use crate::process::{CpuPlan, Cpus};
use crate::record::{Baseline, Cell, Failure, Mode, Record};
use crate::scenario::{Figures, Length, Outcome, Plan, Scenario, Step};
use crate::stop::Stop;

pub(crate) use self::adapters::{Catalog, MIXED, mixed_ends, suffix};
pub(crate) use self::args::{EXAMPLES, FloorArgs, GutiArgs};
pub(crate) use self::figures::{latency, measured};
pub(crate) use self::own::OwnPeer;
pub(crate) use self::peers::Peers;
pub(crate) use self::profile::planned;
pub(crate) use self::trial::{Ends, Trial, Tried};

/// Its name on the command line and in the records.
pub(crate) const NAME: &str = "guti";

/// What Ethernet carries, between two namespaces.
const MTU: u32 = 1500;

/// Where a record keeps what `--resume` needs.
const REQUEST: &str = "request";

/// The evaluation, ready to run.
#[derive(Debug)]
pub(crate) struct Guti {
    request: Request,
    subjects: Vec<Subject>,
    bench: Bench,
    baseline_window: Duration,
    has_baseline: bool,
    /// Whether the command line names adapters.
    named: bool,
}

impl Guti {
    /// Of a command line that does not resume.
    pub(crate) fn new(args: &GutiArgs) -> anyhow::Result<Self> {
        Self::of(
            Request {
                profile: args.common.profile,
                adapters: args.adapter.clone(),
                clients: args.clients.clone(),
                payloads: args.payload.clone(),
                modes: args.mode.iter().copied().map(Mode::from).collect(),
                rates: Request::rates_of(&args.rate),
                repeat: args.common.repeat,
                minutes: args.minutes,
                connections: args.connections,
                server_cpu: args.common.server_cpu,
                listen: args.listen.clone(),
                network: args.network,
                one_core: args.one_core,
                peers: args
                    .peer
                    .iter()
                    .cloned()
                    .map(OwnPeer::found)
                    .collect::<anyhow::Result<_>>()?,
            },
            args,
        )
    }

    /// With the options of the records of `dir`.
    pub(crate) fn resumed(records: &[Record], dir: &Path, args: &GutiArgs) -> anyhow::Result<Self> {
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

    fn of(mut request: Request, args: &GutiArgs) -> anyhow::Result<Self> {
        request.check()?;
        let peers = Peers::find(args.peers.peers_dir.as_deref())?;
        let cpus = if request.one_core {
            CpuPlan::one(request.server_cpu)?
        } else {
            CpuPlan::choose(request.server_cpu)?
        };
        let network = match request.network {
            Between::Loopback => Network::Loopback,
            Between::Veth => {
                let made = Network::new(Some(MTU), &Cpus::allowed()?);
                made.map_err(|failure| anyhow!("{failure}"))?
            }
        };
        let listen = match network {
            Network::Loopback => request.listen.clone(),
            Network::Link { .. } => format!("{}:0", network.address(Side::Server)),
        };
        let mut catalog = Catalog::ask(&peers, &cpus.client)?;
        for peer in &request.peers {
            catalog.take_in(peer)?;
        }
        let spec = Spec::of(request.profile);
        let named = !request.adapters.is_empty();
        if !named {
            let own = spec.adapters.iter();
            request.adapters = own.map(|name| (*name).to_owned()).collect();
        }
        // Who brings a program wants it run; without any name every adapter is, and it among them.
        if !request.adapters.is_empty() {
            let brought = request.peers.iter().map(|peer| peer.name.clone());
            request.adapters.extend(brought);
        }
        let subjects = catalog.subjects(&request.adapters, &args.tls, request.connections)?;
        let holes: Vec<String> = subjects
            .iter()
            .filter_map(|subject| subject.hole.as_ref().map(ToString::to_string))
            .collect();
        if holes.len() == subjects.len() {
            bail!("nothing can be run: {}", holes.join("; "));
        }
        // By name from now on: a resumed session must have the same subjects.
        request.adapters = subjects.iter().map(Subject::asked).collect();
        Ok(Self {
            bench: Bench {
                peers,
                cpus,
                network: Rc::new(network),
                listen,
                warmup: spec.warmup,
                patience: Duration::from_secs(args.common.patience),
                certificates: None,
            },
            baseline_window: spec.baseline,
            has_baseline: catalog.has_baseline(),
            request,
            subjects,
            named,
        })
    }

    /// What the user should know about the choice of cores.
    pub(crate) fn caveat(&self) -> Option<&str> {
        self.bench.cpus.caveat.as_deref()
    }
}

impl Scenario for Guti {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self, dir: &Path) -> anyhow::Result<()> {
        let secured = |subject: &Subject| subject.tls != Tls::Off && subject.hole.is_none();
        if self.subjects.iter().any(secured) {
            let made = Certificates::make(dir, certificates::host_of(&self.bench.listen))?;
            self.bench.certificates = Some(made);
        }
        Ok(())
    }

    fn plan(&self) -> Plan {
        plan::make(&self.request, &self.subjects)
    }

    fn holes_are_failures(&self) -> bool {
        self.named
    }

    fn cpus(&mut self) -> Option<&mut CpuPlan> {
        Some(&mut self.bench.cpus)
    }

    fn options(&self) -> Map<String, Value> {
        let mut options = Map::new();
        // Plain data, so this cannot fail; null would be refused by --resume.
        let request = serde_json::to_value(&self.request).unwrap_or(Value::Null);
        options.insert(REQUEST.into(), request);
        options.insert(
            "server_cpus".into(),
            self.bench.cpus.server.to_string().into(),
        );
        options.insert(
            "client_cpus".into(),
            self.bench.cpus.client.to_string().into(),
        );
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

    fn baseline(&mut self, stop: &Stop) -> Result<Baseline, Failure> {
        if !self.has_baseline {
            return Err(Failure {
                what: format!("these peers do not have {BASELINE}"),
                place: "corewire-peer-client --list".to_owned(),
                next: "build them again with `make peers`".to_owned(),
            });
        }
        measure_baseline(&self.bench, self.baseline_window, stop)
    }

    fn run(&mut self, step: &Step, stop: &Stop) -> Outcome {
        let subject = self.subjects.iter().find(|subject| {
            subject.name == step.cell.subject
                && subject.connections(step.cell.clients) == step.cell.connections
        });
        let Some(subject) = subject else {
            unreachable!("a plan is made of the subjects");
        };
        match self.bench.run(subject, &step.cell, step.length, stop) {
            Ok(raw) => outcome(raw),
            Err(NoResult::Failed(failure)) => Outcome::failed(failure),
            Err(NoResult::Stopped) => Outcome::of(Ok(Figures::Nothing)),
        }
    }
}

/// One byte there and back over blocking TCP.
fn measure_baseline(bench: &Bench, window: Duration, stop: &Stop) -> Result<Baseline, Failure> {
    let cell = Cell {
        scenario: NAME.to_owned(),
        subject: BASELINE.to_owned(),
        mode: Mode::NoRate,
        rate: None,
        payload_bytes: 0,
        clients: 1,
        connections: 1,
        settings: BTreeMap::new(),
    };
    match bench.run(&Subject::baseline(), &cell, Length::Fixed(window), stop) {
        Ok(raw) => figures::baseline(&raw.result),
        Err(NoResult::Failed(failure)) => Err(failure),
        Err(NoResult::Stopped) => Err(Failure {
            what: "stopped".to_owned(),
            place: BASELINE.to_owned(),
            next: String::new(),
        }),
    }
}

/// The network baseline for the other scenarios, by this one's programs.
#[derive(Debug)]
pub(crate) struct NetworkBaseline {
    bench: Bench,
    window: Duration,
}

impl NetworkBaseline {
    /// # Errors
    /// When the programs are not there.
    pub(crate) fn new(
        peers_dir: Option<&Path>,
        cpus: CpuPlan,
        window: Duration,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            bench: Bench {
                peers: Peers::find(peers_dir)?,
                cpus,
                network: Rc::new(Network::Loopback),
                listen: "127.0.0.1:0".to_owned(),
                warmup: Duration::from_millis(20),
                patience: Duration::from_secs(10),
                certificates: None,
            },
            window,
        })
    }

    pub(crate) fn measure(&self, stop: &Stop) -> Result<Baseline, Failure> {
        measure_baseline(&self.bench, self.window, stop)
    }
}

fn outcome(
    Raw {
        result,
        load,
        server_versions,
    }: Raw,
) -> Outcome {
    let figures = if result.partial && result.requests == 0 {
        Ok(Figures::Nothing)
    } else {
        figures::measured(&result).map(Box::new).map(|measured| {
            if result.partial {
                Figures::Partial(measured)
            } else {
                Figures::Complete(measured)
            }
        })
    };
    Outcome {
        result: figures,
        machine_load: Some(load),
        extra: run::extra(&result),
        versions: server_versions.into_iter().chain(result.versions).collect(),
    }
}
