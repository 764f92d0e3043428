//! How long a changed route takes to be obeyed: from the moment before the control plane's file is
//! replaced by the new one to the first request that goes where it says, of the last of the gateways.
//!
//! Two groups of replicas serve the same name; the file sends everything to one of them and then to
//! the other. A second route, which no request matches, names both at all times, so that neither
//! group has to be connected to anew: what is timed is the policy, not the network.

use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value};

use super::bench::{Bench, Raw, total_cpu};
use super::case::Case;
use super::control::Service;
use super::talk::LOOK;
use super::topology::{Place, SERVICE, Topology, spawn, words};
use super::usage::{Role, Watched};
use crate::guti::latency;
use crate::harness::Moments;
use crate::machine::LoadWatch;
use crate::process::{Output, Process};
use crate::record::{BINS_50US, BothSides, Failure, LatencyHistogram, LatencyKind, Measured};
use crate::scenario::NoResult;
use crate::talk::{gone, late, parse};

/// Groups of replicas by the names that they answer with.
const GROUPS: [&str; 2] = ["blue", "green"];
/// Between a change that is obeyed and the next.
const PAUSE: Duration = Duration::from_millis(60);
/// The gateway goes on for longer than the changes take.
const LONG: &str = "3600";

/// Changes the route so many times.
pub(super) fn run(
    bench: &Bench,
    place: &Place<'_>,
    case: &Case,
    changes: u64,
    ours: &mut Vec<u32>,
) -> Result<Raw, NoResult> {
    let mut topology = Topology::start(place, case, &GROUPS)?;
    let watch = LoadWatch::begin();
    split(&mut topology);
    send_to(&mut topology, 0)?;
    let share = case.rate.unwrap_or(2_000) as f64 / f64::from(case.gateways);
    let rate = share.to_string();
    let transport = case.path.transport();
    let mut arguments = words(&[
        "nf",
        "smf-gateway",
        "--json",
        "--watch",
        "--transport",
        transport,
        "--target",
        &topology.target,
        "--rate",
        &rate,
        "--warmup",
        "0",
        "--duration",
        LONG,
    ]);
    arguments.extend(topology.gateway_tls.iter().cloned());
    let mut gateways = Vec::new();
    for _ in 0..case.gateways {
        gateways.push(spawn(
            &bench.programs.corewire,
            arguments.clone(),
            &topology.environment,
            &bench.cpus.client,
        )?);
    }
    let mut watched = topology.watched();
    watched.extend(gateways.iter().map(|gateway| Watched {
        role: Role::Gateway,
        pid: gateway.id(),
    }));
    ours.extend(watched.iter().map(|it| it.pid));
    let before = total_cpu(&watched);
    let begun = Instant::now();
    let talk = Talk {
        gateways: &gateways,
        place,
    };
    talk.await_served_by(GROUPS[0])?;
    let mut latencies = Vec::new();
    for change in 0..changes {
        let group = (change as usize + 1) % GROUPS.len();
        match talk.pass(PAUSE) {
            Err(NoResult::Stopped) => break,
            other => other?,
        }
        let changed = now_ns();
        send_to(&mut topology, group)?;
        match talk.await_served_by(GROUPS[group]) {
            Ok(sent) => latencies.push(sent.saturating_sub(changed)),
            Err(NoResult::Stopped) => break,
            Err(failed) => return Err(failed),
        }
    }
    if latencies.is_empty() {
        return Err(NoResult::Stopped);
    }
    let load = watch.end(total_cpu(&watched).saturating_sub(before));
    let mut extra = Map::new();
    extra.insert("changes".into(), latencies.len().into());
    extra.insert("offered_rate".into(), case.rate.into());
    extra.insert("replicas".into(), case.replicas.into());
    Ok(Raw {
        partial: (latencies.len() as u64) < changes,
        measured: figures(&latencies, begun.elapsed())?,
        load,
        extra,
        versions: topology.versions.clone(),
    })
}

/// The second group becomes a service of its own.
fn split(topology: &mut Topology) {
    let endpoints = topology
        .config
        .services
        .first()
        .map(|service| service.endpoints.clone())
        .unwrap_or_default();
    let of_group = |group: usize| -> Vec<String> {
        let own = endpoints.iter().skip(group).step_by(GROUPS.len());
        own.cloned().collect()
    };
    topology.config.services = vec![
        Service {
            name: SERVICE.to_owned(),
            endpoints: of_group(0),
        },
        Service {
            name: other(),
            endpoints: of_group(1),
        },
    ];
}

fn other() -> String {
    format!("{SERVICE}-{}", GROUPS[1])
}

/// Sends every request to this group from now on.
fn send_to(topology: &mut Topology, group: usize) -> Result<(), NoResult> {
    let names = [SERVICE.to_owned(), other()];
    let mut routes = String::new();
    for name in &names {
        routes.push_str(&format!(
            "\n[[route]]\nservice = \"{SERVICE}\"\nheaders = [{{ name = \"x-nobody-sends-this\", \
             exact = \"{name}\" }}]\nto = [{{ service = \"{name}\" }}]\n"
        ));
    }
    routes.push_str(&format!(
        "\n[[route]]\nservice = \"{SERVICE}\"\nto = [{{ service = \"{}\" }}]\n",
        names[group]
    ));
    topology.config.routes = routes;
    topology.write_config()
}

/// The gateways' words, as long as they are there.
struct Talk<'a> {
    gateways: &'a [Process],
    place: &'a Place<'a>,
}

impl Talk<'_> {
    /// Waits until a request of each gateway was answered by this group; gives when the first such
    /// request of the last of them was sent.
    fn await_served_by(&self, group: &str) -> Result<u64, NoResult> {
        let deadline = Instant::now() + self.place.patience;
        let mut last = 0;
        // One after the other: what the others say meanwhile is kept.
        for gateway in self.gateways {
            last = last.max(self.await_one(gateway, group, deadline)?);
        }
        Ok(last)
    }

    fn await_one(
        &self,
        gateway: &Process,
        group: &str,
        deadline: Instant,
    ) -> Result<u64, NoResult> {
        loop {
            if self.place.stop.asked() {
                return Err(NoResult::Stopped);
            }
            if Instant::now() >= deadline {
                let what = format!("sent no request to the group {group}");
                return Err(late(gateway, &what, self.place.patience).into());
            }
            match gateway.output(LOOK) {
                Output::Line(line) => {
                    if let Some(sent) = read(gateway, &line, group)? {
                        return Ok(sent);
                    }
                }
                Output::End => return Err(gone(gateway, "between two changes").into()),
                Output::Silence => {}
            }
        }
    }

    /// Lets time pass.
    fn pass(&self, time: Duration) -> Result<(), NoResult> {
        let deadline = Instant::now() + time;
        while !self.place.stop.asked() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
        Err(NoResult::Stopped)
    }
}

fn read(gateway: &Process, line: &str, group: &str) -> Result<Option<u64>, NoResult> {
    if let crate::harness::Event::Error(error) = parse(gateway, line)? {
        return Err(NoResult::Failed(Failure {
            what: error.what,
            place: format!("{}, {}", gateway.name(), error.place),
            next: String::new(),
        }));
    }
    let event: Value = serde_json::from_str(line).unwrap_or_default();
    let is_it = event["event"] == "served-by" && event["name"] == group;
    Ok(event["sent_ns"].as_u64().filter(|_| is_it))
}

/// The clock of the gateway's timestamps.
fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// A record's figures of times that are no requests.
pub(super) fn figures(latencies: &[u64], duration: Duration) -> Result<Measured, Failure> {
    let broken = |error: crate::record::HistogramError| Failure {
        what: error.to_string(),
        place: "times between events".to_owned(),
        next: String::new(),
    };
    let histogram = LatencyHistogram::from_counts(latencies.iter().map(|ns| (*ns, 1)));
    let histogram = histogram.map_err(broken)?;
    let count = latencies.len() as f64;
    let mean = latencies.iter().sum::<u64>() as f64 / count;
    let deviation = |ns: &u64| (*ns as f64 - mean).powi(2);
    let moments = Moments {
        min: latencies.iter().min().copied().unwrap_or(0) as f64,
        max: latencies.iter().max().copied().unwrap_or(0) as f64,
        mean,
        stddev: (latencies.iter().map(deviation).sum::<f64>() / count).sqrt(),
    };
    let mut bins = vec![0; BINS_50US];
    for ns in latencies {
        let bin = usize::try_from(ns / 50_000).unwrap_or(BINS_50US);
        bins[bin.min(BINS_50US - 1)] += 1;
    }
    let nobody = BothSides {
        server: None,
        client: None,
    };
    let duration_s = duration.as_secs_f64().max(1e-9);
    Ok(Measured {
        duration_s,
        requests: latencies.len() as u64,
        errors: 0,
        qps: count / duration_s,
        bytes_per_s: 0.0,
        latency_us: latency(moments, &histogram),
        latency_kind: LatencyKind::OneWay,
        histogram_50us: bins,
        hdr: histogram.encode().map_err(broken)?,
        cpu_us_per_request: nobody,
        cpu_percent: nobody,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_figures() {
        let figures = figures(&[1_000_000, 3_000_000], Duration::from_secs(2)).expect("two");
        assert_eq!((figures.requests, figures.qps), (2, 1.0));
        let latency = figures.latency_us;
        assert_eq!(
            (latency.min, latency.mean, latency.max),
            (1000.0, 2000.0, 3000.0)
        );
        assert!((latency.stddev - 1000.0).abs() < 1e-9);
        assert_eq!(figures.histogram_50us[20], 1);
    }
}
