//! Which associations an AMF takes (TS 38.412, 7; TS 38.413, 8.7.1): a bound for all, and one for each
//! host on those that have not done NG Setup.
//!
//! A host that opens associations and says nothing keeps no gNB of another host out: it has so many of
//! them at most, and the oldest of them gives way when the AMF is full.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};

/// A host, as far as its address tells it from others: an IPv6 host has a whole /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Host(IpAddr);

impl Host {
    fn of(address: IpAddr) -> Self {
        /// The bits of a subnet (RFC 4291, 2.5.1).
        const SUBNET: u128 = !(u64::MAX as u128);
        Self(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & SUBNET).into(),
        })
    }
}

/// The associations that there are, by number. Numbers grow.
#[derive(Debug)]
pub(crate) struct Admission {
    /// Associations at a time.
    limit: usize,
    /// Of them, those of one host that wait for NG Setup.
    waiting_limit: usize,
    hosts: HashMap<u64, Host>,
    waiting: HashMap<Host, BTreeSet<u64>>,
}

/// What becomes of a new association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Taken,
    /// In place of this one, which is to be ended.
    TakenFor(u64),
    /// There are as many as may be.
    Full,
    /// Too many of its host wait for NG Setup.
    HostWaits,
}

impl Admission {
    pub(crate) fn new(limit: usize, waiting_limit: usize) -> Self {
        Self {
            limit,
            waiting_limit,
            hosts: HashMap::new(),
            waiting: HashMap::new(),
        }
    }

    /// A new association of a peer with this address.
    pub(crate) fn admit(&mut self, number: u64, peer: IpAddr) -> Verdict {
        let host = Host::of(peer);
        let own = self.waiting.get(&host).map_or(0, BTreeSet::len);
        if own >= self.waiting_limit {
            return Verdict::HostWaits;
        }
        let mut verdict = Verdict::Taken;
        if self.hosts.len() >= self.limit {
            // The host with the most that wait; of several, any.
            let most = self.waiting.iter().max_by_key(|(_, waiting)| waiting.len());
            let oldest = most.filter(|(_, waiting)| waiting.len() > own);
            let Some(oldest) = oldest.and_then(|(_, waiting)| waiting.first().copied()) else {
                return Verdict::Full;
            };
            self.remove(oldest);
            verdict = Verdict::TakenFor(oldest);
        }
        self.hosts.insert(number, host);
        self.waiting.entry(host).or_default().insert(number);
        verdict
    }

    /// NG Setup is done.
    pub(crate) fn set_up(&mut self, number: u64) {
        if let Some(host) = self.hosts.get(&number).copied() {
            self.waits_no_more(host, number);
        }
    }

    /// The association has ended.
    pub(crate) fn remove(&mut self, number: u64) {
        if let Some(host) = self.hosts.remove(&number) {
            self.waits_no_more(host, number);
        }
    }

    fn waits_no_more(&mut self, host: Host, number: u64) {
        if let Some(waiting) = self.waiting.get_mut(&host) {
            waiting.remove(&number);
            if waiting.is_empty() {
                self.waiting.remove(&host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn refuses_more_of_a_host_than_may_wait_until_one_is_set_up_or_ends() {
        let mut admission = Admission::new(100, 2);
        assert_eq!(admission.admit(1, v4(1)), Verdict::Taken);
        assert_eq!(admission.admit(2, v4(1)), Verdict::Taken);
        assert_eq!(admission.admit(3, v4(1)), Verdict::HostWaits);
        assert_eq!(admission.admit(4, v4(2)), Verdict::Taken);
        admission.set_up(1);
        assert_eq!(admission.admit(5, v4(1)), Verdict::Taken);
        assert_eq!(admission.admit(6, v4(1)), Verdict::HostWaits);
        admission.remove(2);
        assert_eq!(admission.admit(7, v4(1)), Verdict::Taken);
    }

    #[test]
    fn when_full_the_oldest_waiting_one_of_the_host_with_most_gives_way() {
        let mut admission = Admission::new(4, 10);
        for number in 0..3 {
            assert_eq!(admission.admit(number, v4(1)), Verdict::Taken);
        }
        assert_eq!(admission.admit(3, v4(2)), Verdict::Taken);
        admission.set_up(3);
        assert_eq!(admission.admit(4, v4(3)), Verdict::TakenFor(0));
        // Two of each would wait: the newcomer is no better.
        assert_eq!(admission.admit(5, v4(3)), Verdict::TakenFor(1));
        assert_eq!(admission.admit(6, v4(3)), Verdict::Full);
        assert_eq!(admission.admit(7, v4(1)), Verdict::TakenFor(4));
    }

    #[test]
    fn when_full_of_gnbs_that_are_set_up_nothing_gives_way() {
        let mut admission = Admission::new(2, 10);
        for number in 0..2 {
            assert_eq!(admission.admit(number, v4(1)), Verdict::Taken);
            admission.set_up(number);
        }
        assert_eq!(admission.admit(2, v4(2)), Verdict::Full);
        admission.remove(0);
        admission.remove(0);
        assert_eq!(admission.admit(3, v4(2)), Verdict::Taken);
    }

    #[test]
    fn addresses_of_one_ipv6_subnet_and_ipv4_in_ipv6_are_one_host() {
        let mut admission = Admission::new(100, 1);
        let address = |text: &str| text.parse().expect("an address");
        assert_eq!(admission.admit(1, address("2001:db8::1")), Verdict::Taken);
        assert_eq!(
            admission.admit(2, address("2001:db8::2")),
            Verdict::HostWaits
        );
        assert_eq!(
            admission.admit(3, address("2001:db8:0:1::2")),
            Verdict::Taken
        );
        assert_eq!(
            admission.admit(4, address("::ffff:10.0.0.1")),
            Verdict::Taken
        );
        assert_eq!(admission.admit(5, address("10.0.0.1")), Verdict::HostWaits);
    }
}
