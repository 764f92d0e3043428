//! One run: a server, a client, and the talk with both, each wait bounded.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::adapters::Subject;
use super::peers::Peers;
use crate::harness::{Event, PeerResult, Ready};
use crate::machine::{LoadWatch, process_cpu};
use crate::process::{CpuPlan, Output, Process};
use crate::record::{Cell, Failure, MachineLoad, Mode};
use crate::scenario::Length;
use crate::stop::Stop;

/// Between two looks at Ctrl-C and at the server's health.
const LOOK: Duration = Duration::from_millis(100);
/// For what a stopped client has.
const TO_STOP: Duration = Duration::from_secs(5);
/// For a client to say what is wrong once its server is gone.
const WITHOUT_SERVER: Duration = Duration::from_secs(1);

/// What is the same for every run of a session.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) peers: Peers,
    pub(super) cpus: CpuPlan,
    pub(super) listen: String,
    pub(super) warmup: Duration,
    /// For a server to listen and for a client to connect; for the last answers on top of the
    /// planned time; between two signs of life (one a second) where no time is planned.
    pub(super) patience: Duration,
}

/// A run that came to a result.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) result: PeerResult,
    pub(super) load: MachineLoad,
    pub(super) server_versions: Vec<(String, String)>,
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum NoResult {
    Failed(Failure),
    /// The user stopped it before there was anything.
    Stopped,
}

impl From<Failure> for NoResult {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
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
        let result = self.converse(&client, &server, length, stop).result()?;
        let used = (ours() + process_cpu(client.id())).saturating_sub(ours_before);
        Ok(Raw {
            result,
            load: watch.end(used),
            server_versions: ready.versions.into_iter().collect(),
        })
    }

    fn start_server(&self, subject: &Subject) -> Result<Process, Failure> {
        let arguments = ["--adapter", &subject.adapter, "--listen", &self.listen];
        Process::spawn(
            &self.peers.server,
            arguments,
            subject.environment(),
            &self.cpus.server,
        )
        .map_err(|error| not_started(&error))
    }

    fn start_client(
        &self,
        subject: &Subject,
        cell: &Cell,
        length: Length,
        ready: &Ready,
        server: &Process,
    ) -> Result<Process, Failure> {
        let mut arguments: Vec<String> = Vec::new();
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
        Process::spawn(
            &self.peers.client,
            arguments,
            subject.environment(),
            &self.cpus.client,
        )
        .map_err(|error| not_started(&error))
    }

    fn converse<'a>(
        &'a self,
        client: &'a Process,
        server: &'a Process,
        length: Length,
        stop: &'a Stop,
    ) -> Conversation<'a> {
        Conversation {
            client,
            server,
            stop,
            bench: self,
            length,
            phase: "while connecting",
            deadline: Instant::now() + self.patience,
            allowed: self.patience,
            interrupted: false,
            server_gone: false,
        }
    }
}

fn not_started(error: &anyhow::Error) -> Failure {
    Failure {
        what: format!("{error:#}"),
        place: "starting a process".to_owned(),
        next: "build the programs under test again with `make peers`".to_owned(),
    }
}

fn await_ready(server: &Process, patience: Duration, stop: &Stop) -> Result<Ready, NoResult> {
    let deadline = Instant::now() + patience;
    loop {
        if stop.asked() {
            return Err(NoResult::Stopped);
        }
        match server.output(LOOK) {
            Output::Line(line) => match parse(server, &line)? {
                Event::Ready(ready) => return Ok(ready),
                Event::Error(error) => {
                    let next = if error.what.contains("in use") {
                        "choose another --listen, or leave it out to get a free port"
                    } else {
                        ""
                    };
                    return Err(Failure {
                        what: error.what,
                        place: place(server, &error.place),
                        next: next.to_owned(),
                    }
                    .into());
                }
                _ => {}
            },
            Output::End => return Err(gone(server, "before it listened").into()),
            Output::Silence if Instant::now() >= deadline => {
                return Err(late(server, "did not listen", patience).into());
            }
            Output::Silence => {}
        }
    }
}

/// The talk with a client up to its result.
struct Conversation<'a> {
    client: &'a Process,
    server: &'a Process,
    stop: &'a Stop,
    bench: &'a Bench,
    length: Length,
    phase: &'static str,
    deadline: Instant,
    allowed: Duration,
    interrupted: bool,
    server_gone: bool,
}

impl Conversation<'_> {
    fn allow(&mut self, time: Duration) {
        self.allowed = time;
        self.deadline = Instant::now() + time;
    }

    fn result(mut self) -> Result<PeerResult, NoResult> {
        loop {
            self.look_around();
            match self.client.output(LOOK) {
                Output::Line(line) => {
                    if let Some(result) = self.line(&line)? {
                        return Ok(result);
                    }
                }
                Output::End if self.interrupted => return Err(NoResult::Stopped),
                Output::End => return Err(self.ended().into()),
                Output::Silence if Instant::now() < self.deadline => {}
                Output::Silence if self.interrupted => return Err(NoResult::Stopped),
                Output::Silence if self.server_gone => {
                    return Err(gone(self.server, self.phase).into());
                }
                Output::Silence => {
                    let what = format!("said nothing {}", self.phase);
                    return Err(late(self.client, &what, self.allowed).into());
                }
            }
        }
    }

    fn look_around(&mut self) {
        if self.stop.asked() && !self.interrupted {
            self.interrupted = true;
            self.client.interrupt();
            self.allow(TO_STOP);
        }
        if !self.server_gone && self.server.ended().is_some() {
            self.server_gone = true;
            self.allow(WITHOUT_SERVER);
        }
    }

    /// The result, when the line holds it.
    fn line(&mut self, line: &str) -> Result<Option<PeerResult>, Failure> {
        match parse(self.client, line)? {
            Event::Result(result) => return self.judged(*result).map(Some),
            Event::Error(error) => {
                if self.server.wait(LOOK).is_some() {
                    return Err(gone(self.server, self.phase));
                }
                return Err(Failure {
                    what: error.what,
                    place: place(self.client, &error.place),
                    next: String::new(),
                });
            }
            // Once stopped or deserted, deadlines are no longer put off.
            _ if self.interrupted || self.server_gone => {}
            Event::Connected => {
                self.phase = "in the warm-up";
                self.allow(self.bench.warmup + self.bench.patience);
            }
            Event::Measuring => {
                self.phase = "while measuring";
                self.allow(match self.length {
                    Length::Window(window) | Length::Fixed(window) => window + self.bench.patience,
                    Length::Requests(_) => self.bench.patience,
                });
            }
            Event::Progress if matches!(self.length, Length::Requests(_)) => {
                self.allow(self.bench.patience)
            }
            Event::Progress | Event::Ready(_) | Event::Noise => {}
        }
        Ok(None)
    }

    /// A result may say that something went wrong.
    fn judged(&self, result: PeerResult) -> Result<PeerResult, Failure> {
        // A server that crashed may need a moment to be seen as ended.
        let broken = result.errors > 0 || result.clients_gave_up > 0;
        let patience = if broken { LOOK } else { Duration::ZERO };
        if self.server.wait(patience).is_some() {
            return Err(gone(self.server, "while measuring"));
        }
        if result.clients_gave_up > 0 {
            return Err(Failure {
                what: format!(
                    "{} of the clients gave up: {}",
                    result.clients_gave_up, result.error_sample
                ),
                place: place(self.client, "while measuring"),
                next: String::new(),
            });
        }
        if result.requests == 0 && !self.interrupted {
            return Err(Failure {
                what: format!("no request was answered: {}", result.error_sample),
                place: place(self.client, "while measuring"),
                next: String::new(),
            });
        }
        Ok(result)
    }

    fn ended(&self) -> Failure {
        if self.server.wait(LOOK).is_some() {
            gone(self.server, self.phase)
        } else {
            gone(self.client, self.phase)
        }
    }
}

fn parse(process: &Process, line: &str) -> Result<Event, Failure> {
    Event::parse(line).map_err(|error| Failure {
        what: format!("a line is not understood: {error}: {}", shortened(line)),
        place: place(process, "reading its output"),
        next: "are lab and peers of the same version? `make peers` builds them again".to_owned(),
    })
}

fn shortened(line: &str) -> String {
    const SHOWN: usize = 120;
    if line.chars().count() <= SHOWN {
        line.to_owned()
    } else {
        line.chars().take(SHOWN).chain("...".chars()).collect()
    }
}

fn place(process: &Process, step: &str) -> String {
    format!("{}, {step}", process.name())
}

fn gone(process: &Process, phase: &str) -> Failure {
    let ending = process.wait(Duration::from_secs(1)).map_or_else(
        || "closed its output".to_owned(),
        |ending| format!("ended with {ending}"),
    );
    let words = process.last_words();
    Failure {
        what: format!("{} {ending} {phase}", process.name()),
        place: if words.is_empty() {
            "it said nothing".to_owned()
        } else {
            words
        },
        next: String::new(),
    }
}

fn late(process: &Process, what: &str, allowed: Duration) -> Failure {
    Failure {
        what: format!("{} {what} for {} s", process.name(), allowed.as_secs()),
        place: process.last_words(),
        next: "it was killed".to_owned(),
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
