//! The addresses of this host, under which others may know us.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Addresses of all interfaces but the loopback's, or of the one named `only`, in the system's
/// order.
pub(crate) fn addresses(only: Option<&str>) -> Vec<IpAddr> {
    let mut list = std::ptr::null_mut();
    // SAFETY: getifaddrs writes a list to the place given, or fails.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: null or an element of the list, which lives until `freeifaddrs`.
    while let Some(interface) = unsafe { next.as_ref() } {
        next = interface.ifa_next;
        // SAFETY: the name is a text that lives as long as the list.
        let name = unsafe { CStr::from_ptr(interface.ifa_name) }.to_string_lossy();
        let wanted = only.map_or(name != "lo", |only| name == only);
        if wanted {
            // SAFETY: null or an address of the family that it names, as long as the list lives.
            found.extend(unsafe { address(interface.ifa_addr) });
        }
    }
    // SAFETY: from getifaddrs, and freed once.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// # Safety
/// `raw` is null or a socket address of the size that its family has.
unsafe fn address(raw: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: as the caller says; each family is read as what it is.
    unsafe {
        match i32::from(raw.as_ref()?.sa_family) {
            libc::AF_INET => {
                let v4 = raw.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let v6 = raw.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

/// Whether an address is one of this host's.
pub(crate) fn is_of_this_host(ip: IpAddr) -> bool {
    ip.is_loopback() || addresses(None).contains(&ip) || addresses(Some("lo")).contains(&ip)
}

/// `address:port` as route tables write it, IPv6 in brackets.
pub(crate) fn with_port(address: IpAddr, port: u16) -> String {
    SocketAddr::new(address, port).to_string()
}

/// The host's own name.
pub(crate) fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: pointer and length are those of a live array, whose last octet stays NUL.
    let result = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    if result == 0 && !name.is_empty() {
        name.to_string_lossy().into_owned()
    } else {
        "localhost".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri lists no interfaces")]
    fn the_loopback_is_listed_when_it_is_asked_for() {
        assert!(addresses(Some("lo")).contains(&IpAddr::from([127, 0, 0, 1])));
        assert!(!addresses(None).contains(&IpAddr::from([127, 0, 0, 1])));
        assert!(addresses(Some("no such interface")).is_empty());
        assert!(!host_name().is_empty());
    }

    #[test]
    fn ipv6_is_in_brackets() {
        assert_eq!(with_port(IpAddr::from([10, 0, 0, 1]), 1), "10.0.0.1:1");
        assert_eq!(with_port(Ipv6Addr::LOCALHOST.into(), 1), "[::1]:1");
    }
}
