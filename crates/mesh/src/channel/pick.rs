//! Which endpoint of a cluster an attempt goes to.

use super::cluster::ClusterRuntime;
use super::env::Side;
use crate::policy::balance::Hosts;
use crate::policy::random::Random;
use std::time::Instant;

/// How many endpoints are remembered as tried.
const REMEMBERED: usize = 8;

/// The endpoints that a call was sent to, by their places in the cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tried {
    hosts: [u32; REMEMBERED],
    count: usize,
}

impl Tried {
    pub(crate) fn add(&mut self, host: u32) {
        if let Some(place) = self.hosts.get_mut(self.count) {
            *place = host;
            self.count += 1;
        }
    }

    fn contains(&self, host: u32) -> bool {
        self.hosts[..self.count].contains(&host)
    }
}

/// An endpoint that can be used now, outside `avoid` while there is one.
pub(crate) fn pick(
    cluster: &ClusterRuntime,
    side: Side,
    hash: Option<u64>,
    avoid: Tried,
    now: Instant,
    random: &mut impl Random,
) -> Option<u32> {
    let balancer = cluster.balancer.load();
    let mut view = View {
        cluster,
        side,
        now,
        avoid,
    };
    let mut picked = balancer.pick(hash, random, &view);
    if picked.is_none() && view.avoid.count > 0 {
        view.avoid = Tried::default();
        picked = balancer.pick(hash, random, &view);
    }
    picked
}

/// A cluster's endpoints as the balancer sees them.
struct View<'a> {
    cluster: &'a ClusterRuntime,
    side: Side,
    now: Instant,
    avoid: Tried,
}

impl Hosts for View<'_> {
    fn usable(&self, host: u32) -> bool {
        let Some(slot) = self.cluster.slots.get(host as usize) else {
            return false;
        };
        slot.endpoint.is_open_to(self.side, self.now)
            && slot
                .endpoint
                .silence
                .takes(|| slot.endpoint.in_flight.count())
            && !self.avoid.contains(host)
    }

    fn in_flight(&self, host: u32) -> u32 {
        let slot = self.cluster.slots.get(host as usize);
        slot.map_or(u32::MAX, |slot| slot.endpoint.in_flight.count())
    }

    fn latency_cost(&self, host: u32, weight: u32) -> f64 {
        let slot = self.cluster.slots.get(host as usize);
        slot.map_or(f64::MAX, |slot| {
            let in_flight = slot.endpoint.in_flight.count();
            slot.endpoint.latency.cost(self.now, in_flight, weight)
        })
    }
}
