//! One run: a server process, a client process, and what they used of the machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::adapters::Subject;
use super::peers::Peers;
use super::talk::{Conversation, NoResult, Terms, await_ready};
use crate::args::Tls;
use crate::certificates::{Certificates, End};
use crate::harness::{PeerResult, Ready};
use crate::machine::{LoadWatch, process_cpu};
use crate::network::{Network, Side};
use crate::process::{CpuPlan, Process};
use crate::record::{Cell, Failure, MachineLoad, Mode};
use crate::scenario::Length;
use crate::stop::Stop;

/// What is the same for every run of a session.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) peers: Peers,
    pub(super) cpus: CpuPlan,
    /// What lies between both ends.
    pub(super) network: Rc<Network>,
    pub(super) listen: String,
    pub(super) warmup: Duration,
    /// For a server to listen and for a client to connect; for the last answers on top of the
    /// planned time; between two signs of life (one a second) where no time is planned.
    pub(super) patience: Duration,
    /// For the subjects with TLS; there when there are such.
    pub(super) certificates: Option<Certificates>,
}

/// A run that came to a result.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) result: PeerResult,
    pub(super) load: MachineLoad,
    pub(super) server_versions: Vec<(String, String)>,
}

impl Bench {
    /// Runs one cell.
    pub(super) fn run(
        &self,
        subject: &Subject,
        cell: &Cell,
        length: Length,
        stop: &Stop,
    ) -> Result<Raw, NoResult> {
        self.attempt(subject, cell, length, stop).map_err(|reason| {
            // What breaks while all is being stopped says nothing about the subject.
            if stop.asked() {
                NoResult::Stopped
            } else {
                reason
            }
        })
    }

    fn attempt(
        &self,
        subject: &Subject,
        cell: &Cell,
        length: Length,
        stop: &Stop,
    ) -> Result<Raw, NoResult> {
        let server = self.start_server(subject)?;
        let ready = await_ready(&server, self.patience, stop)?;
        let watch = LoadWatch::begin();
        let ours = || process_cpu(server.id()) + process_cpu(std::process::id());
        let ours_before = ours();
        let client = self.start_client(subject, cell, length, &ready, &server)?;
        let result = Conversation::new(&client, &server, self.terms(length), stop).result()?;
        let used = (ours() + process_cpu(client.id())).saturating_sub(ours_before);
        Ok(Raw {
            result,
            load: watch.end(used),
            server_versions: ready.versions.into_iter().collect(),
        })
    }

    fn terms(&self, length: Length) -> Terms {
        Terms {
            warmup: self.warmup,
            patience: self.patience,
            length,
        }
    }

    /// A server alone, and where it listens.
    pub(super) fn serve(
        &self,
        subject: &Subject,
        stop: &Stop,
    ) -> Result<(Process, String), NoResult> {
        let server = self.start_server(subject)?;
        let ready = await_ready(&server, self.patience, stop)?;
        Ok((server, ready.address))
    }

    fn start_server(&self, subject: &Subject) -> Result<Process, Failure> {
        let programs = subject.programs(&self.peers);
        let options = ["--adapter", &subject.server, "--listen", &self.listen];
        let word = programs.words[0].into_iter();
        let arguments = word.chain(options).map(str::to_owned);
        let arguments = arguments.chain(self.tls(subject, End::Server));
        let (program, arguments) = self.at(Side::Server, programs.server, arguments);
        Process::spawn(
            &program,
            arguments,
            subject.environment(),
            &self.cpus.server,
        )
        .map_err(|error| not_started(&error))
    }

    /// The options of TLS for one of the programs.
    pub(super) fn tls(&self, subject: &Subject, end: End) -> Vec<String> {
        let (mode, Some(made)) = (subject.tls, &self.certificates) else {
            return Vec::new();
        };
        let mode = match mode {
            Tls::Off => return Vec::new(),
            Tls::Server => "server",
            Tls::Mutual => "mutual",
        };
        let mut options = vec!["--tls".to_owned(), mode.to_owned()];
        options.extend(made.options(end));
        options
    }

    fn start_client(
        &self,
        subject: &Subject,
        cell: &Cell,
        length: Length,
        ready: &Ready,
        server: &Process,
    ) -> Result<Process, Failure> {
        let programs = subject.programs(&self.peers);
        let word = programs.words[1].into_iter();
        let mut arguments: Vec<String> = word.map(str::to_owned).collect();
        let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        option("--adapter", subject.adapter.clone());
        option("--connect", ready.address.clone());
        option("--clients", cell.clients.to_string());
        option("--payload", cell.payload_bytes.to_string());
        option("--mode", cell.mode.to_string());
        if let (Mode::Rate, Some(rate)) = (cell.mode, cell.rate) {
            option("--rate", rate.to_string());
        }
        match length {
            Length::Window(window) | Length::Fixed(window) => {
                option("--duration", window.as_secs_f64().to_string());
            }
            Length::Requests(requests) => option("--requests", requests.to_string()),
        }
        option("--warmup", self.warmup.as_secs_f64().to_string());
        option("--server-pid", server.id().to_string());
        let shared = cell.connections < cell.clients;
        option(
            "--connections",
            if shared { "shared" } else { "own" }.to_owned(),
        );
        arguments.extend(self.tls(subject, End::Client));
        let (program, arguments) = self.at(Side::Client, programs.client, arguments.into_iter());
        Process::spawn(
            &program,
            arguments,
            subject.environment(),
            &self.cpus.client,
        )
        .map_err(|error| not_started(&error))
    }

    /// What starts a program at its end of the network.
    fn at(
        &self,
        side: Side,
        program: &Path,
        arguments: impl Iterator<Item = String>,
    ) -> (PathBuf, Vec<OsString>) {
        let arguments = arguments.map(OsString::from).collect();
        self.network.command(side, program, arguments)
    }
}

fn not_started(error: &anyhow::Error) -> Failure {
    Failure {
        what: format!("{error:#}"),
        place: "starting a process".to_owned(),
        next: "is it a program, of this machine's kind? `make peers` builds the lab's own again"
            .to_owned(),
    }
}

/// The figures that only this scenario has.
pub(super) fn extra(result: &PeerResult) -> Map<String, Value> {
    let mut extra = Map::new();
    if let Some(threads) = result.server_threads {
        extra.insert("server_threads".into(), threads.into());
    }
    if let Some(lag) = result.lag_ns {
        extra.insert(
            "lag_us".into(),
            json!({"mean": lag.mean / 1e3, "max": lag.max / 1e3}),
        );
    }
    if let Some(unsent) = result.unsent {
        extra.insert("unsent".into(), unsent.into());
    }
    if result.errors > 0 {
        extra.insert("error_sample".into(), result.error_sample.clone().into());
    }
    extra.insert("connections_opened".into(), result.connections.into());
    extra
}
