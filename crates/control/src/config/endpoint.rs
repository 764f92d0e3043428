//! Where one instance of a service is.

use super::reader::{Table, Value};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The transport an instance is spoken to with, for clients that can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// HTTP/2, the body as it is.
    Rest,
    /// HTTP/2 with gRPC framing.
    Grpc,
    /// Corewire's own protocol.
    Native,
    /// Shared memory, for peers on one host.
    SharedMemory,
}

impl Transport {
    pub(crate) const WORDS: [(&'static str, Self); 4] = [
        ("rest", Self::Rest),
        ("grpc", Self::Grpc),
        ("native", Self::Native),
        ("shm", Self::SharedMemory),
    ];

    /// Its name, as files and metadata write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Grpc => "grpc",
            Self::Native => "native",
            Self::SharedMemory => "shm",
        }
    }

    /// The transport of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(word, _)| *word == name);
        found.map(|(_, transport)| *transport)
    }
}

/// Labels of an instance; subsets choose by them.
pub type Metadata = BTreeMap<String, String>;

/// The heaviest an endpoint may be: the weights of 65,536 of them still fit 32 bits, as gRPC wants.
pub(crate) const MAX_WEIGHT: u32 = 65_535;
/// The last priority.
pub(crate) const MAX_PRIORITY: u32 = 127;

/// An instance that is listed in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointConfig {
    /// Its address.
    pub address: SocketAddr,
    /// Its share relative to others of its locality.
    pub weight: u32,
    /// 0 is used first.
    pub priority: u32,
    /// The region it is in; empty: not said.
    pub region: String,
    /// The zone it is in; empty: not said.
    pub zone: String,
    /// How it is spoken to, when it differs from its service.
    pub transport: Option<Transport>,
    /// Its labels.
    pub metadata: Metadata,
}

impl EndpointConfig {
    /// An instance at this address, of weight 1, without labels.
    #[must_use]
    pub const fn at(address: SocketAddr) -> Self {
        Self {
            address,
            weight: 1,
            priority: 0,
            region: String::new(),
            zone: String::new(),
            transport: None,
            metadata: Metadata::new(),
        }
    }

    pub(super) fn read(value: &Value<'_, '_>) -> Option<Self> {
        if value.is_string() {
            return value.address().map(Self::at);
        }
        let mut table = value.table()?;
        let address = table
            .need("address", "write address = \"IP:PORT\"")
            .and_then(|value| value.address());
        let mut string = |name| table.take(name).and_then(|v: Value<'_, '_>| v.string());
        let (region, zone) = (string("region"), string("zone"));
        let weight = table
            .take("weight")
            .and_then(|v| v.integer32(1..=MAX_WEIGHT));
        let priority = table
            .take("priority")
            .and_then(|v| v.integer32(0..=MAX_PRIORITY));
        let transport = table
            .take("transport")
            .and_then(|v| v.one_of(&Transport::WORDS));
        let metadata = labels(&mut table, "metadata");
        table.finish();
        Some(Self {
            weight: weight.unwrap_or(1),
            priority: priority.unwrap_or(0),
            region: region.unwrap_or_default(),
            zone: zone.unwrap_or_default(),
            transport,
            metadata,
            ..Self::at(address?)
        })
    }
}

/// A table of strings.
pub(super) fn labels(table: &mut Table<'_, '_>, name: &'static str) -> Metadata {
    let Some(labels) = table.take(name).and_then(|value| value.table()) else {
        return Metadata::new();
    };
    let entries = labels.entries().into_iter();
    entries
        .filter_map(|(name, value)| Some((name, value.string()?)))
        .collect()
}
