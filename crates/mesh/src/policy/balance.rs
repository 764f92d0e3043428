//! Balance: from a cluster to one of its endpoints.
//!
//! ```text
//!   priority ──▶ locality ──▶ endpoint
//!   by share     by weight    in turn, least loaded, by hash, quickest, ...
//! ```
//!
//! A [`Balancer`] is made anew when endpoints come, go, or change how they are; a pick reads it
//! without a lock. Whether a connection is open at this very moment is asked at each pick.

pub mod latency;
pub mod least_request;
pub mod locality;
pub mod priority;
pub mod ring_hash;
pub mod stride;

use super::random::{Random, mix};
use super::route::weighted::Weighted;
use crate::config::LbPolicy;
use locality::Locality;
use priority::{Availability, Members, Share};
use ring_hash::{Member, Ring};
use std::sync::Arc;
use stride::Stride;

/// How an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each is treated in its own way")]
pub enum HostState {
    /// It takes requests.
    Healthy,
    /// It takes requests, others are preferred.
    Degraded,
    /// It is ejected, unhealthy or cannot be connected to: only when too few are left.
    Ill,
    /// It finishes what it has: never picked, not counted.
    Draining,
}

/// One endpoint, as a balancer is made from it.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "what balancing hangs on")]
pub struct Host<'a> {
    /// Its address: its places on a ring come from it.
    pub key: &'a str,
    /// Its share in its locality.
    pub weight: u32,
    /// 0 is used first.
    pub priority: u32,
    /// Which locality; any number.
    pub locality: u32,
    /// The locality's share in its priority.
    pub locality_weight: u32,
    /// How it is.
    pub state: HostState,
}

/// What a pick asks about endpoints, by their number.
pub trait Hosts {
    /// Whether a request can be sent there now.
    fn usable(&self, host: u32) -> bool;
    /// Requests in flight there.
    fn in_flight(&self, host: u32) -> u32;
    /// What a request costs there by its latency ([`latency::PeakEwma::cost`]).
    fn latency_cost(&self, host: u32, weight: u32) -> f64;
}

/// Picks endpoints of one cluster.
#[derive(Debug)]
pub struct Balancer {
    groups: Vec<Group>,
    split: Weighted,
    by_hash: bool,
}

#[derive(Debug)]
struct Group {
    priority: u32,
    method: Method,
}

#[derive(Debug)]
enum Method {
    Within {
        localities: Vec<Neighbours>,
        turn: Stride,
        way: Way,
    },
    First(Vec<u32>),
    /// A ring, and who on it gets traffic, by number.
    Ring(Arc<Ring>, Box<[bool]>),
}

/// How an endpoint is picked among those of a locality.
#[derive(Clone, Copy, Debug)]
enum Way {
    InTurn,
    AtRandom,
    LeastRequest(u32),
    Quickest,
}

/// The endpoints of a locality that get traffic.
#[derive(Debug)]
struct Neighbours {
    hosts: Vec<u32>,
    weights: Vec<u32>,
    turn: Stride,
    chance: Weighted,
}

/// What of a cluster's settings a balancer is made by.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "settings of one stage")]
pub struct Settings {
    /// How endpoints are picked.
    pub lb: LbPolicy,
    /// See [`priority::shares`].
    pub overprovisioning: u32,
    /// See [`priority::shares`].
    pub panic_threshold: u8,
}

impl Balancer {
    /// A balancer of nobody.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            groups: Vec::new(),
            split: Weighted::default(),
            by_hash: false,
        }
    }

    /// A balancer of these endpoints, which are called by their places in `hosts`. Rings of the
    /// `previous` one are used again when nothing changed for them.
    pub fn new(
        settings: Settings,
        hosts: &[Host<'_>],
        previous: Option<&Self>,
        random: &mut impl Random,
    ) -> Self {
        let shares = priority::shares(
            &availability(hosts),
            settings.overprovisioning,
            settings.panic_threshold,
        );
        let groups: Vec<_> = shares
            .iter()
            .map(|share| Group::new(settings, hosts, *share, previous, random))
            .collect();
        Self {
            groups,
            split: Weighted::new(shares.iter().map(|share| share.percent)),
            by_hash: matches!(settings.lb, LbPolicy::RingHash { .. }),
        }
    }

    /// Picks an endpoint that is usable; `None` when there is none.
    pub fn pick(
        &self,
        hash: Option<u64>,
        random: &mut impl Random,
        hosts: &impl Hosts,
    ) -> Option<u32> {
        let first = match self.groups.len() {
            0 => return None,
            1 => 0,
            _ => match hash.filter(|_| self.by_hash) {
                // The same request goes to the same priority as long as shares stay.
                Some(hash) => self.split.at(mix(hash) % 100),
                None => self.split.draw(random).unwrap_or(0),
            },
        };
        let group = self.groups.get(first).unwrap_or(&self.groups[0]);
        group.pick(hash, random, hosts).or_else(|| {
            let mut others = self.groups.iter().enumerate();
            others.find_map(|(index, group)| {
                (index != first)
                    .then(|| group.pick(hash, random, hosts))
                    .flatten()
            })
        })
    }
}

fn availability(hosts: &[Host<'_>]) -> Vec<Availability> {
    let mut priorities: Vec<Availability> = Vec::new();
    for host in hosts {
        let priority = host.priority as usize;
        if priorities.len() <= priority {
            priorities.resize(priority + 1, Availability::default());
        }
        let of = &mut priorities[priority];
        match host.state {
            HostState::Healthy => of.healthy += 1,
            HostState::Degraded => of.degraded += 1,
            HostState::Ill => {}
            HostState::Draining => continue,
        }
        of.total += 1;
    }
    priorities
}

const fn gets_traffic(state: HostState, members: Members) -> bool {
    match members {
        Members::Healthy => matches!(state, HostState::Healthy),
        Members::Degraded => matches!(state, HostState::Degraded),
        Members::All => !matches!(state, HostState::Draining),
    }
}

impl Group {
    fn new(
        settings: Settings,
        hosts: &[Host<'_>],
        share: Share,
        previous: Option<&Balancer>,
        random: &mut impl Random,
    ) -> Self {
        let mine = || {
            let numbered = hosts.iter().enumerate();
            numbered.filter(|(_, host)| host.priority as usize == share.priority)
        };
        let priority = u32::try_from(share.priority).unwrap_or(u32::MAX);
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let way = match settings.lb {
            LbPolicy::RingHash { min_size, max_size } => {
                // Who is ill keeps its places and is passed over, so that nobody else's requests
                // move while it is.
                let all = mine().filter(|(_, host)| host.state != HostState::Draining);
                let members = ring_members(all.map(|(index, host)| (number(index), host)));
                let before = previous.and_then(|it| it.ring(priority));
                let ring = before
                    .filter(|ring| ring.is_of(&members, min_size, max_size))
                    .unwrap_or_else(|| Arc::new(Ring::new(members, min_size, max_size)));
                let gets = |host: &Host<'_>| gets_traffic(host.state, share.members);
                let method = Method::Ring(ring, hosts.iter().map(gets).collect());
                return Self { priority, method };
            }
            LbPolicy::PickFirst => {
                let used = mine().filter(|(_, host)| gets_traffic(host.state, share.members));
                let method = Method::First(used.map(|(index, _)| number(index)).collect());
                return Self { priority, method };
            }
            LbPolicy::RoundRobin => Way::InTurn,
            LbPolicy::Random => Way::AtRandom,
            LbPolicy::LeastRequest { choices } => Way::LeastRequest(choices),
            LbPolicy::LatencyAware => Way::Quickest,
        };
        let mut localities: Vec<(u32, Locality, Neighbours)> = Vec::new();
        for (index, host) in mine() {
            if host.state == HostState::Draining {
                continue;
            }
            // They come locality by locality.
            if localities
                .last()
                .is_none_or(|(of, ..)| *of != host.locality)
            {
                let locality = Locality {
                    weight: host.locality_weight,
                    used: 0,
                    total: 0,
                };
                localities.push((host.locality, locality, Neighbours::default()));
            }
            if let Some((_, locality, neighbours)) = localities.last_mut() {
                locality.total += 1;
                if gets_traffic(host.state, share.members) {
                    locality.used += 1;
                    neighbours.hosts.push(number(index));
                    neighbours.weights.push(host.weight.max(1));
                }
            }
        }
        localities.retain(|(_, locality, _)| locality.used > 0);
        let sizes: Vec<_> = localities
            .iter()
            .map(|(_, locality, _)| *locality)
            .collect();
        let weights = locality::effective_weights(&sizes, settings.overprovisioning);
        let localities = localities.into_iter().map(|(_, _, neighbours)| {
            // Callers that start together must not all begin with the same endpoint.
            neighbours.ready(random.next() as u32)
        });
        let method = Method::Within {
            localities: localities.collect(),
            turn: Stride::new(&weights, 0),
            way,
        };
        Self { priority, method }
    }

    fn pick(&self, hash: Option<u64>, random: &mut impl Random, hosts: &impl Hosts) -> Option<u32> {
        match &self.method {
            Method::First(order) => order.iter().copied().find(|host| hosts.usable(*host)),
            Method::Ring(ring, gets) => {
                let hash = hash.unwrap_or_else(|| random.next());
                let gets = |host: u32| gets.get(host as usize).is_some_and(|gets| *gets);
                ring.pick(hash, |host| gets(host) && hosts.usable(host))
            }
            Method::Within {
                localities,
                turn,
                way,
            } => {
                let first = localities.get(turn.turn())?;
                first.pick(*way, random, hosts).or_else(|| {
                    let mut others = localities.iter();
                    others.find_map(|other| other.pick(*way, random, hosts))
                })
            }
        }
    }
}

fn ring_members<'a>(hosts: impl Iterator<Item = (u32, &'a Host<'a>)> + Clone) -> Vec<Member> {
    let mut sums: Vec<(u32, u64)> = Vec::new();
    for (_, host) in hosts.clone() {
        match sums.last_mut() {
            Some((locality, sum)) if *locality == host.locality => {
                *sum += u64::from(host.weight.max(1))
            }
            _ => sums.push((host.locality, u64::from(host.weight.max(1)))),
        }
    }
    let sum_of = |locality| {
        let found = sums.iter().find(|(of, _)| *of == locality);
        found.map_or(1.0, |(_, sum)| *sum as f64)
    };
    let member = |(number, host): (u32, &Host<'_>)| Member {
        key: host.key.into(),
        weight: f64::from(host.weight.max(1)) * f64::from(host.locality_weight.max(1))
            / sum_of(host.locality),
        host: number,
    };
    hosts.map(member).collect()
}

impl Balancer {
    fn ring(&self, priority: u32) -> Option<Arc<Ring>> {
        self.groups.iter().find_map(|group| match &group.method {
            Method::Ring(ring, _) if group.priority == priority => Some(Arc::clone(ring)),
            _ => None,
        })
    }
}

impl Default for Neighbours {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            weights: Vec::new(),
            turn: Stride::new(&[], 0),
            chance: Weighted::default(),
        }
    }
}

impl Neighbours {
    fn ready(mut self, start: u32) -> Self {
        self.turn = Stride::new(&self.weights, start);
        self.chance = Weighted::new(self.weights.iter().copied());
        self
    }

    fn pick(&self, way: Way, random: &mut impl Random, hosts: &impl Hosts) -> Option<u32> {
        let count = self.hosts.len();
        let cost = |index: usize, of: &dyn Fn(u32, u32) -> f64| {
            let host = self.hosts[index];
            hosts.usable(host).then(|| of(host, self.weights[index]))
        };
        let picked = match way {
            Way::InTurn => None,
            Way::AtRandom => self
                .chance
                .draw(random)
                .filter(|index| hosts.usable(self.hosts[*index])),
            Way::LeastRequest(choices) => least_request::pick(count, choices, random, |index| {
                cost(index, &|host, weight| {
                    least_request::cost(hosts.in_flight(host), weight)
                })
            }),
            Way::Quickest => least_request::pick(count, 2, random, |index| {
                cost(index, &|host, weight| hosts.latency_cost(host, weight))
            }),
        };
        let picked = picked.map(|index| self.hosts[index]);
        // Chance did not find one that can be used, or it is not asked.
        picked.or_else(|| self.in_turn(hosts))
    }

    /// The next in turn that can be used. Each that cannot costs a turn, so that what it would have
    /// got is spread over all others.
    fn in_turn(&self, hosts: &impl Hosts) -> Option<u32> {
        let usable = |host: &u32| hosts.usable(*host);
        let turns = (0..self.hosts.len()).map(|_| self.hosts[self.turn.turn()]);
        turns
            .into_iter()
            .find(usable)
            // With weights, a small one may not have had its turn yet.
            .or_else(|| self.hosts.iter().copied().find(usable))
    }
}

#[cfg(test)]
mod tests;
