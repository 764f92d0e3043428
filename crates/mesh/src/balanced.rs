//! A channel over several servers that are written down: no control plane, no snapshot made by hand.
//!
//! Each server is an endpoint (`native://127.0.0.1:7000`, `grpc://amf.local:80`); a name stands for all
//! of its addresses and is looked up again from time to time, by the resolver of
//! [`MeshOptions::client`]. Calls take turns among the servers that
//! are connected; one that drains, is lost or cannot be reached gets none and is connected to again
//! after a wait with jitter. Servers are asked from time to time whether they want calls (gRPC's health
//! service): one that does not serve gets none. A call that no server has seen is tried elsewhere, at
//! once.

use crate::channel::{Discovery, Mesh, MeshChannel, MeshOptions, blocking};
use crate::config::{
    Backoff, CircuitLimits, Cluster, EndpointInfo, Endpoints, Forward, HealthCheck, Locality,
    Resolution, RetryPolicy, Route, RouteAction, RouteConfig, Snapshot, SnapshotSource, Transport,
    VirtualHost,
};
use corewire_transport::{Address, Endpoint, Protocol, Resolver};
use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The target's name; nobody else sees it.
const TARGET: &str = "balanced";
/// How often names are looked up again.
const LOOK_UP_EVERY: Duration = Duration::from_secs(30);
/// Tries beyond the first of a call that no server has seen.
const RETRIES: u32 = 8;
/// Waits between tries when every server was tried.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(10),
    max: Duration::from_millis(250),
};

impl MeshChannel {
    /// A channel that balances over these servers, with connections of its own.
    ///
    /// # Errors
    /// When there is none, one of them is no endpoint or its host is not found, and as
    /// [`Mesh::start`].
    ///
    /// ```no_run
    /// # fn main() -> std::io::Result<()> {
    /// use corewire_mesh::{MeshChannel, MeshOptions};
    /// let servers = ["native://10.0.0.1:7000", "native://10.0.0.2:7000", "grpc://amf.local:80"];
    /// let channel = MeshChannel::balanced(servers, MeshOptions::default())?;
    /// # drop(channel);
    /// # Ok(())
    /// # }
    /// ```
    pub fn balanced<E: AsRef<str>>(
        servers: impl IntoIterator<Item = E>,
        options: MeshOptions,
    ) -> io::Result<Self> {
        Ok(start(servers, options)?.channel(TARGET))
    }
}

impl blocking::MeshChannel {
    /// The same for threads that wait.
    ///
    /// # Errors
    /// As [`MeshChannel::balanced`](crate::MeshChannel::balanced).
    pub fn balanced<E: AsRef<str>>(
        servers: impl IntoIterator<Item = E>,
        options: MeshOptions,
    ) -> io::Result<Self> {
        Ok(start(servers, options)?.blocking(TARGET))
    }
}

fn start<E: AsRef<str>>(
    servers: impl IntoIterator<Item = E>,
    options: MeshOptions,
) -> io::Result<Mesh> {
    let servers: Arc<[Box<str>]> = servers.into_iter().map(|it| it.as_ref().into()).collect();
    let resolver = options.client.resolver.clone();
    let snapshot = snapshot(find(&servers, &resolver)?);
    let source = SnapshotSource::new(snapshot);
    let servers = Servers {
        servers,
        resolver,
        source,
    };
    Mesh::start(servers, options)
}

/// The servers as they are written, and what was found of them.
struct Servers {
    servers: Arc<[Box<str>]>,
    resolver: Resolver,
    source: SnapshotSource,
}

impl Discovery for Servers {
    fn source(&self) -> &SnapshotSource {
        &self.source
    }

    fn watch(&self, _target: &str) -> Result<Box<dyn Any + Send + Sync>, String> {
        if !self.servers.iter().any(|server| has_name(server)) {
            return Ok(Box::new(()));
        }
        // Looking a name up blocks. The thread ends when the sender is dropped.
        let (sender, stop) = channel::<()>();
        let (servers, source) = (Arc::clone(&self.servers), self.source.clone());
        let resolver = self.resolver.clone();
        std::thread::Builder::new()
            .name("corewire-names".into())
            .spawn(move || {
                while stop.recv_timeout(LOOK_UP_EVERY) == Err(RecvTimeoutError::Timeout) {
                    // A name that cannot be looked up now keeps the addresses it had.
                    if let Ok(found) = find(&servers, &resolver) {
                        publish(&source, found);
                    }
                }
            })
            .map_err(|error| format!("no thread to look names up: {error}"))?;
        Ok(Box::new(sender) as Box<Sender<()>>)
    }

    fn unknown(&self) -> Resolution<()> {
        Resolution::Missing("the channel knows its own target only".into())
    }
}

/// Makes known where the servers are, when that is news.
fn publish(source: &SnapshotSource, found: Vec<EndpointInfo>) {
    let next = snapshot(found);
    if source.load().clusters != next.clusters {
        source.publish(next);
    }
}

/// Whether a server's host is a name, behind which there may be others later.
fn has_name(server: &str) -> bool {
    let authority = server.split_once("://").map(|(_, authority)| authority);
    authority.is_some_and(|it| it.trim_end_matches('/').parse::<SocketAddr>().is_err())
}

/// Where the servers are, each address once.
fn find(servers: &[Box<str>], resolver: &Resolver) -> io::Result<Vec<EndpointInfo>> {
    let wrong = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    if servers.is_empty() {
        return Err(wrong("a channel needs at least one server".into()));
    }
    let mut found: Vec<EndpointInfo> = Vec::new();
    for server in servers {
        let endpoint = Endpoint::resolve(server, resolver)
            .map_err(|error| wrong(format!("server {server:?}: {error}")))?;
        for address in endpoint.addresses() {
            if found.iter().any(|known| known.address == *address) {
                continue;
            }
            let mut info = EndpointInfo::at(address.clone());
            info.transport = Some(match (endpoint.protocol(), address) {
                (_, Address::Memory(_)) => Transport::Shm,
                (Protocol::Grpc, _) => Transport::Grpc,
                (Protocol::Rest, _) => Transport::Rest,
                _ => Transport::Native,
            });
            found.push(info);
        }
    }
    Ok(found)
}

fn snapshot(endpoints: Vec<EndpointInfo>) -> Snapshot {
    let mut cluster = Cluster::new(TARGET);
    // A plain channel has no circuit: its caller's deadlines and the servers' limits hold.
    cluster.circuit = CircuitLimits {
        max_connections: u32::MAX,
        max_pending: u32::MAX,
        max_requests: u32::MAX,
        max_retries: u32::MAX,
        retry_budget: None,
    };
    // One that says that it does not serve gets no calls, but when all do, calls find out themselves.
    cluster.health_check = Some(Arc::new(HealthCheck::default()));
    cluster.panic_threshold = 1;
    let mut forward = Forward::to_cluster(TARGET);
    forward.retry = Some(Arc::new(RetryPolicy {
        num_retries: RETRIES,
        backoff: BACKOFF,
        ..RetryPolicy::default()
    }));
    let mut route = Route::to_cluster(TARGET);
    route.action = RouteAction::Forward(Box::new(forward));
    let mut snapshot = Snapshot::default();
    snapshot.add_target(
        TARGET,
        RouteConfig {
            name: TARGET.into(),
            virtual_hosts: vec![VirtualHost {
                name: "any".into(),
                domains: vec!["*".into()],
                routes: vec![route],
            }],
        },
    );
    let weight = u32::try_from(endpoints.len()).unwrap_or(u32::MAX);
    let all = Locality {
        weight,
        endpoints,
        ..Locality::default()
    };
    let endpoints = Endpoints {
        localities: vec![all],
        ..Endpoints::default()
    };
    snapshot.add_cluster(cluster, endpoints);
    snapshot
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(servers: &[&str]) -> io::Result<Vec<EndpointInfo>> {
        let servers: Vec<Box<str>> = servers.iter().map(|server| (*server).into()).collect();
        find(&servers, &Resolver::default())
    }

    #[test]
    fn every_address_is_a_server_once() {
        let list = [
            "native://127.0.0.1:1",
            "grpc://127.0.0.1:2",
            "native://127.0.0.1:1",
        ];
        let transports: Vec<_> = found(&list)
            .unwrap()
            .iter()
            .map(|info| info.transport)
            .collect();
        assert_eq!(transports, [Some(Transport::Native), Some(Transport::Grpc)]);
        let list = ["rest+unix:/run/a.sock", "shm://a"];
        let transports: Vec<_> = found(&list)
            .unwrap()
            .iter()
            .map(|info| info.transport)
            .collect();
        assert_eq!(transports, [Some(Transport::Rest), Some(Transport::Shm)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_the_server() {
        let wrong = found(&["native://127.0.0.1:1", "soap://x:1"]).unwrap_err();
        assert!(wrong.to_string().contains("soap://x:1"), "{wrong}");
        let none = found(&[]).unwrap_err();
        assert!(none.to_string().contains("at least one"), "{none}");
    }

    #[test]
    fn only_names_are_looked_up_again_and_only_news_is_told() {
        assert!(has_name("native://localhost:1"));
        for fixed in [
            "native://127.0.0.1:1",
            "grpc://[::1]:80/",
            "rest+unix:/x",
            "native://1.2.3.4:5",
        ] {
            assert!(!has_name(fixed), "{fixed}");
        }
        let source = SnapshotSource::new(snapshot(found(&["native://127.0.0.1:1"]).unwrap()));
        publish(&source, found(&["native://127.0.0.1:1"]).unwrap());
        assert_eq!(source.version(), 0);
        publish(&source, found(&["native://127.0.0.1:2"]).unwrap());
        assert_eq!(source.version(), 1);
    }
}
