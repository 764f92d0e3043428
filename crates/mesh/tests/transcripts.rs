//! Plays the transcripts of `tests/transcripts/`: what servers say, what the client says, and what
//! follows from it, without a socket and with a clock that the transcript sets.
//!
//! A line a step; `#` begins a comment; lines that begin with two spaces belong to the step above.
//!
//! | step | meaning |
//! |---|---|
//! | `servers N [incremental] [keep]` | so many servers; `keep`: their removals are ignored |
//! | `limit NAME N` | a limit: `resources` |
//! | `watch T [as L]`, `unwatch T` | asks for target T, whose listener is L |
//! | `connects N` | the client opens a stream to server N, and to no other |
//! | `opened N`, `closed N REASON` | that stream is open, or ended |
//! | `disconnects N` | the client ends its stream to server N |
//! | `client N KIND [names] …` | the client's next request to N; `version=`, `nonce=`, `node`, `refuses: TEXT` |
//! | `quiet` | the client has nothing to say or to do |
//! | `server N KIND version nonce` | a response, its resources in the lines below (support/resources.rs) |
//! | `removed A B` | within a response: names that are gone (incremental) |
//! | `after 15 s` | time passes, timers fire |
//! | `snapshot` | a new snapshot, in the lines below; `same` says that there is none |
//! | `event TEXT` | the next event holds this text |
//! | `resolve HOST`, `resolved HOST ADDRESS…` | a host is to be looked up; was |
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

#[path = "support/resources.rs"]
mod resources;

use corewire_mesh::config::{ClusterChoice, HeaderCondition, Resolution, RouteAction, Snapshot};
use corewire_mesh::xds::ads::{
    AdsCore, AdsOptions, Input, Output, ServerConfig, StreamId, Variant,
};
use corewire_xds::envoy::config::core::v3::Node;
use corewire_xds::envoy::service::discovery::v3 as discovery;
use corewire_xds::{Message, ResourceType};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

struct Player {
    core: AdsCore,
    variant: Variant,
    now: Instant,
    streams: BTreeMap<usize, StreamId>,
    connects: VecDeque<usize>,
    disconnects: VecDeque<StreamId>,
    resolves: VecDeque<String>,
    events: VecDeque<String>,
    snapshot: Option<Snapshot>,
}

impl Player {
    fn new(servers: usize, variant: Variant, ignores_deletion: bool, options: AdsOptions) -> Self {
        let config = ServerConfig {
            variant,
            ignores_deletion,
        };
        let node = Node {
            id: "node".into(),
            ..Node::default()
        };
        Self {
            core: AdsCore::new(options, node, &vec![config; servers], 7),
            variant,
            now: Instant::now(),
            streams: BTreeMap::new(),
            connects: VecDeque::new(),
            disconnects: VecDeque::new(),
            resolves: VecDeque::new(),
            events: VecDeque::new(),
            snapshot: None,
        }
    }

    /// Takes what the core puts out.
    fn poll(&mut self) {
        while let Some(output) = self.core.poll() {
            match output {
                Output::Connect { stream, server, .. } => {
                    self.streams.insert(server, stream);
                    self.connects.push_back(server);
                }
                Output::Disconnect(stream) => self.disconnects.push_back(stream),
                Output::Resolve { host, .. } => self.resolves.push_back(host.to_string()),
                Output::Snapshot(snapshot) => self.snapshot = Some(snapshot),
                Output::Event(event) => self.events.push_back(event.to_string()),
            }
        }
    }

    fn stream(&self, server: &str) -> StreamId {
        let number: usize = server.parse().expect("a server's number");
        *self.streams.get(&number).expect("a stream to this server")
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(at) = self.core.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.core.handle_timeout(self.now);
            self.poll();
            // A timer that was due may be due to what can be sent now.
            if self.core.poll_timeout() == Some(at) {
                break;
            }
        }
        self.now = until;
        self.core.handle_timeout(self.now);
    }

    fn step(&mut self, line: &str, below: &[&str]) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        match word {
            "watch" => {
                let listener = words.get(2).unwrap_or(&words[0]);
                self.core.watch(self.now, words[0], listener).unwrap();
            }
            "unwatch" => self.core.unwatch(self.now, words[0]),
            "opened" => {
                let stream = self.stream(words[0]);
                self.core.handle_event(self.now, Input::Opened(stream));
            }
            "closed" => {
                let reason = words[1..].join(" ");
                let input = Input::Closed(self.stream(words[0]), reason);
                self.core.handle_event(self.now, input);
            }
            "connects" => {
                let found = self.connects.pop_front();
                assert_eq!(found.map(|it| it.to_string()).as_deref(), Some(rest));
            }
            "disconnects" => {
                let stream = self.stream(words[0]);
                assert_eq!(self.disconnects.pop_front(), Some(stream));
            }
            "server" => {
                let octets = response(self.variant, &words, below);
                let input = Input::Message(self.stream(words[0]), octets.into());
                self.core.handle_event(self.now, input);
            }
            "client" => {
                let (server, expected) = rest.split_once(' ').unwrap();
                let stream = self.stream(server);
                let octets = self.core.poll_transmit(self.now, stream);
                let found = octets.map(|octets| request(self.variant, &octets));
                let found = found.unwrap_or_else(|| "nothing".into());
                if let Some((before, part)) = expected.split_once(" refuses: ") {
                    let (start, text) = found.split_once(" refuses: ").unwrap_or((&found, ""));
                    assert_eq!(start, before, "found: {found}");
                    assert!(text.contains(part), "{text}");
                } else {
                    assert_eq!(found, expected);
                }
            }
            "quiet" => {
                for stream in self.streams.values() {
                    let octets = self.core.poll_transmit(self.now, *stream);
                    let found = octets.map(|octets| request(self.variant, &octets));
                    assert_eq!(found, None);
                }
                assert!(self.connects.is_empty(), "connects {:?}", self.connects);
                assert!(self.disconnects.is_empty());
            }
            "after" => {
                let number: f64 = words[0].parse().unwrap();
                let unit = if words[1] == "ms" { 0.001 } else { 1.0 };
                self.pass(Duration::from_secs_f64(number * unit));
            }
            "snapshot" => {
                let found = self.snapshot.take().map(|snapshot| text_of(&snapshot));
                let expected: String = below.iter().map(|line| format!("{line}\n")).collect();
                assert_eq!(found.as_deref(), Some(expected.as_str()));
            }
            "same" => {
                let found = self.snapshot.take().map(|snapshot| text_of(&snapshot));
                assert_eq!(found, None, "a snapshot that nobody expected");
            }
            "event" => {
                let found = self.events.pop_front().unwrap_or_default();
                assert!(found.contains(rest), "{found:?}");
            }
            "resolve" => assert_eq!(self.resolves.pop_front().as_deref(), Some(rest)),
            "resolved" => {
                let addresses = words[1..].iter().map(|word| word.parse().unwrap());
                let input = Input::Resolved {
                    host: words[0].into(),
                    port: 80,
                    result: Ok(addresses.collect()),
                };
                self.core.handle_event(self.now, input);
            }
            other => panic!("no such step: {other:?}"),
        }
        self.poll();
    }
}

fn kind(name: &str) -> ResourceType {
    let mut all = ResourceType::ALL.into_iter();
    all.find(|kind| kind.short_name() == name)
        .unwrap_or_else(|| panic!("{name:?} is none of lds, rds, cds, eds"))
}

fn response(variant: Variant, words: &[&str], below: &[&str]) -> Vec<u8> {
    let [_, of, version, nonce] = words else {
        panic!("server N KIND version nonce")
    };
    let type_url = match *of {
        "other" => "type.googleapis.com/example.Other".into(),
        of => kind(of).type_url().to_owned(),
    };
    let removed = below
        .iter()
        .filter_map(|line| line.strip_prefix("removed "));
    let removed: Vec<String> = removed
        .flat_map(|names| names.split_whitespace().map(Into::into))
        .collect();
    let lines = below.iter().filter(|line| !line.starts_with("removed "));
    let resources = lines.map(|line| resources::resource(line));
    match variant {
        Variant::StateOfTheWorld => discovery::DiscoveryResponse {
            version_info: (*version).into(),
            resources: resources.map(|(_, any)| any).collect(),
            type_url,
            nonce: (*nonce).into(),
            ..Default::default()
        }
        .encode_to_vec(),
        Variant::Incremental => discovery::DeltaDiscoveryResponse {
            resources: resources
                .map(|(name, any)| discovery::Resource {
                    name,
                    version: (*version).into(),
                    resource: Some(any),
                    ..Default::default()
                })
                .collect(),
            type_url,
            removed_resources: removed,
            nonce: (*nonce).into(),
            ..Default::default()
        }
        .encode_to_vec(),
    }
}

/// A request, in one line.
fn request(variant: Variant, octets: &[u8]) -> String {
    let (type_url, names, version, nonce, node, error) = match variant {
        Variant::StateOfTheWorld => {
            let it = discovery::DiscoveryRequest::decode(octets).unwrap();
            let names = it.resource_names.join(" ");
            let (version, nonce) = (it.version_info, it.response_nonce);
            (it.type_url, names, version, nonce, it.node, it.error_detail)
        }
        Variant::Incremental => {
            let it = discovery::DeltaDiscoveryRequest::decode(octets).unwrap();
            let mut names: Vec<String> = Vec::new();
            names.extend(
                it.resource_names_subscribe
                    .iter()
                    .map(|it| format!("+{it}")),
            );
            names.extend(
                it.resource_names_unsubscribe
                    .iter()
                    .map(|it| format!("-{it}")),
            );
            let mut held: Vec<_> = it.initial_resource_versions.into_iter().collect();
            held.sort();
            names.extend(
                held.iter()
                    .map(|(name, version)| format!("{name}@{version}")),
            );
            let nonce = it.response_nonce;
            (
                it.type_url,
                names.join(" "),
                String::new(),
                nonce,
                it.node,
                it.error_detail,
            )
        }
    };
    let kind = ResourceType::from_type_url(&type_url).unwrap().short_name();
    let mut text = format!("{kind} [{names}]");
    for (name, value) in [("version", version), ("nonce", nonce)] {
        if !value.is_empty() {
            let _ = write!(text, " {name}={value}");
        }
    }
    if node.is_some() {
        text.push_str(" node");
    }
    if let Some(error) = error {
        assert_eq!(error.code, 3);
        let _ = write!(text, " refuses: {}", error.message.replace('\n', " / "));
    }
    text
}

/// A snapshot, a line for each target and cluster.
fn text_of(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    for (name, target) in &snapshot.targets {
        let _ = write!(text, "{name} -> ");
        match target {
            Resolution::Pending => {
                let waits = snapshot.waits_for.get(name);
                let _ = write!(text, "pending: {}", waits.map_or("", |it| it));
            }
            Resolution::Missing(why) => {
                let _ = write!(text, "missing: {why}");
            }
            Resolution::Ready(target) => {
                let hosts = target.routes.virtual_hosts.iter();
                let routes: Vec<_> = hosts.flat_map(|host| &host.routes).map(route).collect();
                text.push_str(&routes.join(" | "));
            }
        }
        text.push('\n');
    }
    for (name, entry) in &snapshot.clusters {
        let _ = write!(text, "{name} = ");
        match (&entry.cluster, &entry.endpoints) {
            (Resolution::Ready(cluster), Resolution::Ready(endpoints)) => {
                let _ = write!(text, "{:?}", cluster.lb);
                for locality in &endpoints.localities {
                    let _ = write!(text, " p{}", locality.priority);
                    for endpoint in &locality.endpoints {
                        let _ = write!(text, " {}", endpoint.address);
                    }
                }
            }
            (Resolution::Missing(why), _) | (_, Resolution::Missing(why)) => {
                let _ = write!(text, "missing: {why}");
            }
            _ => text.push_str("pending"),
        }
        text.push('\n');
    }
    for notice in &*snapshot.notices {
        let _ = writeln!(text, "notice: {notice}");
    }
    for fault in &*snapshot.refused {
        let _ = writeln!(text, "refused: {fault}");
    }
    text
}

fn route(route: &corewire_mesh::config::Route) -> String {
    let mut text = String::new();
    for header in &route.matcher.headers {
        let condition = match &header.condition {
            HeaderCondition::Value(value) => format!("{:?}", value.pattern),
            other => format!("{other:?}"),
        };
        let _ = write!(text, "{}:{condition} ", header.name);
    }
    if let Some(fault) = &route.fault {
        let _ = write!(text, "abort {} ", fault.abort.unwrap().fraction);
    }
    match &route.action {
        RouteAction::Forward(forward) => {
            match &forward.clusters {
                ClusterChoice::One(name) => text.push_str(name),
                ClusterChoice::Weighted { clusters, total } => {
                    let split = clusters
                        .iter()
                        .map(|it| format!("{}={}", it.name, it.weight));
                    let split: Vec<_> = split.collect();
                    let _ = write!(text, "{} of {total}", split.join(" "));
                }
                other => {
                    let _ = write!(text, "{other:?}");
                }
            }
            for mirror in &forward.mirrors {
                let _ = write!(text, " mirror {}", mirror.cluster);
            }
            if let Some(timeout) = forward.timeout {
                let _ = write!(text, " within {timeout:?}");
            }
            if let Some(transport) = forward.transport {
                let _ = write!(text, " by {transport}");
            }
        }
        other => {
            let _ = write!(text, "{other:?}");
        }
    }
    text
}

fn play(path: &Path) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .collect();
    let (mut servers, mut variant, mut keep) = (1, Variant::StateOfTheWorld, false);
    let mut options = AdsOptions::default();
    let mut player: Option<Player> = None;
    let mut at = 0;
    while at < lines.len() {
        let (number, line) = lines[at];
        let below: Vec<&str> = lines[at + 1..]
            .iter()
            .map_while(|(_, line)| line.strip_prefix("  "))
            .collect();
        at += 1 + below.len();
        if let Some(rest) = line.strip_prefix("servers ") {
            servers = rest.split(' ').next().unwrap().parse().unwrap();
            if rest.contains("incremental") {
                variant = Variant::Incremental;
            }
            keep = rest.contains("keep");
            continue;
        }
        if let Some(rest) = line.strip_prefix("limit resources ") {
            options.max_resources = rest.parse().unwrap();
            continue;
        }
        let player =
            player.get_or_insert_with(|| Player::new(servers, variant, keep, options.clone()));
        let step = std::panic::AssertUnwindSafe(|| player.step(line, &below));
        if std::panic::catch_unwind(step).is_err() {
            panic!("{name}:{}: {line}", number + 1);
        }
    }
}

macro_rules! transcripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let file = concat!("tests/transcripts/", stringify!($name), ".txt");
            play(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        })*

        #[test]
        fn every_transcript_is_played() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
            let files = std::fs::read_dir(folder).unwrap();
            let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            let mut found: Vec<String> = names.collect();
            found.sort();
            let mut played = vec![$(concat!(stringify!($name), ".txt"),)*];
            played.sort_unstable();
            assert_eq!(found, played);
        }
    };
}

transcripts! {
    aggregate
    deleted_and_added_again
    fallback
    first_configuration
    hanging_server
    header_matches
    incremental
    istio
    limits
    nonce_after_unsubscribe
    part_of_a_response
    reconnect
    refusal_storm
    removal
    removal_ignored
    unknown_filter
    warm_up
}
