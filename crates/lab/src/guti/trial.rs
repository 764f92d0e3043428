//! An adapter tried for a moment, for those who only ask whether it works: the qualities.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::adapters::{Adapter, Catalog, Subject};
use super::certificates::Certificates;
use super::peers::Peers;
use super::run::Bench;
use super::talk::NoResult;
use crate::args::{Sharing, Tls};
use crate::certificates::End;
use crate::harness::{Event, PeerResult};
use crate::network::Network;
use crate::process::{CpuPlan, Output, Process};
use crate::record::{Cell, Failure, Mode};
use crate::scenario::Length;
use crate::stop::Stop;

/// Requests of a trial: enough for every path of a client, over in a moment.
const REQUESTS: u64 = 500;
/// Payload of each, octets.
const PAYLOAD: u64 = 100;
/// How long clients call while servers are restarted, seconds.
const RESTARTS_TAKE: u64 = 4;
/// How long a client opens connections, seconds.
const OPENING_TAKES: &str = "0.4";

/// Which version of the service each end speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Today,
    OldClientNewServer,
    NewClientOldServer,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    /// What one of the errors said.
    pub(crate) sample: String,
}

impl Tried {
    /// Whether all was answered, and something was.
    pub(crate) const fn is_flawless(&self) -> bool {
        self.requests > 0 && self.errors == 0
    }

    fn of(result: PeerResult) -> Self {
        Self {
            requests: result.requests,
            errors: result.errors,
            sample: result.error_sample,
        }
    }
}

/// Tries adapters.
#[derive(Debug)]
pub(crate) struct Trial {
    bench: Bench,
    catalog: Catalog,
}

impl Trial {
    /// # Errors
    /// When the programs are not there, or say nothing that is understood.
    pub(crate) fn new(
        peers_dir: Option<&Path>,
        cpus: CpuPlan,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        let peers = Peers::find(peers_dir)?;
        let catalog = Catalog::ask(&peers, &cpus.client)?;
        Ok(Self {
            bench: Bench {
                peers,
                cpus,
                network: Rc::new(Network::Loopback),
                listen: "127.0.0.1:0".to_owned(),
                warmup: Duration::from_millis(50),
                patience,
                certificates: None,
            },
            catalog,
        })
    }

    /// Makes what TLS needs, in the folder of the results.
    ///
    /// # Errors
    /// When they cannot be made.
    pub(crate) fn prepare(&mut self, dir: &Path) -> anyhow::Result<()> {
        self.bench.certificates = Some(Certificates::make(dir, None)?);
        Ok(())
    }

    /// The folder of the programs.
    pub(crate) fn peers_dir(&self) -> Option<&Path> {
        self.bench.peers.server.parent()
    }

    /// Why this adapter cannot be tried here.
    pub(crate) fn hole(&self, adapter: &str) -> Option<Failure> {
        self.subject(adapter, Tls::Off).hole
    }

    /// Why it has no TLS.
    pub(crate) fn no_tls(&self, adapter: &str) -> Option<&str> {
        let adapter = self.adapter(adapter)?;
        (!adapter.no_tls.is_empty()).then_some(&adapter.no_tls)
    }

    /// Some requests from one client.
    pub(crate) fn run(
        &self,
        adapter: &str,
        tls: Tls,
        ends: Ends,
        stop: &Stop,
    ) -> Result<Tried, NoResult> {
        let cell = Cell {
            scenario: super::NAME.to_owned(),
            subject: adapter.to_owned(),
            mode: Mode::NoRate,
            rate: None,
            payload_bytes: PAYLOAD,
            clients: 1,
            connections: 1,
            settings: std::collections::BTreeMap::new(),
        };
        let subject = self.subject(adapter, tls);
        let length = Length::Requests(REQUESTS);
        let bench = match ends {
            Ends::Today => {
                return Ok(Tried::of(
                    self.bench.run(&subject, &cell, length, stop)?.result,
                ));
            }
            Ends::OldClientNewServer => self.with(|peers| peers.server = next(&peers.server)),
            Ends::NewClientOldServer => self.with(|peers| peers.client = next(&peers.client)),
        };
        Ok(Tried::of(bench.run(&subject, &cell, length, stop)?.result))
    }

    /// Whether the programs of a later version of the service are built.
    pub(crate) fn has_next(&self) -> bool {
        let Peers { server, client } = &self.bench.peers;
        next(server).is_file() && next(client).is_file()
    }

    /// A server of this adapter, and the address at which it listens.
    pub(crate) fn serve(
        &self,
        adapter: &str,
        listen: &str,
        stop: &Stop,
    ) -> Result<(Process, String), NoResult> {
        let bench = Bench {
            listen: listen.to_owned(),
            ..self.with(|_| {})
        };
        bench.serve(&self.subject(adapter, Tls::Off), stop)
    }

    /// Calls while each of two servers is restarted. Where the framework knows no list of servers its
    /// client is given the first.
    pub(crate) fn restarted(&self, adapter: &str, stop: &Stop) -> Result<Tried, NoResult> {
        let mut servers = Vec::new();
        for _ in 0..2 {
            servers.push(self.serve(adapter, &self.bench.listen, stop)?);
        }
        let seconds = RESTARTS_TAKE.to_string();
        let mut arguments = vec!["--adapter", adapter, "--connect", &servers[0].1];
        let balances = self
            .adapter(adapter)
            .is_some_and(|adapter| adapter.balances);
        if balances {
            arguments.extend(["--also", &servers[1].1]);
        }
        arguments.extend(["--clients", "4", "--duration", &seconds, "--warmup", "0.2"]);
        let nothing: [(&'static str, String); 0] = [];
        let bench = &self.bench;
        let client = Process::spawn(&bench.peers.client, arguments, nothing, &bench.cpus.client)
            .map_err(|error| Failure {
                what: format!("{error:#}"),
                place: "starting a client".to_owned(),
                next: String::new(),
            })?;
        let begun = Instant::now();
        let deadline = begun + Duration::from_secs(RESTARTS_TAKE) + bench.patience;
        let mut to_restart = (0..2).map(|at| (at, Duration::from_millis(1000 + 1500 * at as u64)));
        let mut next = to_restart.next();
        let restart = || {
            if let Some((at, due)) = next
                && begun.elapsed() >= due
            {
                let address = servers[at].1.clone();
                servers[at].0.end();
                servers[at] = self.serve(adapter, &address, stop)?;
                next = to_restart.next();
            }
            Ok(())
        };
        await_result(&client, adapter, deadline, stop, restart).map(Tried::of)
    }

    /// Requests of one client, each over a connection of its own.
    pub(crate) fn open_each(
        &self,
        adapter: &str,
        tls: Tls,
        resume: bool,
        stop: &Stop,
    ) -> Result<PeerResult, NoResult> {
        let subject = self.subject(adapter, tls);
        let (server, address) = self.bench.serve(&subject, stop)?;
        let mut arguments: Vec<String> = [
            ["--adapter", adapter],
            ["--connect", &address],
            ["--connections", "each"],
            ["--duration", OPENING_TAKES],
            ["--warmup", "0.1"],
            ["--server-pid", &server.id().to_string()],
        ]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
        arguments.extend(self.bench.tls(&subject, End::Client));
        if resume {
            arguments.push("--tls-resume".to_owned());
        }
        let nothing: [(&'static str, String); 0] = [];
        let bench = &self.bench;
        let client = Process::spawn(&bench.peers.client, arguments, nothing, &bench.cpus.client)
            .map_err(|error| Failure {
                what: format!("{error:#}"),
                place: "starting a client".to_owned(),
                next: String::new(),
            })?;
        let deadline = Instant::now() + bench.patience;
        await_result(&client, adapter, deadline, stop, || Ok(()))
    }

    fn adapter(&self, name: &str) -> Option<&Adapter> {
        let adapters = self.catalog.adapters();
        adapters.iter().find(|adapter| adapter.name == name)
    }

    fn subject(&self, adapter: &str, tls: Tls) -> Subject {
        let names = [adapter.to_owned()];
        let subjects = self.catalog.subjects(&names, &[tls], Sharing::Own);
        match subjects.map(|subjects| subjects.into_iter().next()) {
            Ok(Some(subject)) => subject,
            // The catalog knows every adapter of the evaluation, built or not.
            Ok(None) | Err(_) => unreachable!("{adapter} is an adapter"),
        }
    }

    /// The same bench with other programs.
    fn with(&self, change: impl FnOnce(&mut Peers)) -> Bench {
        let mut peers = self.bench.peers.clone();
        change(&mut peers);
        Bench {
            peers,
            cpus: self.bench.cpus.clone(),
            network: Rc::clone(&self.bench.network),
            listen: self.bench.listen.clone(),
            warmup: self.bench.warmup,
            patience: self.bench.patience,
            certificates: self.bench.certificates.clone(),
        }
    }
}

/// What a client comes to; `meanwhile` is called all the time.
fn await_result(
    client: &Process,
    adapter: &str,
    deadline: Instant,
    stop: &Stop,
    mut meanwhile: impl FnMut() -> Result<(), NoResult>,
) -> Result<PeerResult, NoResult> {
    loop {
        if stop.asked() {
            return Err(NoResult::Stopped);
        }
        meanwhile()?;
        match client.output(Duration::from_millis(20)) {
            Output::Line(line) => {
                if let Ok(Event::Result(result)) = Event::parse(&line) {
                    return Ok(*result);
                }
            }
            Output::Silence if Instant::now() < deadline => {}
            Output::Silence | Output::End => {
                return Err(Failure {
                    what: format!("{adapter}'s client came to no result"),
                    place: client.last_words(),
                    next: String::new(),
                }
                .into());
            }
        }
    }
}

/// The program beside it that speaks a later version of the service.
fn next(program: &Path) -> std::path::PathBuf {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    program.with_file_name(name.replace("corewire-peer-", "corewire-peer-next-"))
}
