//! Hosts whose addresses are looked up (gRFC A37). The driver does it; here is when, and what for.

use crate::config::{Address, EndpointInfo, Endpoints, Resolution};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The least time between two looks after one that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// So many are looked up at a time: each look takes a thread of the driver's.
const MOST_AT_ONCE: usize = 16;

/// A host and a port.
pub(super) type Host = (Arc<str>, u16);

/// The hosts that are looked up.
#[derive(Debug, Default)]
pub(super) struct Hosts(BTreeMap<Host, Lookup>);

#[derive(Debug)]
struct Lookup {
    found: Resolution<Arc<Endpoints>>,
    /// When to look; `None`: somebody does.
    due: Option<Instant>,
    failures: u32,
}

impl Hosts {
    pub(super) fn want_exactly(&mut self, hosts: &BTreeSet<Host>, now: Instant) {
        self.0.retain(|host, _| hosts.contains(host));
        for host in hosts {
            self.0.entry(host.clone()).or_insert(Lookup {
                found: Resolution::Pending,
                due: Some(now),
                failures: 0,
            });
        }
    }

    pub(super) fn endpoints(&self, host: &Host) -> Resolution<Arc<Endpoints>> {
        let lookup = self.0.get(host);
        lookup.map_or(Resolution::Pending, |it| it.found.clone())
    }

    /// How many more may be looked up now.
    fn room(&self) -> usize {
        let under_way = self.0.values().filter(|lookup| lookup.due.is_none());
        MOST_AT_ONCE.saturating_sub(under_way.count())
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        // Who waits for another's end is looked up then.
        if self.room() == 0 {
            return None;
        }
        self.0.values().filter_map(|lookup| lookup.due).min()
    }

    /// The hosts to look up now.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Host> {
        let room = self.room();
        let due = self.0.iter_mut();
        let due = due.filter(|(_, lookup)| lookup.due.is_some_and(|at| at <= now));
        due.take(room)
            .map(|(host, lookup)| {
                lookup.due = None;
                host.clone()
            })
            .collect()
    }

    /// A look has ended; whether it found something else than before.
    pub(super) fn resolved(
        &mut self,
        now: Instant,
        host: &Host,
        result: Result<Vec<SocketAddr>, String>,
        refresh: Duration,
    ) -> bool {
        let Some(lookup) = self.0.get_mut(host) else {
            return false;
        };
        let found = match result {
            Ok(addresses) if !addresses.is_empty() => {
                lookup.failures = 0;
                Ok(Resolution::Ready(Arc::new(one_name(host, addresses))))
            }
            Ok(_) => Err("has no address".to_owned()),
            Err(why) => Err(why),
        };
        let wait = match &found {
            Ok(_) => refresh,
            Err(_) => {
                lookup.failures = lookup.failures.saturating_add(1);
                let doubled = AFTER_FAILURE.saturating_mul(1 << lookup.failures.min(16));
                doubled.min(refresh.max(AFTER_FAILURE))
            }
        };
        lookup.due = now.checked_add(wait);
        let found = match found {
            Ok(found) => found,
            // What was found before holds on.
            Err(_) if lookup.found.ready().is_some() => return false,
            Err(why) => Resolution::Missing(format!("host {:?} {why}", &*host.0).into()),
        };
        let changed = lookup.found != found;
        if changed {
            lookup.found = found;
        }
        changed
    }
}

/// All addresses of one host, which stands for one service.
fn one_name(host: &Host, mut addresses: Vec<SocketAddr>) -> Endpoints {
    addresses.sort();
    addresses.dedup();
    let mut endpoints = Endpoints::at(addresses.into_iter().map(Address::Tcp));
    for locality in &mut endpoints.localities {
        for endpoint in &mut locality.endpoints {
            let hostname = Some(Arc::clone(&host.0));
            *endpoint = EndpointInfo {
                hostname,
                ..endpoint.clone()
            };
        }
    }
    endpoints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_hosts_are_looked_up_a_few_at_a_time_and_all_in_the_end() {
        let now = Instant::now();
        let mut hosts = Hosts::default();
        let wanted: BTreeSet<Host> = (0..100)
            .map(|number| (format!("host-{number:03}").into(), 80))
            .collect();
        hosts.want_exactly(&wanted, now);
        let mut looked_up = BTreeSet::new();
        while let Some(due) = hosts.next_due()
            && due <= now
        {
            let looks = hosts.take_due(now);
            assert!((1..=MOST_AT_ONCE).contains(&looks.len()), "{}", looks.len());
            if looks.len() == MOST_AT_ONCE {
                assert!(hosts.next_due().is_none() && hosts.take_due(now).is_empty());
            }
            for host in looks {
                let result = Ok(vec!["10.0.0.1:80".parse().unwrap()]);
                assert!(hosts.resolved(now, &host, result, Duration::from_secs(30)));
                assert!(looked_up.insert(host));
            }
        }
        assert_eq!(looked_up, wanted);
    }
}
