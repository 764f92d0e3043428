//! What stands around the gateway in one run: replicas, links of a chain, sidecars, the control
//! plane. They are started from the far end, so that each finds the next one listening.
//!
//! ```text
//!   direct    gateway ───────────────────────────────────────▶ replicas
//!   stages    gateway ─ stages ──────────────────────────────▶ replicas
//!   inline    gateway ─ stages ──────────────────────────────▶ replicas      control ─ xDS ─▶ gateway
//!   envoy-1   gateway ──▶ Envoy ─────────────────────────────▶ replicas      control ─ xDS ─▶ Envoy
//!   envoy-2   gateway ──▶ Envoy ──▶ Envoy, a port a replica ─▶ replicas      control ─ xDS ─▶ both
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use super::args::ReplicaMode;
use super::case::Case;
use super::control::{self, Config, Inbound, Outbound, Service};
use super::path::{Ends, Way};
use super::programs::Programs;
use super::scratch::{Scratch, free_ports};
use super::talk::{await_control, await_ports, await_ready};
use super::usage::{Role, Watched};
use crate::certificates::{Certificates, End};
use crate::process::{CpuPlan, Cpus, Process};
use crate::record::Failure;
use crate::scenario::NoResult;
use crate::stop::Stop;

/// The service whose replicas are asked at the end.
pub(super) const SERVICE: &str = "smf-pdu-session";
/// Where gRPC and our own client look for the control plane.
pub(super) const BOOTSTRAP: &str = "GRPC_XDS_BOOTSTRAP";

/// What does not change between runs.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) programs: &'a Programs,
    pub(super) cpus: &'a CpuPlan,
    pub(super) certificates: Option<&'a Certificates>,
    pub(super) patience: Duration,
    pub(super) stop: &'a Stop,
}

/// Processes around the gateway. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Topology {
    /// What the gateway is told.
    pub(super) target: String,
    /// Its options of TLS; none where the bootstrap or a sidecar has the certificates.
    pub(super) gateway_tls: Vec<String>,
    pub(super) environment: Vec<(&'static str, String)>,
    pub(super) config: Config,
    pub(super) versions: BTreeMap<String, String>,
    processes: Vec<(Role, Process)>,
    pub(super) scratch: Scratch,
}

impl Topology {
    /// Starts everything of `case` but the gateways. `groups` are names for the replicas to answer
    /// by, dealt out in turn; usually none.
    pub(super) fn start(place: &Place<'_>, case: &Case, groups: &[&str]) -> Result<Self, NoResult> {
        let mut topology = Self {
            target: String::new(),
            gateway_tls: Vec::new(),
            environment: Vec::new(),
            config: Config {
                transport: case.path.transport(),
                certificates: place.certificates.cloned(),
                has_grpc_core: matches!(case.path.gateway, Ends::Peer(_)),
                ..Config::default()
            },
            versions: BTreeMap::new(),
            processes: Vec::new(),
            scratch: Scratch::new().map_err(failed)?,
        };
        let replicas = topology.start_replicas(place, case, groups)?;
        topology.start_rest(place, case, replicas)?;
        Ok(topology)
    }

    /// Whom to watch.
    pub(super) fn watched(&self) -> Vec<Watched> {
        self.processes
            .iter()
            .map(|(role, process)| Watched {
                role: *role,
                pid: process.id(),
            })
            .collect()
    }

    /// Who must stay alive.
    pub(super) fn processes(&self) -> Vec<&Process> {
        self.processes.iter().map(|(_, process)| process).collect()
    }

    /// The service as the control plane knows it, one for each group.
    pub(super) fn write_config(&self) -> Result<(), NoResult> {
        let written = self.scratch.write("control.toml", &self.config.toml());
        written.map(drop).map_err(failed)
    }

    fn start_replicas(
        &mut self,
        place: &Place<'_>,
        case: &Case,
        groups: &[&str],
    ) -> Result<Vec<String>, NoResult> {
        let (processes, ports) = match case.replica_mode {
            ReplicaMode::Process => (case.replicas, 1),
            ReplicaMode::Port => (1, case.replicas),
        };
        // All at once, then awaited: starting takes most of them the same moment.
        let mut started = Vec::new();
        for number in 0..processes {
            let mut arguments = match case.path.replica {
                Ends::Corewire(_) => words(&["nf", "smf-pdu-session"]),
                Ends::Peer(kind) => words(&["--kind", kind]),
                Ends::Reference(kind) => words(&["replica", "--kind", kind]),
            };
            arguments.extend(words(&["--json", "--ports", &ports.to_string()]));
            arguments.extend(server_tls(place, case));
            if !groups.is_empty() {
                arguments.extend(words(&["--name", groups[number as usize % groups.len()]]));
            }
            let program = match (case.path.replica, &place.programs.peers) {
                (Ends::Peer(_), Some((_, replica))) => replica,
                (Ends::Reference(_), _) => place.programs.reference_or_this(),
                _ => &place.programs.corewire,
            };
            started.push(spawn(program, arguments, &[], &place.cpus.server)?);
        }
        let mut addresses = Vec::new();
        for process in started {
            let ready = await_ready(&process, place.patience, place.stop)?;
            self.versions.extend(ready.versions);
            if ready.addresses.is_empty() {
                addresses.push(ready.address)
            } else {
                addresses.extend(ready.addresses)
            }
            self.processes.push((Role::Replica, process));
        }
        if case.path.replica == Ends::Reference("nghttp2") {
            // It listens at one port: a connection for each place in the list.
            let one = addresses.clone();
            addresses = one
                .into_iter()
                .cycle()
                .take(case.replicas as usize)
                .collect();
        }
        Ok(addresses)
    }

    fn start_rest(
        &mut self,
        place: &Place<'_>,
        case: &Case,
        replicas: Vec<String>,
    ) -> Result<(), NoResult> {
        let chain = Chain::lay(case, replicas).map_err(failed)?;
        self.config.services = chain.services();
        if case.path.has_control() {
            self.config.outbound = chain.outbound();
            self.config.inbound = chain.inbound(case);
            self.start_control(place)?;
        }
        match case.path.way {
            Way::Envoys(_) => self.start_envoys(place)?,
            Way::Inline => {
                let ends = case.path.gateway;
                let bootstrap =
                    control::grpc_bootstrap(self.config.port, ends, place.certificates).to_string();
                let file = self.scratch.write("bootstrap.json", &bootstrap);
                let file = file.map_err(failed)?;
                self.environment
                    .push((BOOTSTRAP, file.display().to_string()));
            }
            Way::Direct | Way::Stages => {
                let made = place.certificates;
                self.gateway_tls = made.map_or_else(Vec::new, |made| made.options(End::Client));
            }
        }
        for (number, link) in chain.links.iter().enumerate().rev() {
            let mut arguments = words(&["nf", "smf-pdu-session", "--json"]);
            arguments.extend(words(&["--listen", &link.own]));
            arguments.extend(words(&["--next", &chain.target(case, number + 1)]));
            arguments.extend(words(&["--transport", case.path.transport()]));
            arguments.extend(server_tls(place, case));
            if case.path.envoys() > 0 {
                arguments.push("--next-in-clear-text".to_owned());
            }
            let corewire = &place.programs.corewire;
            let process = spawn(corewire, arguments, &self.environment, &place.cpus.server)?;
            await_ready(&process, place.patience, place.stop)?;
            self.processes.push((Role::Link, process));
        }
        self.target = chain.target(case, 0);
        Ok(())
    }

    fn start_control(&mut self, place: &Place<'_>) -> Result<(), NoResult> {
        self.config.port = free_ports(1).map_err(failed)?[0];
        self.write_config()?;
        let file = self.scratch.path("control.toml").display().to_string();
        let arguments = words(&["control", "--config", &file]);
        let control = spawn(&place.programs.corewire, arguments, &[], &place.cpus.client)?;
        await_control(&control, place.patience, place.stop)?;
        self.processes.push((Role::Control, control));
        Ok(())
    }

    /// Each is held to one core by affinity and to one worker by its own option.
    fn start_envoys(&mut self, place: &Place<'_>) -> Result<(), NoResult> {
        let outbound: Vec<u16> = self.config.outbound.iter().map(|port| port.port).collect();
        let mut envoys = vec![(
            Role::GatewaySidecar,
            control::GATEWAY_NODE.to_owned(),
            outbound,
            &place.cpus.client,
        )];
        for (number, inbound) in self.config.inbound.iter().enumerate() {
            envoys.push((
                Role::ReplicaSidecar,
                control::replica_node(number),
                inbound.iter().map(|port| port.port).collect(),
                &place.cpus.server,
            ));
        }
        let program = place.programs.envoy.as_ref().ok_or_else(|| {
            NoResult::Failed(Failure {
                what: "Envoy is not here".to_owned(),
                place: "starting sidecars".to_owned(),
                next: "run scripts/setup".to_owned(),
            })
        })?;
        let mut started = Vec::new();
        for (role, node, ports, cpus) in envoys {
            let admin = self
                .scratch
                .path(&format!("{node}.sock"))
                .display()
                .to_string();
            let bootstrap =
                control::envoy_bootstrap(&node, self.config.port, &admin, place.certificates);
            let name = format!("{node}.json");
            let file = self.scratch.write(&name, &bootstrap.to_string());
            let file = file.map_err(failed)?.display().to_string();
            let arguments = words(&[
                "-c",
                &file,
                "--concurrency",
                "1",
                "--disable-hot-restart",
                "--log-level",
                "warn",
            ]);
            started.push((role, spawn(program, arguments, &[], cpus)?, ports));
        }
        for (role, process, ports) in started {
            await_ports(&process, &ports, place.patience, place.stop)?;
            self.processes.push((role, process));
        }
        Ok(())
    }
}

/// A microservice between gateway and replicas.
#[derive(Debug)]
struct Link {
    /// Where it listens.
    own: String,
}

/// Services from the first that is asked to the replicas, with the ports of their sidecars.
#[derive(Debug)]
struct Chain {
    links: Vec<Link>,
    /// Instances of each service, as they listen.
    instances: Vec<Vec<String>>,
    /// The port of the gateway's Envoy for each service.
    outbound: Vec<u16>,
    /// The port of a replica's Envoy for each instance.
    inbound: Vec<Vec<u16>>,
}

impl Chain {
    fn lay(case: &Case, replicas: Vec<String>) -> anyhow::Result<Self> {
        let links: Vec<Link> = free_ports(case.hops as usize - 1)?
            .into_iter()
            .map(|port| Link {
                own: format!("127.0.0.1:{port}"),
            })
            .collect();
        let mut instances: Vec<Vec<String>> =
            links.iter().map(|link| vec![link.own.clone()]).collect();
        instances.push(replicas);
        let envoys = case.path.envoys();
        let ports = |wanted: bool, count| {
            if wanted {
                free_ports(count)
            } else {
                Ok(Vec::new())
            }
        };
        let outbound = ports(envoys >= 1, instances.len())?;
        let mut inbound = Vec::new();
        for instances in &instances {
            inbound.push(ports(envoys >= 2, instances.len())?);
        }
        Ok(Self {
            links,
            instances,
            outbound,
            inbound,
        })
    }

    fn name(&self, service: usize) -> String {
        if service + 1 == self.instances.len() {
            SERVICE.to_owned()
        } else {
            format!("smf-link-{}", service + 1)
        }
    }

    /// Where whoever asks this service sends its requests.
    fn target(&self, case: &Case, service: usize) -> String {
        match case.path.way {
            Way::Direct => self.instances[service].join(","),
            Way::Stages => format!("fixed:{}", self.instances[service].join(",")),
            Way::Inline => format!("xds:///{}", self.name(service)),
            Way::Envoys(_) => format!("127.0.0.1:{}", self.outbound[service]),
        }
    }

    fn services(&self) -> Vec<Service> {
        self.instances
            .iter()
            .enumerate()
            .map(|(number, instances)| Service {
                name: self.name(number),
                endpoints: match self.inbound[number].as_slice() {
                    [] => instances.clone(),
                    ports => ports
                        .iter()
                        .map(|port| format!("127.0.0.1:{port}"))
                        .collect(),
                },
            })
            .collect()
    }

    fn outbound(&self) -> Vec<Outbound> {
        let ports = self.outbound.iter().enumerate();
        ports
            .map(|(number, port)| Outbound {
                port: *port,
                service: self.name(number),
            })
            .collect()
    }

    /// One list an Envoy.
    fn inbound(&self, case: &Case) -> Vec<Vec<Inbound>> {
        let all: Vec<Inbound> = self
            .instances
            .iter()
            .flatten()
            .zip(self.inbound.iter().flatten())
            .map(|(instance, port)| Inbound {
                port: *port,
                to: instance.clone(),
            })
            .collect();
        if all.is_empty() {
            Vec::new()
        } else if case.envoy_per_replica {
            all.into_iter().map(|one| vec![one]).collect()
        } else {
            vec![all]
        }
    }
}

/// The options of TLS of a replica or a link. Behind a sidecar it speaks clear text.
fn server_tls(place: &Place<'_>, case: &Case) -> Vec<String> {
    match place.certificates {
        Some(made) if case.path.envoys() < 2 => made.options(End::Server),
        _ => Vec::new(),
    }
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(super) fn spawn(
    program: &std::path::Path,
    arguments: Vec<String>,
    environment: &[(&'static str, String)],
    cpus: &Cpus,
) -> Result<Process, NoResult> {
    let environment = environment.iter().cloned();
    Process::spawn(program, arguments, environment, cpus).map_err(failed)
}

pub(super) fn failed(error: anyhow::Error) -> NoResult {
    NoResult::Failed(Failure {
        what: format!("{error:#}"),
        place: "starting what stands around the gateway".to_owned(),
        next: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::args::Measure;
    use crate::mesh::path::Path;

    fn case(path: &str, hops: u32) -> Case {
        Case {
            path: Path::named(path).expect("known"),
            rate: None,
            replicas: 2,
            replica_mode: ReplicaMode::Port,
            hops,
            gateways: 1,
            envoy_per_replica: false,
            mtls: false,
            measure: Measure::Load,
        }
    }

    fn replicas() -> Vec<String> {
        vec!["127.0.0.1:1".into(), "127.0.0.1:2".into()]
    }

    #[test]
    fn direct_and_inline_go_to_the_replicas_themselves() {
        let direct = case("direct-rest", 1);
        let chain = Chain::lay(&direct, replicas()).expect("ports");
        assert_eq!(chain.target(&direct, 0), "127.0.0.1:1,127.0.0.1:2");
        let inline = case("inline-rest", 1);
        let chain = Chain::lay(&inline, replicas()).expect("ports");
        assert_eq!(chain.target(&inline, 0), "xds:///smf-pdu-session");
        assert_eq!(chain.services()[0].endpoints, replicas());
        assert!(chain.outbound().is_empty() && chain.inbound(&inline).is_empty());
    }

    #[test]
    fn two_envoys_stand_before_every_service_of_a_chain() {
        let case = case("envoy-2-rest", 3);
        let chain = Chain::lay(&case, replicas()).expect("ports");
        let services = chain.services();
        let names: Vec<&str> = services.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["smf-link-1", "smf-link-2", "smf-pdu-session"]);
        assert_eq!(chain.outbound().len(), 3);
        let inbound = chain.inbound(&case);
        assert_eq!((inbound.len(), inbound[0].len()), (1, 4));
        assert_eq!(inbound[0][3].to, "127.0.0.1:2");
        let last = format!("127.0.0.1:{}", inbound[0][3].port);
        assert_eq!(services[2].endpoints[1], last);
        assert_eq!(
            chain.target(&case, 1),
            format!("127.0.0.1:{}", chain.outbound[1])
        );
    }

    #[test]
    fn an_envoy_a_replica_has_one_port_each() {
        let mut case = case("envoy-2-grpc", 1);
        case.envoy_per_replica = true;
        let chain = Chain::lay(&case, replicas()).expect("ports");
        let inbound = chain.inbound(&case);
        assert_eq!((inbound.len(), inbound[1].len()), (2, 1));
    }
}
