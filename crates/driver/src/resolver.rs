//! Names of hosts and their addresses.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

/// Finds the addresses of `HOST:PORT`. Called on a thread that may block.
#[derive(Clone)]
pub struct Resolver(Arc<Find>);

type Find = dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync;

impl Resolver {
    /// Asks this.
    pub fn new(find: impl Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// The addresses of `HOST:PORT`. Blocks as long as it takes.
    ///
    /// # Errors
    /// What it is asked says, for example that there is no such name.
    pub fn find(&self, authority: &str) -> io::Result<Vec<SocketAddr>> {
        (self.0)(authority)
    }
}

impl Default for Resolver {
    /// The system's (`getaddrinfo`).
    fn default() -> Self {
        Self::new(|authority| Ok(authority.to_socket_addrs()?.collect()))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// Every address once, those of IPv4 first: `localhost` is often both, and most services that listen at
/// one of its addresses listen at 127.0.0.1. Within a family the resolver's order is kept.
#[must_use]
pub fn ipv4_first(mut found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    found.sort_by_key(SocketAddr::is_ipv6);
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ipv4_come_first_and_each_once() {
        let found = [
            "[::1]:80",
            "10.0.0.2:80",
            "[::2]:80",
            "10.0.0.1:80",
            "10.0.0.1:80",
        ];
        let found = found.map(|text| text.parse().unwrap()).to_vec();
        let ordered: Vec<_> = ipv4_first(found).iter().map(ToString::to_string).collect();
        let expected = ["10.0.0.2:80", "10.0.0.1:80", "[::1]:80", "[::2]:80"];
        assert_eq!(ordered, expected);
    }
}
