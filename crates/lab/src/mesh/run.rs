//! One run: everything that stands around the gateways, the gateways, and what all of them used of
//! the machine.

use std::time::Duration;

use serde_json::{Map, Value};

use super::args::Measure;
use super::bench::{Bench, Raw, total_cpu};
use super::case::{Case, PAYLOAD};
use super::path::Ends;
use super::talk::{Terms, results};
use super::topology::{Place, Topology, spawn, words};
use super::usage::{Role, Usage, Used, Watched};
use super::{figures, refusals, update};
use crate::machine::LoadWatch;
use crate::process::Process;
use crate::quiet::RealTimeWatch;
use crate::record::{Failure, Measured};
use crate::scenario::{Length, NoResult};
use crate::stop::Stop;

/// Runs that another real-time program spoilt are done again, so often.
const AGAIN: u32 = 2;

impl Bench {
    /// Runs one case.
    pub(super) fn run(&self, case: &Case, length: Length, stop: &Stop) -> Result<Raw, NoResult> {
        let mut spoilt = 0;
        loop {
            let watch = RealTimeWatch::begin();
            let mut ours = Vec::new();
            let result = self.attempt(case, length, stop, &mut ours);
            if stop.asked() && result.is_err() {
                // What breaks while all is being stopped says nothing about the path.
                return Err(NoResult::Stopped);
            }
            let Some(other) = watch.end(&ours) else {
                return result;
            };
            if stop.asked() {
                return result;
            }
            spoilt += 1;
            if spoilt > AGAIN {
                return Err(NoResult::Failed(Failure {
                    what: format!("discarded: {other} meanwhile, {spoilt} times"),
                    place: format!("measuring {}", case.path.name),
                    next: "two real-time programs at once measure each other: run this again \
                           with --resume when that one has ended"
                        .to_owned(),
                }));
            }
        }
    }

    fn attempt(
        &self,
        case: &Case,
        length: Length,
        stop: &Stop,
        ours: &mut Vec<u32>,
    ) -> Result<Raw, NoResult> {
        let place = Place {
            programs: &self.programs,
            cpus: &self.cpus,
            certificates: self.certificates.as_ref(),
            patience: self.patience,
            stop,
        };
        match (case.measure, length) {
            (_, Length::Requests(changes)) => update::run(self, &place, case, changes, ours),
            (Measure::Refusals, Length::Window(window) | Length::Fixed(window)) => {
                refusals::run(self, &place, case, window, ours)
            }
            (_, Length::Window(window) | Length::Fixed(window)) => {
                self.load(&place, case, window, ours)
            }
        }
    }

    fn load(
        &self,
        place: &Place<'_>,
        case: &Case,
        window: Duration,
        ours: &mut Vec<u32>,
    ) -> Result<Raw, NoResult> {
        let topology = Topology::start(place, case, &[])?;
        let begun = LoadWatch::begin();
        let mut watched = topology.watched();
        ours.extend(watched.iter().map(|it| it.pid));
        let ours_before = total_cpu(&watched);
        let mut gateways = Vec::new();
        for _ in 0..case.gateways {
            gateways.push(self.gateway(case, &topology, window)?);
        }
        watched.extend(gateways.iter().map(|gateway| Watched {
            role: Role::Gateway,
            pid: gateway.id(),
        }));
        ours.extend(gateways.iter().map(Process::id));
        let terms = Terms {
            warmup: self.warmup,
            window,
            patience: self.patience,
        };
        let mut before = None;
        let mut after = None;
        let found = results(
            &gateways,
            &topology.processes(),
            terms,
            place.stop,
            || before = Some(Usage::now(&watched)),
            || after = Some(Usage::now(&watched)),
        )?;
        let load = begun.end(total_cpu(&watched).saturating_sub(ours_before));
        let missing = || {
            NoResult::Failed(Failure {
                what: "the gateways did not say when they measured".to_owned(),
                place: case.path.name.to_owned(),
                next: String::new(),
            })
        };
        let own: Vec<Option<Duration>> = found
            .iter()
            .map(|result| result.client_cpu_ns.map(Duration::from_nanos))
            .collect();
        let used = after
            .zip(before)
            .map(|(after, before)| after.since(&before, &own));
        let used = used.ok_or_else(missing)?;
        let mut result = figures::merged(found).ok_or_else(missing)?;
        result.server_cpu_ns = Some(nanoseconds(used.cpu(Role::Replica)));
        let measured = figures::of(&result)?;
        let mut versions = topology.versions.clone();
        versions.extend(result.versions.clone());
        Ok(Raw {
            extra: self.extra(case, &result, &used, &measured)?,
            partial: result.partial,
            measured,
            load,
            versions,
        })
    }

    /// Starts one of the gateways.
    fn gateway(
        &self,
        case: &Case,
        topology: &Topology,
        window: Duration,
    ) -> Result<Process, NoResult> {
        let mut arguments = match case.path.gateway {
            Ends::Corewire(transport) => words(&["nf", "smf-gateway", "--transport", transport]),
            Ends::Peer(kind) => words(&["--kind", kind]),
            Ends::Reference(kind) => words(&["gateway", "--kind", kind]),
        };
        let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        option("--target", topology.target.clone());
        match case.rate {
            Some(rate) => {
                let share = rate as f64 / f64::from(case.gateways);
                option("--rate", share.to_string());
            }
            None => {
                option("--rate", "max".to_owned());
                option("--in-flight", self.in_flight.to_string());
            }
        }
        option("--payload", PAYLOAD.to_string());
        option("--duration", window.as_secs_f64().to_string());
        option("--warmup", self.warmup.as_secs_f64().to_string());
        option("--patience", self.patience.as_secs_f64().to_string());
        option("--connect", case.replicas.to_string());
        arguments.push("--json".to_owned());
        if case.path.alike && case.path.gateway != Ends::Reference("nghttp2") {
            arguments.push("--alike".to_owned());
        }
        arguments.extend(topology.gateway_tls.iter().cloned());
        let program = match (case.path.gateway, &self.programs.peers) {
            (Ends::Peer(_), Some((gateway, _))) => gateway,
            (Ends::Reference(_), _) => self.programs.reference_or_this(),
            _ => &self.programs.corewire,
        };
        spawn(program, arguments, &topology.environment, &self.cpus.client)
    }

    fn extra(
        &self,
        case: &Case,
        result: &crate::harness::PeerResult,
        used: &Used,
        measured: &Measured,
    ) -> Result<Map<String, Value>, NoResult> {
        let mut extra = Map::new();
        extra.insert("replicas".into(), case.replicas.into());
        extra.insert("replica_mode".into(), case.replica_mode.name().into());
        extra.insert("hops".into(), case.hops.into());
        extra.insert("gateways".into(), case.gateways.into());
        extra.insert("offered_rate".into(), case.rate.into());
        if case.rate.is_none() {
            extra.insert("in_flight".into(), self.in_flight.into());
        }
        figures::extra(result, &mut extra)?;
        let window = Duration::from_secs_f64(measured.duration_s);
        used.fields(measured.requests, window, &mut extra);
        Ok(extra)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
