//! A cluster as calls use it: its endpoints, which of them are picked, and what is in progress.

use super::connection::EndpointConnection;
use super::discovery::Discovery;
use super::endpoint::Endpoint;
use super::env::{Env, Side};
use super::loop_client::LoopClient;
use super::secure::Security;
use crate::config::{self, Address, ClusterEntry, Health, Resolution, Transport};
use crate::observe::Counts;
use crate::observe::counters::ClusterCounters;
use crate::policy::balance::least_request::MOST_CHOICES;
use crate::policy::balance::ring_hash::MAX_PLACES;
use crate::policy::balance::{Balancer, Host, HostState, Settings};
use crate::policy::protect::circuit_breaker::{Breaker, Gauge};
use crate::policy::random::Random;
use arc_swap::ArcSwap;
use corewire_transport::{Endpoint as Place, Protocol};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A cluster's name, and the transport that a route chose for it instead of its own.
pub(crate) type ClusterKey = (Arc<str>, Option<Transport>);

/// A cluster as it is in one plan. What calls change is handed on to the next.
pub(crate) struct ClusterRuntime {
    pub(crate) name: Arc<str>,
    pub(crate) route_transport: Option<Transport>,
    pub(crate) standing: Standing,
    pub(crate) config: Arc<config::Cluster>,
    pub(crate) endpoints: Arc<config::Endpoints>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) balancer: ArcSwap<Balancer>,
    states: Mutex<Vec<HostState>>,
    pub(crate) live: Arc<Live>,
    pub(crate) security: Security,
    /// What was asked for and is left out here, and why.
    pub(crate) left_out: Vec<String>,
}

/// Whether requests can be sent to a cluster at all.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    Ready,
    Pending,
    Missing(Arc<str>),
    /// It is there, but asks for what cannot be done here, or not yet.
    Refused(Arc<str>),
}

/// What is handed on when the plan changes.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) breaker: Breaker,
    pub(crate) counters: ClusterCounters,
    /// Of endpoints that are gone.
    pub(crate) retired: Mutex<Counts>,
    /// When rates are judged next.
    pub(crate) next_sweep: AtomicU64,
    /// Attempts at all endpoints when the reconciler looked last.
    pub(crate) tries_seen: AtomicU64,
    pub(crate) faults: Gauge,
}

/// An endpoint's place in a plan.
pub(crate) struct Slot {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) weight: u32,
    priority: u32,
    locality: u32,
    locality_weight: u32,
    pub(crate) health: Health,
    /// The endpoint stands before, in a more preferred priority.
    is_again: bool,
}

impl ClusterRuntime {
    /// A cluster made from what is known of it; keeps what the `previous` one had.
    pub(crate) fn new(
        (env, discovery): (&Env, &dyn Discovery),
        (name, route_transport): ClusterKey,
        entry: Option<&ClusterEntry>,
        previous: Option<&Self>,
        now: Instant,
        random: &mut impl Random,
    ) -> Self {
        let mut standing = standing(entry);
        let config = entry.and_then(|entry| entry.cluster.ready()).cloned();
        let config = config.unwrap_or_else(|| Arc::new(config::Cluster::new(Arc::clone(&name))));
        let endpoints = entry.and_then(|entry| entry.endpoints.ready()).cloned();
        let endpoints = endpoints.unwrap_or_default();
        let live = previous.map_or_else(Arc::default, |previous| Arc::clone(&previous.live));
        let security = match previous {
            Some(previous) if previous.is_secured_as(&config) => previous.security.clone(),
            _ => Security::of(config.tls.as_ref(), discovery, now),
        };
        if let (Standing::Ready, Security::Lacking(why, _)) = (&standing, &security) {
            standing = Standing::Refused(Arc::clone(why));
        }
        let mut cluster = Self {
            name,
            route_transport,
            standing,
            config,
            endpoints,
            slots: Vec::new(),
            balancer: ArcSwap::from_pointee(Balancer::empty()),
            states: Mutex::default(),
            live,
            security,
            left_out: Vec::new(),
        };
        cluster.fill(env, previous);
        cluster.rebalance(now, env, random);
        cluster
    }

    /// Whether one made from this would be the same.
    pub(crate) fn is_of(&self, entry: Option<&ClusterEntry>, now: Instant) -> bool {
        if self.security.may_have_come(now) {
            return false;
        }
        let same_standing = match (&self.standing, standing(entry)) {
            (Standing::Ready, Standing::Ready) | (Standing::Pending, Standing::Pending) => true,
            (Standing::Missing(a), Standing::Missing(b)) => *a == b,
            // What it lacks is looked for again in time.
            (Standing::Refused(_), Standing::Ready) => true,
            _ => false,
        };
        let config = entry.and_then(|entry| entry.cluster.ready());
        let endpoints = entry.and_then(|entry| entry.endpoints.ready());
        same_standing
            && config.is_none_or(|config| Arc::ptr_eq(config, &self.config))
            && endpoints.is_none_or(|endpoints| Arc::ptr_eq(endpoints, &self.endpoints))
    }

    /// Whether connections to a cluster with this configuration are secured as ours are.
    fn is_secured_as(&self, config: &config::Cluster) -> bool {
        self.config.tls == config.tls && !matches!(self.security, Security::Lacking(..))
    }

    /// Its endpoints, each once.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        let once = self.slots.iter().filter(|slot| !slot.is_again);
        once.map(|slot| &slot.endpoint)
    }

    fn fill(&mut self, env: &Env, previous: Option<&Self>) {
        if !matches!(self.standing, Standing::Ready) {
            return;
        }
        let mut known: HashMap<(Box<str>, Transport), Arc<Endpoint>> = HashMap::new();
        if let Some(previous) = previous
            // Their connections were made with the settings of then.
            && previous.config.connect_timeout == self.config.connect_timeout
            && previous.is_secured_as(&self.config)
        {
            let endpoints = previous.slots.iter().map(|slot| &slot.endpoint);
            known.extend(endpoints.map(|endpoint| (endpoint.name(), Arc::clone(endpoint))));
        }
        let endpoints = Arc::clone(&self.endpoints);
        for (number, locality) in endpoints.localities.iter().enumerate() {
            for info in &locality.endpoints {
                let transport = self.transport_of(env, info);
                let place = match place(transport, &info.address) {
                    Ok(_) if transport == Transport::Shm && self.config.tls.is_some() => {
                        let why =
                            "the control plane demands TLS, which is not spoken in shared memory";
                        self.left_out
                            .push(format!("{}: {why}", key_of(&info.address)));
                        continue;
                    }
                    Ok(place) => place,
                    Err(why) => {
                        self.left_out
                            .push(format!("{}: {why}", key_of(&info.address)));
                        continue;
                    }
                };
                // An address may stand in several priorities.
                let endpoint = known
                    .entry((key_of(&info.address), transport))
                    .or_insert_with(|| self.new_endpoint(env, transport, place, &info.address));
                let endpoint = Arc::clone(endpoint);
                self.slots.push(Slot {
                    endpoint,
                    weight: info.weight,
                    priority: locality.priority,
                    locality: u32::try_from(number).unwrap_or(u32::MAX),
                    locality_weight: locality.weight,
                    health: info.health,
                    is_again: false,
                });
            }
        }
        // The most preferred first, whatever order they came in.
        self.slots.sort_by_key(|slot| slot.priority);
        let mut seen = HashSet::new();
        for slot in &mut self.slots {
            slot.is_again = !seen.insert(Arc::as_ptr(&slot.endpoint));
        }
        self.note_limits();
        if let Some(previous) = previous {
            self.retire(previous);
        }
    }

    /// Says where limits of our own change what was asked for.
    fn note_limits(&mut self) {
        if let config::LbPolicy::RingHash { min_size, .. } = self.config.lb
            && min_size > MAX_PLACES
        {
            let why = format!("a ring of {min_size} places is made with {MAX_PLACES}");
            self.left_out.push(why);
        }
        if let config::LbPolicy::LeastRequest { choices } = self.config.lb
            && choices > MOST_CHOICES
        {
            let why = format!("of {choices} choices {MOST_CHOICES} are looked at");
            self.left_out.push(why);
        }
        let (count, most) = (
            self.endpoints().count(),
            self.config.circuit.max_connections,
        );
        if count > most as usize {
            let why = format!("of {count} endpoints {most} are connected to: max_connections");
            self.left_out.push(why);
        }
    }

    /// Keeps the counts of endpoints that are gone.
    fn retire(&self, previous: &Self) {
        let stay: HashSet<_> = self.endpoints().map(Arc::as_ptr).collect();
        let mut retired = self
            .live
            .retired
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for endpoint in previous.endpoints() {
            if !stay.contains(&Arc::as_ptr(endpoint)) {
                retired.add(&endpoint.counters.counts());
            }
        }
    }

    fn new_endpoint(
        &self,
        env: &Env,
        transport: Transport,
        place: Place,
        address: &Address,
    ) -> Arc<Endpoint> {
        let mut options = env.options.client.clone();
        if let Security::Demanded(tls) = &self.security {
            options.tls = Some(tls.clone());
        }
        options.connect_timeout = self.config.connect_timeout;
        options.call_timeout = env.options.call_timeout;
        let longest = options.longest_backoff;
        let connections = (0..env.loop_count())
            .map(|_| Arc::new(EndpointConnection::new(Arc::clone(&env.signal), longest)));
        let connections: Box<[_]> = connections.collect();
        let clients = env.loops().iter().zip(&connections);
        let clients = clients.map(|(handle, it)| LoopClient::new(handle.clone(), Arc::clone(it)));
        let clients = clients.collect();
        Arc::new(Endpoint::new(
            (key_of(address), transport, place),
            options,
            connections,
            clients,
            env.timeline,
        ))
    }

    /// Route, cluster, endpoint, the process's setting, REST: the first that says something.
    fn transport_of(&self, env: &Env, info: &config::EndpointInfo) -> Transport {
        self.route_transport
            .or(self.config.transport)
            .or(info.transport)
            .or(env.options.transport)
            .unwrap_or(Transport::Rest)
    }

    /// Makes a new balancer if endpoints changed how they are; says whether it did.
    pub(crate) fn rebalance(&self, now: Instant, env: &Env, random: &mut impl Random) -> bool {
        let states: Vec<_> = self
            .slots
            .iter()
            .map(|slot| slot.state(now, env, &self.config))
            .collect();
        let mut before = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if *before == states && !states.is_empty() {
            return false;
        }
        let hosts: Vec<_> = self
            .slots
            .iter()
            .zip(&states)
            .map(|(slot, state)| Host {
                key: &slot.endpoint.key,
                weight: slot.weight,
                priority: slot.priority,
                locality: slot.locality,
                locality_weight: slot.locality_weight,
                state: *state,
            })
            .collect();
        let settings = Settings {
            lb: self.config.lb,
            overprovisioning: self.endpoints.overprovisioning,
            panic_threshold: self.config.panic_threshold,
        };
        let previous = self.balancer.load_full();
        let balancer = Balancer::new(settings, &hosts, Some(&previous), random);
        self.balancer.store(Arc::new(balancer));
        *before = states;
        true
    }

    /// Whether some endpoint may yet be connected, so that waiting is worth it.
    pub(crate) fn has_prospects(&self, side: Side, now: Instant) -> bool {
        let takes = |slot: &&Slot| slot.health.takes_requests() || self.config.panic_threshold > 0;
        let mut slots = self.slots.iter().filter(takes);
        slots.any(|slot| match side {
            Side::Loop(index) => {
                let connection = slot.endpoint.connection(index);
                connection.is_some_and(|it| !it.has_failed() && slot.health != Health::Draining)
            }
            Side::Thread => slot.endpoint.is_open_to_threads(now),
        })
    }

    /// Why nothing can be sent, for people.
    pub(crate) fn why_no_endpoint(&self, side: Side) -> String {
        let name = &self.name;
        let Some(first) = self.slots.first() else {
            return match self.left_out.first() {
                Some(why) => format!("cluster {name} has no endpoint that can be used: {why}"),
                None => format!("cluster {name} has no endpoints"),
            };
        };
        // One of those that were tried says more than one that was not.
        let told = self.slots.iter().take(64).find_map(|slot| {
            let why = slot.endpoint.why_not(side);
            (!why.is_empty()).then(|| (&slot.endpoint.key, why))
        });
        let count = self.slots.len();
        match told {
            Some((key, why)) => format!(
                "none of the {count} endpoints of cluster {name} can be used; {key} last said: {why}"
            ),
            None => format!(
                "none of the {count} endpoints of cluster {name} takes requests, {} for one",
                first.endpoint.key
            ),
        }
    }
}

impl Slot {
    fn state(&self, now: Instant, env: &Env, cluster: &config::Cluster) -> HostState {
        match self.health {
            Health::Draining => return HostState::Draining,
            Health::Unhealthy => return HostState::Ill,
            _ => {}
        }
        let is_ill = cluster.health_check.is_some() && self.endpoint.checked().is_ill();
        let is_out = self.endpoint.record.is_ejected() || self.endpoint.silence.is_silent();
        if is_ill || is_out || !self.is_reachable(now, env) {
            return HostState::Ill;
        }
        match self.health {
            Health::Degraded => HostState::Degraded,
            _ => HostState::Healthy,
        }
    }

    /// Unless every loop that wants it has failed to connect to it.
    fn is_reachable(&self, now: Instant, env: &Env) -> bool {
        let loops = env.wanted_loops();
        let mut connections = loops.filter_map(|index| self.endpoint.connection(index));
        match connections.next() {
            None => self.endpoint.is_open_to_threads(now),
            Some(first) => !first.has_failed() || connections.any(|it| !it.has_failed()),
        }
    }
}

fn standing(entry: Option<&ClusterEntry>) -> Standing {
    let Some(entry) = entry else {
        return Standing::Missing("it is not in the configuration".into());
    };
    match &entry.cluster {
        Resolution::Ready(_) => {}
        Resolution::Pending => return Standing::Pending,
        Resolution::Missing(why) => return Standing::Missing(Arc::clone(why)),
    }
    match &entry.endpoints {
        Resolution::Ready(_) => Standing::Ready,
        Resolution::Pending => Standing::Pending,
        Resolution::Missing(why) => Standing::Missing(Arc::clone(why)),
    }
}

/// Where and how an endpoint is spoken to by this transport.
fn place(transport: Transport, address: &Address) -> Result<Place, String> {
    let (protocol, address) = match (transport, address) {
        (Transport::Rest | Transport::Grpc, Address::Memory(_)) => {
            return Err("only the native protocol is spoken in shared memory".into());
        }
        (Transport::Rest, address) => (Protocol::Rest, address.clone()),
        (Transport::Grpc, address) => (Protocol::Grpc, address.clone()),
        (Transport::Native, address) => (Protocol::Native, address.clone()),
        // A server offers it by the name of its TCP address.
        (Transport::Shm, Address::Tcp(address)) => {
            (Protocol::Native, Address::Memory(address.to_string()))
        }
        (Transport::Shm, Address::Memory(name)) => {
            (Protocol::Native, Address::Memory(name.clone()))
        }
        (Transport::Shm, _) => {
            return Err("shared memory is offered beside a TCP address only".into());
        }
    };
    Ok(Place::new(protocol, address))
}

fn key_of(address: &Address) -> Box<str> {
    address.to_string().into()
}

impl Endpoint {
    fn name(&self) -> (Box<str>, Transport) {
        (self.key.clone(), self.transport)
    }
}
