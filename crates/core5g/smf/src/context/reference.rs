//! An SM context's reference: the replica that made it, and which of its contexts it is.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// `smContextRef` (TS 29.502, 6.1.3.3.2): the replica's address and port in 12 hexadecimal digits, 36
/// where it is IPv6, then a number. A gateway reads from it where to go; when that replica is gone, any other
/// takes the session over from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SmContextRef {
    maker: SocketAddr,
    number: u64,
}

impl SmContextRef {
    pub(crate) const fn new(maker: SocketAddr, number: u64) -> Self {
        Self { maker, number }
    }

    /// What the text of all references of its maker begins with.
    pub(crate) fn prefix(self) -> String {
        self.to_string().split_inclusive('-').take(1).collect()
    }

    /// The replica that made it.
    pub(crate) const fn maker(self) -> SocketAddr {
        self.maker
    }

    /// The root of that replica's resources, which is reached as `api_root` is.
    pub(crate) fn root_like(self, api_root: &str) -> String {
        let scheme = api_root.split("://").next().unwrap_or("http");
        format!("{scheme}://{}", self.maker)
    }
}

impl fmt::Display for SmContextRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.maker.ip() {
            IpAddr::V4(host) => write!(f, "{:08x}", host.to_bits()),
            IpAddr::V6(host) => write!(f, "{:032x}", host.to_bits()),
        }?;
        write!(f, "{:04x}-{:016x}", self.maker.port(), self.number)
    }
}

/// Text that is no reference of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoReference;

impl FromStr for SmContextRef {
    type Err = NoReference;

    fn from_str(text: &str) -> Result<Self, NoReference> {
        let (maker, number) = text.split_once('-').ok_or(NoReference)?;
        let hex = |digits: &str| {
            let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let value = u128::from_str_radix(digits, 16).ok();
            value.filter(|_| plain).ok_or(NoReference)
        };
        let (host, port) = match (maker.len(), number.len(), text.is_ascii()) {
            (12 | 36, 16, true) => maker.split_at(maker.len() - 4),
            _ => return Err(NoReference),
        };
        let bits = hex(host)?;
        let host = match u32::try_from(bits) {
            Ok(bits) if host.len() == 8 => IpAddr::V4(Ipv4Addr::from_bits(bits)),
            _ => IpAddr::V6(Ipv6Addr::from_bits(bits)),
        };
        let port = u16::try_from(hex(port)?).map_err(|_| NoReference)?;
        let number = u64::try_from(hex(number)?).map_err(|_| NoReference)?;
        Ok(Self {
            maker: SocketAddr::new(host, port),
            number,
        })
    }
}

/// As text.
impl Serialize for SmContextRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SmContextRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        let parsed = text.parse();
        parsed.map_err(|NoReference| serde::de::Error::custom("no reference of ours"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_read_as_they_are_written() {
        let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, 7012));
        let reference = SmContextRef::new(v6, 1);
        let text = "000000000000000000000000000000011b64-0000000000000001";
        assert_eq!(reference.to_string(), text);
        assert_eq!(text.parse(), Ok(reference));
        let maker = SocketAddr::from((Ipv4Addr::new(10, 0, 0, 255), 7012));
        let reference = SmContextRef::new(maker, 0xfeed);
        assert_eq!(reference.to_string(), "0a0000ff1b64-000000000000feed");
        assert_eq!(reference.to_string().parse(), Ok(reference));
        for wrong in [
            "",
            "-",
            "0a0000ff1b64",
            "0a0000ff1b64-1",
            "+a0000ff1b64-000000000000feed",
        ] {
            assert_eq!(wrong.parse::<SmContextRef>(), Err(NoReference), "{wrong:?}");
        }
    }
}
