//! Where a service is and how it is spoken to, in one line of text.

use corewire_sys::Address;
use std::fmt;
use std::net::ToSocketAddrs;
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

/// Where a service is and how it is spoken to: `native://127.0.0.1:7000`, `grpc://amf.local:80`,
/// `rest+unix:/run/amf.sock`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    protocol: Protocol,
    address: Address,
    authority: String,
}

impl Endpoint {
    /// The endpoint at this address.
    #[must_use]
    pub fn new(protocol: Protocol, address: Address) -> Self {
        let authority = match &address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(_) => "localhost".into(),
        };
        Self {
            protocol,
            address,
            authority,
        }
    }

    /// How it is spoken to.
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// The host (and port) as it was written: HTTP's `:authority`.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

impl FromStr for Endpoint {
    type Err = EndpointFault;

    /// Reads an endpoint; a host name is looked up at once (the first address is taken).
    fn from_str(text: &str) -> Result<Self, EndpointFault> {
        let (scheme, rest) = text.split_once(':').ok_or_else(|| {
            EndpointFault(format!(
                "{text:?} is no endpoint: write PROTOCOL://HOST:PORT or PROTOCOL+unix:PATH"
            ))
        })?;
        if let Some(protocol) = scheme.strip_suffix("+unix") {
            return Ok(Self::new(protocol.parse()?, unix_address(rest)?));
        }
        let protocol = scheme.parse()?;
        let authority = rest
            .strip_prefix("//")
            .unwrap_or(rest)
            .trim_end_matches('/');
        Ok(Self {
            protocol,
            address: tcp_address(authority)?,
            authority: authority.to_owned(),
        })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp(_) => write!(f, "{}://{}", self.protocol, self.authority),
            Address::Unix(path) => write!(f, "{}+unix:{}", self.protocol, path.display()),
        }
    }
}

/// Reads where to listen: `HOST:PORT` (port 0: any free one) or `unix:PATH`.
///
/// # Errors
/// When it is neither, or the host is not found.
pub fn parse_address(text: &str) -> Result<Address, EndpointFault> {
    match text.strip_prefix("unix:") {
        Some(path) => unix_address(path),
        None => tcp_address(text.strip_prefix("tcp://").unwrap_or(text)),
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

fn tcp_address(authority: &str) -> Result<Address, EndpointFault> {
    let mut found = authority.to_socket_addrs().map_err(|error| {
        EndpointFault(format!(
            "{authority:?} is no HOST:PORT that can be found: {error}"
        ))
    })?;
    let first = found.next();
    first
        .map(Address::Tcp)
        .ok_or_else(|| EndpointFault(format!("{authority:?} has no address")))
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
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
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
