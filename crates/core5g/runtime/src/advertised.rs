//! The address by which others reach an NF: what it registers and writes into its own URIs.
//!
//! A process may listen at an address that means nothing elsewhere: `0.0.0.0` and `[::]` in a
//! container, or a private address behind a load balancer. Such an address is never registered
//! (TS 29.510, 6.1.6.2.2: `ipv4Addresses`, `ipv6Addresses`, `fqdn`).

use anyhow::{Context as _, bail};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::str::FromStr;

/// The longest FQDN (RFC 1035, 2.3.4).
const MAX_NAME: usize = 253;
/// Addresses of documentation, which no packet is sent to: the route there is the default route.
const ELSEWHERE: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9),
    SocketAddr::new(
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
        9,
    ),
];

/// A host as others name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// `ipv4Addresses`.
    V4(Ipv4Addr),
    /// `ipv6Addresses`.
    V6(Ipv6Addr),
    /// `fqdn`.
    Name(String),
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => Self::V6(address),
        }
    }
}

/// As in an authority (RFC 3986, 3.2.2).
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => write!(f, "{address}"),
            Self::V6(address) => write!(f, "[{address}]"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// What `--advertise` takes: `HOST` or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advertise {
    host: Host,
    /// `None`: the port that the process listens at.
    port: Option<u16>,
}

impl FromStr for Advertise {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) = split(text)?;
        let is_wildcard = match &host {
            Host::V4(address) => address.is_unspecified(),
            Host::V6(address) => address.is_unspecified(),
            Host::Name(_) => false,
        };
        if is_wildcard {
            return Err(format!("{text:?} is no address that others can call"));
        }
        if port == Some(0) {
            return Err(format!("{text:?}: port 0 cannot be called"));
        }
        Ok(Self { host, port })
    }
}

fn split(text: &str) -> Result<(Host, Option<u16>), String> {
    let port_of = |port: &str| port.parse().map_err(|_| format!("{text:?}: no port"));
    // An IPv6 address may stand without brackets where no port follows.
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok((address.into(), None));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest
            .split_once(']')
            .ok_or_else(|| format!("{text:?}: a bracket is missing"))?;
        let host: Ipv6Addr = host
            .parse()
            .map_err(|_| format!("{text:?} has no IPv6 address in its brackets"))?;
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(port_of(port)?),
            None if rest.is_empty() => None,
            None => return Err(format!("{text:?} is not HOST or HOST:PORT")),
        };
        return Ok((Host::V6(host), port));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port_of(port)?)),
        None => (text, None),
    };
    let host = match host.parse::<Ipv4Addr>() {
        Ok(address) => Host::V4(address),
        Err(_) if is_name(host) => Host::Name(host.to_owned()),
        Err(_) => return Err(format!("{text:?} has neither an address nor a host name")),
    };
    Ok((host, port))
}

/// Whether this is an FQDN (TS 29.571, `Fqdn`), or a host name of one label.
fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        let inner = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_';
        (1..=63).contains(&label.len())
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // Digits in the last label: an IPv4 address that was mistyped.
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= MAX_NAME
        && text.split('.').all(label)
        && !last.bytes().all(|octet| octet.is_ascii_digit())
}

/// Host and port by which others reach this NF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advertised {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl fmt::Display for Advertised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Advertised {
    /// What an NF with these options and a socket at `own` says of itself.
    ///
    /// # Errors
    /// When `own` is a wildcard, and no route shows which of the host's addresses others can call.
    pub(super) fn of<'a>(
        advertise: Option<&Advertise>,
        targets: impl Iterator<Item = &'a String>,
        own: SocketAddr,
    ) -> anyhow::Result<Self> {
        if let Some(advertise) = advertise {
            return Ok(Self {
                host: advertise.host.clone(),
                port: advertise.port.unwrap_or_else(|| own.port()),
            });
        }
        let targets = targets.filter_map(|target| target.to_socket_addrs().ok()?.next());
        let address = callable(own.ip(), targets.chain(ELSEWHERE), route_to).context(
            "this process listens at all addresses, and which of them others can call is not known: --advertise HOST",
        )?;
        Ok(Self {
            host: address.into(),
            port: own.port(),
        })
    }

    /// As a socket address; a name is looked up.
    ///
    /// # Errors
    /// When the name is not known.
    pub(super) fn socket_address(&self) -> anyhow::Result<SocketAddr> {
        let address = match &self.host {
            Host::V4(address) => IpAddr::V4(*address),
            Host::V6(address) => IpAddr::V6(*address),
            Host::Name(name) => {
                let found = (name.as_str(), self.port).to_socket_addrs();
                let found = found.with_context(|| format!("--advertise {name}"))?.next();
                return found.with_context(|| format!("--advertise {name}: no address"));
            }
        };
        Ok(SocketAddr::new(address, self.port))
    }
}

/// The address itself; in place of a wildcard the one that packets to the first of these peers with a
/// route leave from.
fn callable(
    own: IpAddr,
    peers: impl Iterator<Item = SocketAddr>,
    route_to: impl Fn(SocketAddr) -> Option<IpAddr>,
) -> anyhow::Result<IpAddr> {
    if !own.is_unspecified() {
        return Ok(own);
    }
    // A socket at 0.0.0.0 takes no IPv6; one at [::] takes both.
    let fits = |address: &IpAddr| own.is_ipv6() || address.is_ipv4();
    let mut routes = peers.filter_map(route_to).filter(fits);
    match routes.find(|address| !address.is_unspecified()) {
        Some(address) => Ok(address),
        None => bail!("no route"),
    }
}

/// The address that packets to this peer leave from. Nothing is sent.
fn route_to(peer: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(peer).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_addresses_and_names_with_and_without_a_port() {
        let v6 = |text: &str| Host::V6(text.parse().expect("an address"));
        let table = [
            ("10.1.2.3", Host::V4(Ipv4Addr::new(10, 1, 2, 3)), None),
            (
                "10.1.2.3:7000",
                Host::V4(Ipv4Addr::new(10, 1, 2, 3)),
                Some(7000),
            ),
            ("2001:db8::7", v6("2001:db8::7"), None),
            ("[2001:db8::7]", v6("2001:db8::7"), None),
            ("[2001:db8::7]:7000", v6("2001:db8::7"), Some(7000)),
            ("amf", Host::Name("amf".into()), None),
            (
                "amf.5gc.example:80",
                Host::Name("amf.5gc.example".into()),
                Some(80),
            ),
        ];
        for (text, host, port) in table {
            assert_eq!(text.parse(), Ok(Advertise { host, port }), "{text}");
        }
    }

    #[test]
    fn refuses_what_others_cannot_call() {
        for text in [
            "",
            "0.0.0.0",
            "0.0.0.0:7000",
            "::",
            "[::]:7000",
            "10.1.2.3:0",
            "10.1.2",
            "10.1.2.300",
            "amf:",
            "amf:x",
            "a b",
            "http://amf",
            "[::1",
            "[::1]7000",
            "-amf",
            "amf..example",
        ] {
            assert!(text.parse::<Advertise>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_wildcard_becomes_the_address_on_the_way_to_the_first_reachable_peer() {
        let (near, far): (SocketAddr, SocketAddr) = (
            "10.0.0.1:7000".parse().expect("an address"),
            "[2001:db8::1]:7000".parse().expect("an address"),
        );
        let v4: IpAddr = "10.0.0.9".parse().expect("an address");
        let v6: IpAddr = "2001:db8::9".parse().expect("an address");
        let route = |peer: SocketAddr| Some(if peer == near { v4 } else { v6 });
        let of = |own: &str, peers: &[SocketAddr]| {
            let own = own.parse().expect("an address");
            callable(own, peers.iter().copied(), route).ok()
        };
        assert_eq!(of("127.0.0.1", &[near]), "127.0.0.1".parse().ok());
        assert_eq!(of("::1", &[near]), "::1".parse().ok());
        assert_eq!(
            of("0.0.0.0", &[far, near]),
            Some(v4),
            "IPv6 is not taken there"
        );
        assert_eq!(of("::", &[far, near]), Some(v6));
        assert_eq!(of("0.0.0.0", &[]), None);
    }

    #[test]
    fn the_route_to_this_host_leaves_from_this_host() {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        assert_eq!(route_to(loopback), Some(Ipv4Addr::LOCALHOST.into()));
    }
}
