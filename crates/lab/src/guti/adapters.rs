//! The adapters: what the evaluation knows, what this build of the peers has, what was asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::own::OwnPeer;
use super::peers::Peers;
use crate::args::{Sharing, Tls};
use crate::process::{Cpus, Output, Process};
use crate::record::Failure;

/// The network alone: not an adapter under test, but measured by the same programs.
pub(super) const BASELINE: &str = "BASELINE-TCP";

/// The thesis's eight in its own order, gRPC's newer API, Corewire's. Shown in this order; those
/// that a build does not know are shown as missing.
const KNOWN: [(&str, &str); 16] = [
    ("GRPC-S", "synchronous unary gRPC"),
    ("GRPC-AS", "asynchronous unary gRPC"),
    ("GRPC-BI", "synchronous bidirectional gRPC stream"),
    ("GRPC-ASBI", "asynchronous bidirectional gRPC stream"),
    ("THRIFT-S", "Thrift, a thread a client"),
    ("THRIFT-NB", "Thrift, non-blocking server"),
    ("THRIFT-AS", "Thrift over HTTP, asynchronous"),
    ("TCP-AS", "hand-written TCP, the thesis's baseline"),
    ("GRPC-CB", "gRPC's callback API"),
    ("CW-S", "Corewire, blocking"),
    ("CW-AS", "Corewire, asynchronous"),
    ("CW-BI", "Corewire, bidirectional stream"),
    (
        "CW-EL",
        "Corewire, asynchronous: all clients on one thread and one event loop",
    ),
    (
        "CW-SHM",
        "Corewire, blocking, through shared memory: one host, no TCP",
    ),
    ("CW-REST", "Corewire, REST over HTTP/2"),
    ("CW-GRPC", "Corewire, gRPC over HTTP/2"),
];

/// After a name: the same adapter with raised malloc thresholds.
const MALLOC: &str = "+malloc";

/// After the name of one of Corewire's adapters: both ends poll without sleeping, or sleep at once
/// instead of asking for a moment first.
const WAITING: [(&str, &str); 2] = [("+poll", "poll"), ("+sleep", "sleep")];

/// Tells the programs under test how Corewire's ends wait.
const WAITING_VARIABLE: &str = "COREWIRE_PEERS_WAITING";

/// After a name: all clients use one connection.
const SHARED: &str = "+shared";

/// Between two adapters that speak the same protocol: the client of the first, the server of the
/// second.
pub(crate) const MIXED: &str = "-to-";

/// Those that speak gRPC: a client of each understands a server of each.
const SPEAK_GRPC: [&str; 6] = [
    "GRPC-S",
    "GRPC-AS",
    "GRPC-BI",
    "GRPC-ASBI",
    "GRPC-CB",
    "CW-GRPC",
];

/// What bare sockets and bare memory can do: adapters that only `lab run floor` runs unasked.
const FLOOR: &str = "floor";

/// glibc gives big blocks back to the kernel at once and then pays a page fault for each page of
/// the next one. These keep them. 32 MiB is the largest mmap threshold that glibc accepts.
const MALLOC_ENVIRONMENT: [(&str, u64); 3] = [
    ("MALLOC_MMAP_THRESHOLD_", 32 << 20),
    ("MALLOC_TRIM_THRESHOLD_", 256 << 20),
    ("MALLOC_TOP_PAD_", 16 << 20),
];

const LIST_DEADLINE: Duration = Duration::from_secs(10);

/// An adapter as the client program lists it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Adapter {
    #[serde(rename = "adapter")]
    pub(crate) name: String,
    pub(crate) built: bool,
    /// What to install to have it built.
    #[serde(default)]
    pub(crate) needs: String,
    #[serde(default)]
    pub(crate) framework: String,
    #[serde(default)]
    pub(crate) description: String,
    /// Whose connections it can use: `own`, or `own,shared`.
    #[serde(default)]
    connections: String,
    /// Why it has no TLS; empty when it has.
    #[serde(default)]
    pub(super) no_tls: String,
    /// Whether its framework balances over several servers by itself.
    #[serde(default)]
    pub(super) balances: bool,
    /// The user's own program, where it is one.
    #[serde(skip)]
    own: Option<PathBuf>,
}

/// All adapters, those of the evaluation first and in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Catalog {
    adapters: Vec<Adapter>,
    has_baseline: bool,
}

impl Catalog {
    /// Asks the client program.
    ///
    /// # Errors
    /// When the program cannot be started, or prints no list in ten seconds.
    pub(crate) fn ask(peers: &Peers, cpus: &Cpus) -> anyhow::Result<Self> {
        let nothing: [(&'static str, String); 0] = [];
        let process = Process::spawn(&peers.client, ["--list"], nothing, cpus)?;
        let deadline = Instant::now() + LIST_DEADLINE;
        let mut text = String::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match process.output(left) {
                Output::End => break,
                Output::Line(line) if !left.is_zero() => text.extend([&line, "\n"]),
                Output::Line(_) | Output::Silence => bail!(
                    "{} --list did not come to its end within {LIST_DEADLINE:?}; is it the right \
                     program?",
                    peers.client.display()
                ),
            }
        }
        Self::parse(&text).with_context(|| {
            let words = process.last_words();
            format!(
                "{} --list is not understood {words}",
                peers.client.display()
            )
        })
    }

    /// What is known without any program: everything missing.
    pub(crate) fn unbuilt() -> Self {
        Self::merge(BTreeMap::new())
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let mut listed = BTreeMap::new();
        for (at, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.starts_with('{'))
        {
            let adapter: Adapter =
                serde_json::from_str(line).with_context(|| format!("line {}", at + 1))?;
            listed.insert(adapter.name.clone(), adapter);
        }
        if listed.is_empty() {
            bail!("it lists no adapter");
        }
        Ok(Self::merge(listed))
    }

    fn merge(mut listed: BTreeMap<String, Adapter>) -> Self {
        let has_baseline = listed
            .remove(BASELINE)
            .is_some_and(|baseline| baseline.built);
        let mut adapters: Vec<Adapter> = KNOWN
            .iter()
            .map(|&(name, description)| {
                listed.remove(name).unwrap_or_else(|| Adapter {
                    name: name.to_owned(),
                    built: false,
                    needs: "a newer build of the peers (`make peers`)".to_owned(),
                    framework: String::new(),
                    description: description.to_owned(),
                    connections: String::new(),
                    no_tls: String::new(),
                    balances: false,
                    own: None,
                })
            })
            .collect();
        adapters.extend(listed.into_values());
        Self {
            adapters,
            has_baseline,
        }
    }

    /// Takes in a program of the user's.
    ///
    /// # Errors
    /// When there is an adapter of that name.
    pub(super) fn take_in(&mut self, peer: &OwnPeer) -> anyhow::Result<()> {
        if self.adapters.iter().any(|known| known.name == peer.name) {
            bail!(
                "--peer {}: there is an adapter of that name; choose another",
                peer.name
            );
        }
        self.adapters.push(Adapter {
            name: peer.name.clone(),
            built: true,
            needs: String::new(),
            framework: "own".to_owned(),
            description: format!("the program {}", peer.program.display()),
            connections: "own".to_owned(),
            no_tls: "the protocol of --peer knows no TLS".to_owned(),
            balances: false,
            own: Some(peer.program.clone()),
        });
        Ok(())
    }

    /// All, in the order in which they are shown.
    pub(crate) fn adapters(&self) -> &[Adapter] {
        &self.adapters
    }

    /// Whether the network alone can be measured.
    pub(super) fn has_baseline(&self) -> bool {
        self.has_baseline
    }

    /// The subjects of the names given (any case, each once), or every adapter when there are none;
    /// each as often as there are kinds of TLS, unless its name says which.
    ///
    /// # Errors
    /// When a name is no adapter; says which there are.
    pub(super) fn subjects(
        &self,
        names: &[String],
        kinds: &[Tls],
        sharing: Sharing,
    ) -> anyhow::Result<Vec<Subject>> {
        let kinds = if kinds.is_empty() { &[Tls::Off] } else { kinds };
        if names.is_empty() {
            let every = self.adapters.iter().filter(|a| a.framework != FLOOR);
            return Ok(every
                .flat_map(|adapter| kinds.iter().map(move |kind| (adapter, *kind)))
                .map(|(adapter, kind)| Subject::of(adapter, kind, Variant::plain(sharing)))
                .collect());
        }
        let mut subjects: Vec<Subject> = Vec::new();
        for name in names {
            let upper = name.trim().to_ascii_uppercase();
            let (plain, variant) = Variant::behind(&upper, sharing);
            let (plain, named) = [Tls::Server, Tls::Mutual]
                .into_iter()
                .find_map(|kind| {
                    let suffix = suffix(kind).to_ascii_uppercase();
                    Some((plain.strip_suffix(&suffix)?, Some(kind)))
                })
                .unwrap_or((plain, None));
            let of = |name: &str| self.adapters.iter().find(|adapter| adapter.name == name);
            let ends = match of(plain) {
                Some(adapter) => Some((adapter, None)),
                None => plain
                    .split_once(&MIXED.to_ascii_uppercase())
                    .and_then(|(client, server)| Some((of(client)?, Some(of(server)?)))),
            };
            let Some((adapter, server)) = ends else {
                let known: Vec<&str> = self.adapters.iter().map(|a| a.name.as_str()).collect();
                bail!(
                    "there is no adapter {name:?}; there are {}; each also with {}, {} or {MALLOC} \
                     behind it, Corewire's with {}, with {SHARED} where clients can share a \
                     connection, and A{MIXED}B for the client of A with the server of B where both \
                     speak gRPC",
                    known.join(", "),
                    suffix(Tls::Server),
                    suffix(Tls::Mutual),
                    WAITING.map(|(suffix, _)| suffix).join(" or "),
                );
            };
            let kinds = named.as_ref().map_or(kinds, std::slice::from_ref);
            for kind in kinds {
                let subject = match server {
                    Some(server) => Subject::mixed(adapter, server, *kind, variant),
                    None => Subject::of(adapter, *kind, variant),
                };
                if !subjects.contains(&subject) {
                    subjects.push(subject);
                }
            }
        }
        Ok(subjects)
    }
}

/// The adapters of the client and of the server of such a subject; `None` when it has only one.
pub(crate) fn mixed_ends(subject: &str) -> Option<(&str, &str)> {
    let plain = subject.split(['+', ' ']).next().unwrap_or(subject);
    plain.split_once(MIXED)
}

/// What stands behind the name of an adapter whose connections are secured.
pub(crate) const fn suffix(kind: Tls) -> &'static str {
    match kind {
        Tls::Off => "",
        Tls::Server => "+tls",
        Tls::Mutual => "+mtls",
    }
}

/// What is asked for with an adapter, besides TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Variant {
    malloc: bool,
    /// Suffix and word.
    waiting: Option<(&'static str, &'static str)>,
    sharing: Sharing,
    /// Its own name says that it shares.
    named_shared: bool,
}

impl Variant {
    const fn plain(sharing: Sharing) -> Self {
        Self {
            malloc: false,
            waiting: None,
            sharing,
            named_shared: false,
        }
    }

    /// What stands behind a name in capitals, and the name without.
    fn behind(name: &str, sharing: Sharing) -> (&str, Self) {
        let mut variant = Self::plain(sharing);
        let mut plain = name;
        loop {
            if let Some(rest) = strip(plain, SHARED) {
                variant.sharing = Sharing::Shared;
                variant.named_shared = true;
                plain = rest;
            } else if let Some(rest) = strip(plain, MALLOC) {
                variant.malloc = true;
                plain = rest;
            } else if let Some((rest, way)) = WAITING
                .into_iter()
                .find_map(|way| Some((strip(plain, way.0)?, way)))
            {
                variant.waiting = Some(way);
                plain = rest;
            } else {
                return (plain, variant);
            }
        }
    }
}

fn strip<'a>(name: &'a str, suffix: &str) -> Option<&'a str> {
    name.strip_suffix(&suffix.to_ascii_uppercase())
}

/// What is started for a subject.
#[derive(Debug, Clone, Copy)]
pub(super) struct Programs<'a> {
    pub(super) server: &'a Path,
    pub(super) client: &'a Path,
    /// A program that is both is told which by its first argument: the server's and the client's.
    pub(super) words: [Option<&'static str>; 2],
}

/// An adapter as it stands in a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    /// As in the record: `THRIFT-NB+malloc`.
    pub(super) name: String,
    /// As the programs call it: `THRIFT-NB`. Of the client, where the server's is another.
    pub(super) adapter: String,
    /// The server's.
    pub(super) server: String,
    /// The user's own program, where it is one.
    pub(super) own: Option<PathBuf>,
    /// Why it cannot run, and what to do about it.
    pub(super) hole: Option<Failure>,
    pub(super) tls: Tls,
    variant: Variant,
}

impl Subject {
    fn of(adapter: &Adapter, tls: Tls, variant: Variant) -> Self {
        let waiting = variant.waiting.map_or("", |(suffix, _)| suffix);
        let tuned = if variant.malloc { MALLOC } else { "" };
        Self {
            name: format!("{}{}{waiting}{tuned}", adapter.name, suffix(tls)),
            adapter: adapter.name.clone(),
            server: adapter.name.clone(),
            own: adapter.own.clone(),
            hole: hole(adapter, tls, variant),
            tls,
            variant,
        }
    }

    /// The client of one adapter and the server of another.
    fn mixed(client: &Adapter, server: &Adapter, tls: Tls, variant: Variant) -> Self {
        let of_client = Self::of(client, tls, variant);
        let of_server = Self::of(server, tls, Variant::plain(Sharing::Own));
        let both = format!("{}{MIXED}{}", client.name, server.name);
        let speaks_grpc = |adapter: &Adapter| SPEAK_GRPC.contains(&adapter.name.as_str());
        let strangers = (!speaks_grpc(client) || !speaks_grpc(server)).then(|| Failure {
            what: format!("{both}: these two do not speak the same protocol"),
            place: "--adapter".to_owned(),
            next: format!("there are pairs of {}", SPEAK_GRPC.join(", ")),
        });
        Self {
            name: of_client.name.replacen(&client.name, &both, 1),
            server: of_server.server,
            hole: strangers.or(of_client.hole).or(of_server.hole),
            ..of_client
        }
    }

    /// The programs of both ends and the words before their options.
    pub(super) fn programs<'a>(&'a self, peers: &'a Peers) -> Programs<'a> {
        match &self.own {
            Some(own) => Programs {
                server: own,
                client: own,
                words: [Some("server"), Some("client")],
            },
            None => Programs {
                server: &peers.server,
                client: &peers.client,
                words: [None, None],
            },
        }
    }

    /// As it is given on the command line: the records tell a shared connection by its number.
    pub(super) fn asked(&self) -> String {
        let shared = if self.variant.named_shared {
            SHARED
        } else {
            ""
        };
        format!("{}{shared}", self.name)
    }

    /// Whether its own name says that it shares a connection.
    pub(super) const fn is_named_shared(&self) -> bool {
        self.variant.named_shared
    }

    /// Connections of so many clients.
    pub(super) fn connections(&self, clients: u32) -> u32 {
        match self.variant.sharing {
            Sharing::Own => clients,
            Sharing::Shared => 1,
        }
    }

    /// Whether it says anything with so many clients. Who spins would only take the core from its like,
    /// and one client shares its connection with nobody.
    pub(super) fn suits(&self, clients: u32) -> bool {
        let alone = [
            "FLOOR-SPIN",
            "FLOOR-PIPE-64",
            "FLOOR-SHM-SPIN",
            "FLOOR-SHM-FUTEX",
        ];
        let polls = self.variant.waiting.is_some_and(|(_, word)| word == "poll");
        let one = polls || alone.contains(&self.adapter.as_str());
        if clients == 1 {
            !self.variant.named_shared
        } else {
            !one
        }
    }

    /// The network alone.
    pub(super) fn baseline() -> Self {
        Self {
            name: BASELINE.to_owned(),
            adapter: BASELINE.to_owned(),
            server: BASELINE.to_owned(),
            own: None,
            hole: None,
            tls: Tls::Off,
            variant: Variant::plain(Sharing::Own),
        }
    }

    /// What both processes get on top of the lab's own environment.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let malloc = MALLOC_ENVIRONMENT.iter().filter(|_| self.variant.malloc);
        let waiting = self.variant.waiting.iter();
        malloc
            .map(|&(name, value)| (name, value.to_string()))
            .chain(waiting.map(|(_, word)| (WAITING_VARIABLE, (*word).to_owned())))
            .collect()
    }
}

fn hole(adapter: &Adapter, tls: Tls, variant: Variant) -> Option<Failure> {
    let Adapter { name, needs, .. } = adapter;
    let (what, next) = if !adapter.built {
        (
            format!("{name} is not built"),
            format!("it needs {needs}; install that and run `make peers`"),
        )
    } else if tls != Tls::Off && !adapter.no_tls.is_empty() {
        (
            format!("{name} has no TLS: {}", adapter.no_tls),
            "compare it in clear text (--tls off)".to_owned(),
        )
    } else if variant.waiting.is_some() && !name.starts_with("CW-") {
        (
            format!("{name} has no setting for how it waits"),
            "only Corewire's adapters have".to_owned(),
        )
    } else if variant.sharing == Sharing::Shared && adapter.connections == "own" {
        (
            format!("{name} cannot share a connection between clients"),
            "leave --connections out".to_owned(),
        )
    } else {
        return None;
    };
    Some(Failure {
        what,
        place: "corewire-peer-client --list".to_owned(),
        next,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A build with two adapters and a third that lacks its library.
    pub(in crate::guti) fn catalog() -> Catalog {
        Catalog::parse(
            r#"some library says hello
{"adapter":"BASELINE-TCP","built":true,"needs":"nothing","framework":"none","description":"net"}
{"adapter":"NEW-ONE","built":true,"needs":"","framework":"new","description":"later than us","connections":"own"}
{"adapter":"TCP-AS","built":true,"needs":"nothing","framework":"none","description":"tcp","no_tls":"none was written"}
{"adapter":"THRIFT-S","built":false,"needs":"libthrift-dev","framework":"Thrift","description":"t"}"#,
        )
        .expect("a list")
    }

    #[test]
    fn listed_and_known_adapters_are_merged_in_order() {
        let catalog = catalog();
        let names: Vec<&str> = catalog.adapters().iter().map(|a| a.name.as_str()).collect();
        assert_eq!(
            (names[0], names[15], names[16]),
            ("GRPC-S", "CW-GRPC", "NEW-ONE")
        );
        assert!(!names.contains(&BASELINE));
        assert!(catalog.has_baseline() && !Catalog::unbuilt().has_baseline());
        let built: Vec<&str> = catalog
            .adapters()
            .iter()
            .filter(|a| a.built)
            .map(|a| a.name.as_str())
            .collect();
        assert_eq!(built, ["TCP-AS", "NEW-ONE"]);
    }

    #[test]
    fn subjects_by_name_in_any_case_and_once() {
        let names = ["tcp-as", "TCP-AS", "tcp-as+MALLOC", "Thrift-S"].map(str::to_owned);
        let subjects = catalog()
            .subjects(&names, &[], Sharing::Own)
            .expect("all known");
        let shown: Vec<&str> = subjects.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(shown, ["TCP-AS", "TCP-AS+malloc", "THRIFT-S"]);
        assert!(subjects[0].environment().is_empty());
        assert_eq!(subjects[1].adapter, "TCP-AS");
        assert_eq!(subjects[1].environment().len(), 3);
        assert_eq!(subjects[1].hole, None);
        let hole = subjects[2].hole.as_ref().expect("not built").to_string();
        assert!(
            hole.contains("THRIFT-S is not built") && hole.contains("libthrift-dev"),
            "{hole}"
        );
    }

    #[test]
    fn each_kind_of_tls_is_a_subject_and_who_has_none_is_a_hole() {
        let kinds = [Tls::Off, Tls::Mutual];
        let names = |subjects: &[Subject]| -> Vec<String> {
            subjects
                .iter()
                .map(|subject| subject.name.clone())
                .collect()
        };
        let every = catalog()
            .subjects(&[], &kinds, Sharing::Own)
            .expect("all known");
        assert!(names(&every).contains(&"CW-S+mtls".to_owned()));
        // As a resumed session names them: those names say it all.
        let again = catalog()
            .subjects(&names(&every), &[], Sharing::Own)
            .expect("all known");
        assert_eq!(every, again);

        let given = ["TCP-AS+malloc", "NEW-ONE+tls"].map(str::to_owned);
        let subjects = catalog()
            .subjects(&given, &kinds, Sharing::Own)
            .expect("all known");
        assert_eq!(
            names(&subjects),
            ["TCP-AS+malloc", "TCP-AS+mtls+malloc", "NEW-ONE+tls"]
        );
        assert_eq!(subjects[0].hole, None);
        let hole = subjects[1].hole.as_ref().expect("no TLS").to_string();
        assert!(
            hole.contains("TCP-AS has no TLS: none was written"),
            "{hole}"
        );
        assert_eq!((subjects[2].tls, &subjects[2].hole), (Tls::Server, &None));
    }

    #[test]
    fn who_cannot_share_a_connection_is_a_hole_when_that_is_asked() {
        let subjects =
            catalog().subjects(&["NEW-ONE".into(), "TCP-AS".into()], &[], Sharing::Shared);
        let subjects = subjects.expect("both known");
        let hole = subjects[0]
            .hole
            .as_ref()
            .expect("own connections only")
            .to_string();
        assert!(hole.contains("cannot share"), "{hole}");
        assert_eq!(subjects[1].hole, None);
    }

    #[test]
    fn variants_stand_behind_the_name_in_any_order() {
        let names = [
            "CW-S+poll",
            "cw-s+SLEEP+malloc",
            "TCP-AS+shared",
            "TCP-AS+poll",
        ];
        let subjects = catalog()
            .subjects(&names.map(str::to_owned), &[], Sharing::Own)
            .expect("all known");
        let shown: Vec<(&str, String)> = subjects
            .iter()
            .map(|s| (s.name.as_str(), s.asked()))
            .collect();
        assert_eq!(shown[0], ("CW-S+poll", "CW-S+poll".to_owned()));
        assert_eq!(shown[1].0, "CW-S+sleep+malloc");
        // The record tells it by its one connection.
        assert_eq!(shown[2], ("TCP-AS", "TCP-AS+shared".to_owned()));
        assert_eq!(
            (subjects[2].connections(16), subjects[0].connections(16)),
            (1, 16)
        );
        let waiting = (WAITING_VARIABLE, "poll".to_owned());
        assert_eq!(subjects[0].environment(), [waiting]);
        assert_eq!(subjects[1].environment().len(), 4);
        assert!(
            subjects[3]
                .hole
                .as_ref()
                .expect("no such")
                .to_string()
                .contains("how it waits")
        );
        // A poller takes its like's core; one client shares with nobody.
        assert!(subjects[0].suits(1) && !subjects[0].suits(2));
        assert!(!subjects[2].suits(1) && subjects[2].suits(2));
    }

    #[test]
    fn ends_of_two_adapters_meet_where_both_speak_grpc() {
        let catalog = Catalog::parse(
            r#"{"adapter":"GRPC-S","built":true,"framework":"gRPC"}
{"adapter":"CW-GRPC","built":true,"framework":"Corewire"}
{"adapter":"TCP-AS","built":true,"framework":"none"}"#,
        )
        .expect("a list");
        let names = [
            "grpc-s-TO-cw-grpc",
            "CW-GRPC-to-GRPC-S+malloc",
            "GRPC-S-to-TCP-AS",
            "GRPC-CB-to-CW-GRPC",
        ];
        let subjects = catalog
            .subjects(&names.map(str::to_owned), &[], Sharing::Own)
            .expect("all known");
        assert_eq!(subjects[0].name, "GRPC-S-to-CW-GRPC");
        assert_eq!(
            (subjects[0].adapter.as_str(), subjects[0].server.as_str()),
            ("GRPC-S", "CW-GRPC")
        );
        assert_eq!(subjects[0].hole, None);
        assert_eq!(subjects[1].name, "CW-GRPC-to-GRPC-S+malloc");
        let hole = |at: usize| subjects[at].hole.as_ref().expect("a hole").to_string();
        assert!(hole(2).contains("the same protocol"), "{}", hole(2));
        assert!(hole(3).contains("GRPC-CB is not built"), "{}", hole(3));
        // As a resumed session names them.
        let again: Vec<String> = subjects.iter().map(Subject::asked).collect();
        let again = catalog.subjects(&again, &[], Sharing::Own);
        assert_eq!(again.expect("all known"), subjects);
        assert_eq!(
            mixed_ends("GRPC-S-to-CW-GRPC+mtls"),
            Some(("GRPC-S", "CW-GRPC"))
        );
        assert_eq!(mixed_ends("GRPC-S on 1"), None);
    }

    #[test]
    fn a_program_of_the_users_is_an_adapter_of_its_own_name() {
        let mut catalog = catalog();
        let peer = OwnPeer {
            name: "BRPC".to_owned(),
            program: PathBuf::from("/opt/brpc-peer"),
        };
        catalog.take_in(&peer).expect("a new name");
        assert!(catalog.take_in(&peer).is_err());
        let subjects = catalog.subjects(&["brpc+malloc".to_owned()], &[Tls::Mutual], Sharing::Own);
        let subject = &subjects.expect("known")[0];
        assert_eq!(subject.name, "BRPC+mtls+malloc");
        assert!(
            subject
                .hole
                .as_ref()
                .expect("no TLS")
                .what
                .contains("no TLS")
        );
        let every = catalog.subjects(&[], &[], Sharing::Own).expect("all");
        let brpc = every.iter().find(|s| s.name == "BRPC").expect("among all");
        assert_eq!(brpc.hole, None);
        let peers = Peers {
            server: PathBuf::from("s"),
            client: PathBuf::from("c"),
        };
        let programs = brpc.programs(&peers);
        assert_eq!(programs.server, Path::new("/opt/brpc-peer"));
        assert_eq!(programs.words, [Some("server"), Some("client")]);
    }

    #[test]
    fn the_floor_is_run_when_it_is_named_only() {
        let catalog = Catalog::parse(
            r#"{"adapter":"FLOOR-TCP","built":true,"framework":"floor","connections":"own"}
{"adapter":"TCP-AS","built":true,"framework":"none"}"#,
        )
        .expect("a list");
        let is_floor = |subject: &Subject| subject.name.starts_with("FLOOR");
        let every = catalog.subjects(&[], &[], Sharing::Own).expect("all");
        assert!(!every.iter().any(is_floor));
        let named = catalog.subjects(&["floor-tcp".to_owned()], &[], Sharing::Own);
        assert!(named.expect("known").iter().all(is_floor));
    }

    #[test]
    fn nonsense_is_answered_with_what_there_is() {
        let error = catalog()
            .subjects(&["HTTP/9".to_owned()], &[], Sharing::Own)
            .expect_err("none")
            .to_string();
        assert!(
            error.contains("HTTP/9") && error.contains("THRIFT-NB"),
            "{error}"
        );
        assert!(
            catalog()
                .subjects(&["+malloc".to_owned()], &[], Sharing::Own)
                .is_err()
        );
    }

    #[test]
    fn a_program_without_a_list_is_not_the_right_one() {
        assert!(Catalog::parse("usage: something else").is_err());
        assert!(Catalog::parse("{\"adapter\":1}").is_err());
    }
}
