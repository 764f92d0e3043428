//! An SM context's reference: who made it, and which of its contexts it is.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::str::FromStr;

/// `smContextRef` (TS 29.502, 6.1.3.3.2): the replica's address in twelve hexadecimal digits, then a
/// number. A gateway reads from it where to go; when nobody is there any more, any replica takes the
/// session over from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SmContextRef {
    maker: SocketAddrV4,
    number: u64,
}

impl SmContextRef {
    pub(super) const fn new(maker: SocketAddrV4, number: u64) -> Self {
        Self { maker, number }
    }

    /// What the text of all references of its maker begins with.
    pub(super) fn prefix(self) -> String {
        self.to_string().split_inclusive('-').take(1).collect()
    }

    /// The replica that made it.
    pub(super) const fn maker(self) -> SocketAddrV4 {
        self.maker
    }
}

impl fmt::Display for SmContextRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.maker.ip().to_bits();
        write!(
            f,
            "{host:08x}{:04x}-{:016x}",
            self.maker.port(),
            self.number
        )
    }
}

/// Text that is no reference of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoReference;

impl FromStr for SmContextRef {
    type Err = NoReference;

    fn from_str(text: &str) -> Result<Self, NoReference> {
        let (maker, number) = text.split_once('-').ok_or(NoReference)?;
        if maker.len() != 12 || number.len() != 16 || !text.is_ascii() {
            return Err(NoReference);
        }
        let hex = |digits: &str| {
            let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let value = u64::from_str_radix(digits, 16).ok();
            value.filter(|_| plain).ok_or(NoReference)
        };
        let host = u32::try_from(hex(&maker[..8])?).map_err(|_| NoReference)?;
        let port = u16::try_from(hex(&maker[8..])?).map_err(|_| NoReference)?;
        Ok(Self {
            maker: SocketAddrV4::new(Ipv4Addr::from_bits(host), port),
            number: hex(number)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_read_as_they_are_written() {
        let maker = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 255), 7012);
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
