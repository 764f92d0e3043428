//! The RMR scenario: message routing over every transport, as "Suitability of gRPC for RMR
//! Communications" measured three of them.
//!
//! Plain C programs send and receive through whatever RMR library they are told to load; the lab
//! starts them as processes, gives them a route table, and draws the brief's tables and figures
//! from what they say.

mod args;
mod condition;
mod events;
mod figures;
mod plan;
mod profile;
mod programs;
mod run;
mod subjects;
mod table;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

use self::plan::Request;
use self::profile::Spec;
use self::programs::Programs;
use self::run::{Bench, Raw};
use self::subjects::{Catalog, End, Subject};
use self::table::Tables;
use crate::guti::NetworkBaseline;
use crate::probe;
use crate::process::{CpuPlan, Cpus};
use crate::record::{Baseline, Failure, Record};
use crate::scenario::{Figures, Length, NoResult, Outcome, Plan, Scenario, Step};
use crate::stop::Stop;
use crate::units::Rate;

pub(crate) use self::args::{EXAMPLES, RmrArgs};
pub(crate) use self::condition::{Condition, NAME, Nagle, Pin, name};
pub(crate) use self::profile::HIGH;
pub(crate) use self::subjects::DESCRIPTIONS;

/// Where a record keeps what `--resume` needs.
const REQUEST: &str = "request";

/// The scenario, ready to run.
#[derive(Debug)]
pub(crate) struct Rmr {
    request: Request,
    subjects: Vec<Subject>,
    bench: Bench,
    /// The peers' programs measure it; without them there is none.
    baseline: Result<NetworkBaseline, String>,
    named: bool,
}

impl Rmr {
    /// Of a command line that does not resume.
    pub(crate) fn new(args: &RmrArgs) -> anyhow::Result<Self> {
        let rates = args.rate.iter().map(|rate| match rate {
            Rate::Max => None,
            Rate::PerSecond(rate) => Some(*rate),
        });
        let request = Request {
            profile: args.common.profile,
            transports: args.transport.clone(),
            rates: rates.collect(),
            sizes: args.size.clone(),
            nagle: args.nagle.clone(),
            pin: args.pin.clone(),
            mtu: args.mtu.clone(),
            senders: args.senders.clone(),
            receivers: args.receivers.clone(),
            routes: args.routes.clone(),
            swaps_per_s: args.swaps_per_s.clone(),
            exchange: args.exchange.clone(),
            repeat: args.common.repeat,
            server_cpu: args.common.server_cpu,
            libraries: args.rmr_lib.clone(),
            sender_library: args.rmr_sender_lib.clone(),
            receiver_library: args.rmr_receiver_lib.clone(),
        };
        Self::of(request, args)
    }

    /// With the options of the records of `dir`.
    pub(crate) fn resumed(records: &[Record], dir: &Path, args: &RmrArgs) -> anyhow::Result<Self> {
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

    fn of(mut request: Request, args: &RmrArgs) -> anyhow::Result<Self> {
        request.check()?;
        let programs = Programs::find(args.peers.peers_dir.as_deref())?;
        let cpus = CpuPlan::choose(request.server_cpu)?;
        let catalog = Catalog::new(&request, args.own_lib.as_deref(), &programs)?;
        let mut subjects = catalog.subjects(&request.transports)?;
        let named = !request.transports.is_empty();
        let spec = Spec::of(request.profile);
        let bench = Bench {
            programs,
            cpus: cpus.clone(),
            all_cpus: Cpus::allowed()?,
            warm_up: spec.warm_up,
            patience: Duration::from_secs(args.common.patience),
            tables: Tables::new().context("cannot make a directory for route tables")?,
        };
        try_libraries(&mut subjects, &bench);
        let holes: Vec<String> = subjects
            .iter()
            .filter_map(|subject| {
                Some(format!(
                    "{}: {}",
                    subject.name,
                    subject.ends.as_ref().err()?
                ))
            })
            .collect();
        if holes.len() == subjects.len() {
            bail!("nothing can be run: {}", holes.join("; "));
        }
        try_network(&request, &spec, &bench)?;
        // By name from now on: a resumed session must have the same subjects.
        request.transports = subjects.iter().map(|one| one.name.clone()).collect();
        let peers = args.peers.peers_dir.as_deref();
        Ok(Self {
            baseline: NetworkBaseline::new(peers, cpus, spec.baseline)
                .map_err(|error| error.to_string()),
            request,
            subjects,
            bench,
            named,
        })
    }

    /// What the user should know about the choice of cores.
    pub(crate) fn caveat(&self) -> Option<&str> {
        self.bench.cpus.caveat.as_deref()
    }
}

/// A library that cannot listen is a hole from the start, with the reason in its own words.
fn try_libraries(subjects: &mut [Subject], bench: &Bench) {
    let mut tried: Vec<(End, Result<(), Failure>)> = Vec::new();
    let mut verdict = |end: &End| {
        if let Some((_, verdict)) = tried.iter().find(|(known, _)| known == end) {
            return verdict.clone();
        }
        let verdict = bench.probe(end);
        tried.push((end.clone(), verdict.clone()));
        verdict
    };
    for subject in subjects {
        if let Ok((sender, receiver)) = &subject.ends
            && let Err(failure) = verdict(sender).and_then(|()| verdict(receiver))
        {
            subject.ends = Err(failure);
        }
    }
}

/// Whether the links that were asked for can be made, before an hour has gone by.
fn try_network(request: &Request, spec: &Spec, bench: &Bench) -> anyhow::Result<()> {
    let groups = request.groups(spec);
    if let Some(mtu) = groups.iter().find_map(|group| group.condition.mtu)
        && let Err(failure) = crate::network::Network::new(Some(mtu), &bench.all_cpus)
    {
        bail!("{failure}");
    }
    Ok(())
}

impl Scenario for Rmr {
    fn name(&self) -> &'static str {
        NAME
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
        let cpus = &self.bench.cpus;
        options.insert("receiver_cpus".into(), cpus.server.to_string().into());
        options.insert("sender_cpus".into(), cpus.client.to_string().into());
        options.insert("warmup_s".into(), self.bench.warm_up.as_secs_f64().into());
        let libraries: Map<String, Value> = self
            .subjects
            .iter()
            .filter_map(|subject| {
                let (sender, receiver) = subject.ends.as_ref().ok()?;
                let mut words = sender.library.display().to_string();
                if receiver.library != sender.library {
                    words.push_str(&format!(" to {}", receiver.library.display()));
                }
                Some((subject.name.clone(), words.into()))
            })
            .collect();
        options.insert("libraries".into(), libraries.into());
        options
    }

    fn probe(&self) -> Option<f64> {
        probe::line_ns(&self.bench.cpus)
    }

    fn baseline(&mut self, stop: &Stop) -> Result<Baseline, Failure> {
        match &self.baseline {
            Ok(baseline) => baseline.measure(stop),
            Err(reason) => Err(Failure {
                what: reason.clone(),
                place: "network baseline".to_owned(),
                next: String::new(),
            }),
        }
    }

    fn run(&mut self, step: &Step, stop: &Stop) -> Outcome {
        let name = &step.cell.subject;
        let subject = self.subjects.iter().find(|subject| subject.name == *name);
        let Some(subject) = subject else {
            unreachable!("a plan is made of the subjects");
        };
        let condition = Condition::of(&step.cell);
        let (Length::Window(window) | Length::Fixed(window)) = step.length else {
            unreachable!("this scenario's plan measures for a time");
        };
        match self.bench.run(subject, &condition, window, stop) {
            Ok(raw) => outcome(&raw, &condition),
            Err(NoResult::Failed(failure)) => Outcome::failed(failure),
            Err(NoResult::Stopped) => Outcome::of(Ok(Figures::Nothing)),
        }
    }
}

fn outcome(raw: &Raw, condition: &Condition) -> Outcome {
    let figures = figures::measured(raw, condition).map(Box::new);
    let result = match figures {
        Ok(measured) if raw.partial => Ok(Figures::Partial(measured)),
        Ok(measured) => Ok(Figures::Complete(measured)),
        Err(_) if raw.partial => Ok(Figures::Nothing),
        Err(failure) => Err(failure),
    };
    Outcome {
        machine_load: Some(raw.load),
        extra: figures::extra(raw, condition),
        ..Outcome::of(result)
    }
}
