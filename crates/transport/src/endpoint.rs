//! Where a service is and how it is spoken to, in one line of text.

use corewire_driver::{Resolver, ipv4_first};
use corewire_sys::Address;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// How messages are carried over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// Corewire's own (`docs/native-protocol.md`).
    Native,
    /// HTTP/2 with gRPC framing.
    Grpc,
    /// HTTP/2, the body as it is.
    Rest,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 3] = [Self::Native, Self::Grpc, Self::Rest];

    /// Its name, as it stands in an endpoint.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Grpc => "grpc",
            Self::Rest => "rest",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Protocol {
    type Err = EndpointFault;

    fn from_str(name: &str) -> Result<Self, EndpointFault> {
        Self::ALL
            .into_iter()
            .find(|protocol| protocol.name() == name)
            .ok_or_else(|| {
                EndpointFault(format!("unknown protocol {name:?}: native, grpc or rest"))
            })
    }
}

/// The scheme of endpoints in shared memory, where the native protocol is spoken.
const SHARED_MEMORY: &str = "shm";

/// Where a service is and how it is spoken to: `native://127.0.0.1:7000`, `grpc://amf.local:80`,
/// `rest+unix:/run/amf.sock`, `shm://127.0.0.1:7000` (the service of this host at that port).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    protocol: Protocol,
    /// At least one.
    addresses: Vec<Address>,
    authority: String,
}

impl Endpoint {
    /// The endpoint at this address.
    #[must_use]
    pub fn new(protocol: Protocol, address: Address) -> Self {
        let authority = match &address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(_) => "localhost".into(),
            Address::Memory(name) => name.clone(),
        };
        Self {
            protocol,
            addresses: vec![address],
            authority,
        }
    }

    /// The endpoint of this host (`HOST:PORT`), which was found at these addresses.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(
        protocol: Protocol,
        authority: impl Into<String>,
        addresses: impl IntoIterator<Item = SocketAddr>,
    ) -> Result<Self, EndpointFault> {
        let authority = authority.into();
        let addresses = in_order(addresses.into_iter().collect());
        if addresses.is_empty() {
            return Err(EndpointFault(format!("{authority:?} has no address")));
        }
        Ok(Self {
            protocol,
            addresses,
            authority,
        })
    }

    /// Reads an endpoint as [`from_str`](Self::from_str) does; its host is looked up by this resolver.
    ///
    /// # Errors
    /// When it is none, or the host is not found.
    pub fn resolve(text: &str, resolver: &Resolver) -> Result<Self, EndpointFault> {
        let (scheme, rest) = text.split_once(':').ok_or_else(|| {
            EndpointFault(format!(
                "{text:?} is no endpoint: write PROTOCOL://HOST:PORT or PROTOCOL+unix:PATH"
            ))
        })?;
        if let Some(protocol) = scheme.strip_suffix("+unix") {
            return Ok(Self::new(protocol.parse()?, unix_address(rest)?));
        }
        if scheme == SHARED_MEMORY {
            let name = rest.strip_prefix("//").unwrap_or(rest);
            return Ok(Self::new(Protocol::Native, memory_address(name, resolver)?));
        }
        let protocol = scheme.parse()?;
        let authority = rest
            .strip_prefix("//")
            .unwrap_or(rest)
            .trim_end_matches('/');
        Ok(Self {
            protocol,
            addresses: tcp_addresses(authority, resolver)?,
            authority: authority.to_owned(),
        })
    }

    /// How it is spoken to.
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Where it is: the first of [`addresses`](Self::addresses).
    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.addresses.as_slice()[0]
    }

    /// Everywhere it may be: a host can have several addresses, of which a service listens at some.
    /// Those of IPv4 come first. A client tries them in this order, each for its share of the time that
    /// connecting may take; when all have failed, the name is looked up again. Several servers behind
    /// one name are for the mesh (`MeshChannel::balanced`).
    pub fn addresses(&self) -> impl ExactSizeIterator<Item = &Address> {
        self.addresses.iter()
    }

    /// The host (and port) as it was written: HTTP's `:authority`.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

impl FromStr for Endpoint {
    type Err = EndpointFault;

    /// Reads an endpoint; a host name is looked up at once, and all of its addresses are kept.
    fn from_str(text: &str) -> Result<Self, EndpointFault> {
        Self::resolve(text, &Resolver::default())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Address::Tcp(_) => write!(f, "{}://{}", self.protocol, self.authority),
            Address::Unix(path) => write!(f, "{}+unix:{}", self.protocol, path.display()),
            Address::Memory(name) => write!(f, "{SHARED_MEMORY}://{name}"),
        }
    }
}

/// Reads where to listen: `HOST:PORT` (port 0: any free one), `unix:PATH`, or `shm:NAME` for shared
/// memory alone (a server offers it at its TCP addresses anyway).
///
/// # Errors
/// When it is neither, or the host is not found.
pub fn parse_address(text: &str) -> Result<Address, EndpointFault> {
    let resolver = Resolver::default();
    if let Some(name) = text.strip_prefix("shm:") {
        return memory_address(name.strip_prefix("//").unwrap_or(name), &resolver);
    }
    match text.strip_prefix("unix:") {
        Some(path) => unix_address(path),
        None => {
            let authority = text.strip_prefix("tcp://").unwrap_or(text);
            Ok(tcp_addresses(authority, &resolver)?.swap_remove(0))
        }
    }
}

fn unix_address(path: &str) -> Result<Address, EndpointFault> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(EndpointFault(
            "a Unix endpoint needs a path: unix:PATH".into(),
        ));
    }
    Ok(Address::Unix(PathBuf::from(path)))
}

/// The name of shared memory: that of a service's TCP address, or any other.
fn memory_address(name: &str, resolver: &Resolver) -> Result<Address, EndpointFault> {
    let name = name.trim_end_matches('/');
    if name.is_empty() {
        return Err(EndpointFault(
            "shared memory needs an address or a name: shm://HOST:PORT or shm://NAME".into(),
        ));
    }
    // A host may be written as a name; the server's offer has its address.
    let found = tcp_addresses(name, resolver)
        .ok()
        .and_then(|found| found.into_iter().next());
    Ok(Address::Memory(match found {
        Some(Address::Tcp(address)) => memory_name(address),
        _ => name.to_owned(),
    }))
}

/// The name by which a server offers shared memory beside a TCP address.
pub(crate) fn memory_name(address: SocketAddr) -> String {
    address.to_string()
}

/// Every address of a host, at least one, those of IPv4 first: `localhost` is often both, and most
/// services that listen at one of its addresses listen at 127.0.0.1.
fn tcp_addresses(authority: &str, resolver: &Resolver) -> Result<Vec<Address>, EndpointFault> {
    let found = resolver.find(authority).map_err(|error| {
        EndpointFault(format!(
            "{authority:?} is no HOST:PORT that can be found: {error}"
        ))
    })?;
    let found = in_order(found);
    if found.is_empty() {
        return Err(EndpointFault(format!("{authority:?} has no address")));
    }
    Ok(found)
}

fn in_order(found: Vec<SocketAddr>) -> Vec<Address> {
    ipv4_first(found).into_iter().map(Address::Tcp).collect()
}

/// A text that is not an endpoint, and what one looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointFault(String);

impl fmt::Display for EndpointFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EndpointFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_read_and_print_alike() {
        for text in [
            "native://127.0.0.1:7000",
            "grpc://[::1]:80",
            "rest+unix:/run/amf.sock",
            "shm://127.0.0.1:7000",
            "shm://amf",
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn every_address_of_a_host_is_kept_those_of_ipv4_first() {
        let found = ["[::1]:80", "10.0.0.2:80"].map(|text| text.parse().unwrap());
        let endpoint = Endpoint::named(Protocol::Grpc, "amf:80", found).unwrap();
        let ordered: Vec<_> = endpoint.addresses().map(ToString::to_string).collect();
        assert_eq!(ordered, ["10.0.0.2:80", "[::1]:80"]);

        let endpoint: Endpoint = "grpc://127.0.0.1:80".parse().unwrap();
        assert!(endpoint.addresses().eq([endpoint.address()]));
    }

    #[test]
    fn a_wrong_endpoint_says_what_is_wrong() {
        for (text, says) in [
            ("127.0.0.1", "is no endpoint"),
            ("soap://127.0.0.1:1", "unknown protocol"),
            ("native://127.0.0.1", "is no HOST:PORT"),
            ("native+unix:", "needs a path"),
        ] {
            let error = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
