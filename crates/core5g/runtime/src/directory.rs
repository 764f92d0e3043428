//! Where services are: what `--peer` says, else what discovery has found; and the channels there.

use super::gate::Gate;
use super::options::NfOptions;
use crate::selection::{self, Offer, Wanted};
use corewire::mesh::config::{
    Cluster, EndpointInfo, Endpoints, Locality, Resolution, RouteConfig, Snapshot, SnapshotSource,
    Transport,
};
use corewire::mesh::{Mesh, MeshChannel, MeshOptions};
use corewire::tls::ClientTls;
use corewire::{Address, Client, ClientOptions, LoopHandle, parse_address};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
    At(Vec<Place>),
    /// No instance of it is registered: calls fail at once.
    Nowhere,
}

/// An offer of a service and the address that its authority stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    offer: Offer,
    address: Address,
}

impl Place {
    /// Looks up the names among the authorities, on a thread of its own: the event loop goes on. A
    /// place whose name is not known is left out.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub(super) async fn resolve(offers: Vec<Offer>) -> Vec<Self> {
        let is_name = |offer: &Offer| offer.authority.parse::<SocketAddr>().is_err();
        if !offers.iter().any(is_name) {
            return Self::of(offers);
        }
        let gate = Arc::new(Gate::closed());
        let opened = Arc::clone(&gate);
        let spawned = std::thread::Builder::new()
            .name("resolver".into())
            .spawn(move || opened.open(Self::of(offers)));
        match spawned {
            Ok(_detached) => gate.wait().await.cloned().unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }

    fn of(offers: Vec<Offer>) -> Vec<Self> {
        let place = |offer: Offer| {
            let address = parse_address(&offer.authority).ok()?;
            Some(Self { offer, address })
        };
        offers.into_iter().filter_map(place).collect()
    }

    /// What `--peer` says.
    fn given(addresses: &[String]) -> Vec<Self> {
        let offers = addresses
            .iter()
            .map(|address| Offer::given(address.clone()));
        Self::of(offers.collect())
    }
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
    /// Random numbers for the choice of an instance.
    draws: AtomicU64,
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
            known.insert(
                peer.service.clone(),
                Known::At(Place::given(&peer.addresses)),
            );
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
            draws: AtomicU64::new(seed()),
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

    /// The services that no instance is known of, and those that calls to are not ready.
    pub(super) fn missing(&self, is_ready_for: impl Fn(&str) -> bool) -> Vec<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = known.iter().filter(|(service, known)| {
            let is_found = matches!(known, Known::At(_));
            !(is_found && (self.settled.contains(service) || is_ready_for(service)))
        });
        missing.map(|(service, _)| service.clone()).collect()
    }

    /// What is known of where a service is; `None` when this NF never said that it calls it.
    pub(super) fn known(&self, service: &str) -> Option<Known> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(service).cloned()
    }

    /// Where a request goes that only some instances of `service` serve: the first choice, then the
    /// alternatives, each as `http://host:port`. `None` when all instances serve it: the mesh chooses.
    pub(super) fn select(&self, service: &str, wanted: Wanted<'_>) -> Option<Vec<String>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Known::At(places)) = known.get(service) else {
            return None;
        };
        if places.iter().all(|place| place.offer.serves(wanted)) {
            return None;
        }
        let offers: Vec<Offer> = places.iter().map(|place| place.offer.clone()).collect();
        drop(known);
        let draw = self.draws.fetch_add(1, Ordering::Relaxed);
        let selected = selection::select(&offers, wanted, draw);
        Some(selected.into_iter().map(Offer::root).collect())
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

/// Instances of one NF that start together shall not choose alike.
fn seed() -> u64 {
    let mut octets = [0; 8];
    // Without entropy they choose alike, which is no fault.
    let _alike = getrandom::fill(&mut octets);
    u64::from_le_bytes(octets)
}

fn snapshot(known: &BTreeMap<String, Known>) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (service, known) in known {
        let places = match known {
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
            Known::At(places) => places,
        };
        snapshot.add_target(service, RouteConfig::to_cluster(service));
        let mut cluster = Cluster::new(service.as_str());
        // Every UE may wait for an answer at a time; what a peer cannot take it refuses itself.
        cluster.circuit.max_requests = u32::MAX;
        cluster.circuit.max_pending = u32::MAX;
        cluster.connect_timeout = CONNECT_TIMEOUT;
        snapshot.add_cluster(cluster, endpoints(places));
    }
    snapshot
}

/// The places by priority: the mesh numbers priorities from 0 without gaps, the standard does not.
fn endpoints(places: &[Place]) -> Endpoints {
    let mut by_priority: BTreeMap<u16, Vec<EndpointInfo>> = BTreeMap::new();
    for place in places {
        let mut endpoint = EndpointInfo::at(place.address.clone());
        endpoint.weight = place.offer.weight;
        let endpoints = by_priority.entry(place.offer.priority).or_default();
        // Two names may stand for one address.
        if endpoints
            .iter()
            .all(|other| other.address != endpoint.address)
        {
            endpoints.push(endpoint);
        }
    }
    let localities = by_priority.into_values().zip(0..);
    let localities = localities.map(|(endpoints, priority)| Locality {
        priority,
        weight: endpoints.iter().map(|endpoint| endpoint.weight).sum(),
        endpoints,
        ..Locality::default()
    });
    Endpoints {
        localities: localities.collect(),
        ..Endpoints::default()
    }
}
