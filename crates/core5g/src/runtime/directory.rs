//! Where services are: what `--peer` says, else what discovery has found; and the channels there.

use super::options::NfOptions;
use corewire::mesh::config::{
    Cluster, Endpoints, Resolution, RouteConfig, Snapshot, SnapshotSource, Transport,
};
use corewire::mesh::{Mesh, MeshChannel, MeshOptions};
use corewire::tls::ClientTls;
use corewire::{Address, Client, ClientOptions, LoopHandle, parse_address};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Clients of single instances that are kept at a time, for each loop.
const MAX_DIRECT: usize = 1024;
/// How long a connection to a peer may take; peers are near.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest wait between two attempts to connect: a call waits for two seconds for an instance that
/// was killed, and one that is there again must be found well within.
const LONGEST_BACKOFF: Duration = Duration::from_millis(200);

/// What is known of where a service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Nobody has said yet: calls wait.
    NotYet,
    /// Here.
    At(Vec<String>),
    /// No instance of it is registered: calls fail at once.
    Nowhere,
}

/// The services that this NF calls, and the channels to them.
pub(super) struct Directory {
    source: SnapshotSource,
    known: Mutex<BTreeMap<String, Known>>,
    /// Services whose place an option says.
    settled: Vec<String>,
    /// By service: a channel for each loop.
    channels: HashMap<String, Vec<MeshChannel>>,
    /// By authority: a client for each loop.
    direct: Mutex<HashMap<(usize, String), Client>>,
    loops: Vec<LoopHandle>,
    transport: Transport,
    tls: Option<ClientTls>,
}

impl Directory {
    pub(super) fn new(
        options: &NfOptions,
        consumed: &[&'static str],
        loops: &[LoopHandle],
        tls: Option<ClientTls>,
    ) -> std::io::Result<Self> {
        let mut known: BTreeMap<String, Known> = consumed
            .iter()
            .map(|service| ((*service).to_owned(), Known::NotYet))
            .collect();
        if options.nrf.is_none() {
            known.values_mut().for_each(|known| *known = Known::Nowhere);
        }
        for peer in &options.peer {
            known.insert(peer.service.clone(), Known::At(peer.addresses.clone()));
        }
        let source = SnapshotSource::new(snapshot(&known));
        let mut mesh_options = MeshOptions::default().with_transport(options.transport);
        for handle in loops {
            mesh_options = mesh_options.with_loop(handle.clone());
        }
        mesh_options.client.longest_backoff = Some(LONGEST_BACKOFF);
        mesh_options.client.tls.clone_from(&tls);
        let mesh = Mesh::start(source.clone(), mesh_options)?;
        let channels = known
            .keys()
            .map(|service| {
                let each = (0..loops.len()).map(|index| mesh.channel_on(service, index));
                (service.clone(), each.collect())
            })
            .collect();
        Ok(Self {
            source,
            known: Mutex::new(known),
            settled: options
                .peer
                .iter()
                .map(|peer| peer.service.clone())
                .collect(),
            channels,
            direct: Mutex::default(),
            loops: loops.to_vec(),
            transport: options.transport,
            tls,
        })
    }

    /// The channel to a service by this loop; `None` when this NF never said that it calls it.
    pub(super) fn channel(&self, service: &str, loop_index: usize) -> Option<&MeshChannel> {
        self.channels.get(service)?.get(loop_index)
    }

    /// A client of the instance at `authority` (`host:port`) by this loop; `None` when it is no
    /// address.
    pub(super) fn direct(&self, authority: &str, loop_index: usize) -> Option<Client> {
        let mut direct = self.direct.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (loop_index, authority.to_owned());
        if let Some(client) = direct.get(&key) {
            return Some(client.clone());
        }
        let endpoint = format!("{}://{authority}", self.transport).parse().ok()?;
        if direct.len() >= MAX_DIRECT * self.loops.len() {
            // Those that are in use live on with their callers; the others connect anew.
            direct.clear();
        }
        let mut options = ClientOptions::default();
        options.connect_timeout = CONNECT_TIMEOUT;
        options.longest_backoff = Some(LONGEST_BACKOFF);
        options.tls.clone_from(&self.tls);
        let client = self.loops[loop_index].connect(endpoint, options);
        direct.insert(key, client.clone());
        Some(client)
    }

    /// The services whose place no option says.
    pub(super) fn to_discover(&self) -> Vec<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let open = known.keys().filter(|name| !self.settled.contains(name));
        open.cloned().collect()
    }

    /// The services that nobody is known to offer.
    pub(super) fn missing(&self) -> Vec<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = known
            .iter()
            .filter(|(_, known)| !matches!(known, Known::At(_)));
        missing.map(|(service, _)| service.clone()).collect()
    }

    /// Takes what discovery says; tells the mesh when it is new.
    pub(super) fn learn(&self, service: &str, now: Known) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = known.get_mut(service) else {
            return;
        };
        if *entry != now {
            *entry = now;
            self.source.publish(snapshot(&known));
        }
    }
}

fn snapshot(known: &BTreeMap<String, Known>) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (service, known) in known {
        let addresses: Vec<Address> = match known {
            Known::NotYet => {
                snapshot
                    .targets
                    .insert(service.as_str().into(), Resolution::Pending);
                continue;
            }
            Known::Nowhere => {
                let why = format!("no instance of {service} is registered");
                snapshot
                    .targets
                    .insert(service.as_str().into(), Resolution::Missing(why.into()));
                continue;
            }
            Known::At(addresses) => addresses
                .iter()
                .filter_map(|address| parse_address(address).ok())
                .collect(),
        };
        snapshot.add_target(service, RouteConfig::to_cluster(service));
        let mut cluster = Cluster::new(service.as_str());
        // Every UE may wait for an answer at a time; what a peer cannot take it refuses itself.
        cluster.circuit.max_requests = u32::MAX;
        cluster.circuit.max_pending = u32::MAX;
        cluster.connect_timeout = CONNECT_TIMEOUT;
        snapshot.add_cluster(cluster, Endpoints::at(addresses));
    }
    snapshot
}
