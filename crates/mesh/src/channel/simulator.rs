//! The simulator: drives calls in virtual time, without a socket, and plays the transcripts of
//! `tests/calls/`.
//!
//! A transcript is what happens and, in the lines that begin with `>`, what the mesh does about it.
//! The test writes it anew and compares; with `CALLS_BLESS=1` it replaces the file. `e1` is the
//! endpoint 10.0.0.1:80.
//!
//! | step | meaning |
//! |---|---|
//! | `config`, then lines that begin with two spaces | publishes this configuration, see [`config`] |
//! | `opens e1`, `loses e1 WHY`, `drains e1` | what happens to an endpoint's connection |
//! | `call ID [on a thread] [deadline=T] [priority=N] [NAME=VALUE]` | a unary call; also `event`, `stream` |
//! | `answer ID STATUS` | the server answers the current attempt with this HTTP status |
//! | `grpc ID CODE` | the same with a gRPC code |
//! | `fail ID HOW` | the attempt fails: `not-sent`, `refused`, `full`, `overloaded`, `lost`, `broken` |
//! | `close ID` | an open stream ends well |
//! | `drop ID` | the caller gives the call up |
//! | `after T` | time passes; attempts that reach their deadline fail by it |
//! | `state` | the counters |

mod config;

use super::attempts::{CallAttempts, Finish, Progress, Step, StreamHold};
use super::discovery::Discovery;
use super::endpoint::Endpoint;
use super::env::{Env, Side};
use super::message::Message;
use super::options::MeshOptions;
use super::reconciler;
use super::replay::{OneWay, Streaming, Unary};
use super::shared::Shared;
use super::state;
use super::target::TargetState;
use crate::config::{Resolution, SnapshotSource};
use crate::policy::outcome::Outcome;
use crate::policy::random::SplitMix;
use corewire_message::{
    Body, CallError, Code, ErrorKind, Event, Operation, Origin, Priority, Request, Response, Status,
};
use corewire_wire::mapping::status::{HTTP_STATUS, code_of_http_status};
use proptest::prelude::*;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TARGET: &str = "smf";

/// Snapshots that the transcript publishes; before the first nothing is known.
struct Scripted(SnapshotSource);

impl Discovery for Scripted {
    fn source(&self) -> &SnapshotSource {
        &self.0
    }

    fn watch(&self, _target: &str) -> Result<Box<dyn Any + Send + Sync>, String> {
        Ok(Box::new(()))
    }

    fn unknown(&self) -> Resolution<()> {
        Resolution::Pending
    }
}

/// When what an attempt sends must be answered.
trait Deadline {
    fn deadline(&self) -> Option<Instant>;
}

impl Deadline for Request {
    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

impl Deadline for Event {
    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// A call of any shape.
trait AnyCall {
    fn next(&mut self, now: Instant, progress: Progress, random: &mut SplitMix) -> Step<'static>;
    fn send(&mut self, now: Instant) -> Option<Instant>;
    fn into_stream(self: Box<Self>) -> Option<StreamHold>;
}

impl<M: Message<Sent: Deadline>> AnyCall for CallAttempts<'static, M> {
    fn next(&mut self, now: Instant, progress: Progress, random: &mut SplitMix) -> Step<'static> {
        Self::next(self, now, progress, random)
    }

    fn send(&mut self, now: Instant) -> Option<Instant> {
        self.message(now).deadline()
    }

    fn into_stream(self: Box<Self>) -> Option<StreamHold> {
        Self::into_stream(*self)
    }
}

/// What a call waits for.
enum Waits {
    Until(Instant),
    Changes(Instant),
    Answer(Option<Instant>, &'static Arc<Endpoint>),
}

struct SimulatedCall {
    machine: Box<dyn AnyCall>,
    side: Side,
    waits: Waits,
    /// The result of the last attempt, for people.
    last: String,
    /// What was written last, so that waiting on is written once.
    said: String,
}

struct Simulation {
    shared: &'static Arc<Shared>,
    target: &'static Arc<TargetState>,
    source: SnapshotSource,
    random: SplitMix,
    begin: Instant,
    now: Instant,
    /// The next round of the reconciler.
    round: Instant,
    calls: BTreeMap<String, SimulatedCall>,
    streams: BTreeMap<String, StreamHold>,
    text: String,
}

impl Simulation {
    fn new() -> Self {
        let begin = Instant::now();
        let source = SnapshotSource::default();
        let env = Env::simulated(MeshOptions::default(), begin);
        let shared = Shared::new(Box::new(Scripted(source.clone())), env, None);
        let mut random = SplitMix::new(7);
        let target = shared.target(TARGET, Some(0), begin, &mut random);
        Self {
            shared: Box::leak(Box::new(shared)),
            target: Box::leak(Box::new(target)),
            source,
            random,
            begin,
            now: begin,
            round: begin,
            calls: BTreeMap::new(),
            streams: BTreeMap::new(),
            text: String::new(),
        }
    }

    /// Writes what the mesh does, with the time.
    fn say(&mut self, what: &str) {
        let at = (self.now - self.begin).as_micros() as f64 / 1e3;
        writeln!(self.text, "> {at} ms: {what}").unwrap();
    }

    fn begin_call(&mut self, kind: &str, words: &[&str]) {
        let operation = Operation::from_static("nsmf/v1/contexts");
        let mut request = Request::new(operation.clone());
        let mut side = Side::Loop(0);
        for word in &words[1..] {
            match word.split_once('=') {
                Some(("deadline", time)) => request.deadline = Some(self.now + duration(time)),
                Some(("priority", number)) => {
                    let number = number.parse::<u8>().unwrap();
                    request.priority = Priority::try_from(number).unwrap();
                }
                Some((name, value)) => request.headers.append(name, value).unwrap(),
                None if *word == "thread" => side = Side::Thread,
                None => {}
            }
        }
        let (env, target) = (&self.shared.env, &**self.target);
        let plan = Box::leak(Box::new(None));
        let machine: Box<dyn AnyCall> = match kind {
            "call" => {
                let message = Unary::new(request);
                Box::new(CallAttempts::new(env, target, side, plan, message))
            }
            "stream" => {
                let message = Streaming::new(request);
                Box::new(CallAttempts::new(env, target, side, plan, message))
            }
            _ => {
                let message = OneWay(Event::new(operation, Body::new()));
                Box::new(CallAttempts::new(env, target, side, plan, message))
            }
        };
        let call = SimulatedCall {
            machine,
            side,
            waits: Waits::Until(self.now),
            last: String::new(),
            said: String::new(),
        };
        self.go_on(words[0].to_owned(), call, Progress::Ready);
    }

    /// Does what a call's machine says until it has to wait.
    fn go_on(&mut self, id: String, mut call: SimulatedCall, mut progress: Progress) {
        let now = self.now;
        loop {
            let step = call.machine.next(now, progress, &mut self.random);
            progress = Progress::Ready;
            let (waits, said) = match step {
                Step::Delay(until) => {
                    let wait = millis(until - now);
                    (Waits::Until(until), format!("{id} waits {wait}"))
                }
                Step::AwaitConfig(until) => {
                    let said = format!("{id} waits for the configuration");
                    (Waits::Changes(until), said)
                }
                Step::AwaitConnection(until) => {
                    let said = format!("{id} waits for a connection");
                    (Waits::Changes(until), said)
                }
                Step::Mirror(cluster) => {
                    self.say(&format!("{id} is copied to cluster {}", cluster.name));
                    continue;
                }
                Step::Send(endpoint) => {
                    let until = call.machine.send(now);
                    let within = until.map_or(String::new(), |until| {
                        format!(", to be answered in {}", millis(until - now))
                    });
                    let said = format!("{id} is sent to {}{within}", name_of(endpoint));
                    (Waits::Answer(until, endpoint), said)
                }
                Step::Finish(finish) => {
                    let end = match finish {
                        Finish::LastAttempt => call.last,
                        Finish::Answer(answer) => result(&answer),
                        Finish::Failed(error) => error_text(&error),
                    };
                    self.say(&format!("{id} ends: {end}"));
                    if let Some(stream) = call.machine.into_stream() {
                        self.streams.insert(id, stream);
                    }
                    return;
                }
            };
            if said != call.said || matches!(waits, Waits::Answer(..)) {
                self.say(&said);
                call.said = said;
            }
            call.waits = waits;
            self.calls.insert(id, call);
            return;
        }
    }

    /// An attempt ended.
    fn ended(&mut self, id: &str, result: Result<Response, CallError>) {
        let mut call = self.calls.remove(id).expect("a call with this name");
        let Waits::Answer(_, endpoint) = call.waits else {
            panic!("{id} waits for no answer");
        };
        let outcome = Outcome::of(&result);
        call.last = self::result(&result);
        if call.side == Side::Thread {
            // As the blocking driver does.
            match outcome {
                Outcome::NotSent => endpoint.thread_failed(self.now, &call.last, &mut self.random),
                Outcome::Answered(_) => endpoint.thread_succeeded(),
                _ => {}
            }
        }
        self.go_on(id.to_owned(), call, Progress::Ended(outcome));
    }

    /// What the reconciler's thread would do now, and what calls do about it.
    fn settle(&mut self) {
        let seen = self.shared.env.waiters.generation();
        let (next, _) = reconciler::round(self.shared, self.now, &mut self.random);
        self.round = next.max(self.now + Duration::from_micros(1));
        if self.shared.env.waiters.generation() != seen {
            self.wake(|waits| matches!(waits, Waits::Changes(_)));
        }
    }

    /// Lets the calls go on whose wait is over.
    fn wake(&mut self, is_over: impl Fn(&Waits) -> bool) {
        let over = self.calls.iter().filter(|(_, call)| is_over(&call.waits));
        let over: Vec<String> = over.map(|(id, _)| id.clone()).collect();
        for id in over {
            if let Some(call) = self.calls.remove(&id) {
                self.go_on(id, call, Progress::Ready);
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let due = self.calls.values().filter_map(|call| match call.waits {
                Waits::Until(at) | Waits::Changes(at) => Some(at),
                Waits::Answer(at, _) => at,
            });
            let next = due.chain([self.round]).min().filter(|at| *at <= end);
            let Some(next) = next else {
                break;
            };
            self.now = next.max(self.now);
            let now = self.now;
            let late = self
                .calls
                .iter()
                .filter(|(_, call)| matches!(call.waits, Waits::Answer(Some(at), _) if at <= now));
            let late: Vec<String> = late.map(|(id, _)| id.clone()).collect();
            for id in late {
                self.ended(&id, Err(CallError::deadline_exceeded(true)));
            }
            self.wake(|waits| matches!(waits, Waits::Until(at) | Waits::Changes(at) if *at <= now));
            self.settle();
        }
        self.now = end;
    }

    fn endpoint(&self, name: &str) -> Arc<Endpoint> {
        let plan = self.target.plan.load();
        let mut endpoints = plan.clusters.iter().flat_map(|cluster| cluster.endpoints());
        let found = endpoints.find(|endpoint| name_of(endpoint) == name);
        Arc::clone(found.expect("an endpoint with this name"))
    }

    fn step(&mut self, line: &str, below: &[&str]) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let rest = words.get(2..).unwrap_or_default().join(" ");
        match words[0] {
            "config" => self.source.publish(config::snapshot(TARGET, below)),
            "opens" => {
                let endpoint = self.endpoint(words[1]);
                endpoint.connection(0).unwrap().connected(self.now);
            }
            "loses" => {
                let endpoint = self.endpoint(words[1]);
                let connection = endpoint.connection(0).unwrap();
                connection.disconnected(self.now, &rest, &mut self.random);
            }
            "drains" => {
                let endpoint = self.endpoint(words[1]);
                let connection = endpoint.connection(0).unwrap();
                connection.mark_used();
                connection.draining(self.now, &mut self.random);
            }
            "call" | "event" | "stream" => self.begin_call(words[0], &words[1..]),
            "answer" => {
                let status = words[2].parse().unwrap();
                self.ended(words[1], answered(status));
            }
            "grpc" => {
                let code = *Code::ALL.iter().find(|it| it.to_string() == rest).unwrap();
                let response = Response::failed(Status::of(code));
                self.ended(words[1], response.into_result());
            }
            "fail" => self.ended(words[1], Err(failure(&rest))),
            "close" => {
                let stream = self.streams.remove(words[1]).expect("an open stream");
                let outcome = Outcome::answered(Code::Ok);
                stream.ended(&self.shared.env, self.now, outcome, &mut self.random);
            }
            "drop" => drop(self.calls.remove(words[1]).expect("a call with this name")),
            "after" => self.pass(duration(&words[1..].concat())),
            "state" => {
                let state = state::of(self.shared, self.now).to_text();
                // The first line is the snapshot's number.
                for line in state.lines().skip(1) {
                    let words = line.split(' ').filter(|word| !is_latency(word));
                    let line = words.collect::<Vec<_>>().join(" ");
                    writeln!(self.text, "> {line}").unwrap();
                }
            }
            other => panic!("no such step: {other}"),
        }
        self.settle();
    }
}

fn answered(status: u16) -> Result<Response, CallError> {
    let status_of = Status::of(code_of_http_status(status));
    let mut response = Response::failed(status_of);
    let named = status.to_string();
    response.headers.append(HTTP_STATUS, named).unwrap();
    response.into_result()
}

fn failure(how: &str) -> CallError {
    let (kind, origin, executed) = match how {
        "not-sent" => (ErrorKind::NotSent, Origin::Transport, false),
        "refused" => (ErrorKind::Refused, Origin::Peer, false),
        "full" => (ErrorKind::Overloaded, Origin::Local, false),
        "overloaded" => (ErrorKind::Overloaded, Origin::Peer, false),
        "lost" => (ErrorKind::FateUnknown, Origin::Transport, true),
        "broken" => (ErrorKind::Protocol, Origin::Peer, true),
        other => panic!("no such failure: {other}"),
    };
    CallError::new(kind, origin, executed, how.to_owned())
}

fn result(result: &Result<Response, CallError>) -> String {
    result
        .as_ref()
        .map_or_else(error_text, |response| response.status.to_string())
}

fn error_text(error: &CallError) -> String {
    format!("{error}")
}

fn name_of(endpoint: &Endpoint) -> String {
    let host = endpoint.key.strip_prefix("10.0.0.").expect("an address");
    format!("e{}", host.strip_suffix(":80").expect("port 80"))
}

fn millis(time: Duration) -> String {
    format!("{} ms", time.as_micros() as f64 / 1e3)
}

/// Latencies are averages of floating point: not the same to the last digit everywhere.
fn is_latency(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit()) && word.ends_with('s')
}

/// `1.5s` or `20ms`.
fn duration(text: &str) -> Duration {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e3),
        None => (text.strip_suffix('s').expect("a unit"), 1.0),
    };
    Duration::from_secs_f64(number.parse::<f64>().expect("a number") / unit)
}

/// The transcript with what the mesh does now.
fn play(transcript: &str) -> String {
    let mut simulation = Simulation::new();
    let steps: Vec<&str> = transcript
        .lines()
        .filter(|line| !line.starts_with('>'))
        .collect();
    let mut steps = steps.into_iter().peekable();
    while let Some(line) = steps.next() {
        writeln!(simulation.text, "{line}").unwrap();
        let mut below = Vec::new();
        while let Some(line) = steps.next_if(|line| line.starts_with("  ")) {
            writeln!(simulation.text, "{line}").unwrap();
            below.push(line.trim());
        }
        if !line.is_empty() && !line.starts_with('#') {
            simulation.step(line, &below);
        }
    }
    simulation.text
}

fn check(path: &Path, bless: bool) -> Result<(), String> {
    let expected = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let found = play(&expected);
    if bless {
        return std::fs::write(path, found).map_err(|error| error.to_string());
    }
    let mut lines = expected.lines().zip(found.lines()).enumerate();
    match lines.find(|(_, (expected, found))| expected != found) {
        Some((number, (expected, found))) => Err(format!(
            "{}:{}: expected\n  {expected}\nfound\n  {found}",
            path.display(),
            number + 1
        )),
        None if expected.lines().count() == found.lines().count() => Ok(()),
        None => Err(format!("{}: more or fewer lines:\n{found}", path.display())),
    }
}

#[test]
fn calls_go_as_their_transcripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calls");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 10, "{}", files.len());
    let bless = std::env::var_os("CALLS_BLESS").is_some();
    let faults: Vec<String> = files
        .iter()
        .filter_map(|file| check(file, bless).err())
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A configuration with everything that can hold a call up.
const BUSY: [&str; 3] = [
    "cluster smf e1 e2 e3 requests=4 pending=2 retries=1 ejects_after=2 ejects_at_most=50",
    "cluster copies e9",
    "route timeout=2s stream=3s retry=5xx,reset,connect-failure retries=3 backoff=20ms,80ms \
     per_try=500ms repeatable=yes delay=10ms mirror=copies",
];

proptest! {
    /// In whatever order things happen, a call that has ended or was given up occupies nothing.
    #[test]
    fn when_all_calls_are_over_then_all_gauges_are_empty(
        steps in prop::collection::vec((0_u8..12, 0_usize..6, 0_usize..6), 1..120),
    ) {
        let mut simulation = Simulation::new();
        for (number, (what, which, how)) in steps.into_iter().enumerate() {
            let waiting: Vec<String> = simulation.calls.iter()
                .filter(|(_, call)| matches!(call.waits, Waits::Answer(..)))
                .map(|(id, _)| id.clone())
                .collect();
            let all: Vec<String> = simulation.calls.keys().cloned().collect();
            let picked = |ids: &[String]| ids.get(which % ids.len().max(1)).cloned();
            let is_known = !simulation.target.plan.load().clusters.is_empty();
            let endpoint = ["e1", "e2", "e3", "e9"][which % 4];
            match what {
                0 => simulation.step("config", &BUSY),
                1 | 2 if is_known => simulation.step(&format!("opens {endpoint}"), &[]),
                3 if is_known => simulation.step(&format!("loses {endpoint} lost"), &[]),
                4 if is_known => simulation.step(&format!("drains {endpoint}"), &[]),
                5..=7 => {
                    let kind = ["call", "event", "stream"][which % 3];
                    let side = ["", "thread"][how % 2];
                    simulation.step(&format!("{kind} {number} {side} deadline={how}s"), &[]);
                }
                8 => if let Some(id) = picked(&waiting) {
                    let status = [200, 404, 429, 500, 503, 504][how];
                    simulation.step(&format!("answer {id} {status}"), &[]);
                },
                9 => if let Some(id) = picked(&waiting) {
                    let kinds = ["not-sent", "refused", "full", "overloaded", "lost", "broken"];
                    simulation.step(&format!("fail {id} {}", kinds[how]), &[]);
                },
                10 => if let Some(id) = picked(&all) {
                    simulation.step(&format!("drop {id}"), &[]);
                },
                _ => simulation.step(&format!("after {}ms", [1, 20, 100, 700, 3000, 9000][how]), &[]),
            }
        }
        simulation.calls.clear();
        simulation.streams.clear();
        for cluster in state::of(simulation.shared, simulation.now).clusters {
            prop_assert_eq!((cluster.requests, cluster.pending, cluster.retries), (0, 0, 0));
            for endpoint in cluster.endpoints {
                prop_assert_eq!(endpoint.in_flight, 0, "{}", endpoint.address);
            }
        }
        let plan = simulation.target.plan.load();
        for cluster in &plan.clusters {
            prop_assert_eq!(cluster.live.faults.count(), 0);
        }
    }
}
