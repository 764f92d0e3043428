//! What lies between clients and servers: loopback, or a link between two network namespaces.
//!
//! A namespace lives as long as a process in it does: here a `cat` that reads from the lab and so
//! ends with it, however the lab ends. Then the kernel takes the namespace and the link away;
//! nothing has a name that could be left behind.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Cpus, Process};
use crate::record::Failure;

/// Whose end of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Clients, or RMR's senders.
    Client,
    /// Servers, or RMR's receivers.
    Server,
}

/// Between clients and servers.
#[derive(Debug)]
pub(crate) enum Network {
    Loopback,
    Link {
        client: Namespace,
        server: Namespace,
    },
}

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    /// The process that keeps it.
    keeper: Process,
}

const ADDRESSES: [&str; 2] = ["10.97.45.1", "10.97.45.2"];
const LINKS: [&str; 2] = ["corewire-tx", "corewire-rx"];
/// For `unshare` to have made the namespace.
const MAKING: Duration = Duration::from_secs(5);

impl Network {
    /// The network of one run.
    pub(crate) fn new(mtu: Option<u32>, cpus: &Cpus) -> Result<Self, Failure> {
        let Some(mtu) = mtu else {
            return Ok(Self::Loopback);
        };
        let client = Namespace::new(cpus)?;
        let server = Namespace::new(cpus)?;
        let (tx, rx) = (client.id(), server.id());
        run(
            "ip",
            &[
                "link", "add", LINKS[0], "netns", &tx, "type", "veth", "peer", "name", LINKS[1],
                "netns", &rx,
            ],
        )?;
        for (namespace, link, address) in [
            (&client, LINKS[0], ADDRESSES[0]),
            (&server, LINKS[1], ADDRESSES[1]),
        ] {
            namespace.ip(&["link", "set", "lo", "up"])?;
            namespace.ip(&["address", "add", &format!("{address}/30"), "dev", link])?;
            namespace.ip(&["link", "set", link, "mtu", &mtu.to_string(), "up"])?;
        }
        Ok(Self::Link { client, server })
    }

    /// The address of one side.
    pub(crate) fn address(&self, side: Side) -> &'static str {
        match (self, side) {
            (Self::Loopback, _) => "127.0.0.1",
            (Self::Link { .. }, Side::Client) => ADDRESSES[0],
            (Self::Link { .. }, Side::Server) => ADDRESSES[1],
        }
    }

    /// How a program of one side is started: itself, or by what puts it into its namespace.
    pub(crate) fn command(
        &self,
        side: Side,
        program: &Path,
        arguments: Vec<OsString>,
    ) -> (PathBuf, Vec<OsString>) {
        let namespace = match (self, side) {
            (Self::Loopback, _) => return (program.to_owned(), arguments),
            (Self::Link { client, .. }, Side::Client) => client,
            (Self::Link { server, .. }, Side::Server) => server,
        };
        let mut all: Vec<OsString> = vec![namespace.option().into(), program.into()];
        all.extend(arguments);
        ("nsenter".into(), all)
    }
}

impl Namespace {
    fn new(cpus: &Cpus) -> Result<Self, Failure> {
        let nothing: [(&'static str, String); 0] = [];
        let keeper = Process::spawn(Path::new("unshare"), ["--net", "cat"], nothing, cpus)
            .map_err(|error| refused(&format!("{error:#}")))?;
        let namespace = Self { keeper };
        let ours = std::fs::read_link("/proc/self/ns/net").ok();
        let deadline = Instant::now() + MAKING;
        loop {
            if namespace.keeper.ended().is_some() {
                return Err(refused(&namespace.keeper.last_words()));
            }
            let its = std::fs::read_link(format!("/proc/{}/ns/net", namespace.id())).ok();
            if its.is_some() && its != ours {
                return Ok(namespace);
            }
            if Instant::now() >= deadline {
                return Err(refused("unshare made no namespace"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn id(&self) -> String {
        self.keeper.id().to_string()
    }

    fn option(&self) -> String {
        format!("--net=/proc/{}/ns/net", self.keeper.id())
    }

    fn ip(&self, arguments: &[&str]) -> Result<(), Failure> {
        let option = self.option();
        run("nsenter", &[&[option.as_str(), "ip"], arguments].concat())
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| refused(&format!("cannot start {program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(refused(&format!(
        "{program} {}: {}",
        arguments.join(" "),
        words.trim()
    )))
}

fn refused(words: &str) -> Failure {
    Failure {
        what: format!("no network namespaces: {words}"),
        place: "making the link".to_owned(),
        next: "run this as root (or with CAP_SYS_ADMIN and CAP_NET_ADMIN) with iproute2 and \
               util-linux installed, or stay on loopback"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_starts_programs_as_they_are() {
        let cpus = Cpus::allowed().expect("some");
        let network = Network::new(None, &cpus).expect("always there");
        let (program, arguments) =
            network.command(Side::Client, Path::new("/x"), vec!["--y".into()]);
        assert_eq!((program, arguments), ("/x".into(), vec!["--y".into()]));
        assert_eq!(network.address(Side::Server), "127.0.0.1");
    }

    #[test]
    fn a_link_is_there_with_its_mtu_and_gone_with_its_keepers_or_refused_with_the_reason() {
        let cpus = Cpus::allowed().expect("some");
        let network = match Network::new(Some(1500), &cpus) {
            Ok(network) => network,
            Err(failure) => {
                assert!(failure.next.contains("CAP_NET_ADMIN"), "{failure}");
                return;
            }
        };
        let (program, arguments) = network.command(
            Side::Server,
            Path::new("ip"),
            vec!["link".into(), "show".into()],
        );
        let shown = Command::new(program)
            .args(arguments)
            .output()
            .expect("runs");
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(
            shown.contains("corewire-rx") && shown.contains("mtu 1500"),
            "{shown}"
        );
    }
}
