//! Addresses for UEs: one pool a DNN, of which each replica uses its own share.

use super::reference::SmContextRef;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// A DNN and the addresses of its UEs: `internet=10.45.0.0/16`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DnnPool {
    pub(crate) dnn: String,
    first: u32,
    size: u32,
}

impl FromStr for DnnPool {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not DNN=A.B.C.D/PREFIX with a prefix of 8 to 30");
        let (dnn, pool) = text.split_once('=').ok_or_else(wrong)?;
        let (address, prefix) = pool.split_once('/').ok_or_else(wrong)?;
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let prefix: u32 = prefix.parse().map_err(|_| wrong())?;
        if dnn.is_empty() || !(8..=30).contains(&prefix) {
            return Err(wrong());
        }
        let size = 1 << (32 - prefix);
        Ok(Self {
            dnn: dnn.to_ascii_lowercase(),
            first: address.to_bits() & !(size - 1),
            size,
        })
    }
}

/// Which share of the addresses is this replica's: `0/3`, the first of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    number: u32,
    of: u32,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse::<u32>().ok()?, of.parse::<u32>().ok()?)));
        match parts {
            Some((number, of)) if number < of && of <= 4096 => Ok(Self { number, of }),
            _ => Err(format!("{text:?} is not NUMBER/OF, as in 0/3")),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// The addresses of this replica. Each belongs to a session's context, and only that gives it back:
/// twice is once, and what another has by then stays that one's.
#[derive(Debug)]
pub(crate) struct Pools {
    part: Part,
    by_dnn: BTreeMap<String, Addresses>,
    /// The data network and the place in its pool of each session with an address.
    of: HashMap<SmContextRef, (String, u32)>,
}

#[derive(Debug)]
struct Addresses {
    pool: DnnPool,
    /// Where the search goes on: an address that was given back is used again late.
    next: u32,
    used: HashSet<u32>,
}

impl Pools {
    pub(crate) fn new(part: Part, pools: &[DnnPool]) -> Self {
        let addresses = |pool: &DnnPool| Addresses {
            pool: pool.clone(),
            next: part.number,
            used: HashSet::new(),
        };
        let by_dnn = pools
            .iter()
            .map(|pool| (pool.dnn.clone(), addresses(pool)))
            .collect();
        Self {
            part,
            by_dnn,
            of: HashMap::new(),
        }
    }

    pub(crate) fn knows(&self, dnn: &str) -> bool {
        self.by_dnn.contains_key(&dnn.to_ascii_lowercase())
    }

    /// A free address for this session; `None` when all are taken or there is no such
    /// DNN.
    pub(crate) fn take(&mut self, dnn: &str, session: SmContextRef) -> Option<Ipv4Addr> {
        let part = self.part;
        let name = dnn.to_ascii_lowercase();
        let addresses = self.by_dnn.get_mut(&name)?;
        for _ in 0..addresses.pool.size.div_ceil(part.of) {
            let offset = addresses.next;
            let after = addresses.next.saturating_add(part.of);
            addresses.next = if after < addresses.pool.size {
                after
            } else {
                part.number
            };
            // The network's own address, the router's and the broadcast are not given away.
            let is_reserved = offset < 2 || offset + 1 >= addresses.pool.size;
            if !is_reserved && addresses.used.insert(offset) {
                self.of.insert(session, (name, offset));
                return Some(Ipv4Addr::from_bits(addresses.pool.first + offset));
            }
        }
        None
    }

    /// Takes the address that a stored session has; one of another replica's share is that one's.
    pub(crate) fn keep(&mut self, dnn: &str, address: Ipv4Addr, session: SmContextRef) {
        if let Some((addresses, offset)) = self.find(dnn, address)
            && addresses.used.insert(offset)
        {
            let name = addresses.pool.dnn.clone();
            self.of.insert(session, (name, offset));
        }
    }

    /// Gives back what this session has; says whether it had something here.
    pub(crate) fn give_back(&mut self, session: SmContextRef) -> bool {
        let Some((dnn, offset)) = self.of.remove(&session) else {
            return false;
        };
        let addresses = self.by_dnn.get_mut(&dnn);
        addresses.is_some_and(|addresses| addresses.used.remove(&offset))
    }

    fn find(&mut self, dnn: &str, address: Ipv4Addr) -> Option<(&mut Addresses, u32)> {
        let part = self.part;
        let addresses = self.by_dnn.get_mut(&dnn.to_ascii_lowercase())?;
        let offset = address.to_bits().checked_sub(addresses.pool.first)?;
        let is_ours = offset < addresses.pool.size && offset % part.of == part.number;
        is_ours.then_some((addresses, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(number: u64) -> SmContextRef {
        SmContextRef::new("127.0.0.1:7000".parse().expect("an address"), number)
    }

    fn pools(part: &str, pool: &str) -> Pools {
        Pools::new(
            part.parse().expect("a part"),
            &[pool.parse().expect("a pool")],
        )
    }

    #[test]
    fn each_address_is_one_ue_s_and_comes_back_late() {
        let mut pools = pools("0/1", "internet=10.45.0.7/29");
        let mut numbers = 0..;
        let taken: Vec<_> = std::iter::from_fn(|| {
            let number = numbers.next().expect("endless");
            pools.take("Internet", session(number))
        })
        .collect();
        let expected: Vec<Ipv4Addr> = (2..7).map(|last| Ipv4Addr::new(10, 45, 0, last)).collect();
        assert_eq!(taken, expected);
        assert!(pools.give_back(session(3)));
        assert_eq!(pools.take("internet", session(10)), Some(taken[3]));
        // The former has nothing to give back any more: it is another's now.
        assert!(!pools.give_back(session(3)));
        assert_eq!(pools.take("internet", session(11)), None);
        assert_eq!(pools.take("ims", session(11)), None);
    }

    #[test]
    fn replicas_share_a_pool_without_meeting() {
        let mut all = HashSet::new();
        for part in ["0/3", "1/3", "2/3"] {
            let mut pools = pools(part, "internet=10.45.0.0/24");
            while let Some(address) = pools.take("internet", session(all.len() as u64)) {
                assert!(all.insert(address), "{address} twice");
            }
        }
        assert_eq!(all.len(), 253);
    }

    #[test]
    fn what_stored_sessions_have_is_not_given_away() {
        let mut pools = pools("0/1", "internet=10.45.0.0/29");
        pools.keep("internet", Ipv4Addr::new(10, 45, 0, 2), session(1));
        pools.keep("internet", Ipv4Addr::new(10, 46, 0, 2), session(2));
        let third = Some(Ipv4Addr::new(10, 45, 0, 3));
        assert_eq!(pools.take("internet", session(3)), third);
        assert!(pools.give_back(session(1)) && !pools.give_back(session(2)));
    }

    #[test]
    fn wrong_pools_are_refused() {
        for wrong in [
            "",
            "internet",
            "internet=10.0.0.0",
            "internet=10.0.0.0/31",
            "=10.0.0.0/8",
        ] {
            assert!(wrong.parse::<DnnPool>().is_err(), "{wrong:?}");
        }
        for wrong in ["", "1", "1/1", "0/0", "a/b"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong:?}");
        }
    }
}
