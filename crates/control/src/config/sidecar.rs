//! `[[sidecar]]`: what an Envoy listens at, found by its node's name.

use super::Known;
use super::pattern::Pattern;
use super::reader::{Table, Value};
use super::secure::TlsFiles;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// The listeners of the Envoys whose node is named so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sidecar {
    /// Its name, for people and metrics.
    pub name: Arc<str>,
    /// Node ids it is for.
    pub node: Pattern,
    /// Node clusters it is for.
    pub cluster: Pattern,
    /// Towards services.
    pub outbound: Vec<Outbound>,
    /// Towards the network function beside it.
    pub inbound: Vec<Inbound>,
    /// Its certificate: for services that want TLS, and for its inbound ports, which want it of
    /// everybody then. The network function beside it is spoken to in clear text.
    pub tls: Option<TlsFiles>,
}

/// A listener for the network function beside the sidecar.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outbound {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What is reached through it: one service takes every request, of several the authority of
    /// the request tells.
    pub services: Vec<Arc<str>>,
}

/// A listener in front of the network function beside the sidecar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inbound {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where the network function listens.
    pub to: SocketAddr,
}

/// The most listeners one line may make.
const MAX_COUNT: u64 = 10_000;

pub(super) fn read_all(root: &mut Table<'_, '_>, known: &Known<'_>) -> Vec<Arc<Sidecar>> {
    let mut sidecars: Vec<Arc<Sidecar>> = Vec::new();
    for mut table in root.take("sidecar").map_or_else(Vec::new, |v| v.tables()) {
        let name = table.need("name", "write name = \"…\"");
        let read = name.as_ref().and_then(Value::name);
        if let (Some(value), Some(read)) = (&name, &read)
            && sidecars.iter().any(|sidecar| *sidecar.name == **read)
        {
            value.fault(format!("sidecar {read:?} is defined twice"), "rename one");
        }
        let node = table.take("node").and_then(|v| v.string());
        let cluster = table.take("cluster").and_then(|v| v.string());
        if node.is_none() && cluster.is_none() {
            table.fault(
                "nothing says which Envoys this is for",
                "write node = \"gateway-*\" (the node's id) or cluster = \"…\"",
            );
        }
        let mut taken = HashMap::new();
        let outbound = outbound(&mut table, known, &mut taken);
        let inbound = inbound(&mut table, &mut taken);
        let tls = TlsFiles::of_sidecar(&mut table);
        table.finish();
        let pattern = |text: Option<String>| Pattern::new(text.unwrap_or_else(|| "*".into()));
        sidecars.push(Arc::new(Sidecar {
            name: read.unwrap_or_default().into(),
            node: pattern(node),
            cluster: pattern(cluster),
            outbound,
            inbound,
            tls,
        }));
    }
    sidecars
}

type Taken = HashMap<SocketAddr, ()>;

fn outbound(table: &mut Table<'_, '_>, known: &Known<'_>, taken: &mut Taken) -> Vec<Outbound> {
    let mut listeners = Vec::new();
    for mut table in table.take("outbound").map_or_else(Vec::new, |v| v.tables()) {
        let listen = listen(&mut table);
        let values = table.need("services", "write services = [\"…\"]");
        let values = values.and_then(|value| value.array()).unwrap_or_default();
        let services: Vec<Arc<str>> = values.iter().filter_map(|v| known.service(v)).collect();
        if values.is_empty() {
            table.fault("services is empty", "name at least one service");
        }
        table.finish_after(|table| {
            if let Some(listen) = listen {
                claim(table, listen, taken);
            }
        });
        if let Some(listen) = listen {
            listeners.push(Outbound { listen, services });
        }
    }
    listeners
}

fn inbound(table: &mut Table<'_, '_>, taken: &mut Taken) -> Vec<Inbound> {
    let mut listeners = Vec::new();
    for mut table in table.take("inbound").map_or_else(Vec::new, |v| v.tables()) {
        let listen = listen(&mut table);
        let to = table
            .need(
                "to",
                "write to = \"IP:PORT\": where the network function listens",
            )
            .and_then(|value| value.address());
        let count = table.take("count");
        let count = count.and_then(|v| v.integer(1..=MAX_COUNT)).unwrap_or(1);
        table.finish_after(|table| {
            let (Some(listen), Some(to)) = (listen, to) else {
                return;
            };
            for index in 0..count {
                let (Some(listen), Some(to)) = (nth(listen, index), nth(to, index)) else {
                    table.fault(
                        format!("{count} ports from {listen} or {to} go beyond 65535"),
                        "begin lower, or count less",
                    );
                    return;
                };
                claim(table, listen, taken);
                listeners.push(Inbound { listen, to });
            }
        });
    }
    listeners
}

fn listen(table: &mut Table<'_, '_>) -> Option<SocketAddr> {
    table
        .need("listen", "write listen = \"IP:PORT\"")
        .and_then(|value| value.address())
}

fn claim(table: &Table<'_, '_>, listen: SocketAddr, taken: &mut Taken) {
    if taken.insert(listen, ()).is_some() {
        table.fault(
            format!("two listeners of this sidecar want {listen}"),
            "give each an address of its own",
        );
    }
}

fn nth(first: SocketAddr, index: u64) -> Option<SocketAddr> {
    let port = u64::from(first.port()).checked_add(index)?;
    Some(SocketAddr::new(first.ip(), u16::try_from(port).ok()?))
}
