//! Where the instances of a cluster are.

use super::matcher::Fraction;
use super::transport::Transport;
use corewire_transport::Address;
use std::sync::Arc;

/// Where the instances of a cluster are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// By priority, the most preferred first; those of one priority in the order they came.
    pub localities: Vec<Locality>,
    /// How many percent of a priority's traffic its healthy endpoints can bear: at 140, traffic
    /// spills to the next priority when fewer than 72 percent of them are healthy.
    pub overprovisioning: u32,
    /// Requests that are dropped, in this order, because the whole cluster is overloaded.
    pub drops: Vec<DropOverload>,
}

impl Endpoints {
    /// Endpoints at these addresses, in one locality.
    #[must_use]
    pub fn at(addresses: impl IntoIterator<Item = Address>) -> Self {
        let endpoints: Vec<_> = addresses.into_iter().map(EndpointInfo::at).collect();
        Self {
            localities: vec![Locality {
                weight: u32::try_from(endpoints.len()).unwrap_or(u32::MAX),
                endpoints,
                ..Locality::default()
            }],
            ..Self::default()
        }
    }

    /// All endpoints.
    pub fn iter(&self) -> impl Iterator<Item = &EndpointInfo> {
        let localities = self.localities.iter();
        localities.flat_map(|locality| &locality.endpoints)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        let localities = self.localities.iter();
        localities.map(|locality| locality.endpoints.len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Endpoints {
    fn default() -> Self {
        Self {
            localities: Vec::new(),
            overprovisioning: 140,
            drops: Vec::new(),
        }
    }
}

/// Endpoints that are near each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locality {
    /// The region; may be empty.
    pub region: Arc<str>,
    /// The zone; may be empty.
    pub zone: Arc<str>,
    /// The part of the zone; may be empty.
    pub sub_zone: Arc<str>,
    /// 0 is used first, 1 when 0 has too few healthy endpoints, and so on. There are no gaps.
    pub priority: u32,
    /// Its share among the localities of its priority; not zero. When nobody gave one: the sum of
    /// its endpoints' weights.
    pub weight: u32,
    /// Its endpoints. No address comes twice in a priority.
    pub endpoints: Vec<EndpointInfo>,
}

/// One instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointInfo {
    /// Where it is.
    pub address: Address,
    /// Its share among the endpoints of its locality; not zero.
    pub weight: u32,
    /// How it is.
    pub health: Health,
    /// Its name, when it has one.
    pub hostname: Option<Arc<str>>,
    /// The transport that it speaks, when it says so.
    pub transport: Option<Transport>,
}

impl EndpointInfo {
    /// The endpoint at this address.
    #[must_use]
    pub const fn at(address: Address) -> Self {
        Self {
            address,
            weight: 1,
            health: Health::Unknown,
            hostname: None,
            transport: None,
        }
    }
}

/// How an endpoint is, as the control plane knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Health {
    /// Nobody checks it: it counts as healthy.
    #[default]
    Unknown,
    /// It takes requests.
    Healthy,
    /// It takes requests, but healthy ones are preferred.
    Degraded,
    /// It takes none.
    Unhealthy,
    /// It finishes what it has and takes nothing new.
    Draining,
}

impl Health {
    /// Whether new requests may go there.
    #[must_use]
    pub const fn takes_requests(self) -> bool {
        matches!(self, Self::Unknown | Self::Healthy | Self::Degraded)
    }
}

/// Requests dropped by order of the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropOverload {
    /// Why, in its words.
    pub category: Arc<str>,
    /// How many.
    pub fraction: Fraction,
}
